// The page: controls, the answer, the animation of the link, curves, and the command that
// reproduces
// the results.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Along, type Shown, row } from "./along.ts";
import { showAnswer } from "./answer.ts";
import { Charts, mostOf, shown, topOf } from "./charts.ts";
import { Controls } from "./controls.ts";
import { data } from "./data.ts";
import { asJson, realityOf } from "./decision.ts";
import { isReduction } from "./happenings.ts";
import type { Packets } from "./packets.ts";
import { PathView } from "./path.ts";
import { Playback } from "./playback.ts";
import { operatingPoints } from "./points.ts";
import { type Progress, Repetitions } from "./repetitions.ts";
import { Runner } from "./runner.ts";
import type { QueueSize } from "./sentences.ts";
import { addressOf, commandOf, linkLine, recordings, requestOf, settingOf, studyOf } from "./setting.ts";
import { Story } from "./story.ts";
import { joinWords, percent } from "./wording.ts";
import type { Drawn, Refusal } from "./worker.ts";
import wasm from "../../target/page/cwndlab.wasm";
import workerSource from "../../target/page/worker.js";

const MOST_WORKERS = 2;
const MOST_TRACE_BYTES = 50e6;
/** Slower work begins when the user has not moved a control for this time. */
const REST_MS = 200;
/**
 * If simulating complete runs takes longer than this, the page first draws the part that can be
 * simulated in this time.
 */
const COARSE_MS = 45;
const LEAST_COARSE = 0.1;
/** Maximum time for which finished curves wait for the remaining curves. */
const PATIENCE_MS = 150;
/** Maximum number of data packets in a capture. */
const MOST_PACKETS = 120_000;
const BITS_PER_PACKET = 1448 * 8;

const results = new Map<string, Drawn>();
/**
 * For each algorithm, the number of the setting whose run is drawn, because a worker may reply to an
 * older setting after a newer one.
 */
const taken = new Map<string, number>();
const captures = new Map<string, Packets>();
const refusals = new Map<string, string>();
let setting = settingOf(location.hash);
let queue: QueueSize | null = null;
let progress: Progress = { decided: null, done: 0, refusal: null };
let turn = 0;
let rest = 0;
let hasPlayed = false;

const byId = (id: string) => document.getElementById(id)!;
const dark = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");

const along = new Along({ setting: () => setting, lines, decision: decisionJson });
const charts = new Charts(byId("charts"), {
  chosen: (t_s, nearest) => {
    playback.pause();
    if (nearest === null) playback.go(t_s);
    else story.choose(nearest.name, nearest.happening);
  },
  tools: (chart) => along.toolsOf(chart),
});
const path = new PathView(byId("path") as HTMLCanvasElement);
const playback = new Playback(
  {
    play: byId("play") as HTMLButtonElement,
    step: byId("step") as HTMLButtonElement,
    speed: byId("speed") as HTMLSelectElement,
    time: byId("time") as HTMLInputElement,
    output: byId("time-shown"),
  },
  (t_s) => {
    byId("path").ariaLabel = path.draw(t_s);
    charts.mark(hasPlayed ? t_s : null);
  },
  (t_s) => nextPacket(t_s),
);
const story = new Story(
  { names: byId("story-names"), list: byId("story"), detail: byId("detail") },
  (t_s) => {
    hasPlayed = true;
    playback.pause();
    playback.go(t_s);
  },
);

function colourOf(name: string): string {
  const found = data.algorithms.find((algorithm) => algorithm.name === name)!;
  return dark.matches ? found.dark_colour : found.colour;
}

const controls = new Controls(
  {
    links: byId("links"), sliders: byId("sliders"), algorithms: byId("algorithms"), goals: byId("goals"),
  },
  setting,
  (changed) => {
    setting = changed;
    simulate();
  },
);

let runner: Runner | null = null;
let repetitions: Repetitions | null = null;

/** Time to simulate one second of the link. */
let paceMs = { link: "", perSecond: 0 };

/**
 * Draws all curves or their beginning at once; starts slower work when the user moves no control.
 */
