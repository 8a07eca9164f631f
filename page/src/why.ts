// Explains an event in words: which packet, what the queue held, what the algorithm did, and the
// source.

import { shown } from "./charts.ts";
import type { Algorithm } from "./data.ts";
import { type Happening, type Happenings, isExit, isLoss, isReduction, lowerBound } from "./happenings.ts";
import type { Packets } from "./packets.ts";
import { phaseSentence } from "./phases.ts";
import type { QueueSize } from "./sentences.ts";

export interface Explanation {
  title: string;
  sentences: string[];
  source: string;
}

/** Further facts about an event. */
export interface Known {
  algorithm: Algorithm;
  queue: QueueSize | null;
  packets: Packets | null;
  happenings: Happenings;
}

interface Words {
  /** Returns the title, which contains the number of packets. */
  title: (happening: Happening) => string;
  cause: string;
  source: string;
}

const packets = (count: number) => (count === 1 ? "a packet" : `${count.toLocaleString("en")} packets`);
const lost = (what: string) => ({ count }: Happening) => `${packets(count)} ${what}`;

const WORDS: Record<string, Words> = {
  queue_overflow: {
    title: lost("found the queue full"),
    cause: "A full drop-tail queue drops every arriving packet, whatever its flow.",
    source: "RFC 7567, section 2",
  },
  link_loss: {
    title: lost("lost on the link"),
    cause: "The link loses packets at random, regardless of the queue. Such a loss is not a sign of congestion, but the sender cannot know this.",
    source: "RFC 3155, section 1",
  },
  link_outage_drop: {
    title: lost("lost in an outage"),
    cause: "Packets that arrive during an outage of the link are lost.",
    source: "RFC 3819, section 8",
  },
  aqm_drop: {
    title: lost("dropped by active queue management"),
    cause: "The queue drops packets before it is full, because its delay has been above the target for too long.",
    source: "RFC 8289, section 4 (CoDel); RFC 8033, section 4 (PIE)",
  },
  policed: {
    title: lost("dropped by the policer"),
    cause: "The policer drops packets that exceed its rate and its burst.",
    source: "RFC 2697, section 3",
  },
  expired: {
    title: lost("waited for too long"),
    cause: "The link drops packets that have waited longer than its limit.",
    source: "3GPP TS 36.323, section 5.4 (discard timer)",
  },
  too_long: {
    title: lost("too long for the link"),
    cause: "The link cannot send packets of this length.",
    source: "RFC 8200, section 5",
  },
  ecn_mark: {
    title: lost("marked instead of dropped"),
    cause: "The queue marks packets \"congestion experienced\" (CE), and the receiver reports the marks to the sender.",
    source: "RFC 3168, section 6.1",
  },
  recovery: {
    title: () => "Fast recovery",
    cause: "SACK blocks beyond a gap show that packets are lost. The sender retransmits them at once; the algorithm decides the size of the window.",
    source: "RFC 6675, section 5; RFC 8985, section 6 (RACK); RFC 6937 (PRR)",
  },
  timeout: {
    title: ({ value }) => (value > 1 ? `Timeout, the ${ordinal(value)} in a row` : "Timeout"),
    cause: "No data were acknowledged for a whole retransmission timeout. All packets in flight count as lost, the window is reduced to one packet, and slow start begins again.",
    source: "RFC 6298, section 5; RFC 5681, section 3.1",
  },
  undo: {
    title: () => "Window reduction undone",
    cause: "Timestamps or a duplicate SACK show that the retransmitted packets had not been lost. The window is restored to its size before the reduction.",
    source: "RFC 3522, section 3; RFC 4015, section 3",
  },
  tail_loss_probe: {
    title: () => "Tail loss probe",
    cause: "No ACK has arrived for two round trips, and no later packet can show whether the last packet is lost. The sender therefore sends a packet that causes an ACK.",
    source: "RFC 8985, section 7",
  },
  cwr: {
    title: () => "Window reduced without a loss",
    cause: "A congestion mark, or a full queue in the sender's host, reduces the window like a loss, once per round trip.",
    source: "RFC 3168, section 6.1.2",
  },
  host_refused: {
    title: lost("refused by the sender's network device"),
    cause: "The queueing discipline of the sender's host was full; Linux treats this as congestion.",
    source: "docs/explanation/hosts.md",
  },
  established: {
    title: () => "Connection established",
    cause: "The handshake is complete; slow start begins with ten packets.",
    source: "RFC 9293, section 3.5; RFC 6928, section 2",
  },
  outage_began: { title: () => "Outage", cause: "The link stops carrying packets, because of a handover or an outage in the link's settings.", source: "3GPP TS 36.300, section 10.1.2 (handover)" },
  outage_ended: { title: () => "End of the outage", cause: "The link carries packets again.", source: "3GPP TS 36.300, section 10.1.2 (handover)" },
  rate_changed: { title: () => "The link's rate changed", cause: "The schedule in the link's settings contains this change.", source: "settings of the link" },
  delay_changed: { title: () => "The link's delay changed", cause: "The schedule in the link's settings contains this change.", source: "settings of the link" },
  loss_changed: { title: () => "The link's loss changed", cause: "The schedule in the link's settings contains this change.", source: "settings of the link" },
};

