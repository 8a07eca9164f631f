// Input controls: sliders for the keys of a link, buttons for presets and algorithms.

import { data } from "./data.ts";
import { PICTURES, type Picture, pictureOf } from "./pictures.ts";
import { FIRST, MOST_ALGORITHMS, MOST_DURATION_S, type Setting } from "./setting.ts";

/** A slider: labels, range and how its position between 0 and 1 becomes a value. */
interface Slider {
  label: string;
  unit: string;
  low: number;
  high: number;
  isLogarithmic: boolean;
  /** Decimal places; significant digits if the slider is logarithmic. */
  digits: number;
  /** Factor by which the displayed value is larger than the value of the key. */
  factor: number;
}

const OF_LINKS: Record<string, Slider> = {
  rate: { label: "Rate", unit: "Mbit/s", low: 0.5, high: 500, isLogarithmic: true, digits: 2, factor: 1 },
  delay: { label: "Round trip", unit: "ms", low: 1, high: 500, isLogarithmic: true, digits: 2, factor: 2 },
  queue: { label: "Queue", unit: "BDP", low: 0.1, high: 20, isLogarithmic: true, digits: 2, factor: 1 },
  loss: { label: "Random loss", unit: "%", low: 0, high: 10, isLogarithmic: false, digits: 1, factor: 1 },
  coverage: { label: "Coverage (SINR)", unit: "dB", low: -5, high: 30, isLogarithmic: false, digits: 0, factor: 1 },
  speed: { label: "Speed", unit: "km/h", low: 1, high: 300, isLogarithmic: true, digits: 2, factor: 1 },
  users: { label: "Users", unit: "", low: 1, high: 12, isLogarithmic: false, digits: 0, factor: 1 },
  server: { label: "Server round trip", unit: "ms", low: 0, high: 200, isLogarithmic: false, digits: 0, factor: 2 },
};
const STEPS = 1000;

const WIRE_KEYS = ["rate", "delay", "queue", "loss"];
const TRACE_KEYS = ["delay", "queue", "loss"];

export class Controls {
  constructor(
    private readonly place: Record<"links" | "sliders" | "algorithms" | "goals", HTMLElement>,
    private setting: Setting,
    private readonly changed: (setting: Setting) => void,
  ) {
    this.show();
  }

  private change(part: Partial<Setting>, isNewLink = false): void {
    this.setting = { ...this.setting, ...part };
    if (isNewLink) this.show();
    this.changed(this.setting);
  }

  /** Shows another setting, such as the one in an address. */
  reset(setting: Setting): void {
    this.setting = setting;
    this.show();
  }

  private show(): void {
    this.showLinks();
    this.showSliders();
    this.showAlgorithms();
    this.showGoals();
  }

  private showGoals(): void {
    const chips = data.goals.map(({ name, title }) =>
      chip(title, name === this.setting.goal, () => {
        this.change({ goal: name });
        this.showGoals();
        this.place.goals.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
      }),
    );
    this.place.goals.replaceChildren(...chips);
  }

  private showLinks(): void {
    const { preset, keys } = this.setting;
    const same = (picture: Picture) =>
      picture.preset === preset &&
      !("trace" in keys) &&
      Object.entries(picture.keys).every(([key, value]) => preset === "" || keys[key] === value) &&
      (preset === "" || Object.keys(keys).every((key) => key in picture.keys || key in OF_LINKS));
    const fitting = PICTURES.filter(same);
    const best = fitting.sort(
      (a, b) => Object.keys(b.keys).length - Object.keys(a.keys).length,
    )[0];
    const chips = PICTURES.map((picture) => {
      const button = chip(picture.label, picture === best, () => {
        this.change({ preset: picture.preset, keys: { ...picture.keys } }, true);
        this.place.links.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
      });
      button.classList.add("picture");
      button.prepend(pictureOf(picture));
      return button;
    });
    const pictures = document.createElement("div");
    pictures.className = "pictures";
    pictures.append(...chips);
    const row = document.createElement("label");
    row.className = "all";
    const list = document.createElement("select");
    row.append("All links ", list);
    const own = "trace" in keys ? `your trace ${keys["trace"]}` : "your own wire";
    list.append(new Option(own, "", false, preset === ""));
    for (const { name, title } of data.presets) {
      list.append(new Option(`${name}: ${title}`, name, false, name === preset));
    }
    list.onchange = () =>
      this.change(
        { preset: list.value, keys: list.value === "" ? { ...PICTURES.at(-1)!.keys } : {} },
        true,
      );
    const about = document.createElement("p");
    about.className = "soft small";
    about.textContent = data.presets.find(({ name }) => name === preset)?.description ?? "";
    this.place.links.replaceChildren(pictures, row, about);
  }

  private showSliders(): void {
    const { preset, keys } = this.setting;
    const known = data.presets.find(({ name }) => name === preset);
    const own = "trace" in keys ? TRACE_KEYS : WIRE_KEYS;
    const names = preset === "" ? own : (known?.keys ?? []);
    const rows = names.map((name) =>
      slider(OF_LINKS[name]!, keys[name] ?? null, known?.values[name] ?? null, (value) => {
        const { [name]: _, ...others } = this.setting.keys;
        this.change({ keys: value === null ? others : { ...others, [name]: value } });
      }),
    );
    rows.push(
      count("Flows of each", "", 1, data.templates.length, this.setting.flows, (flows) =>
        this.change({ flows }),
      ),
      this.besideRow(),
      count("Simulated time", "s", 5, MOST_DURATION_S, this.setting.duration_s, (duration_s) =>
        this.change({ duration_s }),
      ),
      count("Repetition", `of ${FIRST.repetitions}`, 1, FIRST.repetitions, this.setting.repetition,
        (repetition) => this.change({ repetition })),
    );
    this.place.sliders.replaceChildren(...rows);
  }

