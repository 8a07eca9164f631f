// What is moved: sliders for the keys of a link, chips for presets and algorithms.

import { data } from "./data.ts";
import { FIRST, MOST_ALGORITHMS, MOST_DURATION_S, type Setting } from "./setting.ts";

/** A slider: how its place between 0 and 1 becomes a value, and what it stands at first. */
interface Slider {
  label: string;
  unit: string;
  low: number;
  high: number;
  isLogarithmic: boolean;
  /** Decimal places; significant digits where logarithmic. */
  digits: number;
}

const OF_LINKS: Record<string, Slider> = {
  rate: { label: "Rate", unit: "Mbit/s", low: 0.5, high: 500, isLogarithmic: true, digits: 2 },
  delay: { label: "Delay, one way", unit: "ms", low: 1, high: 500, isLogarithmic: true, digits: 2 },
  queue: { label: "Queue", unit: "BDP", low: 0.1, high: 20, isLogarithmic: true, digits: 2 },
  loss: { label: "Random loss", unit: "%", low: 0, high: 10, isLogarithmic: false, digits: 1 },
  coverage: { label: "Coverage (SINR)", unit: "dB", low: -5, high: 30, isLogarithmic: false, digits: 0 },
  speed: { label: "Speed", unit: "km/h", low: 1, high: 300, isLogarithmic: true, digits: 2 },
  users: { label: "Users", unit: "", low: 1, high: 12, isLogarithmic: false, digits: 0 },
  server: { label: "Server, one way", unit: "ms", low: 0, high: 200, isLogarithmic: false, digits: 0 },
};
const STEPS = 1000;

/** The presets that have a picture; the others are in the list beside them. */
const PICTURES: { preset: string; keys: Record<string, string>; label: string }[] = [
  { preset: "lte-typical", keys: {}, label: "LTE, walking" },
  { preset: "lte-typical", keys: { speed: "120 km/h", handover: "every 20 s, 40 ms" }, label: "LTE on a train" },
  { preset: "nr-typical", keys: {}, label: "5G, walking" },
  { preset: "wifi-typical", keys: { server: "15 ms" }, label: "Wi-Fi, shared" },
  { preset: "wifi-bad", keys: { server: "15 ms" }, label: "Wi-Fi, three rooms away" },
  { preset: "satellite-geo", keys: {}, label: "Satellite" },
  { preset: "bufferbloat", keys: {}, label: "A queue far too long" },
  { preset: "", keys: { rate: "10 Mbit/s", delay: "20 ms", queue: "1 BDP", loss: "0 %" }, label: "A wire of your own" },
];

const WIRE_KEYS = ["rate", "delay", "queue", "loss"];
const TRACE_KEYS = ["delay", "queue", "loss"];

export class Controls {
  constructor(
    private readonly place: { links: HTMLElement; sliders: HTMLElement; algorithms: HTMLElement },
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

  /** Shows another setting, as of an address. */
  reset(setting: Setting): void {
    this.setting = setting;
    this.show();
  }

  private show(): void {
    this.showLinks();
    this.showSliders();
    this.showAlgorithms();
  }

  private showLinks(): void {
    const { preset, keys } = this.setting;
    const same = (picture: (typeof PICTURES)[number]) =>
      picture.preset === preset &&
      !("trace" in keys) &&
      Object.entries(picture.keys).every(([key, value]) => preset === "" || keys[key] === value) &&
      (preset === "" || Object.keys(keys).every((key) => key in picture.keys || key in OF_LINKS));
    const fitting = PICTURES.filter(same);
    const best = fitting.sort(
      (a, b) => Object.keys(b.keys).length - Object.keys(a.keys).length,
    )[0];
    const chips = PICTURES.map((picture) =>
      chip(picture.label, picture === best, () =>
        this.change({ preset: picture.preset, keys: { ...picture.keys } }, true),
      ),
    );
    const list = document.createElement("select");
    list.ariaLabel = "All links";
    const own = "trace" in keys ? `your trace ${keys["trace"]}` : "a wire of your own";
    list.append(new Option(own, "", false, preset === ""));
    for (const { name, title } of data.presets) {
      list.append(new Option(`${name}: ${title}`, name, false, name === preset));
    }
    list.onchange = () =>
      this.change(
        { preset: list.value, keys: list.value === "" ? { ...PICTURES.at(-1)!.keys } : {} },
        true,
      );
    this.place.links.replaceChildren(...chips, list);
  }

  private showSliders(): void {
    const { preset, keys } = this.setting;
    const known = data.presets.find(({ name }) => name === preset);
    const own = "trace" in keys ? TRACE_KEYS : WIRE_KEYS;
    const names = preset === "" ? own : (known?.keys ?? []);
    const rows = names.map((name) =>
      slider(OF_LINKS[name]!, keys[name] ?? null, (value) => {
        const { [name]: _, ...others } = this.setting.keys;
        this.change({ keys: value === null ? others : { ...others, [name]: value } });
      }, preset !== ""),
    );
    rows.push(
      count("Flows alike", "", 1, data.templates.length, this.setting.flows, (flows) =>
        this.change({ flows }),
      ),
      count("Simulated time", "s", 5, MOST_DURATION_S, this.setting.duration_s, (duration_s) =>
        this.change({ duration_s }),
      ),
      count("Repetition", `of ${FIRST.repetitions}`, 1, FIRST.repetitions, this.setting.repetition,
        (repetition) => this.change({ repetition })),
    );
    this.place.sliders.replaceChildren(...rows);
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
      return button;
    });
    const lines = data.algorithms.filter(({ name }) => this.setting.algorithms.includes(name));
    const list = document.createElement("ul");
    list.className = "summaries";
    list.append(
      ...lines.map(({ name, summary }) => {
        const line = document.createElement("li");
        const strong = document.createElement("strong");
        strong.textContent = name;
        line.append(strong, `: ${summary}`);
        return line;
      }),
    );
    this.place.algorithms.replaceChildren(...chips, list);
  }
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

/** A slider of a key; `null` is the preset's own value. */
function slider(
  { label, unit, low, high, isLogarithmic, digits }: Slider,
  text: string | null,
  changed: (text: string | null) => void,
  hasPreset: boolean,
): HTMLElement {
  const valueAt = (share: number) =>
    isLogarithmic ? low * (high / low) ** share : low + share * (high - low);
  const shareOf = (value: number) =>
    isLogarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const written = (value: number) => {
    const number = isLogarithmic ? Number(value.toPrecision(digits)) : Number(value.toFixed(digits));
    return unit === "" ? String(number) : `${number} ${unit}`;
  };
  const share = text === null ? 0.5 : shareOf(Number.parseFloat(text));
  const { row, input, output } = range(label, 0, STEPS, 1, Math.round(share * STEPS));
  const reset = document.createElement("button");
  reset.type = "button";
  reset.className = "reset";
  reset.textContent = "×";
  reset.ariaLabel = `${label}: as the preset`;
  const show = (value: string | null) => {
    output.textContent = value ?? "preset";
    input.ariaValueText = value ?? "as the preset";
    row.classList.toggle("usual", value === null);
    reset.hidden = value === null || !hasPreset;
  };
  input.oninput = () => {
    const value = written(valueAt(Number(input.value) / STEPS));
    show(value);
    changed(value);
  };
  reset.onclick = () => {
    input.value = String(STEPS / 2);
    show(null);
    changed(null);
  };
  show(text);
  row.append(reset);
  return row;
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
