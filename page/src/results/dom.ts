// Creates elements in one call; text is always inserted as text, never as HTML.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false) element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child): child is Node | string => !!child || child === ""));
  return element;
}

export function main(): HTMLElement {
  return document.getElementById("main")!;
}

/** Announces a text to users of screen readers. */
export function say(text: string): void {
  document.getElementById("said")!.textContent = text;
}

export function count(value: number, noun: string): string {
  const many = noun.endsWith("udy") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${value.toLocaleString("en")} ${value === 1 ? noun : many}`;
}

/** Formats a number with three significant digits, as in the tables of reports. */
export function figure(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0 || Number.isInteger(value)) return value.toLocaleString("en");
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(decimals, 6) });
}

export function when(unix_s: number): string {
  if (!unix_s) return "–";
  const date = new Date(unix_s * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
