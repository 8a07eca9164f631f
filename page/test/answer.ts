// Answers as the page would, whatever runs it. To {"scenario": "...", "traces": {...}} the answer
// is the tables, or `error` or `panic`; to {"setting": {...}, "algorithm": "..."} the scenario of
// that; to {"decide": {...}} the decision of that setting, with its words. Bytes of arrays are
// base64.

import { data } from "../src/data.ts";
import { type Decided, asJson, questionOf, realityOf } from "../src/decision.ts";
import { type Column, InputError, ModuleError, Simulator } from "../src/module.ts";
import { summariesOnly } from "../src/recorded.ts";
import { joined } from "../src/repetitions.ts";
import { type QueueSize, certainty, headline, sentences } from "../src/sentences.ts";
import { type Setting, addressOf, linkLine, requestOf, settingOf } from "../src/setting.ts";

interface Question {
  scenario: string;
  traces: Record<string, string>;
  setting?: Setting;
  decide?: Setting;
  algorithm: string;
}

const CHUNK = 0x8000;

export class Answerer {
  private simulator: Simulator | null = null;
  private readonly kept = new Set<string>();

  constructor(private readonly module: WebAssembly.Module) {}

  /** The answer to a line of JSON, as a line of JSON. */
  answer(line: string): string {
    return JSON.stringify(this.reply(JSON.parse(line) as Question));
  }

  private reply({ scenario, traces, setting, decide, algorithm }: Question): unknown {
    if (this.simulator === null) {
      this.simulator = new Simulator(this.module);
      for (const { name, text } of data.presets) this.simulator.addPreset(name, text);
      this.kept.clear();
    }
    try {
      if (decide !== undefined) return decision(settingOf(addressOf(decide)), this.simulator);
      if (setting !== undefined) {
        // By way of the address, which has to hold all of it.
        const shared = settingOf(addressOf(setting));
        return { scenario: this.simulator.scenario(requestOf(shared, algorithm)) };
      }
      for (const [name, content] of Object.entries(traces)) {
        if (this.kept.has(name)) continue;
        this.simulator.addTrace(name, ofBase64(content));
        this.kept.add(name);
      }
      const { tables, pcap } = this.simulator.run(scenario);
      return {
        tables: Object.fromEntries(
          [...tables].map(([name, table]) => [
            name,
            [...table].map(([column, values]) => [column, encoded(values)]),
          ]),
        ),
        pcap: pcap && base64(pcap),
      };
    } catch (error) {
      if (error instanceof InputError) return { error: error.message };
      if (!(error instanceof ModuleError)) throw error;
      this.simulator = null;
      return { panic: error.message };
    }
  }
}

/** The decision of a setting, as the page comes to it. */
function decision(setting: Setting, simulator: Simulator): unknown {
  const { algorithms, repetitions } = setting;
  let scenario = "";
  const runs = algorithms.flatMap((algorithm) =>
    Array.from({ length: repetitions }, (_, n) => {
      scenario = simulator.scenario(requestOf(setting, algorithm, n + 1));
      return simulator.run(summariesOnly(scenario)).figures.slice();
    }),
  );
  const goal = data.goals.find(({ name }) => name === setting.goal)!;
  const said = simulator.decide(questionOf(algorithms, goal), joined(runs));
  const decided = JSON.parse(said) as Decided;
  const reality = realityOf(scenario);
  const queue = JSON.parse(simulator.queue(linkLine(setting))) as QueueSize | null;
  return {
    decision: asJson(decided, goal, reality),
    headline: headline(decided, goal),
    sentences: sentences(decided, queue),
    certainty: certainty(decided, reality).map(({ name, value, meaning }) => [name, value, meaning]),
  };
}

function encoded(values: Column): unknown {
  if (Array.isArray(values)) return values;
  return { type: values.constructor.name, bytes: base64(values) };
}

function base64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

export function ofBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
