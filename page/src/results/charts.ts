// The report's chart specifications, drawn here: series by uPlot, points as SVG.

import uPlot from "uplot";
import { around, placeName } from "../names.ts";
import { figure, make } from "./dom.ts";
import type { Axis, Chart, DotsChart, ScatterChart, SeriesChart, Styles } from "./server.ts";

const SVG = "http://www.w3.org/2000/svg";
const PANEL_PX = 170;
const BOX = { width: 460, height: 270, left: 52, right: 16, top: 20, bottom: 42 };
const MOST_NAMED = 8;
const LONGEST_NAME = 16;
const AXIS_FONT = "12px system-ui, sans-serif";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** How a name is drawn here. */
interface Look {
  colour: string;
  isHollow: boolean;
}

export class Drawn {
  readonly element = make("div", { class: "charts" });
  private plots: uPlot[] = [];
  private readonly resizing = new ResizeObserver(() => this.resize());
  private readonly redraw = () => this.draw();

  constructor(private readonly charts: Chart[], private readonly styles: Styles, private readonly key = "time") {
    dark.addEventListener("change", this.redraw);
    this.resizing.observe(this.element);
    this.draw();
  }

  end(): void {
    dark.removeEventListener("change", this.redraw);
    this.resizing.disconnect();
    for (const plot of this.plots) plot.destroy();
  }

  private draw(): void {
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    this.element.replaceChildren(legend(this.styles, this.colour));
    for (const chart of this.charts) {
      if (chart.kind === "series") this.series(chart);
      else this.element.append(points(chart, this.look));
    }
    this.resize();
  }

  private readonly colour = (name: string): string => {
    const style = this.styles[name];
    return style ? (dark.matches ? style.dark : style.colour) : "currentColor";
  };

  private readonly look = (name: string): Look => {
    return { colour: this.colour(name), isHollow: this.styles[name]?.is_hollow ?? false };
  };

