// The simulator's WebAssembly module, crates/page, with an interface of strings and typed arrays.

/** Exports of the module; addresses are offsets in its memory. */
interface Exports {
  memory: WebAssembly.Memory;
  initialize(): void;
  allocate(length: number): number;
  release(address: number, length: number): void;
  add_trace(name: number, nameLength: number, content: number, contentLength: number): number;
  add_file(
    name: number,
    nameLength: number,
    content: number,
    contentLength: number,
    isRecording: number,
  ): number;
  scenario(request: number, length: number): number;
  run(scenario: number, length: number): number;
  decide(question: number, length: number, figures: number, figuresLength: number): number;
  queue(link: number, length: number): number;
  version(): number;
  panic_message(): number;
}

/**
 * Values of a column: numbers with `NaN` for undefined values, or a list with `null` for undefined
 * values.
 */
export type Column =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float64Array
  | (string | number | null)[];

/** A table's columns by name, in the command line's order. */
export type Table = Map<string, Column>;

/** Result of a run: `flows`, `links`, and the tables that its scenario records. */
export interface Tables {
  tables: Map<string, Table>;
  pcap: Uint8Array | null;
  /** The values of the run that the decision uses. */
  figures: Float64Array;
}

/**
 * The error if the module rejects a scenario, a trace or a link; the message explains the reason.
 */
export class InputError extends Error {}

/**
 * The error after a panic or a lack of memory: the instance of the module cannot be used any more
 * and must be replaced.
 */
export class ModuleError extends Error {}

interface Placed {
  type: keyof typeof ARRAYS;
  offset: number;
  length: number;
}

/** The description of a recorded link. */
export interface Recording {
  understood: string;
  /** Length of one repetition of the recording. */
  duration_s: number;
}

/** The parts of a scenario; crates/page/src/scenarios.rs describes them. */
export interface Request {
  link: string;
  cell: unknown;
  template: { duration_ns: number; flows: { sender: { algorithm: string } }[] };
  start_jitter_ns: number;
  /** Number of the repetition, from 0. */
  repetition: number;
  study_seed: number;
}

const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  f64: Float64Array,
};
const ALIGNMENT = 8;
const WORD = 4;

/** An instance of the simulator; it cannot be used any more after a ModuleError. */
export class Simulator {
  private readonly exports: Exports;

  constructor(module: WebAssembly.Module) {
    this.exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.exports.initialize();
  }

  /** Returns version and behaviour epoch as JSON. */
  version(): string {
    return decode(this.call([], () => this.exports.version()));
  }

  /** Stores a trace's file under its name in scenarios. */
  addTrace(name: string, content: Uint8Array): void {
    this.call([encode(name), content], (...pairs) =>
      this.exports.add_trace(...(pairs as [number, number, number, number])),
    );
  }

  /** Stores the file of a preset under its name. */
  addPreset(name: string, text: string): void {
    this.call([encode(name), encode(text)], (...pairs) =>
      this.exports.add_file(...(pairs as [number, number, number, number]), 0),
    );
  }

  /** Stores the file of a recorded link under its name in links. Throws InputError. */
  addRecording(name: string, content: Uint8Array): Recording {
    const said = this.call([encode(name), content], (...pairs) =>
      this.exports.add_file(...(pairs as [number, number, number, number]), 1),
    );
    return JSON.parse(decode(said)) as Recording;
  }

  /**
   * Returns as JSON the scenario that the command line makes of the same input. Throws InputError.
   */
  scenario(request: Request): string {
    return decode(
      this.call([encode(JSON.stringify(request))], (...pair) =>
        this.exports.scenario(...(pair as [number, number])),
      ),
    );
  }

  /** Runs a scenario in canonical JSON. Throws InputError or ModuleError. */
  run(scenario: string): Tables {
    return readTables(
      this.call([encode(scenario)], (...pair) => this.exports.run(...(pair as [number, number]))),
    );
  }

  /**
   * Returns the decision as JSON; `figures` has each repetition's figures, grouped by algorithm.
   */
  decide(question: string, figures: Float64Array): string {
    const bytes = new Uint8Array(figures.buffer, figures.byteOffset, figures.byteLength);
    return decode(
      this.call([encode(question), bytes], (...pairs) =>
        this.exports.decide(...(pairs as [number, number, number, number])),
      ),
    );
  }

  /** Returns the queue of a one-line link as JSON. Throws InputError. */
  queue(link: string): string {
    return decode(
      this.call([encode(link)], (...pair) => this.exports.queue(...(pair as [number, number]))),
    );
  }

  /**
   * Copies inputs into the module's memory, calls `work` with each one's address and length, and
   * returns a copy of the answer.
   */
  private call(inputs: Uint8Array[], work: (...pairs: number[]) => number): Uint8Array<ArrayBuffer> {
    try {
      const pairs: number[] = [];
      for (const input of inputs) {
        const address = this.exports.allocate(input.length);
        if (address === 0) throw new ModuleError("not enough memory");
        new Uint8Array(this.exports.memory.buffer).set(input, address);
        pairs.push(address, input.length);
      }
      const { isOk, bytes } = this.answer(work(...pairs));
      for (let i = 0; i < pairs.length; i += 2) this.exports.release(pairs[i]!, pairs[i + 1]!);
      if (!isOk) throw new InputError(decode(bytes));
      return bytes;
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
        throw new ModuleError(this.panicMessage() || "not enough memory, or a stack overflow");
      }
      throw error;
    }
  }

  /**
   * The message of a panic; empty if there was no panic, or if no memory is left for the message.
   */
  private panicMessage(): string {
    try {
      return decode(this.answer(this.exports.panic_message()).bytes);
    } catch {
      return "";
    }
  }

  private answer(address: number): { isOk: boolean; bytes: Uint8Array<ArrayBuffer> } {
    const buffer = this.exports.memory.buffer;
    const [isOk, start, length] = new Uint32Array(buffer, address, 3);
    return { isOk: isOk === 1, bytes: new Uint8Array(buffer.slice(start!, start! + length!)) };
  }
}

/** Decodes a run's tables; crates/page/src/tables.rs describes the format. */
function readTables(bytes: Uint8Array<ArrayBuffer>): Tables {
  const headerLength = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(decode(bytes.subarray(WORD, WORD + headerLength))) as Record<
    string,
    Placed | [string, Placed | Column][]
  >;
  const columns = Math.ceil((WORD + headerLength) / ALIGNMENT) * ALIGNMENT;
  const placed = ({ type, offset, length }: Placed) =>
    new ARRAYS[type](bytes.buffer, columns + offset, length);
  const tables = new Map<string, Table>();
  for (const [name, table] of Object.entries(header)) {
    if (!Array.isArray(table)) continue;
    tables.set(
      name,
      new Map(
        table.map(([column, values]) => [column, "offset" in values ? placed(values) : values]),
      ),
    );
  }
  const { pcap, figures } = header as Record<string, Placed | undefined>;
  return {
    tables,
    pcap: pcap === undefined ? null : (placed(pcap) as Uint8Array),
    figures: placed(figures!) as Float64Array,
  };
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
