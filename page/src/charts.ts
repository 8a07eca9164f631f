// Curves over time: one chart for each quantity, with linked cursors and marks for events.

import uPlot from "uplot";
import type { Curves } from "./curves.ts";
import { type Happening, isExit, isLoss } from "./happenings.ts";

/** The curves and marks of one algorithm. */
export interface Line {
  name: string;
  colour: string;
  curves: Curves;
  happenings: Happening[];
  /** Whether the line shows the additional flow of another algorithm. */
  isBeside: boolean;
}

export type Quantity = Exclude<keyof Curves, "t_s">;

export interface Chart {
  quantity: Quantity;
  title: string;
  unit: string;
}

export const CHARTS: Chart[] = [
  { quantity: "goodput_mbit_s", title: "Goodput", unit: "Mbit/s" },
  { quantity: "rtt_ms", title: "Round-trip time", unit: "ms" },
  { quantity: "cwnd_pkts", title: "Congestion window", unit: "packets" },
  { quantity: "queue_pkts", title: "Queue at the bottleneck", unit: "packets" },
];
const HEIGHT_PX = 170;
const SYNC = "time";
const MARK_PX = 7;
/** Goodput above this multiple of its 97th percentile is cut off. */
const SPIKE = 1.6;
const ROOM = 1.05;
/** Maximum distance between a click and a mark, as a share of the time shown. */
const NEAR = 0.02;

interface Callbacks {
  /** Handles a click at a time, with the nearest marked event if there is one. */
  chosen: (t_s: number, nearest: { name: string; happening: Happening } | null) => void;
  /** Makes the buttons beside a chart's title. */
  tools: (chart: Chart) => HTMLElement;
}

export class Charts {
  private plots: uPlot[] = [];
  private cursors: HTMLElement[] = [];
  private names: string | null = null;
  private lines: Line[] = [];
  private duration_s = 1;
  private tops: number[] = CHARTS.map(() => 1);