  private series(chart: SeriesChart): void {
    const css = getComputedStyle(document.documentElement);
    const axis = { stroke: css.getPropertyValue("--soft"), grid: { stroke: css.getPropertyValue("--line"), width: 1 }, ticks: { show: false }, font: AXIS_FONT };
    for (const panel of chart.panels) {
      const lines = chart.lines.filter((line) => line.values[panel.column]);
      if (!lines.length) continue;
      const place = make("div", { role: "img", "aria-label": spoken(panel, lines) });
      this.element.append(make("figure", {}, make("figcaption", {}, `${panel.title} `, make("small", {}, panel.unit)), place));
      const data = uPlot.join(lines.map((line): uPlot.AlignedData => [line.t, line.values[panel.column]!]));
      const plot = new uPlot({
        width: 300, height: PANEL_PX,
        cursor: { sync: { key: this.key }, points: { size: 6 }, drag: { x: true, y: false } },
        legend: { show: true, live: true, markers: { width: 0, fill: (_, at) => stripe(lines[at - 1], this.styles, this.colour) } },
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
        axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`), size: 28 }, { ...axis, size: 50 }],
        series: [
          { label: "time", value: (_, value) => (value === null ? "" : `${value.toFixed(2)} s`) },
          ...lines.map((line) => ({
            label: lines.filter(({ name }) => name === line.name).length > 1 ? `${line.name} ${line.flow}` : line.name,
            stroke: this.colour(line.name),
            width: 1.6,
            dash: this.styles[line.name]?.dashes.length ? this.styles[line.name]!.dashes : undefined,
            spanGaps: true,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? "" : figure(value)),
          })),
        ],
      }, data, place);
      this.plots.push(plot);
    }
    const lost = chart.losses.filter((each) => each.count);
    if (lost.length) {
      const text = lost.map((each) => `${each.name} ${figure(each.count)}${each.timeouts.length ? ` (${figure(each.timeouts.length)} timeouts)` : ""}`).join(", ");
      this.element.append(make("p", { class: "soft wide" }, `Losses seen by the sender: ${text}. Drag over a chart to zoom, double-click to see all.`));
    }
  }

  private resize(): void {
    for (const plot of this.plots) {
      const width = plot.root.parentElement!.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: PANEL_PX });
    }
  }
}

/** How a line looks in a chart's legend. */
function stripe(line: { name: string } | undefined, styles: Styles, colour: (name: string) => string): string {
  if (line === undefined) return "transparent";
  const own = colour(line.name);
  return styles[line.name]?.dashes.length ? `repeating-linear-gradient(90deg, ${own} 0 4px, transparent 4px 6px)` : own;
}

function legend(styles: Styles, colour: (name: string) => string): HTMLElement {
  return make("ul", { class: "legend wide", "aria-label": "Colours" }, ...Object.entries(styles).map(([name, { dashes }]) => {
    const svg = draw("svg", { width: 26, height: 10, "aria-hidden": "true" });
    svg.append(draw("line", { x1: 1, x2: 25, y1: 5, y2: 5, stroke: colour(name), "stroke-width": 2.4, "stroke-dasharray": dashes.join(" ") }));
    return make("li", {}, svg, name);
  }));
}

function spoken(panel: Axis, lines: SeriesChart["lines"]): string {
  const column = (panel as Axis & { column: string }).column;
  const means = lines.map((line) => {
    const values = line.values[column]!.filter((value): value is number => value !== null);
    return `${line.name}: mean ${figure(values.reduce((sum, value) => sum + value, 0) / (values.length || 1))}`;
  });
  return `${panel.title} over time in ${panel.unit}. ${means.join("; ")}`;
}

function points(chart: ScatterChart | DotsChart, look: (name: string) => Look): HTMLElement {
  const fill = (name: string) => ({ stroke: look(name).colour, fill: look(name).isHollow ? "none" : look(name).colour });
  const named = chart.kind === "scatter"
    ? chart.points.map((point) => ({ name: point.name, points: [[point.x[0], point.y[0]]] as [number, number][] }))
    : chart.groups;
  const there = named.flatMap((group) => group.points).filter(([x, y]) => x !== null && y !== null);
  const marks = chart.kind === "dots" ? chart.marks : [];
  const known = (values: (number | null)[]) => values.filter((value): value is number => value !== null);
  const ends = chart.kind === "scatter" ? chart.points : [];
  const mostX = 1.06 * Math.max(1e-9, ...there.map(([x]) => x), ...marks.map((mark) => mark.x), ...known(ends.map((end) => end.x[2] ?? null)));
  const mostY = 1.06 * Math.max(1e-9, ...there.map(([, y]) => y), ...known(ends.map((end) => end.y[2] ?? null)));
  const x = (value: number) => BOX.left + (value / mostX) * (BOX.width - BOX.left - BOX.right);
  const y = (value: number) => BOX.height - BOX.bottom - (value / mostY) * (BOX.height - BOX.top - BOX.bottom);
  const about = `${chart.y.title} over ${chart.x.title}`;
  const svg = draw("svg", { viewBox: `0 0 ${BOX.width} ${BOX.height}`, role: "img" });
  svg.setAttribute("aria-label", chart.kind === "scatter"
    ? `${about}. ${named.map(({ name, points: [at] }) => `${name}: ${figure(at![1])} ${chart.y.unit} at ${figure(at![0])} ${chart.x.unit}`).join("; ")}`
    : about);
  for (const value of ticks(mostY)) {
    svg.append(draw("line", { class: "grid", x1: BOX.left, x2: BOX.width - BOX.right, y1: y(value), y2: y(value) }), label(BOX.left - 6, y(value) + 4, "end", figure(value)));
  }
  for (const value of ticks(mostX)) {
    svg.append(draw("line", { class: "grid", x1: x(value), x2: x(value), y1: BOX.top, y2: BOX.height - BOX.bottom }), label(x(value), BOX.height - BOX.bottom + 16, "middle", figure(value)));
  }
  marks.forEach((mark, at) => svg.append(
    draw("line", { class: "mark", x1: x(mark.x), x2: x(mark.x), y1: BOX.top, y2: BOX.height - BOX.bottom }),
    label(x(mark.x), BOX.top - 6, at ? "end" : "middle", mark.text),
  ));
  svg.append(label((BOX.left + BOX.width - BOX.right) / 2, BOX.height - 6, "middle", `${chart.x.title}, ${chart.x.unit}`));
  const taken = chart.kind === "scatter"
    ? chart.points.filter((point) => point.x[0] !== null && point.y[0] !== null).map((point) => around({ x: x(point.x[0]!), y: y(point.y[0]!) }))
    : [];
  for (const group of named) {
    if (chart.kind === "dots") {
      for (const [a, b] of group.points) svg.append(draw("circle", { class: "dot", cx: x(a), cy: y(b), r: 2, ...fill(group.name) }));
      continue;
    }
    const own = chart.points.find((point) => point.name === group.name)!;
    const bar = (x1: number, y1: number, x2: number, y2: number) => draw("line", { x1, y1, x2, y2, stroke: look(group.name).colour, "stroke-width": 1.5 });
    if (own.x[1] !== null) svg.append(bar(x(own.x[1]!), y(own.y[0]!), x(own.x[2]!), y(own.y[0]!)));
    if (own.y[1] !== null) svg.append(bar(x(own.x[0]!), y(own.y[1]!), x(own.x[0]!), y(own.y[2]!)));
    const [atX, atY] = [x(own.x[0]!), y(own.y[0]!)];
    svg.append(draw("circle", { cx: atX, cy: atY, r: 5.5, "stroke-width": 2, ...fill(group.name) }));
    // In two studies over each other the legend names points: names as long hide what they name.
    if (named.length > MOST_NAMED || named.some(({ name }) => name.length > LONGEST_NAME)) continue;
    const box = placeName({ x: atX, y: atY }, group.name, taken, { left: BOX.left, right: BOX.width, bottom: BOX.height - BOX.bottom });
    const name = label((box.left + box.right) / 2, box.bottom - 3, "middle", group.name);
    name.classList.add("name");
    svg.append(name);
  }
  const better = chart.kind === "scatter" ? "; the upper left is better" : "";
  return make("figure", {}, make("figcaption", {}, `${chart.y.title} `, make("small", {}, `${chart.y.unit}, over ${chart.kind === "dots" ? "the data in flight" : chart.x.title}${better}`)), svg as unknown as HTMLElement);
}

function ticks(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((wide) => most / wide <= 5)!;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, n) => Number((n * step).toPrecision(3)));
}

function draw(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function label(x: number, y: number, anchor: string, text: string): SVGElement {
  const element = draw("text", { x, y, "text-anchor": anchor });
  element.textContent = text;
  return element;
}
