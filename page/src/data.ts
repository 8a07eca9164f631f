// Data of this version of the page; tools/page_data.py writes it when the page is built.

import json from "../../target/page/data.json";

/** A scenario of identical flows, as the command line makes it, without its path. */
export interface Template {
  /** The seed of a run depends on this value and on the path. */
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
  /** Kind of the link; `stage` is a chain of links. */
  medium: "wire" | "cell" | "wifi" | "stage";
  /** Keys with a slider that may follow the preset's name in a link. */
  keys: string[];
  /** The preset's own values of these keys, where known. */
  values: Record<string, string>;
  /** The text of the preset's file. */
  text: string;
}

/** A goal of the decision: halving the delay is worth a share 1 - 2^-price of the throughput. */
export interface Goal {
  name: string;
  title: string;
  price: number;
  missing: string;
}

/** How often advice for a class of networks agreed with measurements of real networks. */
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
  /** The record of the advice, in words. */
  meaning: string;
}

export interface Algorithm {
  name: string;
  summary: string;
  /**
   * How the window of the algorithm grows, and how it reacts to a loss:
   * docs/explanation/algorithms.md.
   */
  increase: string;
  decrease: string;
  /** The names of the algorithm's phases, indexed by the number in an event. */
  phases: string[];
  /** Colours (#rrggbb) on a light page, and on a dark one. */
  colour: string;
  dark_colour: string;
}

export interface Data {
  version: string;
  behaviour_epoch: number;
  start_jitter_ns: number;
  /** The template for `n` flows has index `n - 1`. */
  templates: Template[];
  /** Like `templates`, with one more flow of another algorithm. */
  templates_beside: Template[];
  /**
   * The zone of indifference: an algorithm that is worse than the best by less belongs to the set
   * of good algorithms.
   */
  rule: { zone: number; sure: number };
  /** The algorithm in use today. */
  baseline: string;
  /** The template's sending host, as named in decisions. */
  host: object;
  /** The first goal is the default. */
  goals: Goal[];
  /** Records of the advice, by kind of radio. */
  reality: Record<string, Reality>;
  /** Templates by name, with placeholders for values. */
  sentences: Record<string, string>;
  /** Names of the quantities whose changes are shown, by column. */
  changes: Record<string, string>;
  presets: Preset[];
  algorithms: Algorithm[];
}

export const data = json as unknown as Data;
