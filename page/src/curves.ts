// Converts a run's tables to curves over time, summed or averaged over its flows.

import type { Column, Table, Tables } from "./module.ts";

export interface Curves {
  t_s: Float64Array;
  goodput_mbit_s: Float64Array;
  rtt_ms: Float64Array;
  cwnd_pkts: Float64Array;
  queue_pkts: Float64Array;
}

/** Results over all flows of a run; NaN if undefined. */
export interface Figures {
  goodput_mbit_s: number;
  rtt_mean_ms: number;
  rtt_p95_ms: number;
  rtt_base_ms: number;
  retransmitted_pct: number;
  timeouts: number;
}

/** A range of flow numbers; `to` is exclusive. */
export interface Range {
  from: number;
  to: number;
}

/** The curves of some flows of a run that began at `begin_s`, from samples at regular intervals. */
export function curvesOf({ tables }: Tables, begin_s: number, { from, to }: Range): Curves {
  const samples = tables.get("samples")!;
  const times = numbers(samples, "t_s");
  const flows = numbers(samples, "flow");
  const rows = new Map<number, number>();
  for (const time of times) if (!rows.has(time)) rows.set(time, rows.size);
  const own = (name: string, combine: "sum" | "mean" | "last") => {
    const result = new Float64Array(rows.size).fill(NaN);
    const counts = new Uint32Array(rows.size);
    numbers(samples, name).forEach((value, n) => {
      if (Number.isNaN(value) || flows[n]! < from || flows[n]! >= to) return;
      const row = rows.get(times[n]!)!;
      const count = ++counts[row]!;
      const before = count === 1 ? 0 : result[row]!;
      if (combine === "last") result[row] = value;
      else result[row] = combine === "sum" ? before + value : before + (value - before) / count;
    });
    return result;
  };
  return {
    t_s: Float64Array.from(rows.keys(), (time) => time - begin_s),
    goodput_mbit_s: own("goodput_mbit_s", "sum"),
    rtt_ms: own("rtt_ms", "mean"),
    cwnd_pkts: own("cwnd_pkts", "sum"),
    queue_pkts: own("queue_pkts", "last"),
  };
}

/**
 * The results of some flows of a run: the mean RTT over the flows, and the share of
 * retransmissions.
 */
export function figuresOf({ tables }: Tables, { from, to }: Range): Figures {
  const flows = tables.get("flows")!;
  const all = (name: string) => numbers(flows, name).slice(from, to);
  const sum = (name: string) => all(name).reduce((total, value) => total + value, 0);
  const mean = (name: string) => sum(name) / all(name).length;
  return {
    goodput_mbit_s: sum("goodput_mbit_s"),
    rtt_mean_ms: mean("rtt_mean_ms"),
    rtt_p95_ms: mean("rtt_p95_ms"),
    rtt_base_ms: Math.min(...all("rtt_base_ms")),
    retransmitted_pct: (100 * sum("retransmitted_pkts")) / sum("sent_pkts"),
    timeouts: sum("timeouts"),
  };
}

/** A column as numbers, NaN where undefined. */
export function numbers(table: Table, name: string): Float64Array {
  const column: Column | undefined = table.get(name);
  if (column === undefined) throw new Error(`the simulator did not return the column ${name}`);
  return Float64Array.from(column as ArrayLike<unknown>, (value) =>
    value === null ? NaN : Number(value),
  );
}
