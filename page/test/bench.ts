// How long it takes from a slider's move to both new curves: `node bench.mjs PAGE BROWSER [MOVES]`.

import { pathToFileURL } from "node:url";
import type { Page } from "puppeteer-core";
import { launch } from "./launch";

const LINKS: { name: string; link: string; mostMs: number }[] = [
  { name: "wire, 10 Mbit/s", link: "rate=10 Mbit/s,delay=20 ms,queue=1 BDP,loss=0 %", mostMs: 100 },
  { name: "wire, 50 Mbit/s", link: "rate=50 Mbit/s,delay=20 ms,queue=1 BDP,loss=0 %", mostMs: 100 },
  { name: "lte-typical", link: "lte-typical", mostMs: 100 },
  { name: "wifi-typical", link: "wifi-typical", mostMs: 100 },
  { name: "nr-typical", link: "nr-typical", mostMs: 400 },
];
const FIRST_MS = 1500;
const WARM_UP = 5;
const [file, executablePath, moves = "60"] = process.argv.slice(2) as [string, string, string?];

/** Moves each slider of the link in turn; the times until the page is no longer busy, in ms. */
async function times(page: Page, count: number): Promise<number[]> {
  return page.evaluate(async (count) => {
    const found: number[] = [];
    const wait = () =>
      new Promise<void>((done) => {
        const look = () =>
          document.body.ariaBusy === "false" ? done() : setTimeout(look, 0);
        look();
      });
    const inputs = [...document.querySelectorAll<HTMLInputElement>("#sliders input")].slice(0, -3);
    for (let n = 0; n < count; n += 1) {
      await wait();
      const input = inputs[n % inputs.length]!;
      // Between a third and two thirds, where links are as their presets.
      input.value = String(Number(input.min) + (Number(input.max) - Number(input.min)) * (0.35 + 0.03 * (n % 10)));
      const began = performance.now();
      input.dispatchEvent(new Event("input"));
      await wait();
      found.push(performance.now() - began);
    }
    return found;
  }, count);
}

/** A million steps of a loop, in ms: how fast this machine is. */
async function calibration(page: Page): Promise<number> {
  return page.evaluate(() => {
    const began = performance.now();
    let state = 1;
    for (let n = 0; n < 100_000_000; n += 1) state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (performance.now() - began) / 100 + (state === 0 ? 1 : 0);
  });
}

const quantile = (values: number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]!;

const browser = await launch(executablePath);
let missed = 0;
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  const began = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction('document.body.ariaBusy === "false"');
  const first = performance.now() - began;
  console.log(`${await browser.version()}; a million steps of a loop: ${(await calibration(page)).toFixed(2)} ms`);
  console.log(`first picture ${first.toFixed(0)} ms (bar ${FIRST_MS})`);
  if (first > FIRST_MS) missed += 1;
  await page.evaluate(() => {
    const found: number[] = [];
    Object.assign(globalThis, { longTasks: found });
    if (PerformanceObserver.supportedEntryTypes.includes("longtask")) {
      new PerformanceObserver((list) => found.push(...list.getEntries().map((entry) => entry.duration)))
        .observe({ entryTypes: ["longtask"] });
    }
  });
  console.log("from a slider's move to both curves, ms; 30 s, cubic and bbr");
  console.log(`${"link".padEnd(18)}${"median".padStart(8)}${"95 %".padStart(8)}${"bar".padStart(6)}${"long tasks".padStart(12)}`);
  for (const { name, link, mostMs } of LINKS) {
    await page.evaluate((hash) => (location.hash = hash), `link=${encodeURIComponent(link)}&algorithm=cubic,bbr`);
    await times(page, WARM_UP);
    await page.evaluate("longTasks.length = 0");
    const found = await times(page, Number(moves));
    const long = (await page.evaluate("longTasks")) as number[];
    const p95 = quantile(found, 0.95);
    const columns = [quantile(found, 0.5).toFixed(0), p95.toFixed(0)];
    console.log(
      name.padEnd(18) + columns.map((text) => text.padStart(8)).join("") + String(mostMs).padStart(6) +
        `${long.length}${long.length > 0 ? ` (${Math.max(...long).toFixed(0)} ms)` : ""}`.padStart(12),
    );
    if (p95 > mostMs || long.length > 0) missed += 1;
  }
} finally {
  await browser.close();
}
process.exitCode = missed > 0 ? 1 : 0;
