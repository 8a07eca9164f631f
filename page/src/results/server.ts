// Requests to the server of this page, and its answers.

export interface Row {
  id: string;
  name: string;
  path: string;
  title: string;
  link: string;
  algorithms: string[];
  runs: number;
  done: number;
  failed: number;
  state: "running" | "finished" | "stopped" | "damaged";
  changed_unix_s: number;
  problem: string;
}

export interface List {
  studies: (Row & { headline: string })[];
  found: number;
  all: number;
  runs: number;
  page_rows: number;
}

export interface State extends Row {
  is_running_here: boolean;
  printed: string;
}

export interface Style {
  colour: string;
  dark: string;
  dashes: number[];
  marker: string;
  /** True for the second of two studies in the same chart. */
  is_hollow?: boolean;
}

export type Styles = Record<string, Style>;
type Values = (number | null)[];

export interface Axis {
  title: string;
  unit: string;
}

export interface SeriesChart {
  kind: "series";
  name: string;
  panels: { column: string; title: string; unit: string }[];
  lines: { name: string; flow: number; t: number[]; values: Record<string, Values> }[];
  losses: { name: string; count: number; t: number[]; timeouts: number[] }[];
}

export interface ScatterChart {
  kind: "scatter";
  name: string;
  points: { name: string; x: Values; y: Values }[];
  /** Names of the points that no other point beats in both quantities. */
  front: string[];
  x: Axis;
  y: Axis;
}

export interface DotsChart {
  kind: "dots";
  name: string;
  groups: { name: string; points: [number, number][] }[];
  marks: { x: number; text: string }[];
  x: Axis;
  y: Axis;
}

export type Chart = SeriesChart | ScatterChart | DotsChart;

export interface Said {
  headline: string;
  sentences: string[];
  certainty: [string, string, string][];
}

export interface Study extends Said {
  settings: string[];
  setting: number;
  together: Said | null;
  charts: Chart[];
  styles: Styles;
}

export interface Runs {
  heads: Axis[];
  rows: (string | number | null)[][];
  found: number;
  page_rows: number;
  failures: string[];
}

/** A problem in a study file: the key (empty if no single key is wrong) and the line. */
export interface Problem {
  key: string;
  line: number | null;
  text: string;
}

/** A request that the server refused; the message is the server's explanation. */
export class Refused extends Error {
  constructor(message: string, readonly problems: Problem[]) {
    super(message);
  }
}

/** Requests JSON; throws the server's explanation if the server refuses the request. */
export async function ask<Answer>(path: string, asked: Record<string, string | number> = {}): Promise<Answer> {
  const query = new URLSearchParams(Object.entries(asked).map(([key, value]) => [key, String(value)]));
  return answered(await reached(fetch(`${path}?${query}`)));
}

export async function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const headers = { "Content-Type": "application/json" };
  return answered(await reached(fetch(path, { method: "POST", headers, body: JSON.stringify(body) })));
}

async function reached(asked: Promise<Response>): Promise<Response> {
  try {
    return await asked;
  } catch {
    throw new Error("The server does not answer; check that `cwndlab open` is still running.");
  }
}

async function answered<Answer>(response: Response): Promise<Answer> {
  const text = await response.text();
  if (!(response.headers.get("Content-Type") ?? "").includes("json")) throw new Error(text.trim() || response.statusText);
  const value = JSON.parse(text) as Answer & { error?: string; problems?: Problem[] };
  if (!response.ok) throw new Refused(value.error ?? response.statusText, value.problems ?? []);
  return value;
}
