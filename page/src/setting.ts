// The settings of the page: a link, algorithms and repetitions. The address contains them, and each
// is an option of `cwndlab compare`.

import { data } from "./data.ts";
import type { Recording, Request } from "./module.ts";

export interface Setting {
  /** Name of a preset; empty for a wire that the keys describe. */
  preset: string;
  /** Keys of the link that differ from the preset's, with values as in a one-line link. */
  keys: Record<string, string>;
  algorithms: string[];
  flows: number;
  /** The algorithm of an additional flow on the same link; empty if there is no such flow. */
  beside: string;
  duration_s: number;
  /** The goal of the decision, by name. */
  goal: string;
  /** Number of the repetition that is drawn, from 1. */
  repetition: number;
  repetitions: number;
  seed: number;
}

/** Recorded links dropped on the page, by their names in links. */
export const recordings = new Map<string, Recording>();

const MS_PER_S = 1000;
export const MOST_ALGORITHMS = 4;
export const MOST_DURATION_S = 120;
const NS_PER_S = 1e9;

export const FIRST: Setting = {
  preset: "lte-typical",
  keys: {},
  algorithms: ["cubic", "bbr"],
  flows: 1,
  beside: "",
  duration_s: 30,
  goal: data.goals[0]!.name,
  repetition: 1,
  repetitions: 10,
  seed: 1,
};

/** The link as one line. */
export function linkLine({ preset, keys }: Setting): string {
  const parts = Object.entries(keys).map(
    ([key, value]) => `${key}=${value.includes(",") ? `"${value}"` : value}`,
  );
  return (preset === "" ? parts : [preset, ...parts]).join(",");
}

/** The parts of a scenario for the module: all flows have one algorithm, except the flow beside. */
export function requestOf(
  setting: Setting,
  algorithm: string,
  repetition = setting.repetition,
): Request {
  const templates = setting.beside === "" ? data.templates : data.templates_beside;
  const { cell, scenario } = templates[setting.flows - 1]!;
  const duration_ns = setting.duration_s * NS_PER_S;
  const flows = scenario.flows.map((flow, n) => {
    const own = n < setting.flows ? algorithm : setting.beside;
    return {
      ...flow,
      sender: { ...flow.sender, algorithm: own },
      receiver: { ...flow.receiver, algorithm: own },
    };
  });
  return {
    link: linkLine(setting),
    cell: { ...cell, duration_ns },
    template: { ...scenario, duration_ns, flows },
    start_jitter_ns: data.start_jitter_ns,
    repetition: repetition - 1,
    study_seed: setting.seed,
  };
}

/** The command that reproduces the numbers of the page in its repetition. */
export function commandOf(setting: Setting): string {
  const { algorithms, flows, duration_s, repetitions, seed, goal } = setting;
  if (setting.beside !== "") return "cwndlab run study.toml  # the study file below";
  return [
    "cwndlab compare",
    `--link ${quoted(linkLine(setting))}`,
    `--algorithm ${algorithms.join(",")}`,
    ...(flows > 1 ? [`--flows ${flows}`] : []),
    `--duration "${duration_s} s"`,
    `--repeat ${repetitions}`,
    ...(seed === 1 ? [] : [`--seed ${seed}`]),
    ...(goal === FIRST.goal ? [] : [`--goal ${goal}`]),
  ].join(" ");
}

/** The command that simulates similar networks, which the page cannot. */
export function adviceOf(setting: Setting): string {
  const { algorithms, goal } = setting;
  const link = quoted(linkLine(setting));
  return `cwndlab advise --link ${link} --algorithm ${algorithms.join(",")} --goal ${goal}`;
}

/** Settings that make repetitions differ even if the link is constant, as in `cwndlab compare`. */
function randomness({ keys }: Setting): Record<string, string> {
  const recording = recordings.get(keys["trace"] ?? "");
  return {
    start_jitter: `${data.start_jitter_ns / 1e6} ms`,
    ...(recording && { begin_within: `${Math.round(recording.duration_s * MS_PER_S)} ms` }),
  };
}

