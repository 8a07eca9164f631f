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
  /** What it has of these itself, where that is known. */
  values: Record<string, string>;
  /** Its file. */
  text: string;
}

/** A goal of the decision: half the delay is worth a share 1 - 2^-price of the throughput. */
export interface Goal {
  name: string;
  title: string;
  price: number;
  missing: string;
}

/** How often advice for a class of networks agreed with measurements of real ones. */
export interface Reality {
  record: {
    class: string;
    agreed: number;
    checked: number;
    share: number;
    source: string;
    misses: Record<string, string[]>;
    came_true: Record<string, { stated: number; happened: number; comparisons: number }[]>;
  };
  /** The record in words. */
  meaning: string;
}

export interface Algorithm {
  name: string;
  summary: string;
  /** How its window grows, and what a loss does to it: docs/explanation/algorithms.md. */
  increase: string;
  decrease: string;
  /** The names of its phases, by the number that an event has. */
  phases: string[];
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
  /** The same with one more flow, of another algorithm. */
  templates_beside: Template[];
  /** When an algorithm leaves the set of good ones. */
  rule: { zone: number };
  /** The least probability that is called sure. */
  sure: number;
  /** The algorithm that is run today. */
  baseline: string;
  /** Of the template's sender, as decisions name it. */
  host: object;
  /** The first is what is answered unless the user says otherwise. */
  goals: Goal[];
  /** By the kind of a radio. */
  reality: Record<string, Reality>;
  /** Templates by name, with places for values. */
  sentences: Record<string, string>;
  /** What changes, by column. */
  changes: Record<string, string>;
  presets: Preset[];
  algorithms: Algorithm[];
}

export const data = json as unknown as Data;
