// How long the page of `cwndlab open` takes to its first screen, to a large study and to a page of its
// runs: `node open_bench.mjs ADDRESS BROWSER STUDY [TIMES]`. Prints milliseconds as JSON.

import type { Page } from "puppeteer-core";
import { launch } from "./launch";

const [address, executablePath, study, times = "3"] = process.argv.slice(2) as [string, string, string, string?];
const browser = await launch(executablePath, 600_000);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return Math.round(performance.now() - began);
}

const seen = async (page: Page, selector: string) =>
  page.waitForFunction((each) => document.querySelector(each) !== null, { polling: 5, timeout: 600_000 }, selector);

try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  const first: number[] = [];
  for (let n = 0; n < Number(times); n += 1) {
    await page.goto("about:blank");
    first.push(await timed(async () => {
      await page.goto(address, { waitUntil: "domcontentloaded" });
      await seen(page, ".studies tbody tr th a");
    }));
  }
  await page.type("#search", study);
  await page.waitForFunction("document.querySelectorAll('.studies tbody tr').length === 1", { polling: 5 });
  const large = await timed(async () => {
    await page.click(".studies tbody a");
    await seen(page, ".headline");
  });
  await seen(page, ".runs tbody tr");
  const last = await timed(async () => {
    await page.evaluate(() => {
      const buttons = [...document.querySelectorAll<HTMLElement>(".pages button")];
      document.querySelector(".runs tbody tr")!.classList.add("old");
      buttons.find((each) => each.textContent === "Last")!.click();
    });
    await seen(page, ".runs tbody tr:not(.old) th");
    await page.waitForFunction("document.querySelector('.old') === null", { polling: 5 });
  });
  console.log(JSON.stringify({ first_ms: first, large_ms: large, last_page_ms: last }));
} finally {
  await browser.close();
}
