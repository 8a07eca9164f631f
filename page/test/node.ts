// Answers each line of standard input in Node.js: `node node.mjs MODULE`.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Answerer } from "./answer.ts";

const answerer = new Answerer(new WebAssembly.Module(readFileSync(process.argv[2]!)));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${answerer.answer(line)}\n`);
}
