// Drives the page of `cwndlab open` as a user does: `node results.mjs ADDRESS BROWSER [SCREENSHOTS]`.
// Prints what it saw as one line of JSON.

import { mkdirSync } from "node:fs";
import type { Page } from "puppeteer-core";
import { isFirefox, launch } from "./launch";

const [address, executablePath, screenshots] = process.argv.slice(2) as [string, string, string?];
const browser = await launch(executablePath);
const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const own = new URL(address).origin;
const foreign: string[] = [];
const errors: string[] = [];
const seen: Record<string, unknown> = {};

async function shoot(page: Page, name: string): Promise<void> {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewport(viewport);
    await new Promise((done) => setTimeout(done, 200));
    const sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    if ((sideways as number) > 0) errors.push(`${name} scrolls sideways by ${String(sideways)} px at ${size}`);
    if (!screenshots) continue;
    mkdirSync(screenshots, { recursive: true });
    for (const theme of ["light", "dark"]) {
      if (!isFirefox(executablePath)) await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
      await new Promise((done) => setTimeout(done, 200));
      await page.screenshot({ path: `${screenshots}/${name}-${size}-${theme}.png`, fullPage: true });
    }
  }
  await page.setViewport(SIZES.wide);
  const nameless = await page.evaluate(() => [...document.querySelectorAll<HTMLElement>("main button, main a, main input, main select, main textarea, main [role=img]")]
    .filter((each) => ![each.ariaLabel, each.title, each.textContent, (each as HTMLInputElement).labels?.[0]?.textContent].some((text) => text?.trim()))
    .map((each) => each.outerHTML.slice(0, 80)));
  const heads = await page.$$eval("h1", (all) => all.length);
  if (nameless.length > 0 || heads !== 1) errors.push(`${name}: ${heads} main headings; without a name: ${nameless.join("; ")}`);
}

try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("request", (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    const isRefusal = message.text().includes("409"); // which the form shows
    if (message.type() === "error" && !isRefusal) errors.push(message.text());
  });
  await page.setViewport(SIZES.wide);
  const text = (selector: string) => page.$eval(selector, (element) => element.textContent ?? "");

  const began = Date.now();
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(".studies tbody tr");
  seen.first_screen_ms = Date.now() - began;
  seen.address = page.url();
  seen.found = await text("#found");
  await page.waitForFunction("document.querySelector('.answer')?.textContent.length > 10");
  await shoot(page, "list");

  // By keyboard alone: to the search, then to the study.
  await page.keyboard.press("/");
  await page.keyboard.type("train vegas");
  await page.waitForFunction("document.querySelectorAll('.studies tbody tr').length === 1");
  seen.search = await text("#found");
  await page.focus(".studies tbody a");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".headline");
  await page.waitForSelector(".charts canvas");
  await page.waitForSelector(".runs tbody tr");
  seen.title = await text("h1");
  seen.headline = await text(".headline");
  seen.charts = await page.$$eval(".charts figcaption", (all) => all.map((each) => each.textContent));
  seen.focus = await page.evaluate("document.activeElement.id");
  await page.click(".chip");
  seen.hidden = await page.$$eval(".charts .alg.off", (all) => all.every((each) => each.getBoundingClientRect().width === 0) && all.length);
  await page.click(".chip");
  seen.saving = await page.$$eval(".save button", (all) => all.map((each) => each.textContent).join(" "));
  await shoot(page, "study");

  await page.click(".runs tbody a");
  await page.waitForFunction("document.querySelector('h1').textContent.startsWith('Run ')");
  await page.waitForSelector(".charts canvas");
  seen.run = await text("h1");
  await shoot(page, "run");

  await page.click(".brand");
  await page.waitForSelector(".studies tbody tr:nth-child(2)");
  await page.waitForFunction("[...document.querySelectorAll('.answer')].every((each) => each.textContent !== '…')");
  for (const box of (await page.$$("tr:has(.state.finished) .choose input")).slice(0, 2)) await box.click();
  await page.waitForSelector(".tools button:not(:disabled)");
  await page.click(".tools button");
  await page.waitForSelector(".charts canvas");
  seen.overlay = await page.$$eval(".chip", (all) => all.map((each) => each.textContent));
  await shoot(page, "overlay");

  await page.click("nav a:last-child");
  await page.waitForSelector("form");
  await shoot(page, "new");
  const fill = async (key: string, value: string) => {
    await page.$eval(`#key-${key}`, (input) => ((input as HTMLInputElement).value = ""));
    await page.type(`#key-${key}`, value);
  };
  await fill("id", "from-the-form");
  await fill("link", "rate=4 Mbitt/s,delay=9 ms");
  await page.click("form .first");
  await page.waitForFunction("document.querySelector('#wrong-link').textContent !== ''");
  seen.refusal = await text("#wrong-link");
  seen.invalid = await page.evaluate("document.activeElement.id");
  await fill("link", "rate=4 Mbit/s,delay=9 ms");
  await fill("duration", "3 s");
  await fill("repetitions", "1");
  const press = (words: string) => page.evaluate((words) => {
    [...document.querySelectorAll<HTMLElement>("form button")].find((each) => each.textContent!.includes(words))!.click();
  }, words);
  await press("Vary another key");
  await page.type("[name=path]", "link.queue");
  await page.type("[name=values]", "1 BDP, 2 BDPP");
  await page.waitForFunction("document.querySelector('.row-of .wrong').textContent !== ''");
  seen.of_factor = await text(".row-of .wrong");
  await page.keyboard.press("Backspace");
  await press("Add a kind");
  await press("Add a kind");
  await page.select(".flow:nth-child(2) [name=algorithm]", "reno");
  await page.waitForFunction("document.querySelector('[role=status]:not(#said)').textContent === '4 runs.'");
  await shoot(page, "filled");
  await press("Text (TOML)");
  seen.toml = await page.$eval("textarea", (area) => area.value);
  await press("Form");
  await page.click("form .first");
  await page.waitForSelector(".headline");
  await page.waitForFunction("document.querySelector('.state-line .state')?.textContent === 'finished'");
  seen.started = await text("h1");
  seen.state = await text(".state-line .state");
  await shoot(page, "started");
} finally {
  process.stdout.write(`${JSON.stringify({ ...seen, foreign, errors })}\n`);
  await browser.close();
}