  /** The row that adds a flow to the same link. */
  private besideRow(): HTMLElement {
    const row = document.createElement("label");
    row.className = "slider";
    const name = document.createElement("span");
    name.textContent = "Competing flow";
    const list = document.createElement("select");
    list.append(new Option("none", "", false, this.setting.beside === ""));
    for (const { name: other } of data.algorithms) {
      list.append(new Option(other, other, false, other === this.setting.beside));
    }
    list.onchange = () => this.change({ beside: list.value });
    row.append(name, list);
    return row;
  }

  private showAlgorithms(): void {
    const chips = data.algorithms.map(({ name, summary }) => {
      const isOn = this.setting.algorithms.includes(name);
      const button = chip(name, isOn, () => {
        const { algorithms } = this.setting;
        const others = algorithms.filter((other) => other !== name);
        const next = isOn ? others : [...others, name].slice(-MOST_ALGORITHMS);
        if (next.length > 0) this.change({ algorithms: next });
        this.showAlgorithms();
        this.place.algorithms.querySelectorAll("button").forEach((each) => {
          if (each.textContent === name) each.focus();
        });
      });
      button.title = summary;
      button.dataset["algorithm"] = name;
      if (isOn) button.prepend(swatchOf(name));
      return button;
    });
    const lines = data.algorithms.filter(({ name }) => this.setting.algorithms.includes(name));
    const list = document.createElement("ul");
    list.className = "summaries";
    list.append(
      ...lines.map(({ name, summary }) => {
        const line = document.createElement("li");
        const strong = document.createElement("strong");
        strong.append(swatchOf(name), name);
        line.append(strong, `: ${summary}`);
        return line;
      }),
    );
    this.place.algorithms.replaceChildren(...chips, list);
  }
}

/** A swatch of an algorithm's colour. */
export function swatchOf(name: string): HTMLElement {
  const spot = document.createElement("i");
  spot.className = "swatch";
  const { colour, dark_colour } = data.algorithms.find((algorithm) => algorithm.name === name)!;
  spot.style.setProperty("--light", colour);
  spot.style.setProperty("--dark", dark_colour);
  return spot;
}

function chip(label: string, isOn: boolean, press: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "chip";
  button.textContent = label;
  button.ariaPressed = String(isOn);
  button.onclick = press;
  return button;
}

/** A slider for a key of the link; `text` is null if the value of the preset, `own`, applies. */
function slider(
  { label, unit, low, high, isLogarithmic, digits, factor }: Slider,
  text: string | null,
  own: string | null,
  changed: (text: string | null) => void,
): HTMLElement {
  const valueAt = (share: number) =>
    isLogarithmic ? low * (high / low) ** share : low + share * (high - low);
  const shareOf = (value: number) =>
    isLogarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const written = (value: number) => {
    const number = isLogarithmic ? Number(value.toPrecision(digits)) : Number(value.toFixed(digits));
    return unit === "" ? String(number) : `${number} ${unit}`;
  };
  const placeOf = (value: string | null) => {
    const isOfUnit = value !== null && (unit === "" || value.endsWith(` ${unit}`));
    const share = isOfUnit ? shareOf(Number.parseFloat(value)) : 0.5;
    return Math.round(Math.min(1, Math.max(0, Number.isNaN(share) ? 0.5 : share)) * STEPS);
  };
  const { row, input, output } = range(label, 0, STEPS, 1, placeOf(text ?? own));
  const reset = document.createElement("button");
  reset.type = "button";
  reset.className = "reset";
  reset.textContent = "×";
  reset.ariaLabel = `${label}: reset to the value of the preset`;
  reset.title = "Reset to the value of the preset";
  const show = (value: string | null) => {
    const shown = value ?? own;
    output.textContent = shown === null ? "default" : timesOf(shown, factor);
    output.title = value === null ? "as in the preset" : "";
    input.ariaValueText = `${output.textContent}${value === null ? ", as in the preset" : ""}`;
    row.classList.toggle("usual", value === null);
    reset.style.visibility = value === null || own === null ? "hidden" : "visible";
  };
  input.oninput = () => {
    const value = written(valueAt(Number(input.value) / STEPS));
    show(value);
    changed(value);
  };
  reset.onclick = () => {
    input.value = String(placeOf(own));
    show(null);
    changed(null);
    input.focus();
  };
  show(text);
  row.append(reset);
  return row;
}

/** Multiplies a quantity and keeps its unit. */
function timesOf(text: string, factor: number): string {
  const number = Number.parseFloat(text);
  if (factor === 1 || Number.isNaN(number)) return text;
  return `${Number((factor * number).toPrecision(6))}${text.slice(text.indexOf(" "))}`;
}

function count(
  label: string,
  unit: string,
  low: number,
  high: number,
  value: number,
  changed: (value: number) => void,
): HTMLElement {
  const { row, input, output } = range(label, low, high, 1, value);
  const show = () => {
    output.textContent = `${input.value} ${unit}`.trim();
  };
  input.oninput = () => {
    show();
    changed(Number(input.value));
  };
  show();
  return row;
}

function range(label: string, low: number, high: number, step: number, value: number) {
  const row = document.createElement("label");
  row.className = "slider";
  const name = document.createElement("span");
  name.textContent = label;
  const input = document.createElement("input");
  Object.assign(input, { type: "range", min: low, max: high, step, value });
  const output = document.createElement("output");
  row.append(name, input, output);
  return { row, input, output };
}
