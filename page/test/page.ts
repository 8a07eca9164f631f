// The page in a browser, as its users have it: `node page.mjs PAGE BROWSER`. Every preset and
// algorithm, sliders at their ends, addresses with values beyond them, traces good and bad, runs that
// fail, and what is saved. Exits 1 with a line for each thing that is not as it should be.

import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "puppeteer-core";
import { launch } from "./launch";

const SHORT = "duration=2&flows=1";
const REST_MS = 900;
/** Less than the 8 s after which a run is given up in this test. */
const ENDED_MS = 6_000;
const MOST_BYTES = 5e6;
const [file, executablePath] = process.argv.slice(2) as [string, string];
const address = pathToFileURL(file).href;
const wrong: string[] = [];

function expect(holds: boolean, what: string): void {
  if (!holds) wrong.push(what);
}

interface Seen {
  refusal: string;
  rows: string[];
  command: string;
  headline: string;
}

/** What the page shows once its curves are there. */
async function seen(page: Page): Promise<Seen> {
  const isWhole = 'document.body.ariaBusy === "false" && document.querySelector("#whole.stale") === null';
  await page.waitForFunction(isWhole, { timeout: 60_000, polling: 20 });
  return page.evaluate(() => {
    const text = (id: string) => document.getElementById(id)!.textContent ?? "";
    const refusal = document.getElementById("refusal")!;
    return {
      refusal: refusal.hidden ? "" : text("refusal"),
      rows: [...document.querySelectorAll("#figures tr")].map((row) => row.textContent ?? ""),
      command: text("command"),
      headline: text("headline"),
    };
  });
}

async function go(page: Page, hash: string): Promise<Seen> {
  await page.evaluate((part) => {
    document.body.ariaBusy = "true";
    if (location.hash === part) dispatchEvent(new Event("hashchange"));
    else location.hash = part;
  }, `#${hash}`);
  return seen(page);
}

const hashOf = (link: string, algorithms = "cubic,bbr", more = SHORT) =>
  `link=${encodeURIComponent(link)}&algorithm=${algorithms}&${more}`;

/** Whether a link that is well gives curves. */
async function works(page: Page, after: string): Promise<void> {
  const now = await go(page, hashOf("rate=8 Mbit/s,delay=10 ms,queue=1 BDP,loss=0 %"));
  expect(now.refusal === "" && now.rows.length === 2, `after ${after} the next run: ${now.refusal}`);
}

async function presets(page: Page): Promise<void> {
  const names = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLOptionElement>("#links option")].map(({ value }) => value),
  );
  expect(names.length > 20, `${names.length} presets`);
  for (const name of names.filter((each) => each !== "")) {
    const { refusal, rows } = await go(page, hashOf(name));
    expect(refusal === "" && rows.length === 2, `${name}: ${refusal || `${rows.length} rows`}`);
  }
}

async function algorithms(page: Page): Promise<void> {
  const names = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("#algorithms [data-algorithm]")].map((chip) => chip.dataset["algorithm"]!),
  );
  expect(names.length >= 20, `${names.length} algorithms`);
  for (let n = 0; n < names.length; n += 4) {
    const some = names.slice(n, n + 4);
    const { refusal, rows } = await go(page, hashOf("lossy", some.join(",")));
    expect(refusal === "" && rows.length === some.length, `${some.join()}: ${refusal}`);
  }
}

async function sliders(page: Page): Promise<void> {
  for (const link of ["rate=8 Mbit/s,delay=10 ms,queue=1 BDP,loss=0 %", "lte-typical", "wifi-typical"]) {
    await go(page, hashOf(link));
    const count = await page.evaluate(() => document.querySelectorAll("#sliders input").length);
    for (let n = 0; n < count; n += 1) {
      for (const end of ["min", "max"] as const) {
        await page.evaluate((at, which) => {
          const input = document.querySelectorAll<HTMLInputElement>("#sliders input")[at]!;
          document.body.ariaBusy = "true";
          input.value = input[which];
          input.dispatchEvent(new Event("input"));
        }, n, end);
        const { refusal, rows } = await seen(page);
        expect(refusal === "" && rows.length === 2, `${link}, slider ${n} at its ${end}: ${refusal}`);
        if (n > count - 3 && end === "max") await go(page, hashOf(link)); // not so long a time
      }
    }
  }
}

