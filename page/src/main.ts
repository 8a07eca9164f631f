// The page: controls above, curves below, and the command that gives the same.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Charts, type Line, shown } from "./charts.ts";
import { Controls } from "./controls.ts";
import type { Figures } from "./curves.ts";
import { data } from "./data.ts";
import { operatingPoints } from "./points.ts";
import { Runner } from "./runner.ts";
import {
  type Setting, addressOf, commandOf, pythonOf, recordings, requestOf, settingOf, studyOf,
} from "./setting.ts";
import type { Reply } from "./worker.ts";
import wasm from "../../target/page/cwndlab.wasm";
import workerSource from "../../target/page/worker.js";

type Result = Extract<Reply, { curves: unknown }>;

const MOST_WORKERS = 2;
const MOST_TRACE_BYTES = 50e6;
const results = new Map<string, Result>();
const refusals = new Map<string, string>();
let setting = settingOf(location.hash);

const byId = (id: string) => document.getElementById(id)!;
const charts = new Charts(byId("charts"));
const dark = matchMedia("(prefers-color-scheme: dark)");

function colourOf(name: string): string {
  const found = data.algorithms.find((algorithm) => algorithm.name === name)!;
  return dark.matches ? found.dark_colour : found.colour;
}

const controls = new Controls(
  { links: byId("links"), sliders: byId("sliders"), algorithms: byId("algorithms") },
  setting,
  (changed) => {
    setting = changed;
    history.replaceState(null, "", addressOf(setting));
    simulate();
  },
);

let runner: Runner | null = null;

function simulate(): void {
  document.body.ariaBusy = "true";
  runner?.ask(new Map(setting.algorithms.map((name) => [name, requestOf(setting, name)])));
  showTexts();
}

function take(algorithm: string, reply: Reply): void {
  if ("refusal" in reply) {
    refusals.set(algorithm, reply.refusal);
    results.delete(algorithm);
  } else {
    refusals.delete(algorithm);
    results.set(algorithm, reply);
  }
  show();
}

function show(): void {
  const names = setting.algorithms.filter((name) => results.has(name));
  const lines: Line[] = names.map((name) => ({
    name,
    colour: colourOf(name),
    curves: results.get(name)!.curves,
  }));
  charts.draw(lines, setting.duration_s);
  byId("points").replaceChildren(
    operatingPoints(lines.map(({ name, colour }) => ({ name, colour, ...results.get(name)!.figures }))),
  );
  byId("figures").replaceChildren(...names.map((name) => row(name, results.get(name)!.figures)));
  const said = new Set(setting.algorithms.map((name) => refusals.get(name)).filter(Boolean));
  byId("refusal").textContent = [...said].join("\n");
  byId("refusal").hidden = said.size === 0;
  document.body.ariaBusy = String(runner?.isBusy ?? true);
}

function row(name: string, figures: Figures): HTMLTableRowElement {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const swatch = document.createElement("i");
  swatch.className = "swatch";
  swatch.style.background = colourOf(name);
  head.append(swatch, name);
  line.append(head);
  const cells = [
    figures.goodput_mbit_s,
    figures.rtt_mean_ms,
    figures.rtt_p95_ms,
    figures.retransmitted_pct,
    figures.timeouts,
  ];
  for (const value of cells) {
    const cell = document.createElement("td");
    cell.textContent = shown(value);
    line.append(cell);
  }
  return line;
}

function showTexts(): void {
  byId("command").textContent = commandOf(setting);
}

function offer(id: string, text: () => string): void {
  const button = byId(id) as HTMLButtonElement;
  const label = button.textContent;
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "copied";
    } catch {
      byId("command").textContent = text(); // a page opened from disk may lack the clipboard
      button.textContent = "shown below";
    }
    setTimeout(() => (button.textContent = label), 1500);
  };
}

/** Takes a recorded link, and shows it once it is understood. */
async function takeFile(file: File): Promise<void> {
  if (runner === null) return;
  if (file.size > MOST_TRACE_BYTES) {
    byId("understood").textContent = `${file.name} has more than ${MOST_TRACE_BYTES / 1e6} MB`;
    return;
  }
  // A comma or a quote would end the name in a link.
  const name = file.name.replace(/[^\w.+-]/g, "_");
  const reading = await runner.read({ name, content: new Uint8Array(await file.arrayBuffer()) });
  if ("refusal" in reading) {
    byId("understood").textContent = reading.refusal;
    return;
  }
  recordings.set(name, reading);
  byId("understood").textContent = `${name}: ${reading.understood}`;
  setting = { ...setting, preset: "", keys: { trace: name, delay: "20 ms", queue: "1 BDP", loss: "0 %" } };
  controls.reset(setting);
  history.replaceState(null, "", addressOf(setting));
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

offer("copy-command", () => commandOf(setting));
offer("copy-study", () => studyOf(setting));
offer("copy-python", () => pythonOf(setting));
offer("copy-link", () => location.href);
byId("version").textContent =
  `cwndlab ${data.version}, behaviour epoch ${data.behaviour_epoch}`;
addEventListener("hashchange", () => {
  setting = settingOf(location.hash);
  controls.reset(setting);
  simulate();
});
dark.addEventListener("change", show);

async function start(): Promise<void> {
  const module = await WebAssembly.compile(wasm as unknown as BufferSource);
  const source = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  const workers = Math.max(1, Math.min(MOST_WORKERS, navigator.hardwareConcurrency || 1));
  runner = new Runner(() => new Worker(source), module, take, workers);
  simulate();
}

showTexts();
start().catch((error: unknown) => {
  byId("refusal").hidden = false;
  byId("refusal").textContent =
    `This browser cannot run the simulator (${String(error)}). It needs WebAssembly and workers.`;
});

export type { Setting };
