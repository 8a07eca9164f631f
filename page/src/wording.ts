// Formats numbers as the command line does (python/cwndlab/text/wording.py).

const EXACT_DIGITS = 30;

/** Formats a number with `digits` decimals; rounds a tie to the even digit, as Python does. */
export function fixed(value: number, digits: number): string {
  const exact = Math.abs(value).toFixed(digits + EXACT_DIGITS);
  const cut = exact.slice(0, digits === 0 ? -EXACT_DIGITS - 1 : -EXACT_DIGITS);
  const isTie = /^50*$/.test(exact.slice(-EXACT_DIGITS));
  const isEven = Number(cut.at(-1)) % 2 === 0;
  const text = isTie && isEven ? cut : Math.abs(value).toFixed(digits);
  return (value < 0 ? "-" : "") + text;
}

/** Formats a number with at most two significant digits, such as "1", "0.05" or "3,000". */
export function twoDigits(value: number): string {
  const rounded = Number(value.toPrecision(2));
  return rounded.toLocaleString("en", { maximumFractionDigits: 6 });
}

export function probability(value: number): string {
  return value > 0.995 && value < 1 ? "> 0.99" : fixed(value, 2);
}

const isWhole = (share: number) => Math.abs(share) >= 0.0095;

export function percent(share: number): string {
  if (Math.abs(share) < 0.0005) return "0 %";
  return `${fixed(100 * share, isWhole(share) ? 0 : 1)} %`;
}

export function wholePercent(share: number): string {
  const value = Number(fixed(100 * share, isWhole(share) ? 0 : 1));
  if (value === 0) return "0";
  return value > 0 ? `+${value}` : String(value);
}

export function signedPercent(share: number): string {
  if (share >= 1) return `${twoDigits(share + 1)} times`;
  return wholePercent(share) === "0" ? "0 %" : `${wholePercent(share)} %`;
}

export function joinWords(words: string[], last = "and"): string {
  if (words.length <= 1) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
