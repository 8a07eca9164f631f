// What the page knows of its version; made by tools/page_data.py when the page is built.

import json from "../../target/page/data.json";

/** A scenario of flows alike, as the command line makes it, without its path. */
export interface Template {
  /** What the seed depends on, but for the path. */
  cell: { duration_ns: number };
  scenario: { duration_ns: number; flows: Flow[] };
}

interface Flow {
  sender: { algorithm: string };
  receiver: { algorithm: string };
}

export interface Preset {
  name: string;
  title: string;
  description: string;
  /** `stage` is a chain of links. */
  medium: "wire" | "cell" | "wifi" | "stage";
  /** Keys with a slider that can follow it in a link. */
  keys: string[];
  /** Its file. */
  text: string;
}

export interface Algorithm {
  name: string;
  summary: string;
  /** #rrggbb on a light page, and on a dark one. */
  colour: string;
  dark_colour: string;
}

export interface Data {
  version: string;
  behaviour_epoch: number;
  start_jitter_ns: number;
  /** That of `n` flows is the `n - 1`th. */
  templates: Template[];
  presets: Preset[];
  algorithms: Algorithm[];
}

export const data = json as unknown as Data;
