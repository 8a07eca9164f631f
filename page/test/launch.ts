// A browser for tests and benchmarks: a Chromium, or a Firefox, which is driven through WebDriver BiDi.

import puppeteer, { type Browser } from "puppeteer-core";

export const isFirefox = (executablePath: string): boolean => executablePath.includes("firefox");

export function launch(executablePath: string, protocolTimeout?: number): Promise<Browser> {
  const inFirefox = isFirefox(executablePath);
  return puppeteer.launch({
    executablePath,
    browser: inFirefox ? "firefox" : "chrome",
    headless: true,
    args: inFirefox ? [] : ["--no-sandbox"],
    ...(protocolTimeout === undefined ? {} : { protocolTimeout }),
  });
}
