// Links, each with a simple picture.

import { draw } from "./points.ts";

export interface Picture {
  preset: string;
  keys: Record<string, string>;
  label: string;
  /** SVG paths in a box of 48 by 28; those that begin with "." are filled. */
  strokes: string[];
}

const MAST = "M9 26 14 9 19 26M11 20h6M9.5 7.5a5 5 0 0 1 0-6M18.5 7.5a5 5 0 0 0 0-6";
const WALKER = "M36 12v7l-3 6M36 19l4 6M36 14l-4 4M36 14l4 3";
const HEAD = ".M36 6a2.2 2.2 0 1 0 .01 0Z";
const ARCS = "M6 19a9 9 0 0 1 9-9M6 14a14 14 0 0 1 14-13";
const ROUTER = "M3 20h13v5h-13z";

export const PICTURES: Picture[] = [
  { preset: "lte-typical", keys: {}, label: "LTE, walking", strokes: [MAST, HEAD, WALKER] },
  {
    preset: "lte-typical", keys: { speed: "120 km/h", handover: "every 20 s, 40 ms" }, label: "LTE on a train",
    strokes: ["M3 25h42M17 21V9h20q7 5 7 12zM22 12h5v4h-5zM31 12h5v4h-5zM22 21v2M39 21v2", "M5 21 8 10 11 21M6 17h4M5 7a4 4 0 0 1 0-5M11 7a4 4 0 0 0 0-5"],
  },
  {
    preset: "nr-typical", keys: {}, label: "5G, walking",
    strokes: [MAST, "M33 11h-7v5.5h4a3.5 3.5 0 0 1 0 7.5h-4M45 12.5a5 5 0 0 0-8.5 3v4a5 5 0 0 0 8.5 3v-4h-3.5"],
  },
  {
    preset: "wifi-typical", keys: { server: "15 ms" }, label: "Wi-Fi, shared",
    strokes: [ROUTER, ARCS, "M28 4h14v9H28zM26 16h18M30 20h4v6h-4zM38 20h4v6h-4z"],
  },
  {
    preset: "wifi-bad", keys: { server: "15 ms" }, label: "Wi-Fi, three rooms away",
    strokes: [ROUTER, ARCS, "M23 2v24M29 2v24M35 2v24", "M39 15h6v9h-6z"],
  },
  {
    preset: "satellite-geo", keys: {}, label: "Satellite",
    strokes: ["M20 5h7v7h-7zM9 6.5h11v4H9zM27 6.5h11v4H27zM23.5 12v3", "M4 26q19.5-8 40 0M20 18.5a5 5 0 0 0 7 0"],
  },
  {
    preset: "bufferbloat", keys: {}, label: "A queue that is far too long",
    strokes: ["M2 8h38M2 20h38M40 8l5 4v4l-5 4", ".M4 11h5v6H4zM10.5 11h5v6h-5zM17 11h5v6h-5zM23.5 11h5v6h-5zM30 11h5v6h-5z"],
  },
  {
    preset: "", keys: { rate: "10 Mbit/s", delay: "20 ms", queue: "1 BDP", loss: "0 %" }, label: "Your own wire",
    strokes: ["M12 14h24M3 9h9v10H3zM36 9h9v10h-9z", ".M19 12h4v4h-4zM26 12h4v4h-4z"],
  },
];

/** The picture as an element; its label is separate text. */
export function pictureOf({ strokes }: Picture): SVGElement {
  const svg = draw("svg", { viewBox: "0 0 48 28", "aria-hidden": "true" });
  for (const stroke of strokes) {
    const isFilled = stroke.startsWith(".");
    svg.append(draw("path", isFilled ? { class: "full", d: stroke.slice(1) } : { d: stroke }));
  }
  return svg;
}
