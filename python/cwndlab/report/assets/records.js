"use strict";
// Convert the numbers of a chart into a table for CSV: a list of column headings and a list of rows.
cwndlab.parts.push((lab) => {
  const quantity = (axis, fallback) => {
    const title = axis?.title ?? fallback;
    return axis?.unit ? `${title} (${axis.unit})` : title;
  };
  const bounded = (head) => [head, `${head}, low`, `${head}, high`];
  const bounds = (triple) => [triple[0], triple[1] ?? "", triple[2] ?? ""];

  const KINDS = {
    scatter: (spec) => ({
      heads: ["algorithm", ...bounded(quantity(spec.x)), ...bounded(quantity(spec.y))],
      rows: spec.points.map((point) => [point.name, ...bounds(point.x), ...bounds(point.y)]),
    }),
    box: (spec, title) => ({
      heads: ["algorithm", "run", quantity(spec.y, title)],
      rows: spec.groups.flatMap((entry) => entry.values.map((value, at) => [entry.name, at, value])),
    }),
    cdf: (spec, title) => ({
      heads: ["algorithm", quantity(spec.x, title), `share of the ${spec.of ?? "time"} (%)`],
      rows: spec.groups.flatMap((entry) => entry.values.map(
        (value, at) => [entry.name, value, (100 * (at + 1)) / entry.values.length],
      )),
    }),
    dots: (spec, title) => ({
      heads: ["algorithm", quantity(spec.x), quantity(spec.y, title)],
      rows: spec.groups.flatMap((entry) => entry.points.map((point) => [entry.name, ...point])),
    }),
    bars: (spec, title) => ({
      heads: ["algorithm", "bar", ...bounded(quantity(spec.y, title))],
      rows: spec.groups.flatMap((entry) => entry.bars.map(
        (bar, at) => [entry.name, entry.labels[at], ...bounds(bar)],
      )),
    }),
    effect: (spec, title) => ({
      heads: ["algorithm", spec.x.title, ...bounded(quantity(spec.y, title))],
      rows: spec.lines.flatMap((line) => line.points.flatMap(
        (point, at) => (point ? [[line.name, spec.levels[at], ...bounds(point)]] : []),
      )),
    }),
    series: (spec) => {
      const columns = [...new Set(spec.lines.flatMap((line) => Object.keys(line.values)))];
      return {
        heads: ["algorithm", "flow", "t_s", ...columns],
        rows: spec.lines.flatMap((line) => line.t.map((time, at) => [
          line.name, line.flow ?? 0, time, ...columns.map((column) => line.values[column]?.[at] ?? ""),
        ])),
      };
    },
  };

  // Format of RFC 4180. A text that a spreadsheet would interpret as a formula is preceded by an
  // apostrophe.
  function field(value) {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  lab.csvOf = (spec, title) => {
    const { heads, rows } = KINDS[spec.kind](spec, title);
    return [heads, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
  };
});
