// Workers that do what the page wants, each one task at a time. What is urgent takes the place of all
// that still waits; what is under way is finished.

import type { Reading, RecordingFile, Replies, Reply, Task } from "./worker.ts";

/** A task may take so long before its worker is ended. */
const MOST_MS = 20_000;
/** A task that nobody waits for any more is ended where it, or the one before it, took longer than this. */
const PATIENCE_MS = 60;

interface Job {
  task: Task;
  isUrgent: boolean;
  done: (reply: Reply) => void;
}

interface Slot {
  worker: Worker;
  /** What is under way. */
  job: Job | null;
  number: number;
  timer: number;
  began_ms: number;
}

export class Runner {
  private readonly slots: Slot[];
  private waiting: Job[] = [];
  private readonly recordings = new Map<string, RecordingFile>();
  private readonly readers = new Map<string, (reading: Reading) => void>();
  private number = 0;
  /** How long the last task that was not urgent took. */
  private took_ms = 0;

  constructor(
    private readonly startWorker: () => Worker,
    private readonly module: WebAssembly.Module,
    workers: number,
    private readonly mostMs = MOST_MS,
  ) {
    this.slots = Array.from({ length: workers }, () => this.start());
  }

  /** Forgets what waits, and what is under way if it is not urgent and takes long. */
  clear(): void {
    this.waiting = [];
    for (const slot of this.slots) {
      if (slot.job === null || slot.job.isUrgent) continue;
      if (Math.max(this.took_ms, performance.now() - slot.began_ms) < PATIENCE_MS) continue;
      clearTimeout(slot.timer);
      slot.job = null;
      this.renew(slot);
    }
  }

  /** Does a task before all that is not urgent. */
  ask<K extends Task["kind"]>(
    task: Extract<Task, { kind: K }>,
    isUrgent: boolean,
    done: (reply: Replies[K]) => void,
  ): void {
    const job: Job = { task, isUrgent, done: done as (reply: Reply) => void };
    const at = isUrgent ? this.waiting.findIndex((other) => !other.isUrgent) : -1;
    this.waiting.splice(at < 0 ? this.waiting.length : at, 0, job);
    this.assign();
  }

  /** Gives a recorded link to all workers; what the first of them understands. */
  read(file: RecordingFile): Promise<Reading> {
    this.recordings.set(file.name, file);
    for (const { worker } of this.slots) worker.postMessage(file);
    return new Promise((done) => this.readers.set(file.name, done));
  }

  /** Whether an urgent answer is still to come. */
  get isBusy(): boolean {
    return this.waiting.some(isUrgent) || this.slots.some(({ job }) => job !== null && isUrgent(job));
  }

  private assign(): void {
    for (const slot of this.slots) {
      if (slot.job !== null) continue;
      const job = this.waiting.shift();
      if (job === undefined) return;
      this.number += 1;
      Object.assign(slot, { job, number: this.number, began_ms: performance.now() });
      slot.timer = setTimeout(() => this.giveUp(slot), this.mostMs) as unknown as number;
      slot.worker.postMessage({ number: this.number, task: job.task });
    }
  }

  private start(): Slot {
    const slot: Slot = { worker: this.startWorker(), job: null, number: 0, timer: 0, began_ms: 0 };
    this.listen(slot);
    return slot;
  }

  private listen(slot: Slot): void {
    slot.worker.onmessage = ({ data: reply }: MessageEvent<{ number: number; reply: Reply } | Reading>) =>
      "name" in reply ? this.take(reply) : this.finish(slot, reply.number, reply.reply);
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

  private finish(slot: Slot, number: number, reply: Reply): void {
    if (slot.job === null || number !== slot.number) return;
    const { done, isUrgent } = slot.job;
    if (!isUrgent) this.took_ms = performance.now() - slot.began_ms;
    clearTimeout(slot.timer);
    slot.job = null;
    this.assign();
    done(reply);
  }

  private giveUp(slot: Slot): void {
    const seconds = this.mostMs / 1000;
    this.restart(slot, `This run takes longer than ${seconds} s; the command line has time.`);
  }

  private restart(slot: Slot, refusal: string): void {
    this.renew(slot);
    this.finish(slot, slot.number, { refusal });
  }

  private renew(slot: Slot): void {
    slot.worker.terminate();
    slot.worker = this.startWorker();
    this.listen(slot);
  }
}

function isUrgent(job: Job): boolean {
  return job.isUrgent;
}
