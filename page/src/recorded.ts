// Variants of a scenario with other recordings or a shorter duration; the simulated events stay the
// same.

import type { Request } from "./module.ts";

interface Scenario {
  duration_ns: number;
  record: { sample_interval_ns?: number; events: boolean; ack_trace: boolean; pcap?: string };
}

const NS_PER_S = 1e9;

/** Start of the drawn part: a run on a recorded link begins at a random point of the recording. */
export function beginOf(scenario: string, request: Request): number {
  const { duration_ns } = JSON.parse(scenario) as Scenario;
  return (duration_ns - request.template.duration_ns) / NS_PER_S;
}

/** The scenario, ended at a time. */
export function beginningOf(scenario: string, until_s: number): string {
  const document = JSON.parse(scenario) as Scenario;
  const until_ns = Math.round(until_s * NS_PER_S);
  if (until_ns >= document.duration_ns) return scenario;
  return JSON.stringify({ ...document, duration_ns: until_ns });
}

/** The scenario with only its summaries. */
export function summariesOnly(scenario: string): string {
  return JSON.stringify({
    ...(JSON.parse(scenario) as Scenario),
    record: { events: false, ack_trace: false },
  });
}

/** The scenario, ended at a time, with its packets. */
export function packetsOnly(scenario: string, until_s: number): string {
  return JSON.stringify({
    ...(JSON.parse(beginningOf(scenario, until_s)) as Scenario),
    record: { events: false, ack_trace: false, pcap: "packets.pcap" },
  });
}
