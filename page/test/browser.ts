// Answers each line of standard input in a browser: `node browser.mjs MODULE BROWSER`, the path of a
// Chromium, or of a Firefox, which is driven through WebDriver BiDi.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { launch } from "./launch";

const BATCH = 20;
const [module, executablePath] = process.argv.slice(2) as [string, string];
const browser = await launch(executablePath, 600_000);
try {
  const page = await browser.newPage();
  await page.evaluate(readFileSync(new URL("in_browser.js", import.meta.url), "utf8"));
  const call = (name: string, value: unknown) =>
    page.evaluate(`globalThis.${name}(${JSON.stringify(value)})`);
  await call("prepare", readFileSync(module).toString("base64"));
  let batch: string[] = [];
  const flush = async () => {
    const answers = (await call("answers", batch)) as string[];
    batch = [];
    for (const line of answers) process.stdout.write(`${line}\n`);
  };
  for await (const line of createInterface({ input: process.stdin })) {
    if (batch.push(line) === BATCH) await flush();
  }
  if (batch.length > 0) await flush();
} finally {
  await browser.close();
}
