// What the driver calls in a page of a browser.

import { Answerer, ofBase64 } from "./answer.ts";

let answerer: Answerer;

Object.assign(globalThis, {
  prepare: async (module: string) => {
    answerer = new Answerer(await WebAssembly.compile(ofBase64(module)));
  },
  answers: (lines: string[]) => lines.map((line) => answerer.answer(line)),
});