const BEYOND = [
  "rate=-1 Mbit/s", "rate=1e99 Mbit/s,delay=1 ms", "rate=0 Mbit/s,delay=1 ms", "rate=8 Mbit/s,delay=-1 s",
  "rate=8 Mbit/s,delay=10 ms,loss=500 %", "lte-typical,users=99999999999", "lte-typical,coverage=9000 dB",
  "no-such-link", "lte-typical,,,=", "trace=nothing.csv,delay=1 ms", "\"", "rate=NaN,delay=10 ms",
];

async function beyond(page: Page): Promise<void> {
  for (const link of BEYOND) {
    const { refusal } = await go(page, hashOf(link));
    expect(refusal.length > 10 && !refusal.includes("panicked"), `${link}: "${refusal}"`);
    await works(page, link);
  }
  const { command } = await go(page, "link=lossy&algorithm=nothing,cubic&flows=-3&duration=1e9&seed=x&goal=fun");
  expect(command === 'cwndlab compare --link lossy --algorithm cubic --duration "30 s" --repeat 10', command);
}

async function shared(page: Page): Promise<void> {
  const hash = hashOf('lte-typical,speed=120 km/h,handover="every 20 s, 40 ms"', "vegas,cubic", "duration=3&flows=2&goal=latency&seed=7&repetition=4");
  const first = await go(page, hash);
  await new Promise((done) => setTimeout(done, REST_MS));
  const kept = await page.evaluate(() => location.hash);
  const second = await go(page, kept.slice(1));
  expect(second.command === first.command, `${second.command} for ${first.command}`);
  expect(second.rows.join() === first.rows.join(), "a shared address gives other numbers");
  expect(first.command.endsWith("--flows 2 --duration \"3 s\" --repeat 10 --seed 7 --goal latency"), first.command);
}

async function beside(page: Page): Promise<void> {
  const link = "rate=8 Mbit/s,delay=10 ms,queue=2 BDP,loss=0 %";
  const { rows, command } = await go(page, hashOf(link, "bbr,vegas", "duration=5&flows=1&beside=cubic"));
  expect(rows.length === 4 && rows[1]!.startsWith("cubic beside bbr"), rows.join("; "));
  expect(command.startsWith("cwndlab run study.toml"), command);
  await page.waitForFunction('document.getElementById("headline").textContent.startsWith("Beside")', { timeout: 20_000, polling: 20 });
  const { headline } = await seen(page);
  expect(/^Beside a flow of cubic, in this repetition: bbr gets \d+ % and vegas gets \d+ %/.test(headline), headline);
  await works(page, "a flow beside");
}

/** A trace that is dropped on the page; what the page says of it. */
async function drop(page: Page, name: string, content: string): Promise<string> {
  await page.evaluate((title, text) => {
    document.getElementById("understood")!.textContent = "";
    const files = new DataTransfer();
    files.items.add(new File([text], title));
    document.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true }));
  }, name, content);
  await page.waitForFunction('document.getElementById("understood").textContent !== ""', { timeout: 30_000, polling: 20 });
  return page.evaluate(() => document.getElementById("understood")!.textContent ?? "");
}

async function traces(page: Page): Promise<void> {
  const mahimahi = Array.from({ length: 2000 }, (_, n) => String(n + 1)).join("\n");
  const csv = `time_s,rate_mbit_s\n${Array.from({ length: 30 }, (_, n) => `${n},${4 + (n % 5)}`).join("\n")}\n`;
  for (const [name, content] of [["drive.down", mahimahi], ["my, \"rates\".csv", csv]] as const) {
    const said = await drop(page, name, content);
    const { refusal, rows, command } = await seen(page);
    expect(refusal === "" && rows.length === 2 && command.includes("trace="), `${name}: ${said} ${refusal}`);
  }
  for (const [name, content] of [["empty", ""], ["words.txt", "no trace at all\n"], ["bytes", "\u0000\u0001\u0002"], ["minus.csv", "time_s,rate_mbit_s\n0,-5\n"]] as const) {
    const said = await drop(page, name, content);
    expect(said.startsWith(name), `${name}: ${said}`);
  }
  await works(page, "bad traces");
}

