// Page for a new study: a form that is generated from the JSON schema of study files, and the study
// file that the form writes.

import { count, main, make } from "./dom.ts";
import { valuesOf } from "./form_values.ts";
import { ask, post, Refused, type Problem } from "./server.ts";

interface Field {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  anyOf?: Field[];
}

interface Form {
  schema: {
    properties: { study: { properties: Record<string, Field> } };
    $defs: { Flow: { properties: Record<string, Field> } };
  };
  folder: string;
  algorithms: { name: string; summary: string }[];
  links: { name: string; title: string }[];
}

interface Checked {
  toml: string;
  runs: number | null;
  problems: Problem[];
}

type Asked = Record<string, unknown>;

const FIRST = ["id", "title", "link", "duration", "repetitions"];
/** Keys that a row of the form may set for a kind of flow. */
const OF_FLOWS = ["algorithm", "count", "start", "direction", "stack"];
const BEGIN: Record<string, string> = { id: "my-study", link: "lte-typical", duration: "30 s", repetitions: "10", start_jitter: "100 ms" };
const COMPARED = ["cubic", "bbr"];
/** Paths that studies often vary, with examples of values. */
const PATHS: Record<string, string> = {
  "link.rate": "10 Mbit/s, 50 Mbit/s", "link.delay": "10 ms, 50 ms", "link.queue": "0.5 BDP, 1 BDP, 4 BDP", "link.loss": "0 %, 1 %",
  "link.server": "10 ms, 50 ms", "link.coverage": "5 dB, 12 dB, 20 dB", "link.speed": "3 km/h, 120 km/h", "link.users": "1, 4",
  link: "lte-bad, lte-typical", flows: "1, 2, 4", stack: "linux-6.1, linux-2.6.24", direction: "downlink, uplink", duration: "10 s, 60 s",
};
const CHECK_AFTER_MS = 350;

export function showStart(): () => void {
  const place = make("section", {}, make("p", { class: "soft" }, "Reading the schema…"));
  main().replaceChildren(make("h1", {}, "New study"), place);
  let timer = 0;
  ask<Form>("/api/form").then((about) => {
    if (!place.isConnected) return;
    const form = new StudyForm(about, () => {
      clearTimeout(timer);
      timer = setTimeout(() => void form.check(), CHECK_AFTER_MS) as unknown as number;
    });
    place.replaceChildren(form.element);
    void form.check();
  }, (error: Error) => place.replaceChildren(make("p", { class: "miss", role: "alert" }, error.message)));
  return () => clearTimeout(timer);
}

class StudyForm {
  readonly element: HTMLFormElement;
  private readonly refusal = make("p", { class: "miss refusal", role: "alert" });
  private readonly button = make("button", { class: "button first" }, "Run the study");
  private readonly runs = make("p", { class: "soft", role: "status" });
  private readonly written = make("pre", { tabindex: 0, "aria-label": "Preview of the study file" });
  private readonly text = make("textarea", { rows: 24, spellcheck: "false", "aria-label": "The study file", input: () => this.changed() });
  private readonly fields = make("div", { class: "form" });
  private readonly factors = make("div", { class: "rows" });
  private readonly flows = make("div", { class: "rows" });
  private isText = false;
  private turn = 0;

  constructor(private readonly about: Form, private readonly changed: () => void) {
    const study = about.schema.properties.study.properties;
    const others = Object.keys(study).filter((key) => !FIRST.includes(key) && key !== "algorithm" && isSimple(study[key]!));
    const tab = (text: string, isText: boolean) => make("button", {
      type: "button", class: "tab", "aria-pressed": String(!isText), click: () => this.show(isText),
    }, text);
    this.fields.append(
      ...FIRST.map((key) => inputOf(key, study[key]!, about)),
      this.algorithms(),
      group("Compared with each other", "Each value is combined with each value of the other rows, and with each algorithm. Separate values with commas; put a value that contains a comma in quotation marks.",
        this.factors, make("button", { type: "button", class: "button", click: () => this.addFactor() }, "Vary another key")),
      group("Different kinds of flows", "Without a row, all flows are alike. With rows, each row is a kind of flow on the same link; a row without an algorithm uses the algorithm that is being compared.",
        this.flows, make("button", { type: "button", class: "button", click: () => this.addFlow() }, "Add a kind of flow")),
      make("details", {}, make("summary", {}, `${others.length} more keys of a study`), ...others.map((key) => inputOf(key, study[key]!, about))),
    );
    const aside = make("div", { class: "written" }, make("h2", {}, "The study file"), this.runs, this.written);
    const text = make("div", { class: "text", hidden: true }, make("p", { class: "soft" }, "This text is executed as it is. It may contain any key and table of a study file."), this.text);
    this.element = make("form", { class: "new", novalidate: true, submit: (event) => {
      event.preventDefault();
      void this.start();
    }, input: () => this.changed(), change: () => this.changed() },
      make("div", { class: "tabs", role: "group", "aria-label": "How to write it" }, tab("Form", false), tab("Text (TOML)", true)),
      make("div", { class: "both" }, make("div", {}, this.fields, text), aside),
      make("p", { class: "soft" }, `The results are stored in a folder named by the id of the study, below ${about.folder}. The study continues when this page is closed, and stops when the server stops.`),
      this.refusal, this.button);
  }

