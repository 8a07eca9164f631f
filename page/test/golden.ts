// Answers as the page would, a JSON line for each line. To {"scenario": "...", "traces": {...}} it
// answers the tables, or `error` or `panic`; to {"setting": {...}, "algorithm": "..."} the scenario
// of that. Bytes of arrays are base64.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { data } from "../src/data.ts";
import { type Column, InputError, ModuleError, Simulator } from "../src/module.ts";
import { type Setting, addressOf, requestOf, settingOf } from "../src/setting.ts";

const module = new WebAssembly.Module(readFileSync(process.argv[2]!));
let simulator: Simulator | null = null;
const kept = new Set<string>();

function base64(column: Exclude<Column, unknown[]>): string {
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString("base64");
}

interface Question {
  scenario: string;
  traces: Record<string, string>;
  setting?: Setting;
  algorithm: string;
}

function answer(line: string): unknown {
  const { scenario, traces, setting, algorithm } = JSON.parse(line) as Question;
  if (simulator === null) {
    simulator = new Simulator(module);
    for (const { name, text } of data.presets) simulator.addPreset(name, text);
    kept.clear();
  }
  try {
    if (setting !== undefined) {
      // By way of the address, which has to hold all of it.
      const shared = settingOf(addressOf(setting));
      return { scenario: simulator.scenario(requestOf(shared, algorithm)) };
    }
    for (const [name, content] of Object.entries(traces)) {
      if (kept.has(name)) continue;
      simulator.addTrace(name, Buffer.from(content, "base64"));
      kept.add(name);
    }
    const { tables, pcap } = simulator.run(scenario);
    return {
      tables: Object.fromEntries(
        [...tables].map(([name, table]) => [
          name,
          [...table].map(([column, values]) => [
            column,
            Array.isArray(values) ? values : { type: values.constructor.name, bytes: base64(values) },
          ]),
        ]),
      ),
      pcap: pcap && base64(pcap),
    };
  } catch (error) {
    if (error instanceof InputError) return { error: error.message };
    if (!(error instanceof ModuleError)) throw error;
    simulator = null;
    return { panic: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(line))}\n`);
}