/** Rates at which the module is made to fail once: as a panic, without an end, without memory. */
const FAILING: Record<string, { rate: string; sentence: RegExp }> = {
  "a panic": { rate: "8.125 Mbit/s", sentence: /^The simulator stopped: / },
  "a run without an end": { rate: "8.25 Mbit/s", sentence: /longer than 20 s, which is the limit of the page/ },
  "a run without memory": { rate: "8.375 Mbit/s", sentence: /^The simulator stopped: .*(memory|allocation)/ },
};

async function failures(page: Page): Promise<void> {
  for (const [what, { rate, sentence }] of Object.entries(FAILING)) {
    const { refusal } = await go(page, hashOf(`rate=${rate},delay=10 ms,queue=1 BDP,loss=0 %`));
    expect(sentence.test(refusal), `${what}: "${refusal}"`);
    await new Promise((done) => setTimeout(done, REST_MS)); // the repetitions fail as well
    const began = performance.now();
    await works(page, what);
    expect(performance.now() - began < ENDED_MS, `after ${what} the next run waited for what nobody asks for`);
  }
}

/** What stands before the worker's code, so that the module fails at some rates. */
const FAILURES = `{
  let link = "";
  addEventListener("message", ({ data }) => { link = data?.task?.request?.link ?? ""; });
  const Instance = WebAssembly.Instance;
  WebAssembly.Instance = function (module) {
    const { exports } = new Instance(module);
    return { exports: { ...exports, run: (...pair) => {
      if (link.includes("8.125")) throw new WebAssembly.RuntimeError("unreachable");
      while (link.includes("8.25"));
      if (link.includes("8.375")) {
        for (const bytes of [1 << 24, 1 << 16, 1 << 10, 64, 8]) while (exports.allocate(bytes) !== 0);
      }
      return exports.run(...pair);
    } } };
  };
}`;

/** In the page, before its own code: workers fail as above, and 20 s are over after 8. */
function failSometimes(prelude: string): void {
  const create = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob: Blob) =>
    create(blob.type === "text/javascript" ? new Blob([prelude, blob], { type: blob.type }) : blob);
  const later = globalThis.setTimeout.bind(globalThis);
  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms = 0) => later(work, ms === 20_000 ? 8_000 : ms),
  });
}

/** What the answer says while its repetitions stream in. */
async function streaming(page: Page): Promise<void> {
  await go(page, hashOf("lte-typical", "cubic,bbr", "duration=30&flows=1&seed=9"));
  const said = await page.evaluate(async () => {
    const found: string[] = [];
    const text = (id: string) => document.getElementById(id)!.textContent ?? "";
    while (!text("counted").startsWith("from 10")) {
      found.push(`${text("counted")}: ${text("headline")}`);
      await new Promise((done) => setTimeout(done, 2));
    }
    return [...new Set(found)];
  });
  expect(said.some((each) => each.startsWith("so far from")), `while repetitions stream in: ${said.join("; ")}`);
  const current = said.filter((each) => each.startsWith("so far"));
  expect(!current.some((each) => each.includes("nothing is random")), `a radio link said to have nothing random: ${said.join("; ")}`);
}

async function story(page: Page): Promise<void> {
  await go(page, hashOf("rate=8 Mbit/s,delay=10 ms,queue=10 packets,loss=0 %", "cubic,reno", "duration=5&flows=1"));
  await page.waitForFunction('document.getElementById("counted").textContent.startsWith("from 10")', { timeout: 60_000, polling: 50 });
  const told = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll<HTMLButtonElement>("#story button")];
    const loss = buttons.find((button) => button.textContent!.includes("found the queue full"))!;
    loss.click();
    return document.getElementById("detail")!.textContent ?? "";
  });
  expect(/packet [\d,]+ of flow 1, sent at [\d.]+ s; it was retransmitted/.test(told), `a loss: ${told}`);
  expect(told.includes("The queue was full: it held 10 packets"), `what the queue held: ${told}`);
  expect(/The sender noticed this [\d.]+ ms after the first packet \(fast recovery/.test(told), `what the sender did: ${told}`);
  expect(told.includes("RFC 7567"), `where it is written: ${told}`);
  await go(page, hashOf("rate=8 Mbit/s,delay=20 ms,queue=8 BDP,loss=0 %", "cubic,bbr", "duration=5&flows=1"));
  await page.waitForFunction('document.getElementById("counted").textContent.startsWith("from 10")', { timeout: 60_000, polling: 50 });
  const exit = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll<HTMLButtonElement>("#story button")];
    buttons.find((button) => button.textContent!.includes("Exit of slow start"))!.click();
    return document.getElementById("detail")!.textContent ?? "";
  });
  expect(exit.includes("No packet was lost. The algorithm itself ended slow start"), `the end of slow start: ${exit}`);
  const path = await page.evaluate(() => document.getElementById("path")!.ariaLabel ?? "");
  expect(/cubic: \d+ packets queued, window \d+, \d+ in flight/.test(path), `the path: ${path}`);
}