/** A study file that reproduces the results. */
export function studyOf(setting: Setting): string {
  const { algorithms, flows, beside, duration_s, repetitions, seed } = setting;
  return [
    "[study]",
    `link = ${JSON.stringify(linkLine(setting))}`,
    `duration = "${duration_s} s"`,
    `repetitions = ${repetitions}`,
    `seed = ${seed}`,
    ...(beside === "" ? [`flows = ${flows}`] : []),
    ...Object.entries(randomness(setting)).map(([key, value]) => `${key} = "${value}"`),
    "",
    ...(beside === ""
      ? []
      : ["[[flow]]", `count = ${flows}`, "", "[[flow]]", `algorithm = ${JSON.stringify(beside)}`, ""]),
    "[factors]",
    `algorithm = ${JSON.stringify(algorithms)}`,
    "",
  ].join("\n");
}

/** Python code that reproduces the results. */
export function pythonOf(setting: Setting): string {
  const { algorithms, flows, beside, duration_s, repetitions, seed } = setting;
  return [
    "import cwndlab as cw",
    "",
    "results = cw.Study(",
    `    link=${JSON.stringify(linkLine(setting))},`,
    `    algorithm=${JSON.stringify(algorithms)},`,
    beside === ""
      ? `    flows=${flows},`
      : `    flow=[{"count": ${flows}}, {"algorithm": ${JSON.stringify(beside)}}],`,
    `    duration="${duration_s} s",`,
    `    repetitions=${repetitions},`,
    `    seed=${seed},`,
    ...Object.entries(randomness(setting)).map(([key, value]) => `    ${key}="${value}",`),
    ").run()",
    "",
  ].join("\n");
}

function quoted(text: string): string {
  return /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** The settings as the fragment of an address, which follows `#`. */
export function addressOf(setting: Setting): string {
  const parts = new URLSearchParams({
    link: linkLine(setting),
    algorithm: setting.algorithms.join(","),
    flows: String(setting.flows),
    ...(setting.beside !== "" && { beside: setting.beside }),
    duration: String(setting.duration_s),
    repetition: String(setting.repetition),
    seed: String(setting.seed),
    goal: setting.goal,
  });
  return `#${parts}`;
}

/** The settings in an address; missing or invalid parts have their defaults. */
export function settingOf(address: string): Setting {
  const parts = new URLSearchParams(address.replace(/^#/, ""));
  const number = (name: string, usual: number, most: number) => {
    const value = Number(parts.get(name) ?? usual);
    return Number.isInteger(value) && value >= 0 && value <= most ? value : usual;
  };
  const known = new Set(data.algorithms.map(({ name }) => name));
  const asked = (parts.get("algorithm") ?? "").split(",").filter((name) => known.has(name));
  const algorithms = [...new Set(asked)].slice(0, MOST_ALGORITHMS);
  const link = parts.get("link");
  const goal = data.goals.find(({ name }) => name === parts.get("goal"))?.name ?? FIRST.goal;
  return {
    ...(link === null ? { preset: FIRST.preset, keys: {} } : parsedLink(link)),
    algorithms: algorithms.length > 0 ? algorithms : FIRST.algorithms,
    flows: Math.max(1, number("flows", FIRST.flows, data.templates.length)),
    beside: known.has(parts.get("beside") ?? "") ? parts.get("beside")! : "",
    duration_s: Math.max(1, number("duration", FIRST.duration_s, MOST_DURATION_S)),
    goal,
    repetition: Math.max(1, number("repetition", 1, FIRST.repetitions)),
    repetitions: FIRST.repetitions,
    seed: number("seed", FIRST.seed, Number.MAX_SAFE_INTEGER),
  };
}

/** Splits a one-line link into preset and keys; the core checks their values. */
export function parsedLink(line: string): { preset: string; keys: Record<string, string> } {
  const parts = line.match(/(?:[^,"]|"[^"]*")+/g) ?? [];
  const keys: Record<string, string> = {};
  let preset = "";
  let last: string | null = null;
  for (const [n, part] of parts.entries()) {
    const at = part.indexOf("=");
    if (at < 0 && n === 0) preset = part.trim();
    else if (at < 0 && last !== null) keys[last] += `,${part}`;
    else {
      last = part.slice(0, at).trim();
      keys[last] = part.slice(at + 1).replaceAll('"', "").trim();
    }
  }
  return { preset, keys };
}
