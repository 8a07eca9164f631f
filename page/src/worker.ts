// Simulates, one run at a time, off the page's thread.

import { type Curves, type Figures, curvesOf, figuresOf } from "./curves.ts";
import { data } from "./data.ts";
import {
  InputError, ModuleError, type Recording, type Request, Simulator,
} from "./module.ts";

/** A run that the page wants. */
export interface Question {
  number: number;
  request: Request;
}

/** A recorded link that the page was given. */
export interface RecordingFile {
  name: string;
  content: Uint8Array;
}

/** What became of a file. */
export type Reading = { name: string } & (Recording | { refusal: string });

/** What became of it: what is drawn, or why there is nothing. */
export type Reply =
  | { number: number; curves: Curves; figures: Figures; scenario: string; took_ms: number }
  | { number: number; refusal: string };

const NS_PER_S = 1e9;

let module: WebAssembly.Module | null = null;
let simulator: Simulator | null = null;
const recordings = new Map<string, Uint8Array>();

function simulatorOf(compiled: WebAssembly.Module): Simulator {
  if (simulator === null) {
    simulator = new Simulator(compiled);
    for (const { name, text } of data.presets) simulator.addPreset(name, text);
    for (const [name, content] of recordings) simulator.addRecording(name, content);
  }
  return simulator;
}

function reply({ number, request }: Question, compiled: WebAssembly.Module): Reply {
  const began_ms = performance.now();
  try {
    const used = simulatorOf(compiled);
    const scenario = used.scenario(request);
    const tables = used.run(scenario);
    const took_ms = performance.now() - began_ms;
    // A run on a recorded link begins somewhere in it.
    const { duration_ns } = JSON.parse(scenario) as { duration_ns: number };
    const begin_s = (duration_ns - request.template.duration_ns) / NS_PER_S;
    const curves = curvesOf(tables, begin_s);
    return { number, scenario, took_ms, curves, figures: figuresOf(tables) };
  } catch (error) {
    if (error instanceof InputError) return { number, refusal: error.message };
    if (!(error instanceof ModuleError)) throw error;
    simulator = null; // the next question gets a new one
    return { number, refusal: `The simulator stopped: ${error.message}` };
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
}: MessageEvent<WebAssembly.Module | Question | RecordingFile>) => {
  if (message instanceof WebAssembly.Module) module = message;
  else if (module === null) return;
  else if ("content" in message) self.postMessage(read(message, module));
  else self.postMessage(reply(message, module));
};
