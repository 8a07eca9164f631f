// Exports: files with charts, tables and the decision, and commands and files that reproduce the
// results.

import { type Chart, type Line, shown } from "./charts.ts";
import type { Figures } from "./curves.ts";
import { data } from "./data.ts";
import { csvOf, curvesCsv, pictureFrom, pictureOf, save, saveCsv, savePng, saveSvg, tools } from "./save.ts";
import { type Setting, commandOf, linkLine, pythonOf, studyOf } from "./setting.ts";

/** A curve with the values of its flows and the algorithm of its run. */
export type Shown = Line & { of: string; summary: Figures };

/** The current content of the page. */
export interface Now {
  setting: () => Setting;
  lines: () => Shown[];
  /** The decision as JSON; null if there is none. */
  decision: () => string | null;
}

const COLUMNS: (keyof Figures)[] = [
  "goodput_mbit_s", "rtt_mean_ms", "rtt_p95_ms", "retransmitted_pct", "timeouts",
];

const byId = (id: string) => document.getElementById(id)!;

/** A row of the table of results. */
export function row({ name, colour, isBeside, summary }: Shown): HTMLTableRowElement {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const swatch = document.createElement("i");
  swatch.className = "swatch";
  swatch.style.background = isBeside ? "none" : colour;
  if (isBeside) swatch.style.boxShadow = `inset 0 0 0 2px ${colour}`;
  head.append(swatch, name);
  line.append(head);
  for (const column of COLUMNS) {
    const cell = document.createElement("td");
    const value = summary[column];
    cell.textContent = column === "timeouts" ? String(value) : shown(value);
    line.append(cell);
  }
  return line;
}

export class Along {
  constructor(private readonly now: Now) {
    const points = () => pictureFrom(byId("points").querySelector("svg")!, this.about());
    const CSV = () => saveCsv(this.figures(), this.fileName("figures"));
    byId("points-tools").replaceWith(
      tools("the operating points", {
        SVG: () => saveSvg(points(), this.fileName("points")),
        PNG: () => void savePng(points(), this.fileName("points")),
        CSV,
      }),
    );
    byId("figures-tools").replaceWith(tools("the table", { CSV }));
    offer("copy-command", () => commandOf(now.setting()));
    offer("copy-study", () => studyOf(now.setting()));
    offer("copy-python", () => pythonOf(now.setting()));
    offer("copy-link", () => location.href);
    byId("save-decision").onclick = () => {
      const text = now.decision();
      if (text === null) return;
      save(new Blob([text], { type: "application/json" }), `${this.fileName("decision")}.json`);
    };
  }

  /** Buttons that save a chart. */
  toolsOf(chart: Chart): HTMLElement {
    // Saved pictures have the colours for white paper.
    const onPaper = () =>
      this.now.lines().map((line) => ({
        ...line, colour: data.algorithms.find(({ name }) => name === line.of)!.colour,
      }));
    const picture = () =>
      pictureOf(chart, onPaper(), this.now.setting().duration_s, this.about());
    return tools(chart.title, {
      SVG: () => saveSvg(picture(), this.fileName(chart.quantity)),
      PNG: () => void savePng(picture(), this.fileName(chart.quantity)),
      CSV: () => saveCsv(curvesCsv(this.now.lines()), this.fileName("curves")),
    });
  }

  private figures(): string {
    return csvOf(
      ["algorithm", ...COLUMNS],
      this.now.lines().map(({ name, summary }) => [name, ...COLUMNS.map((column) => summary[column])]),
    );
  }

  /** A file name made from the link and the algorithms. */
  private fileName(what: string): string {
    const setting = this.now.setting();
    const about = [linkLine(setting), ...setting.algorithms, what].join("-");
    return about.replace(/[^\w.+-]+/g, "_").slice(-100);
  }

  private about(): string {
    const { repetition, seed } = this.now.setting();
    return `${linkLine(this.now.setting())}; repetition ${repetition}, seed ${seed}`;
  }
}

/** A button that copies a text. */
function offer(id: string, text: () => string): void {
  const button = byId(id) as HTMLButtonElement;
  const label = button.textContent;
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "copied";
    } catch {
      byId("command").textContent = text(); // a page opened from disk may lack the clipboard
      button.textContent = "shown above";
    }
    setTimeout(() => (button.textContent = label), 1500);
  };
}