  constructor(private readonly place: HTMLElement, private readonly callbacks: Callbacks) {
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** Draws lines from 0 to `duration_s`; keeps the plots if names and colours are unchanged. */
  draw(lines: Line[], duration_s: number): void {
    this.lines = lines;
    this.duration_s = duration_s;
    const names = lines.map(({ name, colour }) => name + colour).join();
    if (names !== this.names) {
      this.names = names;
      for (const plot of this.plots) plot.destroy();
      this.place.replaceChildren();
      this.cursors = [];
      this.plots = CHARTS.map((chart) => this.plot(chart, lines));
      this.resize(); // a figure fills its row until the next figure exists
    }
    CHARTS.forEach(({ quantity, title, unit }, n) => {
      const plot = this.plots[n]!;
      this.tops[n] = topOf(lines, quantity);
      plot.over.parentElement!.ariaLabel = `${title} over ${shown(duration_s)} s: ${lines
        .map(({ name, curves }) => `${name} ${shown(meanOf(curves[quantity]))} ${unit} on average`)
        .join(", ")}`;
      plot.batch(() => {
        plot.setData(aligned(lines, quantity), false);
        plot.setScale("x", { min: 0, max: duration_s });
      });
    });
  }

  /** Marks a time in all charts; null removes the mark. */
  mark(t_s: number | null): void {
    this.plots.forEach((plot, n) => {
      const cursor = this.cursors[n]!;
      cursor.hidden = t_s === null;
      if (t_s !== null) cursor.style.transform = `translateX(${plot.valToPos(t_s, "x")}px)`;
    });
  }

  private plot(chart: Chart, lines: Line[]): uPlot {
    const { title, unit } = chart;
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("span");
    const small = document.createElement("small");
    small.textContent = unit;
    name.append(`${title} `, small);
    caption.append(name, this.callbacks.tools(chart));
    const place = document.createElement("div");
    figure.append(caption, place);
    this.place.append(figure);
    const style = getComputedStyle(document.documentElement);
    const axis = {
      stroke: style.getPropertyValue("--soft"),
      grid: { stroke: style.getPropertyValue("--line"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    const plot = new uPlot(
      {
        width: Math.max(1, place.clientWidth),
        height: HEIGHT_PX,
        padding: [12, 14, null, null],
        cursor: { sync: { key: SYNC }, drag: { x: false, y: false }, points: { size: 6 } },
        legend: { show: true, live: true, markers: { width: 0, fill: (_, n) => stripeOf(lines[n - 1]) } },
        scales: { x: { time: false }, y: { range: () => [0, this.tops[CHARTS.indexOf(chart)]!] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`), size: 28 },
          { ...axis, size: 46 },
        ],
        hooks: { draw: [(drawn) => this.drawMarks(drawn)] },
        series: [
          { label: "time", value: (_, value) => (value === null ? "" : `${value.toFixed(1)} s`) },
          ...lines.map(({ name, colour, isBeside }) => ({
            label: name,
            stroke: colour,
            ...(isBeside && { dash: [4, 3] }),
            width: 1.6,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? "" : shown(value)),
          })),
        ],
      },
      [[]],
      place,
    );
    plot.over.parentElement!.setAttribute("role", "img");
    const cursor = document.createElement("i");
    cursor.className = "now";
    cursor.hidden = true;
    plot.over.append(cursor);
    this.cursors.push(cursor);
    plot.over.addEventListener("click", (event) => {
      const t_s = plot.posToVal(event.offsetX, "x");
      this.callbacks.chosen(t_s, this.nearest(t_s));
    });
    return plot;
  }

  private nearest(t_s: number): { name: string; happening: Happening } | null {
    let best: { name: string; happening: Happening } | null = null;
    let least = NEAR * this.duration_s;
    for (const { name, happenings } of this.lines) {
      for (const happening of happenings.filter(isMarked)) {
        const apart = Math.max(happening.t_s - t_s, t_s - happening.until_s, 0);
        if (apart < least) [best, least] = [{ name, happening }, apart];
      }
    }
    return best;
  }

  /**
   * Draws marks above the curves: a stroke for losses, a cross for a timeout, a circle for the end
   * of slow start.
   */
  private drawMarks(plot: uPlot): void {
    const { ctx } = plot;
    const scale = devicePixelRatio;
    const size = MARK_PX * scale;
    ctx.save();
    ctx.lineWidth = 1.4 * scale;
    ctx.setLineDash([]);
    this.lines.forEach(({ colour, happenings }, n) => {
      ctx.strokeStyle = colour;
      ctx.beginPath();
      const top = plot.bbox.top - size + (n % 2) * 3 * scale;
      for (const happening of happenings) {
        if (!isMarked(happening)) continue;
        const x = plot.valToPos(happening.t_s, "x", true);
        if (happening.kind === "timeout") {
          ctx.moveTo(x - size / 2, top);
          ctx.lineTo(x + size / 2, top + size);
          ctx.moveTo(x + size / 2, top);
          ctx.lineTo(x - size / 2, top + size);
        } else if (isExit(happening)) {
          ctx.moveTo(x + size / 2, top + size / 2);
          ctx.arc(x, top + size / 2, size / 2, 0, 2 * Math.PI);
        } else {
          ctx.moveTo(x, top);
          ctx.lineTo(x, top + size);
        }
      }
      ctx.stroke();
    });
    ctx.restore();
  }

  private resize(): void {
    for (const plot of this.plots) {
      const width = plot.root.parentElement!.clientWidth;
      if (width > 0) plot.setSize({ width, height: HEIGHT_PX });
    }
  }
}

/** The sample of a line in a legend, as a CSS background. */
function stripeOf(line: Line | undefined): string {
  if (line === undefined) return "transparent";
  const { colour, isBeside } = line;
  return isBeside ? `repeating-linear-gradient(90deg, ${colour} 0 4px, transparent 4px 6px)` : colour;
}

/**
 * The top of a chart. Data that waited behind a lost packet counts as received at once when that
 * packet arrives; such spikes of goodput would make the rest of the curve too small.
 */
export function topOf(lines: { curves: Curves }[], quantity: Quantity): number {
  const most = mostOf(lines, quantity);
  if (quantity !== "goodput_mbit_s") return (most || 1) * ROOM;
  const values = lines.flatMap(({ curves }) => [...curves[quantity]].filter((value) => !Number.isNaN(value)));
  const usual = values.sort((a, b) => a - b)[Math.floor(0.97 * values.length)] ?? 0;
  return usual > 0 && most > SPIKE * usual ? SPIKE * usual : (most || 1) * ROOM;
}

/** The largest value of some curves; 0 if there are none. */
export function mostOf(lines: { curves: Curves }[], quantity: Quantity): number {
  let most = 0;
  for (const { curves } of lines) for (const value of curves[quantity]) if (value > most) most = value;
  return most;
}

function meanOf(values: Float64Array): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

function isMarked(happening: Happening): boolean {
  return isLoss(happening.kind) || happening.kind === "timeout" || isExit(happening);
}

/** The curves at common times; null where an algorithm has no sample. */
export function aligned(lines: { curves: Curves }[], quantity: Quantity): uPlot.AlignedData {
  const tables = lines.map(({ curves }): uPlot.AlignedData => [
    curves.t_s,
    Array.from(curves[quantity], (value) => (Number.isNaN(value) ? null : value)),
  ]);
  return tables.length === 0 ? [[]] : uPlot.join(tables);
}

/** Formats a number with three significant digits. */
export function shown(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return value === 0 ? "0" : value.toPrecision(3);
}
