// The decision over repetitions, in the form of `cwndlab compare --format json`.

import { type Goal, type Reality, data } from "./data.ts";

/** The module's decision about runs: crates/page/src/decision.rs. */
export interface Decided {
  best: string[];
  /** The algorithms that may well be the best, including those in `best`. */
  candidates: string[];
  /** Whether no data arrived with any algorithm. */
  is_idle: boolean;
  pairs: number;
  repeatable: number | null;
  same_set: number | null;
  good_selection: number | null;
  baseline: string | null;
  changes: Record<ChangedColumn, Bounds | null> | null;
  algorithms: Entrant[];
}

export type ChangedColumn = "goodput_mbit_s" | "rtt_p95_ms";

export interface Bounds {
  estimate: number;
  low: number | null;
  high: number | null;
}

export interface Entrant {
  algorithm: string;
  score: number;
  low: number | null;
  high: number | null;
  behind: number;
  is_good: boolean;
  /** Lowest and highest price of delay; the highest is null if there is no upper bound. */
  prices_of_delay: [number, number | null] | null;
  is_undominated: boolean;
}

/** The question to the module about runs of these algorithms. */
export function questionOf(algorithms: string[], goal: Goal): string {
  return JSON.stringify({ algorithms, baseline: data.baseline, price: goal.price, ...data.rule });
}

/** The record of advice for a scenario's class of networks; null if there is none. */
export function realityOf(scenario: string): Reality | null {
  const { path } = JSON.parse(scenario) as { path: Path };
  return data.reality[classOf(path)] ?? null;
}

interface Stage {
  rate?: { kind: string };
}

interface Path {
  kind: string;
  radio?: { kind: string };
  forward?: Stage[];
  reverse?: Stage[];
}

/** The class of a path: a cell's radio technology, or `trace` for a wire whose rate varies. */
function classOf({ kind, radio, forward = [], reverse = [] }: Path): string {
  if (kind !== "wire") {
    return (kind === "cell" ? radio?.kind : undefined) ?? kind;
  }
  const isSteady = [...forward, ...reverse].every(
    ({ rate }) => rate === undefined || rate.kind === "fixed" || rate.kind === "unlimited",
  );
  return isSteady ? "wire" : "trace";
}

const NAMES: Record<ChangedColumn, string> = { goodput_mbit_s: "throughput", rtt_p95_ms: "delay" };

/** Like `decision` of the command; the page tries no other networks and no mixes. */
export function asJson(decided: Decided, goal: Goal, reality: Reality | null): object {
  const { best, candidates, pairs, baseline, changes, algorithms } = decided;
  const { repeatable, same_set, good_selection } = decided;
  const known = Object.entries(changes ?? {}).filter(([, change]) => change !== null);
  const named = known.map(([column, change]) => [NAMES[column as ChangedColumn], change]);
  return {
    goal: goal.name,
    setting: "",
    best,
    candidates,
    sure: null,
    repeatable,
    same_set,
    good_selection,
    robust: null,
    is_explained: true,
    reality: reality?.record ?? null,
    baseline: baseline === null ? null : {
      algorithm: baseline,
      change: named.length > 0 ? Object.fromEntries(named) : null,
      host: data.host,
    },
    pairs,
    unpaired: [],
    zone: data.rule.zone,
    price_of_delay: goal.price,
    coexistence: [],
    population: null,
    networks: null,
    algorithms,
  };
}
