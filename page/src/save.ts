// Saves charts and tables as SVG, PNG and CSV files, drawn for white paper.

import type { Chart, Line } from "./charts.ts";
import { CHARTS, topOf } from "./charts.ts";
import { draw, label, ticks } from "./points.ts";

const WIDTH = 640;
const HEIGHT = 300;
const BOX = { left: 56, right: 16, top: 44, bottom: 40 };
const PNG_SCALE = 2;
const STYLE = "text{font:12px system-ui,sans-serif;fill:#5a6370}.title{font-weight:600;fill:#1b1f24}.grid{stroke:#dfe3e8}";

/** Draws the curves of a chart as a picture for saving. */
export function pictureOf(chart: Chart, lines: Line[], duration_s: number, about: string): SVGSVGElement {
  const svg = sheet(WIDTH, HEIGHT, `${chart.title}: ${about}`);
  const high = topOf(lines, chart.quantity);
  const x = (t_s: number) => BOX.left + (t_s / duration_s) * (WIDTH - BOX.left - BOX.right);
  const y = (value: number) => HEIGHT - BOX.bottom - (Math.min(value, high) / high) * (HEIGHT - BOX.top - BOX.bottom);
  for (const value of ticks(high)) {
    svg.append(
      draw("line", { x1: BOX.left, x2: WIDTH - BOX.right, y1: y(value), y2: y(value), class: "grid" }),
      label(BOX.left - 6, y(value) + 4, "end", value.toLocaleString("en")),
    );
  }
  for (const value of ticks(duration_s)) {
    svg.append(label(x(value), HEIGHT - BOX.bottom + 16, "middle", `${value} s`));
  }
  const title = label(BOX.left, 16, "start", `${chart.title} (${chart.unit})`);
  title.classList.add("title");
  svg.append(title, label(BOX.left, HEIGHT - 8, "start", about));
  lines.forEach(({ name, colour, curves, isBeside }, n) => {
    const values = curves[chart.quantity];
    let path = "";
    let isOn = false;
    curves.t_s.forEach((t_s, at) => {
      const value = values[at]!;
      if (!Number.isNaN(value)) path += `${isOn ? "L" : "M"}${x(t_s).toFixed(1)},${y(value).toFixed(1)}`;
      isOn = !Number.isNaN(value);
    });
    const key = label(WIDTH - BOX.right - 150 * (lines.length - 1 - n), 16, "end", name);
    key.setAttribute("style", `fill:${colour};font-weight:600`);
    svg.append(draw("path", {
        d: path, fill: "none", stroke: colour, "stroke-width": 1.6,
        ...(isBeside && { "stroke-dasharray": "4 3" }),
      }),
      key,
    );
  });
  return svg;
}

/** Copies a picture of the page for saving. */
export function pictureFrom(picture: SVGSVGElement, about: string): SVGSVGElement {
  const { width, height } = picture.viewBox.baseVal;
  const svg = sheet(width, height, about);
  svg.append(...[...picture.cloneNode(true).childNodes]);
  return svg;
}

function sheet(width: number, height: number, about: string): SVGSVGElement {
  const svg = draw("svg", {
    xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`,
  }) as SVGSVGElement;
  const title = draw("title", {});
  title.textContent = about;
  const style = draw("style", {});
  style.textContent = STYLE;
  svg.append(title, style, draw("rect", { width, height, fill: "#ffffff" }));
  return svg;
}

export function saveSvg(svg: SVGSVGElement, name: string): void {
  save(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function savePng(svg: SVGSVGElement, name: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = PNG_SCALE * Number(svg.getAttribute("width"));
  canvas.height = PNG_SCALE * Number(svg.getAttribute("height"));
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob !== null) save(blob, `${name}.png`);
}

/** Converts rows to comma-separated values (RFC 4180). */
export function csvOf(heads: string[], rows: (string | number)[][]): string {
  const field = (value: string | number) => {
    if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // a spreadsheet would compute it
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [heads, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** All curves, one row per algorithm and time. */
export function curvesCsv(lines: Line[]): string {
  const quantities = CHARTS.map(({ quantity }) => quantity);
  const rows = lines.flatMap(({ name, curves }) =>
    Array.from(curves.t_s, (t_s, n) => [name, t_s, ...quantities.map((each) => curves[each][n]!)]),
  );
  return csvOf(["algorithm", "t_s", ...quantities], rows);
}

export function saveCsv(text: string, name: string): void {
  save(new Blob([text], { type: "text/csv" }), `${name}.csv`);
}

/** Passes a file to the browser, which saves it. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Buttons that save a chart or table in several formats. */
export function tools(what: string, forms: Record<string, () => void>): HTMLElement {
  const place = document.createElement("span");
  place.className = "tools";
  for (const [form, work] of Object.entries(forms)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = form;
    button.ariaLabel = `Save ${what} as ${form}`;
    button.onclick = work;
    place.append(button);
  }
  return place;
}