function simulate(): void {
  if (runner === null || repetitions === null) return;
  document.body.ariaBusy = "true";
  turn += 1;
  const asked = turn;
  runner.clear();
  repetitions.begin(setting);
  clearTimeout(rest);
  const kind = setting.preset === "" ? Object.keys(setting.keys).join() : setting.preset;
  if (paceMs.link !== kind) paceMs = { link: kind, perSecond: 0 };
  const share = COARSE_MS / (paceMs.perSecond * setting.duration_s);
  const until_s = share < 1 ? setting.duration_s * Math.max(LEAST_COARSE, share) : setting.duration_s;
  run(asked, until_s, () => {
    const after = () => (until_s < setting.duration_s ? fine(asked) : goOn(asked));
    rest = setTimeout(after, REST_MS) as unknown as number;
  });
  progress = { decided: progress.decided, done: 0, refusal: null };
  byId("answer").classList.add("stale");
  byId("counted").textContent = "";
  showCommand();
}

/**
 * Shows the command that reproduces the results, and a study file if there is a flow of another
 * algorithm.
 */
function showCommand(): void {
  byId("command").textContent = commandOf(setting);
  byId("study").textContent = studyOf(setting);
  byId("study").hidden = setting.beside === "";
}

/** Replaces partial runs by complete ones. */
function fine(asked: number): void {
  if (asked === turn) run(asked, setting.duration_s, () => goOn(asked), false);
}

function run(asked: number, until_s: number, done: () => void, isUrgent = true): void {
  const { repetition, duration_s, algorithms } = setting;
  const began_ms = performance.now();
  let left = algorithms.length;
  for (const algorithm of algorithms) {
    const request = requestOf(setting, algorithm);
    runner!.ask({ kind: "run", request, algorithm, flows: setting.flows, until_s }, isUrgent, (reply) => {
      const isCurrent = asked === turn;
      if ("took_ms" in reply) {
        if (reply.until_s > 0) paceMs.perSecond = reply.took_ms / reply.until_s;
        if (isCurrent && until_s === duration_s) repetitions!.keep(algorithm, repetition, reply.figures);
      }
      take(algorithm, reply, asked);
      left -= 1;
      if (left === 0 || performance.now() - began_ms > PATIENCE_MS) showCurves();
      if (left === 0 && isCurrent) done();
    });
  }
}

/** Starts the work that waits until the user moves no control. */
function goOn(asked: number): void {
  if (asked !== turn || runner === null) return;
  history.replaceState(null, "", addressOf(setting));
  showAll();
  runner.ask({ kind: "queue", link: linkLine(setting) }, false, (reply) => {
    if (asked !== turn) return;
    queue = "queue" in reply ? reply.queue : null;
    showAll();
  });
  for (const algorithm of setting.algorithms) {
    const drawn = results.get(algorithm);
    if (drawn === undefined) continue;
    const rate = drawn.summary.goodput_mbit_s * 1e6;
    const until_s = Math.min(setting.duration_s, (MOST_PACKETS * BITS_PER_PACKET) / Math.max(rate, 1));
    const request = requestOf(setting, algorithm);
    runner.ask({ kind: "packets", request, until_s }, false, (reply) => {
      if (asked !== turn || "refusal" in reply) return;
      captures.set(algorithm, reply);
      showAll();
      if (!hasPlayed && !still.matches && setting.algorithms.every((name) => captures.has(name))) {
        hasPlayed = true;
        playback.play();
      }
    });
  }
  if (setting.beside === "") repetitions!.go();
}

/**
 * Stores a run for drawing, unless a newer run exists, or the reply is an error for an older
 * setting.
 */
function take(algorithm: string, reply: Drawn | Refusal, asked: number): void {
  if (asked < (taken.get(algorithm) ?? 0) || (asked < turn && "refusal" in reply)) return;
  taken.set(algorithm, asked);
  captures.delete(algorithm);
  if ("refusal" in reply) {
    refusals.set(algorithm, reply.refusal);
    results.delete(algorithm);
  } else {
    refusals.delete(algorithm);
    results.set(algorithm, reply);
  }
}

