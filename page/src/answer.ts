// The answer at the top of the page: the sentence of the decision, and how certain it is.

import { type Reality, data } from "./data.ts";
import type { Progress } from "./repetitions.ts";
import { type QueueSize, certainty, headline, sentences } from "./sentences.ts";
import { type Setting, adviceOf } from "./setting.ts";

const byId = (id: string) => document.getElementById(id)!;

/** The parts of the answer. */
export interface Answer {
  setting: Setting;
  progress: Progress;
  reality: Reality | null;
  queue: QueueSize | null;
  /**
   * How flows share the link with a flow of another algorithm, one sentence each; null if there is
   * no such flow.
   */
  shares: string[] | null;
}

export function showAnswer({ setting, progress, reality, queue, shares }: Answer): void {
  const { done, decided } = progress;
  const goal = data.goals.find(({ name }) => name === setting.goal)!;
  const place = byId("answer");
  const isWhole = done === setting.repetitions;
  place.ariaBusy = String(!isWhole && progress.refusal === null);
  const counted = done === 0 ? "previous answer; simulating …" : `${isWhole ? "from" : "so far from"} ${done} of ${setting.repetitions} repetitions`;
  byId("counted").textContent = decided === null ? "" : counted;
  if (shares !== null) {
    place.ariaBusy = "false";
    const [first = "", ...others] = shares;
    byId("headline").textContent = first;
    const more = [...others, "A single repetition is not enough for a decision. The study file below runs all repetitions, and its report shows which algorithm starves which."];
    byId("sentences").replaceChildren(...more.map(paragraph));
    byId("counted").textContent = "";
    byId("certainty").replaceChildren();
    byId("networks").hidden = true;
    return;
  }
  if (decided === null) {
    byId("headline").textContent = progress.refusal === null ? "Simulating …" : "No answer for this link.";
    byId("sentences").replaceChildren();
    byId("certainty").replaceChildren();
    byId("networks").hidden = true;
    return;
  }
  byId("headline").textContent = headline(decided, goal);
  byId("sentences").replaceChildren(
    ...sentences(decided, queue).map(paragraph),
  );
  const hasLines = decided.best.length > 0 && decided.algorithms.length > 1;
  const lines = hasLines ? certainty(decided, reality) : [];
  byId("certainty").replaceChildren(
    ...lines.flatMap(({ name, value, share, meaning }) => {
      const term = document.createElement("dt");
      term.textContent = name;
      const how = document.createElement("dd");
      const bar = document.createElement("span");
      bar.className = "bar";
      bar.ariaHidden = "true";
      const filled = document.createElement("i");
      filled.style.width = `${100 * (share ?? 0)}%`;
      filled.classList.toggle("sure", share !== null && share >= data.rule.sure);
      bar.append(filled);
      const number = document.createElement("b");
      number.textContent = value === "-" ? "–" : value;
      const words = document.createElement("span");
      words.textContent = meaning;
      how.append(bar, number, words);
      return [term, how];
    }),
  );
  byId("networks").hidden = lines.length === 0;
  byId("advice").textContent = adviceOf(setting);
}

function paragraph(text: string): HTMLElement {
  const line = document.createElement("p");
  line.textContent = text;
  return line;
}
