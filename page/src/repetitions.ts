// The repetitions behind the decision: one after the other while nothing else is asked, the decision
// again with each.

import { data } from "./data.ts";
import { type Decided, questionOf } from "./decision.ts";
import type { Runner } from "./runner.ts";
import { type Setting, linkLine, requestOf } from "./setting.ts";

/** The decision so far. */
export interface Progress {
  decided: Decided | null;
  /** Repetitions behind it. */
  done: number;
  refusal: string | null;
}

export class Repetitions {
  /** By algorithm the figures of each repetition, counted from 1. */
  private readonly known = new Map<string, Map<number, Float64Array>>();
  private key = "";
  private setting: Setting | null = null;
  /** Counts settings, so that late answers are told from new ones. */
  private turn = 0;
  private decidedOf = 0;

  constructor(
    private readonly runner: Runner,
    private readonly changed: (progress: Progress) => void,
  ) {}

  /** Another setting: what was simulated of the same link stays known. */
  begin(setting: Setting): void {
    const { flows, beside, duration_s, seed } = setting;
    const key = JSON.stringify([linkLine(setting), flows, beside, duration_s, seed]);
    if (key !== this.key) this.known.clear();
    this.key = key;
    this.setting = setting;
    this.turn += 1;
    this.decidedOf = 0;
  }

  /** Keeps what a run that is drawn says, too. */
  keep(algorithm: string, repetition: number, figures: Float64Array): void {
    const own = this.known.get(algorithm) ?? new Map<number, Float64Array>();
    this.known.set(algorithm, own.set(repetition, figures));
  }

  /** Simulates what is missing. */
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

  /** Decides by the repetitions that all algorithms have, up to the first that one lacks. */
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

/** The figures of runs one behind the other, as the module takes them. */
export function joined(runs: Float64Array[]): Float64Array {
  const size = runs[0]!.length;
  const all = new Float64Array(runs.length * size);
  runs.forEach((run, n) => all.set(run, n * size));
  return all;
}
