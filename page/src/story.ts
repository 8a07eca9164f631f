// A list of the events of a run, and the explanation of the selected event.

import { data } from "./data.ts";
import { swatchOf } from "./controls.ts";
import { type Happening, type Happenings, isExit, isLoss } from "./happenings.ts";
import type { Packets } from "./packets.ts";
import type { QueueSize } from "./sentences.ts";
import { explain, titleOf } from "./why.ts";

/** Maximum number of events in the list; marks above the curves can select any event. */
const MOST_LISTED = 300;

/** A run whose events are listed. */
export interface Told {
  name: string;
  colour: string;
  happenings: Happenings;
  packets: Packets | null;
  /** The algorithm of each flow. */
  algorithms: string[];
}

export class Story {
  private told: Told[] = [];
  private queue: QueueSize | null = null;
  private name = "";
  private chosen: Happening | null = null;
  private listed: Happenings | null = null;
  private shownNames = "";
  /** Whether events of several flows are listed. */
  private hasFlows = false;

  /** `seek` shows the time of the selected event. */
  constructor(
    private readonly place: { names: HTMLElement; list: HTMLElement; detail: HTMLElement },
    private readonly seek: (t_s: number) => void,
  ) {}

  show(told: Told[], queue: QueueSize | null): void {
    this.told = told;
    this.queue = queue;
    if (!told.some(({ name }) => name === this.name)) this.name = told[0]?.name ?? "";
    const own = this.own;
    const list = own?.happenings.list ?? [];
    if (this.chosen === null || !list.includes(this.chosen)) this.chosen = this.first(list);
    this.place.names.parentElement!.hidden = told.length === 0;
    this.showNames();
    this.showList();
    this.showDetail();
  }

  choose(name: string, happening: Happening): void {
    const isOther = name !== this.name;
    this.name = name;
    this.chosen = happening;
    if (isOther) this.showNames();
    this.showList();
    this.showDetail();
    this.seek(happening.t_s);
  }

  /** Selects the event before or after a time, for the algorithm whose events are listed. */
  beside(t_s: number, isAfter: boolean): void {
    const list = this.own?.happenings.list ?? [];
    const found = isAfter
      ? list.find((each) => each.t_s > t_s + 1e-9)
      : list.findLast((each) => each.t_s < t_s - 1e-9);
    if (found !== undefined) this.choose(this.name, found);
  }

  /** The event that is selected first: a loss, or otherwise the end of slow start. */
  private first(list: Happening[]): Happening | null {
    return list.find(({ kind }) => isLoss(kind)) ?? list.find(isExit) ?? list[0] ?? null;
  }

  private get own(): Told | undefined {
    return this.told.find(({ name }) => name === this.name);
  }

  private algorithmOf({ flow }: Happening): string {
    return this.own?.algorithms[flow ?? 0] ?? this.name;
  }

  private showNames(): void {
    const shown = JSON.stringify([this.name, this.told.map(({ name }) => name)]);
    if (shown === this.shownNames) return; // keeps the focus on the user's button
    this.shownNames = shown;
    this.place.names.replaceChildren(
      ...this.told.map(({ name }) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "chip";
        button.append(...(name === this.name ? [swatchOf(name)] : []), name);
        button.ariaPressed = String(name === this.name);
        button.onclick = () => {
          this.name = name;
          this.chosen = this.first(this.own?.happenings.list ?? []);
          this.showNames();
          this.showList();
          this.showDetail();
          this.place.names.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
        };
        return button;
      }),
    );
  }

  private showList(): void {
    const happenings = this.own?.happenings ?? null;
    if (happenings !== this.listed) {
      this.listed = happenings;
      this.hasFlows = new Set(happenings?.list.map(({ flow }) => flow).filter((flow) => flow !== null)).size > 1;
      const listed = (happenings?.list ?? []).slice(0, MOST_LISTED);
      this.place.list.replaceChildren(...listed.map((each) => this.item(each)));
      const leftOut = (happenings?.list.length ?? 0) - listed.length + (happenings?.leftOut ?? 0);
      if (leftOut > 0) {
        const more = document.createElement("li");
        more.textContent = `and ${leftOut.toLocaleString("en")} more events; click a mark above the curves to see one`;
        this.place.list.append(more);
      }
      if (happenings?.list.length === 0) this.place.list.textContent = "No events: no losses and no timeouts.";
    }
    const at = happenings?.list.indexOf(this.chosen!) ?? -1;
    this.place.list.querySelectorAll("button").forEach((button, n) => {
      button.ariaPressed = String(n === at);
      if (n !== at) return;
      const list = this.place.list;
      const [top, bottom] = [button.offsetTop, button.offsetTop + button.offsetHeight];
      if (top < list.scrollTop) list.scrollTop = top;
      else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
    });
  }

  private item(happening: Happening): HTMLElement {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const time = document.createElement("time");
    time.textContent = `${happening.t_s.toFixed(2)} s`;
    const whose = this.hasFlows && happening.flow !== null ? `flow ${happening.flow + 1}, ${this.algorithmOf(happening)}: ` : "";
    button.append(time, ` ${whose}${titleOf(happening)}`);
    button.onclick = () => this.choose(this.name, happening);
    item.append(button);
    return item;
  }

  private showDetail(): void {
    const own = this.own;
    const { detail } = this.place;
    if (own === undefined || this.chosen === null) {
      const hint = document.createElement("p");
      hint.className = "soft";
      hint.textContent =
        "Select an event, or click a mark above a curve: a stroke is a loss, a cross is a timeout, and a circle is the end of slow start.";
      detail.replaceChildren(hint);
      return;
    }
    const algorithm = data.algorithms.find(({ name }) => name === this.algorithmOf(this.chosen!))!;
    const { title, sentences, source } = explain(this.chosen, {
      algorithm, queue: this.queue, packets: own.packets, happenings: own.happenings,
    });
    const head = document.createElement("h3");
    const flow = this.chosen.flow === null ? "" : `, flow ${this.chosen.flow + 1}`;
    head.textContent = `${title}: ${algorithm.name}${flow}, ${this.chosen.t_s.toFixed(4)} s`;
    const lines = sentences.map((sentence) => {
      const line = document.createElement("p");
      line.textContent = sentence;
      return line;
    });
    const written = document.createElement("p");
    written.className = "soft";
    written.textContent = `See ${source}.`;
    detail.replaceChildren(head, ...lines, written);
  }
}
