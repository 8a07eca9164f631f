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
  for (const share of [0, 0.5, 1]) {
    const [atX, atY] = [(share * mostX) / ROOM, (share * mostY) / ROOM];
    svg.append(
      draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(atY), y2: y(atY), class: "grid" }),
      draw("line", { x1: x(atX), x2: x(atX), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
      label(LEFT - 6, y(atY) + 4, "end", shown(atY)),
      label(x(atX), HEIGHT - BOTTOM + 15, "middle", shown(atX)),
    );
  }
  svg.append(
    label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "95th percentile of the round-trip time, ms"),
  );
  for (const point of points) {
    if (!Number.isFinite(point.rtt_p95_ms)) continue;
    const [atX, atY] = [x(point.rtt_p95_ms), y(point.goodput_mbit_s)];
    const isRight = atX > WIDTH * 0.7;
    const name = label(atX + (isRight ? -9 : 9), atY + 4, isRight ? "end" : "start", point.name);
    name.classList.add("name");
    svg.append(draw("circle", { cx: atX, cy: atY, r: 5.5, fill: point.colour }), name);
  }
  return svg;
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
