"use strict";
// Charts drawn as SVG at their actual width: scatter with intervals, boxes, curves, dots, bars.
cwndlab.parts.push((lab) => {
  // Smallest length of a curve's axis relative to its values: differences below 3 % look small.
  const LEAST_SPAN = 0.06;
  const NAMESPACE = "http://www.w3.org/2000/svg";

  function make(tag, attributes = {}, parent = null, content = null) {
    const element = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined) continue;
      if (name === "style") element.style.cssText = value;
      else element.setAttribute(name, value);
    }
    if (content !== null) element.textContent = content;
    if (parent) parent.append(element);
    return element;
  }

  function ticks(low, high, about) {
    const rough = (high - low) / Math.max(1, about);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
      found.push(Math.abs(at) < step / 1e6 ? 0 : at);
    }
    return found;
  }

  // Number of decimals that the distance between ticks requires.
  function tickText(value, all) {
    const step = all.length > 1 ? all[1] - all[0] : Math.abs(value) || 1;
    const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9) + (/^[15]|^2$/.test(String(step).replace(/[0.]/g, "")) ? 0 : 1));
    return value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: Math.min(decimals, 8) });
  }

  function frame(element, width, height, x, y, options = {}) {
    element.replaceChildren();
    const narrow = width < 480;
    const left = options.left ?? 46;
    const box = { left, right: width - (options.right ?? 12), top: options.top ?? 14, bottom: height - (options.bottom ?? 40) };
    const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, element);
    const toX = (value) => box.left + ((value - x.low) / (x.high - x.low || 1)) * (box.right - box.left);
    const toY = (value) => box.bottom - ((value - y.low) / (y.high - y.low || 1)) * (box.bottom - box.top);
    const background = make("g", {}, svg);
    const yTicks = ticks(y.low, y.high, height < 260 ? 4 : 6);
    for (const at of yTicks) {
      make("line", { class: "gridline", x1: box.left, x2: box.right, y1: toY(at), y2: toY(at) }, background);
      make("text", { x: box.left - 7, y: toY(at) + 4, "text-anchor": "end" }, background, tickText(at, yTicks));
    }
    if (!x.labels) {
      const xTicks = ticks(x.low, x.high, narrow ? 4 : 8);
      for (const at of xTicks) {
        make("line", { class: "gridline", x1: toX(at), x2: toX(at), y1: box.top, y2: box.bottom }, background);
        make("text", { x: toX(at), y: box.bottom + 17, "text-anchor": "middle" }, background, tickText(at, xTicks));
      }
    }
    make("line", { class: "axisline", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }, background);
    if (x.title) {
      make("text", { class: "strong", x: box.right, y: box.bottom + 34, "text-anchor": "end" }, background, `${x.title} (${x.unit})`);
    }
    if (y.title) {
      make("text", { class: "strong", x: 0, y: box.top - 8, "text-anchor": "start" }, background, `${y.title} (${y.unit})`);
    }
    return { svg, box, toX, toY, background, narrow };
  }

  function group(parent, name, extra = "") {
    const hollow = lab.styleOf(name).is_hollow ? "hollow" : "";
    const element = make("g", { class: `alg fades ${lab.classOf(name)} ${extra} ${hollow}` }, parent);
    element.dataset.name = name;
    return element;
  }

  function marker(shape, x, y, r) {
    const points = (list) => list.map(([dx, dy], at) => `${at ? "L" : "M"}${x + dx * r},${y + dy * r}`).join("") + "Z";
    const polygon = (n, turn, inner = 1) => points(Array.from({ length: inner === 1 ? n : 2 * n }, (_, at) => {
      const angle = turn + (at * 2 * Math.PI) / (inner === 1 ? n : 2 * n);
      const radius = 1.15 * (inner !== 1 && at % 2 ? inner : 1);
      return [radius * Math.sin(angle), -radius * Math.cos(angle)];
    }));
    const w = 0.4;
    switch (shape) {
      case "s": return points([[-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]]);
      case "D": return points([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
      case "d": return points([[0, -1.35], [.85, 0], [0, 1.35], [-.85, 0]]);
      case "^": return polygon(3, 0);
      case "v": return polygon(3, Math.PI);
      case "<": return polygon(3, -Math.PI / 2);
      case ">": return polygon(3, Math.PI / 2);
      case "p": return polygon(5, 0);
      case "h": return polygon(6, 0);
      case "H": return polygon(6, Math.PI / 6);
      case "8": return polygon(8, Math.PI / 8);
      case "*": return polygon(5, 0, 0.45);
      case "P": return points([[-w, -1.1], [w, -1.1], [w, -w], [1.1, -w], [1.1, w], [w, w], [w, 1.1], [-w, 1.1], [-w, w], [-1.1, w], [-1.1, -w], [-w, -w]]);
      case "X": return points([[-1.1, -.55], [-.55, -1.1], [0, -.55], [.55, -1.1], [1.1, -.55], [.55, 0], [1.1, .55], [.55, 1.1], [0, .55], [-.55, 1.1], [-1.1, .55], [-.55, 0]]);
      default: return `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`;
    }
  }

  function extent(values, pad) {
    const finite = values.filter((value) => value !== null && Number.isFinite(value));
    const low = Math.min(...finite);
    const high = Math.max(...finite);
    const room = (high - low || Math.abs(high) || 1) * pad;
    return { low: low - room, high: high + room };
  }

  function withTip(element, content) {
    element.addEventListener("pointerenter", (event) => lab.showTip(content, event.clientX, event.clientY));
    element.addEventListener("pointermove", (event) => lab.showTip(content, event.clientX, event.clientY));
    element.addEventListener("pointerleave", lab.hideTip);
  }

  function pointsAt(element, chart, name) {
    element.addEventListener("pointerenter", () => {
      chart.classList.add("points-at");
      for (const other of chart.querySelectorAll(".fades")) other.classList.toggle("pointed", other.dataset.name === name);
    });
    element.addEventListener("pointerleave", () => chart.classList.remove("points-at"));
  }

  function range(bounds, unit) {
    const known = bounds[1] !== null && bounds[1] !== bounds[2];
    return `${lab.text(bounds[0], 4)} ${unit}${known ? ` (${lab.text(bounds[1], 4)} to ${lab.text(bounds[2], 4)})` : ""}`;
  }

  function scatter(element, spec, width) {
    const height = width < 480 ? 320 : width < 700 ? 340 : 360;
    const best = Math.max(...spec.points.map((point) => point.y[0]));
    const ys = extent(spec.points.flatMap((point) => point.y), 0.12);
    // A small difference must look small: the band of negligible differences fills at most a quarter.
    const span = Math.max(ys.high - ys.low, 4 * spec.effect * best);
    const y = { low: Math.max(0, Math.min(ys.low, best - 0.85 * span)), high: Math.max(ys.high, best + 0.15 * span), ...spec.y };
    const xs = extent(spec.points.flatMap((point) => point.x), 0.12);
    const xSpan = Math.max(xs.high - xs.low, 0.2 * xs.high);
    const x = { low: Math.max(0, xs.low - 0.06 * xSpan), high: xs.low + 1.12 * xSpan, ...spec.x };
    const plot = frame(element, width, height, x, y, { top: 24 });
    const { box, toX, toY } = plot;
    const floor = Math.min(box.bottom, toY((1 - spec.effect) * best));
    const band = { x: box.left, y: toY(best), w: box.right - box.left, h: Math.max(0, floor - toY(best)) };
    make("rect", { class: "band", x: band.x, width: band.w, y: band.y, height: band.h }, plot.background);
    const front = spec.front.map((name) => spec.points.find((point) => point.name === name));
    make("path", { class: "front", d: front.map((point, at) => `${at ? "L" : "M"}${toX(point.x[0])},${toY(point.y[0])}`).join("") }, plot.svg);
    // Above the plot, which contains no points there.
    make("path", { class: "axisline", fill: "none", d: `M${box.right - 42},${box.top - 8}l-10,-10m0,6v-6h6` }, plot.svg);
    make("text", { x: box.right, y: box.top - 8, "text-anchor": "end" }, plot.svg, "better");
    make("text", { x: box.right - 62, y: box.top - 8, "text-anchor": "end", "font-size": 11 }, plot.svg, `band: within ${lab.text(100 * spec.effect)} %`);
    const labels = [];
    const bounds = [];
    for (const point of spec.points) {
      const [px, py] = [toX(point.x[0]), toY(point.y[0])];
      const own = group(plot.svg, point.name);
      if (point.x[1] !== null) {
        const [low, high] = point.x.slice(1).map(toX);
        make("line", { class: "bounds", x1: low, x2: high, y1: py, y2: py }, own);
        bounds.push({ x: low, y: py - 1, w: high - low, h: 2 });
      }
      if (point.y[1] !== null) {
        const [low, high] = point.y.slice(1).map(toY);
        make("line", { class: "bounds", x1: px, x2: px, y1: low, y2: high }, own);
        bounds.push({ x: px - 1, y: high, w: 2, h: low - high });
      }
      make("path", { class: "point", d: marker(lab.styleOf(point.name).marker, px, py, 6.5) }, own);
      const hit = make("circle", { cx: px, cy: py, r: 16, fill: "transparent" }, own);
      withTip(hit, `${point.name}\n${spec.y.title} ${range(point.y, spec.y.unit)}\n${spec.x.title} ${range(point.x, spec.x.unit)}`);
      pointsAt(hit, element, point.name);
      labels.push({ own, px, py, name: point.name });
    }
    placeNames(labels, box, [band, ...bounds]);
  }

  // Names are placed to the right of their points, or to the left at the edge, and are moved apart if
  // they would touch. A name without space is placed where it covers the least, with a line to its point.
  function placeNames(labels, box, obstacles = []) {
    const taken = [...obstacles, ...labels.map(({ px, py }) => ({ x: px - 8, y: py - 8, w: 16, h: 16 }))];
    for (const label of labels.sort((a, b) => a.py - b.py)) {
      const width = 7.6 * label.name.length + 4;
      const sides = [11, -11 - width];
      const near = [...sides.flatMap((dx) => [[dx, -6], [dx, 16]]), [-width / 2, -15], [-width / 2, 26]];
      const far = [-22, 32, -38, 48, -54, 64].flatMap((dy) => sides.map((dx) => [dx, dy]));
      const spots = [...near, ...far]
        .map(([dx, dy]) => ({ x: label.px + dx, y: label.py + dy - 12, w: width, h: 14 }))
        .filter((spot) => spot.y >= box.top - 6 && spot.y + spot.h <= box.bottom);
      const over = (one, other) => Math.min(one.x + one.w, other.x + other.w) - Math.max(one.x, other.x);
      const under = (one, other) => Math.min(one.y + one.h, other.y + other.h) - Math.max(one.y, other.y);
      const covered = (spot) => taken.reduce((sum, t) => sum + Math.max(0, over(spot, t)) * Math.max(0, under(spot, t)), 0);
      const isInside = (spot) => spot.x >= box.left && spot.x + spot.w <= box.right + 8;
      const inside = spots.filter(isInside);
      const cost = inside.map(covered);
      const spot = inside[cost.indexOf(Math.min(...cost))]
        ?? { x: Math.max(0, Math.min(label.px - width / 2, box.right - width)), y: label.py - 27, w: width, h: 14 };
      taken.push(spot);
      const down = spot.y + 12 - label.py;
      if (down < -20 || down > 30) {
        make("line", { class: "front", x1: label.px, y1: label.py, x2: spot.x < label.px ? spot.x + width : spot.x, y2: spot.y + 7 }, label.own);
      }
      make("text", { class: "name", x: spot.x, y: spot.y + 12 }, label.own, label.name);
    }
  }

  function categories(spec, box) {
    const shown = spec.groups.filter((entry) => !lab.off.has(entry.name));
    const step = (box.right - box.left) / Math.max(1, shown.length);
    return shown.map((entry, at) => ({ entry, x: box.left + step * (at + 0.5), step }));
  }

  function nameBelow(plot, name, x, step) {
    const label = make("text", { class: "name", x, y: plot.box.bottom + 17, "text-anchor": "middle" }, plot.svg, name);
    label.classList.add(lab.classOf(name));
    if (step < 7.6 * name.length) {
      label.setAttribute("text-anchor", "end");
      label.setAttribute("transform", `rotate(-32 ${x} ${plot.box.bottom + 17})`);
    }
  }

  function bottomFor(spec, width) {
    const longest = Math.max(...spec.groups.map((entry) => entry.name.length));
    return (width - 60) / spec.groups.length < 7.6 * longest ? 26 + 4.4 * longest : 30;
  }

  // Limits of an axis that several charts share.
  function limits(axis) {
    return axis?.high === undefined ? {} : { low: axis.low, high: axis.high };
  }

  function boxes(element, spec, width) {
    const shown = spec.groups.filter((entry) => !lab.off.has(entry.name));
    const y = { ...extent((shown.length ? shown : spec.groups).flatMap((entry) => [...entry.values, entry.low, entry.high, entry.mean]), 0.06), ...limits(spec.y) };
    // Runs with negligible differences must not look scattered.
    const most = Math.max(...spec.groups.flatMap((entry) => entry.values));
    const missing = 2 * spec.effect * most - (y.high - y.low);
    if (missing > 0) {
      y.low -= missing / 2;
      y.high += missing / 2;
    }
    if (y.low < 0 && Math.min(...spec.groups.flatMap((entry) => entry.values)) >= 0) y.low = 0;
    // An axis of counts has a length of at least one.
    if (y.high < 1 && spec.groups.every((entry) => entry.values.every(Number.isInteger))) y.high = 1;
    const plot = frame(element, width, 260, { low: 0, high: 1, labels: true }, y, { bottom: bottomFor(spec, width) });
    for (const { entry, x, step } of categories(spec, plot.box)) {
      const own = group(plot.svg, entry.name);
      const half = Math.min(28, step * 0.3);
      const { toY } = plot;
      if (entry.values.length >= 5) {
        make("line", { class: "whisker", x1: x, x2: x, y1: toY(entry.low), y2: toY(entry.q1) }, own);
        make("line", { class: "whisker", x1: x, x2: x, y1: toY(entry.q3), y2: toY(entry.high) }, own);
        for (const end of [entry.low, entry.high]) make("line", { class: "whisker", x1: x - half / 2, x2: x + half / 2, y1: toY(end), y2: toY(end) }, own);
        make("rect", { class: "box", x: x - half, width: 2 * half, y: toY(entry.q3), height: Math.max(1, toY(entry.q1) - toY(entry.q3)) }, own);
        make("line", { class: "median", x1: x - half, x2: x + half, y1: toY(entry.median), y2: toY(entry.median) }, own);
      }
      entry.values.forEach((value, at) => make("circle", { class: "runs", cx: x + half * 0.7 * (((at * 0.618) % 1) * 2 - 1), cy: toY(value), r: 2.2 }, own));
      make("path", { class: "mean", d: `M${x - 4},${toY(entry.mean) - 4}l8,8m0,-8l-8,8` }, own);
      const hit = make("rect", { x: x - step / 2, width: step, y: plot.box.top, height: plot.box.bottom - plot.box.top, fill: "transparent" }, own);
      withTip(hit, `${entry.name}, ${entry.values.length} runs\nmean ${lab.text(entry.mean, 4)} ${spec.y.unit}\nmedian ${lab.text(entry.median, 4)}\nmiddle half ${lab.text(entry.q1, 4)} to ${lab.text(entry.q3, 4)}`);
      nameBelow(plot, entry.name, x, step);
    }
  }

  function curves(element, spec, width) {
    const of = spec.of ?? "time";
    const x = { ...extent(spec.groups.flatMap((entry) => [entry.values[0], entry.values.at(-1)]), 0.03), ...spec.x };
    // A small difference must look small on the axis.
    const missing = LEAST_SPAN * x.high - (x.high - x.low);
    if (missing > 0) {
      x.low -= missing / 2;
      x.high += missing / 2;
    }
    x.low = Math.max(0, x.low);
    const plot = frame(element, width, 300, x, { low: 0, high: 100 }, { top: 24, left: 40 });
    make("text", { class: "strong", x: 0, y: 14 }, plot.background, `share of the ${of} (%)`);
    for (const entry of spec.groups) {
      const own = group(plot.svg, entry.name);
      const share = (at) => (100 * (at + 1)) / entry.values.length;
      const d = entry.values.map((value, at) => `${at ? `H${plot.toX(value)}` : `M${plot.toX(value)},${plot.toY(0)}`}V${plot.toY(share(at))}`).join("");
      make("path", { class: "curve", d, "stroke-dasharray": lab.styleOf(entry.name).dashes.join(" ") || null }, own);
      const hit = make("path", { d, fill: "none", stroke: "transparent", "stroke-width": 16 }, own);
      pointsAt(hit, element, entry.name);
      const quantile = (q) => lab.text(entry.values[Math.min(entry.values.length - 1, Math.floor(q * entry.values.length))]);
      withTip(hit, `${entry.name}\nhalf of the ${of} at most ${quantile(0.5)} ${spec.x.unit}\n95 % of the ${of} at most ${quantile(0.95)} ${spec.x.unit}`);
    }
    // Place each name where its curve is farthest from the other curves, without covering a curve.
    const pixel = (entry, share) => plot.toX(entry.values[Math.floor(share * (entry.values.length - 1))]);
    const shares = Array.from({ length: 13 }, (_, at) => 0.2 + 0.05 * at);
    const labels = spec.groups.map((entry) => {
      const others = spec.groups.filter((other) => other !== entry);
      const room = (share) => Math.min(...others.map((other) => Math.abs(pixel(other, share) - pixel(entry, share))));
      const share = shares.reduce((best, each) => (room(each) > room(best) ? each : best), 0.5);
      return { own: plot.svg.querySelector(`.alg[data-name="${CSS.escape(entry.name)}"]`), px: pixel(entry, share), py: plot.toY(100 * share), name: entry.name };
    });
    const all = Array.from({ length: 101 }, (_, at) => at / 100);
    const curvesDrawn = spec.groups.flatMap((entry) => all.map((share) => ({ x: pixel(entry, share) - 2, y: plot.toY(100 * share) - 2, w: 4, h: 4 })));
    placeNames(labels, plot.box, curvesDrawn);
  }

  function dots(element, spec, width) {
    const all = spec.groups.flatMap((entry) => entry.points);
    const marks = spec.marks.map((mark) => mark.x);
    const x = { low: 0, high: 1.06 * Math.max(...all.map((point) => point[0]), ...marks), ...spec.x };
    const y = { low: 0, high: 1.08 * Math.max(...all.map((point) => point[1])) };
    const plot = frame(element, width, 280, x, y, { top: 22 });
    spec.marks.forEach((mark, at) => {
      const px = plot.toX(mark.x);
      const last = at === spec.marks.length - 1 && at > 0;
      make("line", { class: "mark", x1: px, x2: px, y1: plot.box.top, y2: plot.box.bottom }, plot.background);
      make("text", { x: px, y: plot.box.top - 6, "text-anchor": last ? "end" : "middle" }, plot.background, mark.text);
    });
    for (const entry of spec.groups) {
      const own = group(plot.svg, entry.name, "dots");
      const shape = lab.styleOf(entry.name).marker;
      make("path", { d: entry.points.map(([a, b]) => marker(shape, plot.toX(a), plot.toY(b), 2)).join("") }, own);
      pointsAt(own, element, entry.name);
      withTip(own, entry.name);
    }
  }

  // The numbers that a paper prints, as ranges.
  const printed = (entry) => (entry.paper ?? []).filter(Boolean);

  function paperPoint(own, plot, x, [low, high], name, unit) {
    if (low < high) make("line", { class: "mean", x1: x, x2: x, y1: plot.toY(low), y2: plot.toY(high) }, own);
    const diamond = make("path", { class: "paper", d: marker("D", x, plot.toY((low + high) / 2), 5) }, own);
    withTip(diamond, `${name}\nthe paper: ${low < high ? `${lab.text(low, 4)} to ${lab.text(high, 4)}` : lab.text(low, 4)} ${unit}`);
  }

  function bars(element, spec, width) {
    const tops = (entry) => [...entry.bars.flatMap((bar) => [bar[0], bar[2] ?? bar[0]]), ...printed(entry).map((paper) => paper[1])];
    const high = 1.08 * Math.max(...spec.groups.flatMap(tops));
    const plot = frame(element, width, 260, { low: 0, high: 1, labels: true }, { low: 0, high }, { bottom: bottomFor(spec, width) });
    for (const { entry, x, step } of categories(spec, plot.box)) {
      const own = group(plot.svg, entry.name);
      const each = Math.min(entry.bars.length === 1 ? 64 : 34, (step * 0.8) / entry.bars.length);
      entry.bars.forEach((bar, at) => {
        const left = x + (at - entry.bars.length / 2) * each;
        const rect = make("rect", { class: "bar-rect", x: left + 1, width: each - 2, y: plot.toY(bar[0]), height: plot.box.bottom - plot.toY(bar[0]) }, own);
        if (bar[1] !== null) make("line", { class: "mean", x1: left + each / 2, x2: left + each / 2, y1: plot.toY(bar[1]), y2: plot.toY(bar[2]) }, own);
        withTip(rect, `${entry.name}, ${entry.labels[at]}\n${range(bar, spec.y.unit)}`);
        if (entry.paper?.[at]) paperPoint(own, plot, left + each / 2, entry.paper[at], `${entry.name}, ${entry.labels[at]}`, spec.y.unit);
      });
      nameBelow(plot, entry.name, x, step);
    }
  }

  function effects(element, spec, width) {
    const shown = spec.lines.filter((line) => !lab.off.has(line.name));
    const lines = shown.length ? shown : spec.lines;
    const values = lines.flatMap((line) => [...line.points.filter(Boolean), ...printed(line)].flat());
    const y = { ...extent(values, 0.08) };
    // A small difference must look small on the axis.
    const missing = 4 * spec.effect * Math.max(...values) - (y.high - y.low);
    if (missing > 0) {
      y.low -= missing / 2;
      y.high += missing / 2;
    }
    if (y.low < 0 && Math.min(...values) >= 0) y.low = 0;
    const right = 16 + 7.8 * Math.max(...lines.map((line) => line.name.length));
    const room = (width - 46 - right) / spec.levels.length;
    const longest = Math.max(...spec.levels.map((level) => level.length));
    const turned = room < 6.4 * longest;
    const bottom = (turned ? 22 + 3.4 * longest : 22) + 18;
    const plot = frame(element, width, 230 + bottom, { low: -0.06, high: 1.06, labels: true }, y, { bottom, right });
    const { box, toX, toY } = plot;
    spec.levels.forEach((level, at) => {
      const px = toX(spec.at[at]);
      make("line", { class: "gridline", x1: px, x2: px, y1: box.top, y2: box.bottom }, plot.background);
      const label = make("text", { x: px, y: box.bottom + 17, "text-anchor": turned ? "end" : "middle" }, plot.background, level);
      if (turned) label.setAttribute("transform", `rotate(-32 ${px} ${box.bottom + 17})`);
    });
    make("text", { class: "strong", x: box.right, y: box.bottom + bottom - 4, "text-anchor": "end" }, plot.background, spec.x.title);
    const names = [];
    lines.forEach((line, row) => {
      const own = group(plot.svg, line.name);
      const shift = 4 * (row - (lines.length - 1) / 2);
      const points = line.points.flatMap((point, at) => (point ? [{ point, level: spec.levels[at], px: toX(spec.at[at]) + shift }] : []));
      if (spec.joined) {
        const d = points.map(({ point, px }, at) => `${at ? "L" : "M"}${px},${toY(point[0])}`).join("");
        make("path", { class: "curve", d, "stroke-dasharray": lab.styleOf(line.name).dashes.join(" ") || null }, own);
      }
      for (const { point, level, px } of points) {
        if (point[1] !== null) make("line", { class: "bounds", x1: px, x2: px, y1: toY(point[1]), y2: toY(point[2]) }, own);
        make("path", { class: "point", d: marker(lab.styleOf(line.name).marker, px, toY(point[0]), 5) }, own);
        const hit = make("circle", { cx: px, cy: toY(point[0]), r: 11, fill: "transparent" }, own);
        withTip(hit, `${line.name}, ${spec.x.title} ${level}\n${spec.y.title} ${range(point, spec.y.unit)}`);
        pointsAt(hit, element, line.name);
      }
      printed(line).length && line.paper.forEach((paper, at) => {
        if (paper) paperPoint(own, plot, toX(spec.at[at]) + shift, paper, `${line.name}, ${spec.x.title} ${spec.levels[at]}`, spec.y.unit);
      });
      if (points.length) names.push({ own, name: line.name, y: toY(points.at(-1).point[0]) });
    });
    // Place names at the right, in the order of the last level, as close to their lines as possible.
    names.sort((a, b) => a.y - b.y);
    const apart = 14;
    names.forEach((name, at) => { name.y = Math.max(name.y, at ? names[at - 1].y + apart : box.top); });
    const over = names.length ? names.at(-1).y - (box.bottom + 4) : 0;
    if (over > 0) {
      names.at(-1).y -= over;
      for (let at = names.length - 2; at >= 0; at -= 1) names[at].y = Math.min(names[at].y, names[at + 1].y - apart);
    }
    for (const { own, name, y: at } of names) make("text", { class: "name", x: box.right + 8, y: at + 4 }, own, name);
  }

  lab.drawing = { make, frame, group, marker };

  const KINDS = { scatter, box: boxes, cdf: curves, dots, bars, effect: effects };
  for (const { element, spec } of lab.charts) {
    const draw = KINDS[spec.kind];
    if (draw) {
      lab.onRedraw(element, (width) => draw(element, spec, width));
      if (["box", "bars", "effect"].includes(spec.kind)) lab.toggled.push(() => element.clientWidth && draw(element, spec, element.clientWidth));
    }
  }
});