export function titleOf(happening: Happening): string {
  const { kind, phases } = happening;
  if (phases !== null) {
    return isExit(happening) ? `Exit of ${words(phases[0])}` : `${words(phases[0])} → ${words(phases[1])}`;
  }
  const title = WORDS[kind]?.title(happening) ?? kind.replaceAll("_", " ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** Formats an ordinal number: 2nd, 3rd, 4th … */
function ordinal(value: number): string {
  const isTeen = value % 100 > 10 && value % 100 < 14;
  return `${value}${isTeen ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th")}`;
}

const words = (phase: string) => phase.replaceAll("_", " ");

export function explain(happening: Happening, known: Known): Explanation {
  const { kind, before, phases } = happening;
  const { algorithm } = known;
  const sentences: string[] = [];
  let source = WORDS[kind]?.source ?? "";
  if (phases !== null) {
    sentences.push(...phaseSentences(happening, known));
    source = isExit(happening)
      ? `RFC 5681, section 3.1; ${algorithm.name}: ${algorithm.summary}`
      : `${algorithm.name}: ${algorithm.summary}`;
  } else if (WORDS[kind] !== undefined) {
    sentences.push(WORDS[kind].cause);
  }
  if (isLoss(kind)) sentences.push(...packetSentences(happening, known));
  if (kind === "queue_overflow" && known.queue !== null) {
    sentences.push(`The queue was full: it held ${packets(known.queue.packets)}.`);
  }
  if (before !== null && !Number.isNaN(before.queue_pkts)) {
    const most = known.queue === null ? "" : ` of at most ${known.queue.packets.toLocaleString("en")}`;
    const rtt = Number.isNaN(before.rtt_ms) ? "" : `, and a round trip took ${shown(before.rtt_ms)} ms`;
    const earlier = ago(happening.t_s - before.t_s);
    sentences.push(`${earlier}, the queue held ${packets(before.queue_pkts)}${most}${rtt}.`);
  }
  sentences.push(...(isLoss(kind) ? reactionSentences(happening, known) : windowSentences(happening, algorithm)));
  if (isReduction(kind)) source += `; ${algorithm.name}: ${algorithm.summary}`;
  return { title: titleOf(happening), sentences, source };
}

function ago(seconds: number): string {
  return seconds < 0.0005 ? "At that moment" : `${Math.round(1000 * seconds)} ms before`;
}

/** Describes the sender's change of window between the samples around an event. */
function windowSentences({ kind, before, after }: Happening, algorithm: Algorithm): string[] {
  const found: string[] = [];
  if (isReduction(kind) && algorithm.decrease !== "") {
    found.push(`Effect of a loss on the window of ${algorithm.name}: ${algorithm.decrease}.`);
  }
  if (before === null || after === null) return found;
  const span = `${before.t_s.toFixed(1)} s to ${after.t_s.toFixed(1)} s`;
  const threshold = Number.isNaN(after.ssthresh_pkts)
    ? ""
    : `; the slow start threshold is ${packets(after.ssthresh_pkts)}`;
  found.push(
    before.cwnd_pkts === after.cwnd_pkts
      ? `From ${span}, the window stayed at ${packets(after.cwnd_pkts)}${threshold}.`
      : `From ${span}, the window went from ${before.cwnd_pkts.toLocaleString("en")} to ${packets(after.cwnd_pkts)}${threshold}.`,
  );
  return found;
}

/** Describes the sender's reaction to a loss. */
function reactionSentences({ flow, t_s, until_s }: Happening, { algorithm, happenings }: Known): string[] {
  const own = happenings.list.filter((each) => each.flow === flow && isReduction(each.kind));
  const next = own.find((each) => each.t_s >= t_s && each.t_s < until_s + LATEST_REACTION_S);
  if (next === undefined) return ["The sender did not reduce its window because of this."];
  const what = titleOf(next).toLowerCase();
  return [
    `The sender noticed this ${milliseconds(next.t_s - t_s)} ms after the first packet (${what} at ${next.t_s.toFixed(2)} s).`,
    ...windowSentences(next, algorithm),
  ];
}

function phaseSentences(happening: Happening, { algorithm, happenings }: Known): string[] {
  const [from, to] = happening.phases!;
  const begins = phaseSentence(algorithm.name, to);
  if (!isExit(happening)) {
    return [begins || `${algorithm.name} changes from the phase "${words(from)}" to the phase "${words(to)}". Growth of its window: ${algorithm.increase}.`];
  }
  if (from === "startup") return [phaseSentence(algorithm.name, from), begins];
  return [
    "Up to this time, the window doubled in each round trip.",
    exitCause(happening, happenings),
    begins || `From now on, it grows differently: ${algorithm.increase}.`,
  ];
}

/**
 * The cause of the end of slow start: a reduction at that moment, the threshold of an earlier one,
 * or neither.
 */
function exitCause({ flow, t_s }: Happening, { list }: Happenings): string {
  const before = list.filter((each) => each.flow === flow && each.t_s <= t_s + EQUAL_S && isReduction(each.kind));
  const last = before.at(-1);
  if (last === undefined) {
    return "No packet was lost. The algorithm itself ended slow start, because the round-trip time had increased (HyStart, Computer Networks 55(9), 2011).";
  }
  const isNow = t_s - last.t_s < 1e-3;
  return isNow
    ? `Slow start ended with a reduction of the window (${titleOf(last).toLowerCase()}).`
    : `The window has reached the threshold that was set at ${last.t_s.toFixed(2)} s (${titleOf(last).toLowerCase()}).`;
}

const milliseconds = (seconds: number) => shown(1000 * seconds);

/**
 * Names the packets that were lost, if the capture identifies them with certainty, and the times
 * of their retransmissions.
 */
function packetSentences(happening: Happening, known: Known): string[] {
  if (known.packets === null) return [];
  const rows = droppedRows(happening, known.packets, known.happenings);
  if (rows.length === 0) return [];
  const { number, flow, sent_s, until_s } = known.packets;
  const row = rows[0]!;
  const first = number[row]!;
  let again = row + 1;
  while (again < number.length && !(number[again] === first && flow[again] === flow[row])) again += 1;
  const which = rows.length === 1 ? `It was packet ${first.toLocaleString("en")}` : `The first of them was packet ${first.toLocaleString("en")}`;
  const fate =
    again < number.length
      ? `it was retransmitted ${shown(1000 * (sent_s[again]! - sent_s[row]!))} ms later`
      : `it was not retransmitted by ${until_s.toFixed(1)} s`;
  return [`${which} of flow ${flow[row]! + 1}, sent at ${sent_s[row]!.toFixed(4)} s; ${fate}.`];
}

const EQUAL_S = 2e-7;
/** A reduction that follows the loss by more than this has another cause. */
const LATEST_REACTION_S = 3;
const MOST_TRIED = 400;

/**
 * The rows of the packets that a queue dropped. All packets need the same time from the
 * sender to the queue, so the time from sending to loss must be the same for every loss; the result
 * is empty if no time fits all losses.
 */
function droppedRows({ kind, flow, t_s, until_s }: Happening, packets: Packets, all: Happenings): number[] {
  if (kind !== "queue_overflow") return [];
  const { sent_s } = packets;
  const at = (time_s: number) => lowerBound(sent_s.length, (row) => sent_s[row]! >= time_s - EQUAL_S);
  const isThere = (time_s: number) => sent_s[at(time_s)]! <= time_s + EQUAL_S;
  const drops = Array.from(all.drops_s).filter((time, n) => all.dropFlows[n] === flow && time < packets.until_s);
  const own = drops.filter((time) => time >= t_s && time <= until_s);
  const first = own[0];
  if (first === undefined) return [];
  const last = at(first);
  for (let row = last; row >= 0 && row > last - MOST_TRIED; row -= 1) {
    const apart_s = first - (sent_s[row] ?? Infinity);
    if (apart_s < -EQUAL_S || !drops.slice(0, MOST_TRIED).every((time) => isThere(time - apart_s))) continue;
    const rows: number[] = [];
    for (const time of new Set(own)) {
      // Of packets that arrived at the same time, the last ones found no room.
      const count = own.filter((other) => other === time).length;
      let end = at(time - apart_s);
      while (end < sent_s.length && sent_s[end]! <= time - apart_s + EQUAL_S) end += 1;
      for (let each = end - count; each < end; each += 1) if (packets.flow[each] === flow) rows.push(each);
    }
    return rows;
  }
  return [];
}
