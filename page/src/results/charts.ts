// Draws the report's charts with the report's own scripts, with buttons that show or hide
// algorithms.

import Plot from "uplot";
import "../../../python/cwndlab/report/assets/core.js";
import "../../../python/cwndlab/report/assets/svg.js";
import "../../../python/cwndlab/report/assets/series.js";
import "../../../python/cwndlab/report/assets/records.js";
import "../../../python/cwndlab/report/assets/save.js";
import { figure, make } from "./dom.ts";
import type { Chart, Style, Styles } from "./server.ts";

const SVG = "http://www.w3.org/2000/svg";
const ZOOMS: [string, string, string][] = [
  ["start", "Start", "Start"], ["in", "+", "Zoom in"], ["out", "\u2212", "Zoom out"], ["left", "\u2190", "Earlier"],
  ["right", "\u2192", "Later"], ["all", "All", "All"],
];

/** The charts within one element. */
interface Lab {
  redraw(isForced: boolean): void;
  toggle(name: string): boolean;
  end(): void;
}

interface Data {
  charts: Record<string, Chart>;
  algorithms: (Style & { name: string })[];
}

declare global {
  var cwndlab: { mount(root: Element, data: Data): Lab };
}

Object.assign(globalThis, { uPlot: Plot }); // global because the report's scripts look for it there

const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = new CSSStyleSheet();
document.adoptedStyleSheets.push(colours);

function setTheme(): void {
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
}

setTheme();
dark.addEventListener("change", setTheme);

/** Charts in an element, which must be part of the page before they are drawn. */
export class Drawn {
  readonly element = make("div", { class: "charts" });
  private lab: Lab | null = null;
  private readonly resizing = new ResizeObserver(() => this.draw());
  private readonly recolour = () => this.lab?.redraw(true);

  constructor(private readonly charts: Chart[], private readonly styles: Styles) {
    const named = Object.entries(styles);
    colours.replaceSync(named.map(([, { colour, dark: other }], at) =>
      `.a${at} { --c: ${colour}; } :root[data-theme="dark"] .a${at} { --c: ${other}; }`).join("\n"));
    this.element.append(
      make("div", { class: "chips wide", role: "group", "aria-label": "Show or hide algorithms" },
        ...named.map(([name, style], at) => this.chip(name, style, at))),
      ...charts.map(framed),
    );
    dark.addEventListener("change", this.recolour);
    this.resizing.observe(this.element);
  }

  end(): void {
    dark.removeEventListener("change", this.recolour);
    this.resizing.disconnect();
    this.lab?.end();
  }

  private draw(): void {
    if (!this.element.clientWidth) return;
    this.lab ??= cwndlab.mount(this.element, {
      charts: Object.fromEntries(this.charts.map((chart) => [chart.name, chart])),
      algorithms: Object.entries(this.styles).map(([name, style]) => ({ name, ...style })),
    });
    this.lab.redraw(false);
  }

  private chip(name: string, { dashes }: Style, at: number): HTMLElement {
    const swatch = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    for (const [key, value] of Object.entries({ class: "swatch", width: 26, height: 12, "aria-hidden": "true" })) swatch.setAttribute(key, String(value));
    for (const [key, value] of Object.entries({ x1: 1, x2: 25, y1: 6, y2: 6, stroke: "var(--c)", "stroke-width": 2.4, "stroke-dasharray": dashes.join(" ") || "none" })) line.setAttribute(key, String(value));
    swatch.append(line);
    const chip = make("button", { type: "button", class: `chip a${at}`, "aria-pressed": "true", click: () => {
      if (this.lab) chip.setAttribute("aria-pressed", String(this.lab.toggle(name)));
    } });
    chip.append(swatch, name);
    return chip;
  }
}

/** A chart's frame with its title and, for charts over time, buttons to choose the time shown. */
function framed(chart: Chart): HTMLElement {
  if (chart.kind !== "series") {
    const over = chart.kind === "dots" ? "packets in flight" : chart.x.title;
    return make("figure", { class: chart.kind === "scatter" ? "card wide" : "card" },
      make("figcaption", {}, `${chart.y.title} over ${over} `, make("span", { class: "unit" }, chart.y.unit)),
      make("div", { class: "chart", "data-chart": chart.name, role: "img", "aria-label": spoken(chart, over) }));
  }
  const lost = chart.losses.filter((each) => each.count);
  const losses = lost.map((each) => `${each.name} ${figure(each.count)}${each.timeouts.length ? ` (${figure(each.timeouts.length)} timeouts)` : ""}`);
  return make("figure", { class: "card wide" },
    make("figcaption", {}, "Over time"),
    make("div", { class: "chart-tools", role: "group", "aria-label": "Time shown" },
      make("span", { class: "hint" }, "Drag over a chart to zoom in; double-click to see all of it. At the top of a chart, strokes are losses and crosses are timeouts."),
      make("span", { class: "buttons" }, ...ZOOMS.map(([zoom, text, label]) =>
        make("button", { type: "button", class: "quiet", "data-zoom": zoom, "aria-label": label }, text)))),
    make("div", { class: "chart series", "data-chart": chart.name }),
    ...(losses.length ? [make("p", { class: "soft" }, `Losses seen by the sender: ${losses.join(", ")}.`)] : []));
}

function spoken(chart: Exclude<Chart, { kind: "series" }>, over: string): string {
  const about = `${chart.y.title} over ${over}`;
  if (chart.kind !== "scatter") return about;
  const points = chart.points.map(({ name, x, y }) => `${name}: ${figure(y[0])} ${chart.y.unit} at ${figure(x[0])} ${chart.x.unit}`);
  return `${about}. ${points.join("; ")}`;
}
