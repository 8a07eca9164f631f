// Workers that simulate what the page asks last. What is asked while a worker computes waits; a
// later question takes the place of an earlier one that still waits.

import type { Request } from "./module.ts";
import type { Question, Reading, RecordingFile, Reply } from "./worker.ts";

/** A run may take so long before its worker is ended. */
const MOST_MS = 20_000;

interface Slot {
  worker: Worker;
  /** The algorithm whose run is under way. */
  busyWith: string | null;
  number: number;
  timer: number;
}

export class Runner {
  private readonly slots: Slot[];
  private readonly waiting = new Map<string, Request>();
  private readonly recordings = new Map<string, RecordingFile>();
  private readonly readers = new Map<string, (reading: Reading) => void>();
  private number = 0;

  /** `answer` gets each reply with the algorithm that it is for. */
  constructor(
    private readonly startWorker: () => Worker,
    private readonly module: WebAssembly.Module,
    private readonly answer: (algorithm: string, reply: Reply) => void,
    workers: number,
  ) {
    this.slots = Array.from({ length: workers }, () => this.start());
  }

  /** Runs these, and nothing else that still waits. */
  ask(requests: Map<string, Request>): void {
    this.waiting.clear();
    for (const [algorithm, request] of requests) this.waiting.set(algorithm, request);
    this.assign();
  }

  /** Gives a recorded link to all workers; what the first of them understands. */
  read(file: RecordingFile): Promise<Reading> {
    this.recordings.set(file.name, file);
    for (const { worker } of this.slots) worker.postMessage(file);
    return new Promise((done) => this.readers.set(file.name, done));
  }

  /** Whether an answer is still to come. */
  get isBusy(): boolean {
    return this.waiting.size > 0 || this.slots.some(({ busyWith }) => busyWith !== null);
  }

  private assign(): void {
    for (const slot of this.slots) {
      const next = this.waiting.entries().next();
      if (slot.busyWith !== null || next.done) continue;
      const [algorithm, request] = next.value;
      this.waiting.delete(algorithm);
      this.number += 1;
      Object.assign(slot, { busyWith: algorithm, number: this.number });
      slot.timer = setTimeout(() => this.giveUp(slot), MOST_MS) as unknown as number;
      slot.worker.postMessage({ number: this.number, request } satisfies Question);
    }
  }

  private start(): Slot {
    const slot: Slot = { worker: this.startWorker(), busyWith: null, number: 0, timer: 0 };
    this.listen(slot);
    return slot;
  }

  private listen(slot: Slot): void {
    slot.worker.onmessage = ({ data: reply }: MessageEvent<Reply | Reading>) =>
      "name" in reply ? this.take(reply) : this.finish(slot, reply);
    slot.worker.onerror = (event) => {
      event.preventDefault();
      this.restart(slot, `The simulator stopped: ${event.message || "its worker ended"}`);
    };
    slot.worker.postMessage(this.module);
    for (const file of this.recordings.values()) slot.worker.postMessage(file);
  }

  private take(reading: Reading): void {
    if ("refusal" in reading) this.recordings.delete(reading.name);
    this.readers.get(reading.name)?.(reading);
    this.readers.delete(reading.name);
  }

  private finish(slot: Slot, reply: Reply): void {
    if (slot.busyWith === null || reply.number !== slot.number) return;
    const algorithm = slot.busyWith;
    clearTimeout(slot.timer);
    slot.busyWith = null;
    this.answer(algorithm, reply);
    this.assign();
  }

  private giveUp(slot: Slot): void {
    this.restart(slot, `This run takes longer than ${MOST_MS / 1000} s; the command line has time.`);
  }

  private restart(slot: Slot, refusal: string): void {
    slot.worker.terminate();
    slot.worker = this.startWorker();
    this.listen(slot);
    this.finish(slot, { number: slot.number, refusal });
  }
}
