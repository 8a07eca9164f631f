// Chart of goodput against round-trip time; upper left is better.

import { shown } from "./charts.ts";
import type { Figures } from "./curves.ts";
import { around, placeName } from "./names.ts";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 460;
const HEIGHT = 230;
const LEFT = 46;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 40;
const ROOM = 1.15;
const POINT = 5;

/** A chart of each algorithm's goodput against the 95th percentile of its round-trip time. */
export function operatingPoints(
  points: (Figures & { name: string; colour: string; isBeside: boolean })[],
): SVGSVGElement {
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" }) as SVGSVGElement;
  svg.ariaLabel = points
    .map((p) => `${p.name}: ${shown(p.goodput_mbit_s)} Mbit/s at ${shown(p.rtt_p95_ms)} ms`)
    .join("; ");
  const most = (values: number[]) => (Math.max(0, ...values.filter(Number.isFinite)) || 1) * ROOM;
  const [mostX, mostY] = [most(points.map((p) => p.rtt_p95_ms)), most(points.map((p) => p.goodput_mbit_s))];
  const x = (value: number) => LEFT + (value / mostX) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / mostY) * (HEIGHT - TOP - BOTTOM);
  for (const value of ticks(mostY)) {
    svg.append(
      draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
      label(LEFT - 6, y(value) + 4, "end", value.toLocaleString("en")),
    );
  }
  for (const value of ticks(mostX)) {
    svg.append(
      draw("line", { x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
      label(x(value), HEIGHT - BOTTOM + 15, "middle", value.toLocaleString("en")),
    );
  }
  svg.append(
    label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "95th percentile of the round-trip time, ms"),
  );
  const there = points.filter((point) => Number.isFinite(point.rtt_p95_ms));
  const spots = there.map((point) => ({ x: x(point.rtt_p95_ms), y: y(point.goodput_mbit_s) }));
  const taken = spots.map(around);
  there.forEach((point, n) => {
    const spot = spots[n]!;
    svg.append(draw("circle", { cx: spot.x, cy: spot.y, r: POINT, stroke: point.colour, "stroke-width": 2, fill: point.isBeside ? "none" : point.colour }));
    const box = placeName(spot, point.name, taken, { left: LEFT, right: WIDTH, bottom: HEIGHT - BOTTOM });
    const name = label((box.left + box.right) / 2, box.bottom - 3, "middle", point.name);
    name.classList.add("name");
    svg.append(name);
  });
  return svg;
}

/** Round numbers from 0 up to `most`, at most five. */
export function ticks(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((wide) => most / wide <= 4.5)!;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, n) => Number((n * step).toPrecision(3)));
}

/** Makes an SVG element. */
export function draw(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** Makes a text element at a position. */
export function label(x: number, y: number, anchor: string, text: string): SVGElement {
  const element = draw("text", { x, y, "text-anchor": anchor });
  element.textContent = text;
  return element;
}
