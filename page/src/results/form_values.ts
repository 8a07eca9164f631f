// Parses a factor's values in a form: separated by commas; a value with a comma is in quotes.

export type Value = string | number | boolean;

export function valuesOf(text: string): Value[] {
  const parts = text.match(/"[^"]*"|[^,]+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "").map(valueOf);
}

function valueOf(text: string): Value {
  if (text.startsWith('"')) return text.replaceAll('"', "");
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
