// Goodput over round-trip time: the upper left is better.

import { shown } from "./charts.ts";
import type { Figures } from "./curves.ts";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 340;
const HEIGHT = 210;
const LEFT = 46;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 40;
const ROOM = 1.15;
const NAME_WIDTH = 40;
const NAME_HEIGHT = 14;

/** A picture of each algorithm's goodput and 95th percentile of the round-trip time. */
export function operatingPoints(
  points: (Figures & { name: string; colour: string })[],
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
  const placed: { x: number; y: number }[] = [];
  for (const point of there.sort((a, b) => a.rtt_p95_ms - b.rtt_p95_ms)) {
    const [atX, atY] = [x(point.rtt_p95_ms), y(point.goodput_mbit_s)];
    svg.append(draw("circle", { cx: atX, cy: atY, r: 5.5, fill: point.colour }));
    // Below its point, and further below names that are there already.
    let below = atY + NAME_HEIGHT + 4;
    while (placed.some((name) => Math.abs(name.x - atX) < NAME_WIDTH && Math.abs(name.y - below) < NAME_HEIGHT)) {
      below += NAME_HEIGHT;
    }
    placed.push({ x: atX, y: below });
    const name = label(atX, below, "middle", point.name);
    name.classList.add("name");
    svg.append(name);
  }
  return svg;
}

/** Round numbers from 0 up to `most`, at most five. */
function ticks(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((wide) => most / wide <= 4.5)!;
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