function lines(): Shown[] {
  return setting.algorithms
    .filter((name) => results.has(name))
    .flatMap((name): Shown[] => {
      const { curves, happenings, summary, beside } = results.get(name)!;
      const own = {
        name, of: name, colour: colourOf(name), curves, summary, happenings: happenings.list, isBeside: false,
      };
      if (beside === null) return [own];
      const other = { ...beside, name: `${setting.beside} beside ${name}`, happenings: [], isBeside: true };
      return [own, { ...own, ...other }];
    });
}

/**
 * How each algorithm's flows shared the link with the flow of another algorithm in this repetition,
 * and how both reacted to losses.
 */
function shares(): string[] {
  const own = lines().filter(({ isBeside }) => !isBeside);
  const parts = own.map(({ name, summary }) => {
    const other = results.get(name)!.beside?.summary.goodput_mbit_s ?? NaN;
    return `${name} gets ${percent(summary.goodput_mbit_s / (summary.goodput_mbit_s + other))}`;
  });
  const about = own.map(({ name, happenings }) => {
    const losses = (isOther: boolean) =>
      happenings.filter(({ kind, flow }) => isReduction(kind) && flow! >= setting.flows === isOther).length;
    return `${name} reacted to losses or marks ${times(losses(false))}; on the same link, ${setting.beside} reacted ${times(losses(true))}.`;
  });
  const answers = [...new Set([...own.map(({ name }) => name), setting.beside])]
    .map((name) => data.algorithms.find((each) => each.name === name)!)
    .filter(({ decrease }) => decrease !== "")
    .map(({ name, decrease }) => `${name}, ${decrease}`);
  return [
    `Beside a flow of ${setting.beside}, in this repetition: ${joinWords(parts)} of the goodput of both.`,
    ...about,
    `Effect of a loss on the window: ${answers.join("; ")}.`,
  ];
}

const times = (count: number) => ["never", "once"][count] ?? `${count} times`;

/** Updates the parts of the page that change immediately when a slider moves. */
function showCurves(): void {
  const drawn = lines();
  charts.draw(drawn, setting.duration_s);
  const most = mostOf(drawn, "goodput_mbit_s");
  byId("cut").textContent = most > topOf(drawn, "goodput_mbit_s")
    ? `Spikes of goodput, up to ${shown(most)} Mbit/s, are cut off. They occur when a lost packet finally arrives, because all data that waited behind it count as received at this time.`
    : "";
  const isWhole = drawn.every(({ of }) => results.get(of)!.until_s === setting.duration_s);
  byId("whole").classList.toggle("stale", !isWhole);
  if (isWhole) {
    const points = drawn.map(({ name, colour, isBeside, summary }) => ({ name, colour, isBeside, ...summary }));
    byId("points").replaceChildren(operatingPoints(points));
    byId("figures").replaceChildren(...drawn.map(row));
  }
  const said = new Set(setting.algorithms.map((name) => refusals.get(name)).filter(Boolean));
  byId("refusal").textContent = [...said].join("\n");
  byId("refusal").hidden = said.size === 0;
  document.body.ariaBusy = String(runner?.isBusy ?? true);
}

/** Updates the animation of the link, the list of events and the answer. */
function showAll(): void {
  const drawn = lines().filter(({ isBeside }) => !isBeside);
  path.show(
    drawn.map(({ name, colour, curves }) => ({
      name, colour, curves,
      packets: captures.get(name) ?? null,
      drops_s: results.get(name)!.happenings.drops_s,
    })),
  );
  const ends = [...captures].filter(([name]) => results.has(name)).map(([, { until_s }]) => until_s);
  const until_s = Math.min(setting.duration_s, ...ends);
  byId("until").textContent =
    until_s < setting.duration_s ? `Packets are recorded up to ${until_s.toFixed(1)} s.` : "";
  playback.limit(setting.duration_s);
  story.show(
    drawn.map(({ name, colour }) => ({
      name, colour, happenings: results.get(name)!.happenings, packets: captures.get(name) ?? null,
      algorithms: [...Array<string>(setting.flows).fill(name), ...(setting.beside === "" ? [] : [setting.beside])],
    })),
    queue,
  );
  showDecision();
}