  /** Shows the form or the text; at first, the text is the file that the form writes. */
  private show(isText: boolean): void {
    if (isText && !this.isText) this.text.value = this.written.textContent ?? "";
    this.isText = isText;
    this.fields.hidden = isText;
    this.text.parentElement!.hidden = !isText;
    this.written.hidden = isText;
    this.element.querySelectorAll(".tab").forEach((tab, at) => tab.setAttribute("aria-pressed", String(isText === (at === 1))));
    this.changed();
  }

  private algorithms(): HTMLElement {
    const chips = this.about.algorithms.map(({ name, summary }) => {
      const box = make("input", { type: "checkbox", name: "algorithm", value: name });
      box.checked = COMPARED.includes(name);
      return make("label", { class: "pick", title: summary }, box, ` ${name}`);
    });
    return make("fieldset", { id: "key-algorithm" }, make("legend", {}, "algorithm"), make("div", { class: "picks" }, ...chips),
      make("small", {}, "congestion control of all flows without an algorithm of their own; several algorithms are compared"), wrong());
  }

  private addFactor(): void {
    const values = make("input", { name: "values", placeholder: "values, separated by commas", "aria-label": "Values", autocomplete: "off" });
    const path = make("input", { name: "path", list: "paths", placeholder: "link.queue", "aria-label": "What varies", autocomplete: "off", change: () => {
      values.placeholder = PATHS[path.value] ?? values.placeholder;
    } });
    const row: HTMLElement = make("div", { class: "row-of" }, path, values, this.remover(() => row), wrong());
    if (!document.getElementById("paths")) {
      this.element.append(make("datalist", { id: "paths" }, ...Object.keys(PATHS).map((key) => make("option", { value: key }))));
    }
    this.factors.append(row);
    path.focus();
    this.changed();
  }

  private addFlow(): void {
    const fields = this.about.schema.$defs.Flow.properties;
    const inputs = OF_FLOWS.map((key) => {
      const options = key === "algorithm" ? this.about.algorithms.map(({ name }) => name) : wordsOf(fields[key]!);
      const common = { name: key, title: fields[key]!.description ?? "", "aria-label": key };
      const input = options
        ? make("select", common, make("option", { value: "" }, key === "algorithm" ? "as compared" : `usual ${key}`), ...options.map((word) => make("option", { value: word }, word)))
        : make("input", { ...common, placeholder: key === "count" ? "count: 1" : key, autocomplete: "off" });
      return input;
    });
    const row: HTMLElement = make("div", { class: "row-of flow" }, ...inputs, this.remover(() => row), wrong());
    this.flows.append(row);
    inputs[0]!.focus();
    this.changed();
  }

  private remover(row: () => HTMLElement): HTMLElement {
    return make("button", { type: "button", class: "button", "aria-label": "Remove this row", click: () => {
      row().remove();
      this.changed();
    } }, "×");
  }

