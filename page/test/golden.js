// Answers scenarios as the page would: a JSON line in, {"scenario": "...", "traces": {...}}, a JSON
// line out, with the tables, or `error` or `panic`. Bytes of arrays are base64.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { InputError, ModuleError, Simulator } from "../src/module.ts";
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
let simulator = null;
const kept = new Set();
function base64(column) {
    return Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString("base64");
}
function answer(line) {
    const { scenario, traces } = JSON.parse(line);
    if (simulator === null) {
        simulator = new Simulator(module);
        kept.clear();
    }
    try {
        for (const [name, content] of Object.entries(traces)) {
            if (kept.has(name))
                continue;
            simulator.addTrace(name, Buffer.from(content, "base64"));
            kept.add(name);
        }
        const { tables, pcap } = simulator.run(scenario);
        return {
            tables: Object.fromEntries([...tables].map(([name, table]) => [
                name,
                [...table].map(([column, values]) => [
                    column,
                    Array.isArray(values) ? values : { type: values.constructor.name, bytes: base64(values) },
                ]),
            ])),
            pcap: pcap && base64(pcap),
        };
    }
    catch (error) {
        if (error instanceof InputError)
            return { error: error.message };
        if (!(error instanceof ModuleError))
            throw error;
        simulator = null;
        return { panic: error.message };
    }
}
for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(answer(line))}\n`);
}