async function saves(page: Page): Promise<void> {
  const saved = await page.evaluate(async () => {
    const found: Record<string, string> = {};
    const blobs = new Map<string, Blob>();
    const create = URL.createObjectURL.bind(URL);
    URL.createObjectURL = (blob: Blob) => {
      const address = create(blob);
      blobs.set(address, blob);
      return address;
    };
    const waits: Promise<void>[] = [];
    HTMLAnchorElement.prototype.click = function click() {
      const blob = blobs.get(this.href)!;
      const name = this.download;
      waits.push(blob.slice(0, 400).text().then((text) => void (found[name] = `${blob.type} ${text}`)));
    };
    for (const button of document.querySelectorAll<HTMLButtonElement>(".tools button, #save-decision")) button.click();
    await new Promise((done) => setTimeout(done, 1500));
    await Promise.all(waits);
    return found;
  });
  const names = Object.keys(saved).join(" ");
  for (const part of ["goodput_mbit_s.svg", "goodput_mbit_s.png", "curves.csv", "points.svg", "figures.csv", "decision.json"]) {
    expect(names.includes(part), `${part} is not among ${names}`);
  }
  const csv = Object.entries(saved).find(([name]) => name.endsWith("curves.csv"))?.[1] ?? "";
  expect(csv.includes("algorithm,t_s,goodput_mbit_s,rtt_ms,cwnd_pkts,queue_pkts\r\ncubic,0.1,"), csv);
}

async function access(page: Page): Promise<void> {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button, input, select, canvas, [role=img]")]
      .filter((each) => each.closest("[role=img]") === each || each.tagName !== "CANVAS")
      .filter((each) => {
        const label = each.closest("label")?.textContent ?? each.getAttribute("aria-label") ?? each.textContent ?? "";
        return label.trim() === "";
      })
      .map((each) => each.outerHTML.slice(0, 80)),
  );
  expect(nameless.length === 0, `without a name: ${nameless.join("; ")}`);
  await page.setViewport({ width: 390, height: 844 });
  await new Promise((done) => setTimeout(done, 200));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide <= 390, `at 390 px the page is ${wide} px wide`);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button.chip")].filter((each) => each.offsetHeight < 30).length,
  );
  expect(small === 0, `${small} buttons too low for a finger`);
}

const browser = await launch(executablePath);
try {
  const page = await browser.newPage();
  const asked: string[] = [];
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) asked.push(request.url());
  });
  page.on("pageerror", (error) => wrong.push(`an error on the page: ${(error as Error).message}`));
  await page.setViewport({ width: 1280, height: 900 });
  await page.evaluateOnNewDocument(failSometimes, FAILURES);
  await page.goto(address);
  await seen(page);
  const parts = { presets, algorithms, sliders, beyond, shared, beside, traces, failures, streaming, story, saves, access };
  for (const [name, part] of Object.entries(parts)) {
    const [before, began] = [wrong.length, performance.now()];
    try {
      await part(page);
    } catch (error) {
      wrong.push(`${name}: ${String(error)}`);
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`${name.padEnd(12)}${wrong.length === before ? "well" : "not well"}, ${seconds} s`);
  }
  expect(asked.length === 0, `the page asked ${asked.join()}`);
  const folder = dirname(file);
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(bytes <= MOST_BYTES, `the page has ${bytes} bytes`);
} finally {
  await browser.close();
}
for (const line of wrong) console.log(line);
process.exitCode = wrong.length > 0 ? 1 : 0;