  /** The requested study in the format of the server. */
  private asked(): Asked {
    if (this.isText) return { toml: this.text.value };
    const asked: Asked = {};
    const boxes = [...this.fields.querySelectorAll<HTMLInputElement>('[name="algorithm"][type="checkbox"]:checked')];
    const names = boxes.map(({ value }) => value);
    const factors: Record<string, unknown> = {};
    if (names.length === 1) asked["algorithm"] = names[0];
    else if (names.length) factors["algorithm"] = names;
    for (const input of this.fields.querySelectorAll<HTMLInputElement | HTMLSelectElement>(".field [name]")) {
      if (input.value === "") continue;
      asked[input.name] = input.dataset["type"] === "boolean" ? input.value === "yes" : typed(input.value, input.dataset["type"] === "integer");
    }
    for (const row of this.factors.children) {
      const [path, values] = [...row.querySelectorAll("input")].map(({ value }) => value.trim()) as [string, string];
      if (path !== "") factors[path] = valuesOf(values);
    }
    const flows = [...this.flows.children].map((row) => Object.fromEntries(
      [...row.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[name]")].filter(({ value }) => value.trim() !== "")
        .map(({ name, value }) => [name, typed(value.trim(), name === "count")])));
    return { ...asked, ...(Object.keys(factors).length > 0 && { factors }), ...(flows.length > 0 && { flow: flows }) };
  }

  /** Asks the server how many runs there would be, and shows problems beside their fields. */
  async check(): Promise<boolean> {
    const own = ++this.turn;
    let found: Checked;
    try {
      found = await post<Checked>("/api/check", this.asked());
    } catch (error) {
      found = { toml: "", runs: null, problems: [{ key: "", line: null, text: (error as Error).message }] };
    }
    if (own !== this.turn) return false;
    if (!this.isText) this.written.textContent = found.toml;
    this.runs.textContent = found.problems.length > 0 ? "The study cannot run: correct the errors first." : found.runs === null ? "" : `${count(found.runs, "run")}.`;
    this.say(found.problems);
    return found.problems.length === 0;
  }

  private say(problems: Problem[]): void {
    for (const place of this.element.querySelectorAll(".wrong")) place.textContent = "";
    for (const input of this.element.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    const rest: string[] = [];
    for (const { key, line, text } of problems) {
      const place = this.isText ? null : this.placeOf(key);
      const note = place?.querySelector(".wrong") ?? null;
      if (place === null || note === null) {
        rest.push(`${this.isText && line !== null ? `line ${line}: ` : ""}${key ? `${key}: ` : ""}${text}`);
        continue;
      }
      note.textContent = [note.textContent, text].filter(Boolean).join(" ");
      const name = /\.(\w+)$/.exec(key)?.[1] ?? key;
      const input = place.querySelector(`[name="${CSS.escape(name)}"]`) ?? place.querySelector("[name=values], input, select");
      input?.setAttribute("aria-invalid", "true");
      place.closest("details")?.setAttribute("open", "");
    }
    this.refusal.textContent = rest.join("\n");
  }

  /** The part of the form that sets a key of the file. */
  private placeOf(key: string): Element | null {
    const flow = /^flow\[(\d+)\]/.exec(key);
    if (flow) return this.flows.children[Number(flow[1])] ?? null;
    const factor = /^factors\.("?)(.*?)\1(\[\d+\].*)?$/.exec(key);
    if (factor && factor[2] !== "algorithm") {
      return [...this.factors.children].find((row) => row.querySelector("input")!.value.trim() === factor[2]) ?? null;
    }
    const name = factor ? "algorithm" : key;
    return this.element.querySelector(`#key-${CSS.escape(name)}`)?.closest(".field, fieldset") ?? null;
  }

  private async start(): Promise<void> {
    this.button.disabled = true;
    this.button.textContent = "Starting…";
    try {
      if (await this.check()) {
        const { id } = await post<{ id: string }>("/api/start", this.asked());
        location.hash = `#/study/${id}`;
        return;
      }
      (this.element.querySelector<HTMLElement>("[aria-invalid]") ?? this.refusal).focus();
    } catch (error) {
      if (error instanceof Refused) this.say(error.problems);
      else this.refusal.textContent = (error as Error).message;
    } finally {
      this.button.disabled = false;
      this.button.textContent = "Run the study";
    }
  }
}

function group(title: string, about: string, ...inner: HTMLElement[]): HTMLElement {
  return make("fieldset", {}, make("legend", {}, title), make("small", {}, about), ...inner);
}

const wrong = () => make("small", { class: "wrong miss" });
const typed = (text: string, isWhole: boolean) => (isWhole && /^-?\d+$/.test(text) ? Number(text) : text);
const kindsOf = (field: Field) => [field, ...(field.anyOf ?? [])];
const wordsOf = (field: Field) => kindsOf(field).find((kind) => kind.enum && kind.enum.length < 12)?.enum;

/** Whether a field has a single value; other fields are written as text. */
function isSimple(field: Field): boolean {
  const kinds = kindsOf(field);
  return kinds.some((kind) => ["string", "integer", "boolean"].includes(kind.type ?? "") || kind.enum) && !kinds.some((kind) => kind.type === "array");
}

function inputOf(key: string, field: Field, about: Form): HTMLElement {
  const is = (type: string) => kindsOf(field).some((kind) => kind.type === type);
  const type = is("boolean") ? "boolean" : is("integer") ? "integer" : "text";
  const usual = typeof field.default === "string" ? field.default : "";
  const common = { name: key, id: `key-${key}`, "data-type": type, "aria-describedby": `about-${key} wrong-${key}` };
  const options = type === "boolean" ? ["yes", "no"] : wordsOf(field);
  const input = options
    ? make("select", common, make("option", { value: "" }, usual ? `usual: ${usual}` : "usual"), ...options.map((word) => make("option", { value: word }, word)))
    : make("input", { ...common, value: BEGIN[key] ?? "", required: key === "id", autocomplete: "off", spellcheck: "false", ...(is("string") ? {} : { inputmode: "numeric" }), ...(key === "link" ? { list: "links" } : {}) });
  const note = wrong();
  note.id = `wrong-${key}`;
  return make("div", { class: "field" }, make("label", { for: `key-${key}` }, key), input,
    key === "link" && make("datalist", { id: "links" }, ...about.links.map(({ name, title }) => make("option", { value: name }, title))),
    make("small", { id: `about-${key}` }, key === "link" ? "a preset, or a link in one line: rate=20 Mbit/s,delay=20 ms,queue=1 BDP" : (field.description ?? "")), note);
}
