// Workers that execute the page's tasks, each one at a time. Urgent tasks precede all waiting tasks
// that are not urgent; a running task is finished first.

import type { Reading, RecordingFile, Replies, Reply, Task } from "./worker.ts";

/** Maximum time that a task may take before its worker is terminated. */
const MOST_MS = 20_000;
/**
 * An obsolete task is terminated if it has run for longer than this, or if the last task that was
 * not urgent took longer.
 */
const PATIENCE_MS = 60;

interface Job {
  task: Task;
  isUrgent: boolean;
  done: (reply: Reply) => void;
}

interface Slot {
  worker: Worker;
  /** The running task. */
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
  /** Duration of the last task that was not urgent. */
  private took_ms = 0;

  constructor(
    private readonly startWorker: () => Worker,
    private readonly module: WebAssembly.Module,
    workers: number,
    private readonly mostMs = MOST_MS,
  ) {
    this.slots = Array.from({ length: workers }, () => this.start());
  }

  /** Discards waiting tasks, and running tasks that are neither urgent nor short. */
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

  /** Queues a task; urgent tasks precede all tasks that are not urgent. */
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

  /**
   * Sends a recorded link to all workers; resolves to the first worker's description of the link.
   */
  read(file: RecordingFile): Promise<Reading> {
    this.recordings.set(file.name, file);
    for (const { worker } of this.slots) worker.postMessage(file);
    return new Promise((done) => this.readers.set(file.name, done));
  }

  /** Whether an urgent task has not been answered yet. */
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
    this.restart(slot, `This run takes longer than ${seconds} s, which is the limit of the page; use the command line instead.`);
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
