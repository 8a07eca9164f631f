// Simulates, one run at a time, off the page's thread.

import { type Curves, type Figures, curvesOf, figuresOf } from "./curves.ts";
import { data } from "./data.ts";
import { InputError, ModuleError, type Request, Simulator } from "./module.ts";

/** A run that the page wants. */
export interface Question {
  number: number;
  request: Request;
}

/** What became of it: what is drawn, or why there is nothing. */
export type Reply =
  | { number: number; curves: Curves; figures: Figures; scenario: string; took_ms: number }
  | { number: number; refusal: string };

let module: WebAssembly.Module | null = null;
let simulator: Simulator | null = null;

function simulatorOf(compiled: WebAssembly.Module): Simulator {
  if (simulator === null) {
    simulator = new Simulator(compiled);
    for (const { name, text } of data.presets) simulator.addPreset(name, text);
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
    return { number, scenario, took_ms, curves: curvesOf(tables), figures: figuresOf(tables) };
  } catch (error) {
    if (error instanceof InputError) return { number, refusal: error.message };
    if (!(error instanceof ModuleError)) throw error;
    simulator = null; // the next question gets a new one
    return { number, refusal: `The simulator stopped: ${error.message}` };
  }
}

self.onmessage = ({ data: message }: MessageEvent<WebAssembly.Module | Question>) => {
  if (message instanceof WebAssembly.Module) module = message;
  else if (module !== null) self.postMessage(reply(message, module));
};
