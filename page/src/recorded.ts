// Variants of a scenario that record other tables or end earlier; the simulated events are the
// same.

import type { Request } from "./module.ts";

interface Scenario {
  duration_ns: number;
  record: { sample_interval_ns?: number; events: boolean; ack_trace: boolean; pcap?: string };
}

const NS_PER_S = 1e9;

/**
 * Time at which the drawn part begins, because a run on a recorded link begins at a random point of
 * the recording.
 */
export function beginOf(scenario: string, request: Request): number {
  const { duration_ns } = JSON.parse(scenario) as Scenario;
  return (duration_ns - request.template.duration_ns) / NS_PER_S;
}

/** The scenario with an earlier end. */
export function beginningOf(scenario: string, until_s: number): string {
  const document = JSON.parse(scenario) as Scenario;
  const until_ns = Math.round(until_s * NS_PER_S);
  if (until_ns >= document.duration_ns) return scenario;
  return JSON.stringify({ ...document, duration_ns: until_ns });
}

/** The scenario without tables: it records only the summaries. */
export function summariesOnly(scenario: string): string {
  return JSON.stringify({
    ...(JSON.parse(scenario) as Scenario),
    record: { events: false, ack_trace: false },
  });
}

/** The scenario with an earlier end, which records the packets. */
export function packetsOnly(scenario: string, until_s: number): string {
  return JSON.stringify({
    ...(JSON.parse(beginningOf(scenario, until_s)) as Scenario),
    record: { events: false, ack_trace: false, pcap: "packets.pcap" },
  });
}
