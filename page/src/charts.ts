// Curves over time, one chart a quantity, their cursors linked.

import uPlot from "uplot";
import type { Curves } from "./curves.ts";

/** What is drawn of an algorithm. */
export interface Line {
  name: string;
  colour: string;
  curves: Curves;
}

type Quantity = Exclude<keyof Curves, "t_s">;

const CHARTS: { quantity: Quantity; title: string; unit: string }[] = [
  { quantity: "goodput_mbit_s", title: "Goodput", unit: "Mbit/s" },
  { quantity: "rtt_ms", title: "Round-trip time", unit: "ms" },
  { quantity: "cwnd_pkts", title: "Congestion window", unit: "packets" },
  { quantity: "queue_pkts", title: "Queue at the bottleneck", unit: "packets" },
];
const HEIGHT_PX = 170;
const SYNC = "time";

export class Charts {
  private plots: uPlot[] = [];
  private names = "";

  constructor(private readonly place: HTMLElement) {
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** Draws these over the time up to `duration_s`; the plots stay while their lines do. */
  draw(lines: Line[], duration_s: number): void {
    const names = lines.map(({ name, colour }) => name + colour).join();
    if (names !== this.names) {
      this.names = names;
      for (const plot of this.plots) plot.destroy();
      this.place.replaceChildren();
      this.plots = CHARTS.map((chart) => this.plot(chart, lines));
      this.resize(); // a figure takes all of the row until the next one is there
    }
    CHARTS.forEach(({ quantity }, n) => {
      const plot = this.plots[n]!;
      plot.setData(aligned(lines, quantity));
      plot.setScale("x", { min: 0, max: duration_s });
    });
  }

  private plot({ title, unit }: (typeof CHARTS)[number], lines: Line[]): uPlot {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const small = document.createElement("small");
    small.textContent = unit;
    caption.append(`${title} `, small);
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
    return new uPlot(
      {
        width: Math.max(1, place.clientWidth),
        height: HEIGHT_PX,
        cursor: { sync: { key: SYNC }, drag: { x: false, y: false }, points: { size: 6 } },
        legend: { show: true, live: true },
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`), size: 28 },
          { ...axis, size: 46 },
        ],
        series: [
          { label: "time", value: (_, value) => (value === null ? "–" : `${value.toFixed(1)} s`) },
          ...lines.map(({ name, colour }) => ({
            label: name,
            stroke: colour,
            width: 1.6,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? "–" : shown(value)),
          })),
        ],
      },
      [[]],
      place,
    );
  }

  private resize(): void {
    for (const plot of this.plots) {
      const width = plot.root.parentElement!.clientWidth;
      if (width > 0) plot.setSize({ width, height: HEIGHT_PX });
    }
  }
}

/** The curves on common times; an algorithm has no value where it has no sample. */
function aligned(lines: Line[], quantity: Quantity): uPlot.AlignedData {
  const tables = lines.map(({ curves }): uPlot.AlignedData => [
    curves.t_s,
    Array.from(curves[quantity], (value) => (Number.isNaN(value) ? null : value)),
  ]);
  return tables.length === 0 ? [[]] : uPlot.join(tables);
}

/** Three digits. */
export function shown(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return value === 0 ? "0" : value.toPrecision(3);
}
