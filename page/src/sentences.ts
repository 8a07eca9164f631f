// The decision in words: the command line's templates (python/cwndlab/judge/templates.py, passed in
// data.json), filled in like python/cwndlab/judge/sentences.py does.

import { type Goal, type Reality, data } from "./data.ts";
import type { Bounds, ChangedColumn, Decided, Entrant } from "./decision.ts";
import { joinWords, percent, probability, signedPercent, twoDigits, wholePercent } from "./wording.ts";

/** The queue of the narrowest wire: crates/page/src/queues.rs. */
export interface QueueSize {
  packets: number;
  bdp: number;
  rate: string;
  rtt: string;
  is_trace: boolean;
  is_default: boolean;
}

/** One of the three lines that state how certain the answer is. */
export interface Line {
  name: string;
  /** A probability in words, or a dash if it is unknown. */
  value: string;
  /** The probability as a number; null if unknown. */
  share: number | null;
  meaning: string;
}

function say(template: string, values: Record<string, string | number> = {}): string {
  const text = data.sentences[template];
  if (text === undefined) throw new Error(`no sentence "${template}"`);
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}

/** The answer as one sentence. */
export function headline(decided: Decided, goal: Goal): string {
  const { best, algorithms } = decided;
  if (decided.is_idle) return say("idle", { goal: goal.title });
  if (best.length === 0) return say("not measured", { goal: goal.title, missing: goal.missing });
  if (algorithms.length === 1) return say("alone", { goal: goal.title, name: best[0]! });
  const values = {
    goal: goal.title,
    names: joinWords(best, "or"),
    beside: "",
    how_sure: howSure(decided),
  };
  if (best.length === 1) return say("one", values);
  return say(best.length === algorithms.length ? "all" : "several", values);
}

function howSure({ best, pairs, repeatable }: Decided): string {
  if (pairs === 0) return say("nothing random");
  if (repeatable === null) return say("too few", { runs: runsOf(pairs) });
  if (repeatable >= data.rule.sure) return say("this link only");
  const share = probability(repeatable);
  return say("not sure", { sure: share, weakest: say("not repeatable", { name: best[0]!, share }) });
}

function runsOf(pairs: number): string {
  if (pairs === 0) return "identical runs";
  return pairs === 1 ? "one run" : `${pairs} repetitions`;
}

/** The sentences after the headline. */
export function sentences(decided: Decided, queue: QueueSize | null): string[] {
  return [
    candidatesSentence(decided),
    stepSentence(decided),
    priceSentence(decided),
    queueSentence(decided, queue),
  ].filter((sentence) => sentence !== "");
}

function candidatesSentence({ best, candidates }: Decided): string {
  const others = candidates.filter((name) => !best.includes(name));
  return others.length > 0 ? say("candidates", { others: joinWords(others, "or") }) : "";
}

function stepSentence({ best, candidates, baseline, changes, algorithms }: Decided): string {
  if (baseline === null || best.length === 0 || algorithms.length === 1) return "";
  if (best[0] === baseline) {
    return candidates.length > best.length ? "" : say("is baseline", { baseline });
  }
  if (changes === null) return "";
  const known = Object.entries(changes).filter(([, change]) => change !== null) as [
    ChangedColumn,
    Bounds,
  ][];
  if (known.length === 0) return "";
  const hasIntervals = known.some(([, { low }]) => low !== null);
  const sentence = say(hasIntervals ? "step" : "step without intervals", {
    old: baseline,
    new: best[0]!,
    changes: joinWords(known.map(([name, own]) => `${data.changes[name]} ${changeOf(own)}`)),
  });
  if (!best.includes(baseline)) return sentence;
  return `${sentence} ${say("no step", { baseline, zone: percent(data.rule.zone) })}`;
}

function changeOf({ estimate, low, high }: Bounds): string {
  if (low === null || high === null) return signedPercent(estimate);
  const written = (value: number) =>
    estimate >= 1 ? twoDigits(value + 1) : wholePercent(value);
  return `${signedPercent(estimate)} [${written(low)}, ${written(high)}]`;
}

/** Below this price of delay, halving the delay would be worth 0.0 % of the throughput. */
const LEAST_PRICE = -Math.log2(1 - 0.0005);

function priceSentence({ best, algorithms }: Decided): string {
  const first = best[0];
  const prices = algorithms.find(({ algorithm }) => algorithm === first)?.prices_of_delay ?? null;
  if (first === undefined || algorithms.length === 1 || prices === null) return "";
  const [least, high] = prices;
  const low = least < LEAST_PRICE ? 0 : least;
  const below = low > 0 ? leaderBeyond(algorithms, first, low * 0.95) : undefined;
  const above = high === null ? undefined : leaderBeyond(algorithms, first, high * 1.05 + 1e-6);
  const others =
    (below === undefined ? "" : say("price other", { name: below, more_or_less: "less" })) +
    (above === undefined ? "" : say("price other", { name: above, more_or_less: "more" }));
  if (others === "") return say("no turn");
  return say("price", { name: first, range: given(low, high), others });
}

/**
 * Another algorithm that is within the zone of indifference of the best algorithm at a price of
 * delay.
 */
function leaderBeyond(entrants: Entrant[], first: string, price: number): string | undefined {
  return entrants.find(({ algorithm, prices_of_delay: prices }) => {
    if (algorithm === first || prices === null) return false;
    return prices[0] <= price && price <= (prices[1] ?? Infinity);
  })?.algorithm;
}

/** The shares of throughput that halving the delay is worth, in a range of prices of delay. */
function given(low: number, high: number | null): string {
  const share = (price: number) => percent(1 - 2 ** -price);
  if (high === null) return `at least ${share(low)}`;
  return low === 0 ? `at most ${share(high)}` : `${share(low)} to ${share(high)}`;
}

function queueSentence({ best }: Decided, queue: QueueSize | null): string {
  if (queue === null || !queue.is_default || best.length === 0) return "";
  const { packets, bdp, rate, rtt, is_trace } = queue;
  const mean = is_trace ? " on average" : "";
  const size = `${packets.toLocaleString("en")} packets, ${twoDigits(bdp)} BDP of ${rate}${mean} and ${rtt}, by default`;
  return say("default queue", { queue: size });
}

/** The three lines of certainty. */
export function certainty(decided: Decided, reality: Reality | null): Line[] {
  const { pairs, repeatable, best } = decided;
  return [
    {
      name: "repeatable",
      share: repeatable,
      value: repeatable === null ? "-" : probability(repeatable),
      meaning:
        repeatable === null
          ? say("repeatable unknown", { runs: runsOf(pairs) })
          : say("repeatable", { where: "this link", name: best[0]!, pairs }),
    },
    { name: "robust", share: null, value: "-", meaning: say("robust unknown") },
    {
      name: "in reality",
      share: reality?.record.share ?? null,
      value: reality === null ? "-" : probability(reality.record.share),
      meaning: reality === null ? say("reality unknown") : reality.meaning,
    },
  ];
}
