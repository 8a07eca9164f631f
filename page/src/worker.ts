// Worker that simulates and decides outside of the thread of the page, one task at a time.

import { type Curves, type Figures, curvesOf, figuresOf } from "./curves.ts";
import { data } from "./data.ts";
import type { Decided } from "./decision.ts";
import { type Happenings, happeningsOf } from "./happenings.ts";
import { InputError, ModuleError, type Recording, type Request, Simulator } from "./module.ts";
import { type Packets, packetsOf } from "./packets.ts";
import { beginOf, beginningOf, packetsOnly, summariesOnly } from "./recorded.ts";
import type { QueueSize } from "./sentences.ts";

/** A task that the page gives to a worker. */
export type Task =
  /** Simulate a run, or its beginning, for drawing. */
  | { kind: "run"; request: Request; algorithm: string; flows: number; until_s: number }
  /** Compute the values of a run that the decision needs. */
  | { kind: "figures"; request: Request }
  /** Record the packets of a run up to a time. */
  | { kind: "packets"; request: Request; until_s: number }
  /** Decide from the values of runs. */
  | { kind: "decide"; question: string; figures: Float64Array }
  /** Compute the queue of a link. */
  | { kind: "queue"; link: string };

/** The reason why a task has no result. */
export interface Refusal {
  refusal: string;
}

/** A run for drawing, or its beginning. */
export interface Drawn {
  /** The scenario of the complete run, even if only its beginning was simulated. */
  scenario: string;
  until_s: number;
  took_ms: number;
  curves: Curves;
  summary: Figures;
  /** Curves and values of the flow of another algorithm; null if there is no such flow. */
  beside: { curves: Curves; summary: Figures } | null;
  happenings: Happenings;
  figures: Float64Array;
}

/** Replies by kind of task. */
export interface Replies {
  run: Drawn | Refusal;
  figures: { figures: Float64Array } | Refusal;
  packets: Packets | Refusal;
  decide: { decided: Decided } | Refusal;
  queue: { queue: QueueSize | null } | Refusal;
}

export type Reply = Replies[Task["kind"]];

/** A recorded link dropped on the page. */
export interface RecordingFile {
  name: string;
  content: Uint8Array;
}

/** The description of a recorded link, or a refusal. */
export type Reading = { name: string } & (Recording | Refusal);

let module: WebAssembly.Module | null = null;
let simulator: Simulator | null = null;
/** Recorded links, which are added again to an instance that replaces a broken one. */
const recordings = new Map<string, Uint8Array>();

function simulatorOf(compiled: WebAssembly.Module): Simulator {
  if (simulator === null) {
    simulator = new Simulator(compiled);
    for (const { name, text } of data.presets) simulator.addPreset(name, text);
    for (const [name, content] of recordings) simulator.addRecording(name, content);
  }
  return simulator;
}

function replyTo(task: Task, used: Simulator): Reply {
  const began_ms = performance.now();
  switch (task.kind) {
    case "run": {
      const scenario = used.scenario(task.request);
      const begin_s = beginOf(scenario, task.request);
      const { until_s } = task;
      const all = task.request.template.flows.length;
      const [own, other] = [{ from: 0, to: task.flows }, { from: task.flows, to: all }];
      const tables = used.run(beginningOf(scenario, begin_s + until_s));
      const took_ms = performance.now() - began_ms;
      const phasesOf = (flow: number) => {
        const own = task.request.template.flows[flow]?.sender.algorithm ?? task.algorithm;
        return data.algorithms.find(({ name }) => name === own)!.phases;
      };
      return {
        scenario,
        until_s,
        took_ms,
        curves: curvesOf(tables, begin_s, own),
        summary: figuresOf(tables, own),
        beside: all === task.flows
          ? null
          : { curves: curvesOf(tables, begin_s, other), summary: figuresOf(tables, other) },
        happenings: happeningsOf(tables, phasesOf, begin_s),
        figures: tables.figures.slice(),
      };
    }
    case "figures": {
      const scenario = summariesOnly(used.scenario(task.request));
      return { figures: used.run(scenario).figures.slice() };
    }
    case "packets": {
      const scenario = used.scenario(task.request);
      const begin_s = beginOf(scenario, task.request);
      const { pcap } = used.run(packetsOnly(scenario, begin_s + task.until_s));
      return packetsOf(pcap!, begin_s, task.until_s);
    }
    case "decide":
      return { decided: JSON.parse(used.decide(task.question, task.figures)) as Decided };
    case "queue":
      return { queue: JSON.parse(used.queue(task.link)) as QueueSize | null };
  }
}

function answered(task: Task, compiled: WebAssembly.Module): Reply {
  try {
    return replyTo(task, simulatorOf(compiled));
  } catch (error) {
    if (error instanceof InputError) return { refusal: error.message };
    if (!(error instanceof ModuleError)) throw error;
    simulator = null; // the next task gets a new one
    return { refusal: `The simulator stopped: ${error.message}` };
  }
}

function read({ name, content }: RecordingFile, compiled: WebAssembly.Module): Reading {
  try {
    const recording = simulatorOf(compiled).addRecording(name, content);
    recordings.set(name, content);
    return { name, ...recording };
  } catch (error) {
    if (error instanceof ModuleError) simulator = null;
    else if (!(error instanceof InputError)) throw error;
    return { name, refusal: error.message };
  }
}

self.onmessage = ({
  data: message,
}: MessageEvent<WebAssembly.Module | { number: number; task: Task } | RecordingFile>) => {
  if (message instanceof WebAssembly.Module) module = message;
  else if (module === null) return;
  else if ("content" in message) self.postMessage(read(message, module));
  else self.postMessage({ number: message.number, reply: answered(message.task, module) });
};
