"use strict";
// Buttons below each chart, which save the chart as SVG, PNG, PDF or CSV. Pictures have the colours
// for white paper.
cwndlab.parts.push((lab) => {
  const { make, frame, group, marker } = lab.drawing;
  const PAINT = [
    "display", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "paint-order", "font-size", "font-weight", "font-family", "text-anchor",
  ];
  const LEFT = 16;
  const PNG_SCALE = 2;

  // On the page, a chart over time is drawn on a canvas; in a file, its panels are SVG curves, one below
  // the other.
  function overTime(element, spec, width) {
    const { low, high } = lab.shownTime.get(element.dataset.chart);
    const panels = spec.panels.map((panel, row) => {
      const lines = lab.linesOf(spec, panel).filter(({ line }) => !lab.off.has(line.name)).map((about) => ({
        ...about,
        points: about.line.t.flatMap((time, at) => {
          const value = about.line.values[about.column]?.[at];
          return time < low || time > high || value === null || value === undefined ? [] : [[time, value]];
        }),
      }));
      const most = lines.reduce((sum, { points }) => points.reduce((top, [, value]) => Math.max(top, value), sum), 0);
      const holder = document.createElement("div");
      const plot = frame(
        holder, width, 190, { low, high, title: row === spec.panels.length - 1 ? "Time" : null, unit: "s" },
        { low: 0, high: most > 0 ? 1.05 * most : 1, title: panel.title, unit: panel.unit }, { top: 26 },
      );
      for (const { line, points, isThreshold } of lines) {
        const own = group(plot.svg, line.name);
        const dashes = isThreshold ? lab.THRESHOLD_DASHES : lab.styleOf(line.name).dashes;
        make("path", {
          class: "curve", d: points.map(([time, value], at) => `${at ? "L" : "M"}${plot.toX(time)},${plot.toY(value)}`).join(""),
          style: `stroke-width: ${isThreshold ? 1 : 1.6}; stroke-opacity: ${lab.isFirstOf(spec, line) ? 1 : 0.6}`,
          "stroke-dasharray": dashes.join(" ") || null,
        }, own);
      }
      for (const loss of spec.losses.filter((each) => !lab.off.has(each.name))) {
        const own = group(plot.svg, loss.name);
        const inside = (times) => times.filter((time) => time >= low && time <= high).map(plot.toX);
        const top = plot.box.top;
        const d = inside(loss.t).map((x) => `M${x},${top - 9}V${top - 2}`)
          .concat(inside(loss.timeouts).map((x) => `M${x - 4},${top - 10}l8,8m0,-8l-8,8`)).join("");
        make("path", { class: "curve", d, style: "stroke-width: 1.4" }, own);
      }
      return plot.svg;
    });
    return stacked(panels, width, 200);
  }

  function stacked(pictures, width, each) {
    const svg = make("svg", { width, height: each * pictures.length });
    pictures.forEach((picture, at) => {
      const part = make("g", { transform: `translate(0 ${each * at})` }, svg);
      part.append(...picture.childNodes);
    });
    return svg;
  }

  // Legend for charts that do not contain the names of the algorithms.
  const LEGENDS = {
    series: (x, y, name, parent) => make("line", {
      class: "curve", x1: x, x2: x + 26, y1: y, y2: y, "stroke-dasharray": lab.styleOf(name).dashes.join(" ") || null,
    }, parent),
    dots: (x, y, name, parent) => make("path", {
      class: "point", d: marker(lab.styleOf(name).marker, x + 18, y, 5),
    }, parent),
  };

  function legend(names, swatch, parent, y) {
    let x = LEFT;
    for (const name of names) {
      const own = group(parent, name);
      swatch(x, y - 4, name, own);
      make("text", { class: "name", x: x + 32, y }, own, name);
      x += 50 + 7.8 * name.length;
    }
  }

  // Return the chart as it is displayed, with its title, its legend, and all styles as attributes.
  function picture(element, spec, title) {
    const root = document.documentElement;
    const theme = root.dataset.theme;
    root.dataset.theme = "light";
    const sheet = document.createElement("div");
    sheet.className = "chart";
    sheet.style.cssText = "position: absolute; left: -9999px; width: 10px";
    document.body.append(sheet);
    const width = Math.max(480, Math.round(element.clientWidth));
    const drawn = spec.kind === "series" ? overTime(element, spec, width) : element.querySelector("svg").cloneNode(true);
    const height = Number(drawn.getAttribute("height"));
    const names = lab.data.algorithms.map(({ name }) => name)
      .filter((name) => !lab.off.has(name) && drawn.querySelector(`[data-name="${CSS.escape(name)}"]`));
    const swatch = LEGENDS[spec.kind];
    const head = swatch ? 62 : 34;
    const whole = make("svg", {
      xmlns: "http://www.w3.org/2000/svg", width: width + 2 * LEFT, height: height + head + 12,
      viewBox: `0 0 ${width + 2 * LEFT} ${height + head + 12}`,
    }, sheet);
    make("rect", { width: "100%", height: "100%", style: "fill: #ffffff" }, whole);
    make("text", { class: "strong", x: LEFT, y: 22, style: "font-size: 14px; font-weight: 600" }, whole, title);
    if (swatch) legend(names, swatch, whole, 46);
    const body = make("g", { transform: `translate(${LEFT} ${head})` }, whole);
    body.append(...drawn.childNodes);
    for (const hit of whole.querySelectorAll('[fill="transparent"], [stroke="transparent"]')) hit.remove();
    const painted = [...whole.querySelectorAll("*")].map((shape) => {
      const style = getComputedStyle(shape);
      return [shape, PAINT.map((name) => [name, style.getPropertyValue(name)])];
    });
    for (const [shape, styles] of painted) {
      for (const name of ["class", "data-name", "style"]) shape.removeAttribute(name);
      for (const [name, value] of styles) shape.setAttribute(name, value);
    }
    sheet.remove();
    root.dataset.theme = theme;
    return whole;
  }

  const svgText = (svg) => `${new XMLSerializer().serializeToString(svg)}\n`;

  function download(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  async function png(svg) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = PNG_SCALE * Number(svg.getAttribute("width"));
    canvas.height = PNG_SCALE * Number(svg.getAttribute("height"));
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  }

  // The browser creates the PDF by printing only the picture, on a page with the size of the picture.
  function print(svg) {
    const sheet = document.createElement("div");
    sheet.id = "sheet";
    const size = new CSSStyleSheet();
    size.replaceSync(`@page { size: ${svg.getAttribute("width")}px ${Number(svg.getAttribute("height")) + 2}px; margin: 0 }`);
    document.adoptedStyleSheets.push(size);
    sheet.append(svg);
    document.body.append(sheet);
    addEventListener("afterprint", () => {
      sheet.remove();
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== size);
    }, { once: true });
    window.print();
  }

  const FORMATS = {
    SVG: async (name, chart) => download(`${name}.svg`, new Blob([svgText(picture(...chart))], { type: "image/svg+xml" })),
    PNG: async (name, chart) => download(`${name}.png`, await png(picture(...chart))),
    PDF: async (_name, chart) => print(picture(...chart)),
    CSV: async (name, [, spec, title]) => download(`${name}.csv`, new Blob([lab.csvOf(spec, title)], { type: "text/csv" })),
  };

  for (const { element, spec } of lab.charts) {
    const figure = element.closest("figure");
    const caption = figure?.querySelector("figcaption") ?? element.closest("section")?.querySelector("h2");
    const title = caption?.textContent.trim() ?? "";
    const row = document.createElement("div");
    row.className = "save";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", `Save ${title}`);
    for (const [format, save] of Object.entries(FORMATS)) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = format;
      button.addEventListener("click", () => save(element.dataset.chart, [element, spec, title]));
      row.append(button);
    }
    element.after(row);
  }
});
