// The simulator's WebAssembly module: crates/page, with strings and typed arrays at its edge.

/** What the module exports; addresses are offsets in its memory. */
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

/** Numbers, `NaN` where undefined, or a list, in which `null` is undefined. */
export type Column =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float64Array
  | (string | number | null)[];

/** A table's columns by their names, in the order of the command line's. */
export type Table = Map<string, Column>;

/** What a run answers: `flows` and `links`, and what its scenario records. */
export interface Tables {
  tables: Map<string, Table>;
  pcap: Uint8Array | null;
  /** What the decision takes of the run. */
  figures: Float64Array;
}

/** What the module refuses, in a sentence: a scenario, a trace, a link. */
export class InputError extends Error {}

/** A panic, or memory that is not there: the instance is gone, a new one goes on. */
export class ModuleError extends Error {}

interface Placed {
  type: keyof typeof ARRAYS;
  offset: number;
  length: number;
}

/** A recorded link, as it was understood. */
export interface Recording {
  understood: string;
  /** Length of one lap. */
  duration_s: number;
}

/** What a scenario is made of; crates/page/src/scenarios.rs describes it. */
export interface Request {
  link: string;
  cell: unknown;
  template: { duration_ns: number; flows: { sender: { algorithm: string } }[] };
  start_jitter_ns: number;
  /** Counted from 0. */
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

/** An instance of the simulator. After a ModuleError it is of no use any more. */
export class Simulator {
  private readonly exports: Exports;

  constructor(module: WebAssembly.Module) {
    this.exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.exports.initialize();
  }

  /** Version and behaviour epoch, as JSON. */
  version(): string {
    return decode(this.call([], () => this.exports.version()));
  }

  /** Keeps a trace's file under the name that scenarios use. */
  addTrace(name: string, content: Uint8Array): void {
    this.call([encode(name), content], (...pairs) =>
      this.exports.add_trace(...(pairs as [number, number, number, number])),
    );
  }

  /** Keeps the file of a preset under its name. */
  addPreset(name: string, text: string): void {
    this.call([encode(name), encode(text)], (...pairs) =>
      this.exports.add_file(...(pairs as [number, number, number, number]), 0),
    );
  }

  /** Keeps the file of a recorded link under the name that links have for it. Throws InputError. */
  addRecording(name: string, content: Uint8Array): Recording {
    const said = this.call([encode(name), content], (...pairs) =>
      this.exports.add_file(...(pairs as [number, number, number, number]), 1),
    );
    return JSON.parse(decode(said)) as Recording;
  }

  /** The scenario that the command line makes of the same, as JSON. Throws InputError. */
  scenario(request: Request): string {
    return decode(
      this.call([encode(JSON.stringify(request))], (...pair) =>
        this.exports.scenario(...(pair as [number, number])),
      ),
    );
  }

  /** Runs a scenario, JSON in its canonical form. Throws InputError or ModuleError. */
  run(scenario: string): Tables {
    return readTables(
      this.call([encode(scenario)], (...pair) => this.exports.run(...(pair as [number, number]))),
    );
  }

  /** The decision over the figures of runs, of each algorithm each repetition's, as JSON. */
  decide(question: string, figures: Float64Array): string {
    const bytes = new Uint8Array(figures.buffer, figures.byteOffset, figures.byteLength);
    return decode(
      this.call([encode(question), bytes], (...pairs) =>
        this.exports.decide(...(pairs as [number, number, number, number])),
      ),
    );
  }

  /** The queue of a link in one line, as JSON. Throws InputError. */
  queue(link: string): string {
    return decode(
      this.call([encode(link)], (...pair) => this.exports.queue(...(pair as [number, number]))),
    );
  }

  /** Calls with the inputs in the module's memory, as address and length each; a copy of the answer. */
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
        throw new ModuleError(this.panicMessage() || "not enough memory, or a stack too deep");
      }
      throw error;
    }
  }

  /** What the panic said; empty if nothing did, or if there is no memory to tell it. */
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

/** A run's tables; crates/page/src/tables.rs describes the bytes. */
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
