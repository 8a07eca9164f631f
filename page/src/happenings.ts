// Events of a run: losses grouped into bursts, and each event with the state of the sender and the
// queue before and after it.

import { numbers } from "./curves.ts";
import type { Tables } from "./module.ts";

/** The state of a flow in a row of samples. */
export interface State {
  t_s: number;
  cwnd_pkts: number;
  ssthresh_pkts: number;
  rtt_ms: number;
  queue_pkts: number;
}

export interface Happening {
  t_s: number;
  /** Time of the last event of a burst. */
  until_s: number;
  /** The name of the event in results. */
  kind: string;
  /** The flow's number; null if the event concerns all flows. */
  flow: number | null;
  count: number;
  /** The number that belongs to the event; NaN if there is none. */
  value: number;
  /** For a change of phase, the old and the new phase. */
  phases: [string, string] | null;
  before: State | null;
  after: State | null;
}

export interface Happenings {
  list: Happening[];
  /** Number of later events that are not in the list. */
  leftOut: number;
  /** Times of all lost packets. */
  drops_s: Float64Array;
  /** The flow of each lost packet. */
  dropFlows: Uint16Array;
}

const DROPS = new Set([
  "queue_overflow", "link_loss", "link_outage_drop", "aqm_drop", "too_long", "expired", "policed",
]);
const BURSTS = new Set([...DROPS, "ecn_mark", "ack_filtered", "rate_changed", "host_refused"]);
const UNTOLD = new Set(["open", "disorder", "loss", "peer_finished"]);
const SLOW_START = new Set(["slow_start", "startup"]);
/** Maximum time between two losses of the same burst. */
const BURST_S = 0.1;
const MOST = 5000;
const MOST_PHASES = 120;
const MOST_DROPS = 50_000;

export function isLoss(kind: string): boolean {
  return DROPS.has(kind);
}

/** Whether the sender reduces its window at an event of this kind. */
export function isReduction(kind: string): boolean {
  return kind === "recovery" || kind === "timeout" || kind === "cwr";
}

export function isExit({ phases }: Happening): boolean {
  return phases !== null && SLOW_START.has(phases[0]) && !SLOW_START.has(phases[1]);
}

/** Events of a run that began at `begin_s`; `namesOf` returns the phases of a flow's algorithm. */
export function happeningsOf({ tables }: Tables, namesOf: (flow: number) => string[], begin_s: number): Happenings {
  const events = tables.get("events")!;
  const times = numbers(events, "t_s");
  const flows = numbers(events, "flow");
  const values = numbers(events, "value");
  const kinds = events.get("event") as string[];
  const states = new States(tables, begin_s);
  const found: Happening[] = [];
  const open = new Map<string, Happening>();
  const phaseOf = new Map<number, string>();
  const drops: number[] = [];
  const dropFlows: number[] = [];
  let phaseCount = 0;
  let leftOut = 0;
  kinds.forEach((kind, n) => {
    if (UNTOLD.has(kind)) return;
    const t_s = times[n]! - begin_s;
    const flow = Number.isNaN(flows[n]!) ? null : flows[n]!;
    if (DROPS.has(kind) && drops.length < MOST_DROPS) {
      drops.push(t_s);
      dropFlows.push(flow ?? 0);
    }
    const burst = open.get(`${kind} ${flow}`);
    if (BURSTS.has(kind) && burst !== undefined && t_s - burst.until_s < BURST_S) {
      burst.until_s = t_s;
      burst.count += 1;
      return;
    }
    let phases: Happening["phases"] = null;
    if (kind === "phase") {
      const names = namesOf(flow ?? 0);
      const last = phaseOf.get(flow ?? 0) ?? names[0] ?? "none";
      const next = names[values[n]!] ?? String(values[n]);
      phaseOf.set(flow ?? 0, next);
      phases = [last, next];
      if (last === "none" || last === next) return;
      if (!SLOW_START.has(last) && (phaseCount += 1) > MOST_PHASES) {
        leftOut += 1;
        return;
      }
    }
    if (found.length >= MOST) {
      leftOut += 1;
      return;
    }
    const happening: Happening = {
      t_s, until_s: t_s, kind, flow, count: 1, value: values[n]!, phases, before: null, after: null,
    };
    found.push(happening);
    open.set(`${kind} ${flow}`, happening);
  });
  for (const each of found) {
    each.before = states.before(each.flow ?? 0, each.t_s);
    each.after = states.after(each.flow ?? 0, each.until_s);
  }
  return {
    list: found,
    leftOut,
    drops_s: Float64Array.from(drops),
    dropFlows: Uint16Array.from(dropFlows),
  };
}

/** The samples of each flow, in order of time. */
class States {
  private readonly rows = new Map<number, number[]>();
  private readonly columns: Record<Exclude<keyof State, "t_s">, Float64Array>;
  private readonly times: Float64Array;

  constructor(tables: Tables["tables"], begin_s: number) {
    const samples = tables.get("samples")!;
    this.times = numbers(samples, "t_s").map((time) => time - begin_s);
    this.columns = {
      cwnd_pkts: numbers(samples, "cwnd_pkts"),
      ssthresh_pkts: numbers(samples, "ssthresh_pkts"),
      rtt_ms: numbers(samples, "rtt_ms"),
      queue_pkts: numbers(samples, "queue_pkts"),
    };
    numbers(samples, "flow").forEach((flow, row) => {
      const rows = this.rows.get(flow);
      if (rows === undefined) this.rows.set(flow, [row]);
      else rows.push(row);
    });
  }

  before(flow: number, t_s: number): State | null {
    return this.at(flow, (rows) => lowerBound(rows.length, (n) => this.times[rows[n]!]! > t_s) - 1);
  }

  after(flow: number, t_s: number): State | null {
    return this.at(flow, (rows) => lowerBound(rows.length, (n) => this.times[rows[n]!]! > t_s));
  }

  private at(flow: number, place: (rows: number[]) => number): State | null {
    const rows = this.rows.get(flow) ?? [];
    const row = rows[place(rows)];
    if (row === undefined) return null;
    const { cwnd_pkts, ssthresh_pkts, rtt_ms, queue_pkts } = this.columns;
    return {
      t_s: this.times[row]!,
      cwnd_pkts: cwnd_pkts[row]!,
      ssthresh_pkts: ssthresh_pkts[row]!,
      rtt_ms: rtt_ms[row]!,
      queue_pkts: queue_pkts[row]!,
    };
  }
}

/** The lowest of `count` indices from which `holds` is always true; `count` if there is none. */
export function lowerBound(count: number, holds: (place: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
