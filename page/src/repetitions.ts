// Runs the repetitions for the decision one after the other while the workers are idle, and updates
// the decision after each.

import { data } from "./data.ts";
import { type Decided, questionOf } from "./decision.ts";
import type { Runner } from "./runner.ts";
import { type Setting, linkLine, requestOf } from "./setting.ts";

/** The decision so far. */
export interface Progress {
  decided: Decided | null;
  /** Number of repetitions that the decision uses so far. */
  done: number;
  refusal: string | null;
}

export class Repetitions {
  /** For each algorithm, the values of each repetition, by the number of the repetition from 1. */
  private readonly known = new Map<string, Map<number, Float64Array>>();
  private key = "";
  private setting: Setting | null = null;
  /** Number of the setting, so that late replies can be recognized. */
  private turn = 0;
  private decidedOf = 0;

  constructor(
    private readonly runner: Runner,
    private readonly changed: (progress: Progress) => void,
  ) {}

  /** Starts another setting; keeps the results of runs on the same link. */
  begin(setting: Setting): void {
    const { flows, beside, duration_s, seed } = setting;
    const key = JSON.stringify([linkLine(setting), flows, beside, duration_s, seed]);
    if (key !== this.key) this.known.clear();
    this.key = key;
    this.setting = setting;
    this.turn += 1;
    this.decidedOf = 0;
  }

  /** Also stores the values of a run that was made for drawing. */
  keep(algorithm: string, repetition: number, figures: Float64Array): void {
    const own = this.known.get(algorithm) ?? new Map<number, Float64Array>();
    this.known.set(algorithm, own.set(repetition, figures));
  }

  /** Simulates the missing repetitions. */
  go(): void {
    const { setting, turn } = this;
    if (setting === null) return;
    this.decide();
    for (let repetition = 1; repetition <= setting.repetitions; repetition += 1) {
      for (const algorithm of setting.algorithms) {
        if (this.known.get(algorithm)?.has(repetition)) continue;
        const request = requestOf(setting, algorithm, repetition);
        this.runner.ask({ kind: "figures", request }, false, (reply) => {
          if (turn !== this.turn) return;
          if ("refusal" in reply) {
            this.changed({ decided: null, done: 0, refusal: reply.refusal });
            return;
          }
          this.keep(algorithm, repetition, reply.figures);
          this.decide();
        });
      }
    }
  }

  /** Decides from the consecutive repetitions that exist for all algorithms. */
  private decide(): void {
    const { setting, turn } = this;
    if (setting === null) return;
    const has = (repetition: number) =>
      setting.algorithms.every((name) => this.known.get(name)?.has(repetition));
    let done = 0;
    while (done < setting.repetitions && has(done + 1)) done += 1;
    if (done <= this.decidedOf) return;
    this.decidedOf = done;
    const runs = setting.algorithms.flatMap((name) =>
      Array.from({ length: done }, (_, n) => this.known.get(name)!.get(n + 1)!),
    );
    const figures = joined(runs);
    const goal = data.goals.find(({ name }) => name === setting.goal)!;
    const question = questionOf(setting.algorithms, goal);
    this.runner.ask({ kind: "decide", question, figures }, true, (reply) => {
      if (turn !== this.turn || done < this.decidedOf) return;
      if ("refusal" in reply) this.changed({ decided: null, done, refusal: reply.refusal });
      else this.changed({ decided: reply.decided, done, refusal: null });
    });
  }
}

/** Concatenates the values of runs in the format of the WebAssembly module. */
export function joined(runs: Float64Array[]): Float64Array {
  const size = runs[0]!.length;
  const all = new Float64Array(runs.length * size);
  runs.forEach((run, n) => all.set(run, n * size));
  return all;
}