function showDecision(): void {
  const scenario = setting.algorithms.map((name) => results.get(name)?.scenario).find(Boolean);
  const reality = scenario === undefined ? null : realityOf(scenario);
  const shownProgress = refusals.size > 0 && results.size === 0
    ? { decided: null, done: 0, refusal: [...refusals.values()][0]! }
    : progress;
  byId("answer").classList.toggle("stale", progress.done === 0 && setting.beside === "");
  const isShared = setting.beside !== "" && results.size > 0;
  showAnswer({ setting, progress: shownProgress, reality, queue, shares: isShared ? shares() : null });
}

/** The decision in the JSON format of the command. */
function decisionJson(): string | null {
  const scenario = setting.algorithms.map((name) => results.get(name)?.scenario).find(Boolean);
  if (progress.decided === null || scenario === undefined) return null;
  const goal = data.goals.find(({ name }) => name === setting.goal)!;
  return JSON.stringify(asJson(progress.decided, goal, realityOf(scenario)), null, 2);
}

function nextPacket(t_s: number): number {
  let next = Infinity;
  for (const name of setting.algorithms) {
    const sent_s = captures.get(name)?.sent_s;
    const time_s = sent_s?.find((time) => time > t_s + 1e-9);
    if (time_s !== undefined && time_s < next) next = time_s;
  }
  return Number.isFinite(next) ? next : t_s + 0.01;
}

/** Reads a recorded link and shows it. */
async function takeFile(file: File): Promise<void> {
  if (runner === null) return;
  const understood = (text: string, isRefusal: boolean) => {
    byId("understood").textContent = text;
    byId("understood").classList.toggle("miss", isRefusal);
  };
  if (file.size > MOST_TRACE_BYTES) {
    understood(`${file.name} has more than ${MOST_TRACE_BYTES / 1e6} MB.`, true);
    return;
  }
  // A comma or a quotation mark would end the name in a link.
  const name = file.name.replace(/[^\w.+-]/g, "_");
  const reading = await runner.read({ name, content: new Uint8Array(await file.arrayBuffer()) });
  if ("refusal" in reading) {
    understood(`${reading.refusal}. The link was not changed.`, true);
    return;
  }
  recordings.set(name, reading);
  understood(`${name}: ${reading.understood}`, false);
  setting = { ...setting, preset: "", keys: { trace: name, delay: "20 ms", queue: "1 BDP", loss: "0 %" } };
  controls.reset(setting);
  simulate();
}

const chosen = byId("file") as HTMLInputElement;
chosen.onchange = () => {
  if (chosen.files?.[0]) void takeFile(chosen.files[0]);
};
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  if (file) void takeFile(file);
});

(byId("before") as HTMLButtonElement).onclick = () => story.beside(playback.t_s, false);
(byId("after") as HTMLButtonElement).onclick = () => story.beside(playback.t_s, true);
byId("version").textContent =
  `cwndlab ${data.version}, behaviour epoch ${data.behaviour_epoch}`;
addEventListener("hashchange", () => {
  setting = settingOf(location.hash);
  controls.reset(setting);
  simulate();
});
dark.addEventListener("change", () => {
  showCurves();
  showAll();
});

async function start(): Promise<void> {
  const module = await WebAssembly.compile(wasm as unknown as BufferSource);
  const source = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  const workers = Math.max(1, Math.min(MOST_WORKERS, navigator.hardwareConcurrency || 1));
  runner = new Runner(() => new Worker(source), module, workers);
  repetitions = new Repetitions(runner, (found) => {
    progress = found;
    showDecision();
    document.body.ariaBusy = String(runner!.isBusy);
  });
  simulate();
}

showCommand();
start().catch((error: unknown) => {
  byId("refusal").hidden = false;
  byId("refusal").textContent =
    `This browser cannot run the simulator (${String(error)}). It needs WebAssembly and workers.`;
});
