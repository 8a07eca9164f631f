"use strict";
// Charts of reports and of `cwndlab open`, which share this code. Each script adds a kind of chart;
// `mount` draws all charts below an element. All charts share the data, the colours, the list of
// visible algorithms, and the tooltip.
globalThis.cwndlab = (() => {
  const parts = [];

  // Format as in tables: three significant digits, separated thousands, no exponent.
  function text(value, digits = 3) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "-";
    if (value === 0) return "0";
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en", {
      minimumFractionDigits: 0, maximumFractionDigits: Math.min(decimals, 6),
    });
  }

  function cssValue(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function isDark() {
    return document.documentElement.dataset.theme === "dark";
  }

  // Draw the charts `.chart[data-chart]` below `root`. `data` contains the charts by name, and the
  // algorithms with their styles.
  function mount(root, data) {
    const place = new Map(data.algorithms.map((algorithm, at) => [algorithm.name, at]));
    const off = new Set();
    const redraws = [];
    const ends = [];
    const toggled = [];
    const tip = document.createElement("div");
    tip.id = "tip";
    tip.setAttribute("role", "tooltip");
    tip.hidden = true;
    document.body.append(tip);

    const classOf = (name) => `a${place.get(name) ?? 0}`;
    const styleOf = (name) => data.algorithms[place.get(name) ?? 0];
    const colourOf = (name) => (isDark() ? styleOf(name).dark : styleOf(name).colour);

    function showTip(content, x, y) {
      tip.textContent = content;
      tip.hidden = false;
      const { width, height } = tip.getBoundingClientRect();
      const left = Math.min(Math.max(8, x + 12), innerWidth - width - 8);
      const top = y + 16 + height > innerHeight ? y - height - 10 : y + 16;
      tip.style.left = `${left}px`;
      tip.style.top = `${Math.max(8, top)}px`;
    }

    function hideTip() {
      tip.hidden = true;
    }

    // Charts register a function that draws them; a chart is drawn when it is first visible, and again
    // when its size or its colours change.
    function onRedraw(element, draw) {
      redraws.push({ element, draw, width: 0 });
    }

    function redraw(isForced) {
      for (const chart of redraws) {
        const width = chart.element.clientWidth;
        if (width > 0 && (isForced || width !== chart.width)) {
          chart.width = width;
          chart.draw(width);
        }
      }
      applyOff();
    }

    function applyOff() {
      for (const element of root.querySelectorAll(".alg")) {
        element.classList.toggle("off", off.has(element.dataset.name));
      }
    }

    // Show or hide an algorithm, but never hide the last one; return whether the algorithm is shown.
    function toggle(name) {
      if (off.has(name)) off.delete(name);
      else if (off.size < data.algorithms.length - 1) off.add(name);
      for (const react of toggled) react();
      applyOff();
      return !off.has(name);
    }

    function end() {
      for (const each of ends) each();
      tip.remove();
    }

    const charts = [...root.querySelectorAll(".chart[data-chart]")]
      .map((element) => ({ element, spec: data.charts[element.dataset.chart] }));
    const lab = {
      data, charts, off, classOf, colourOf, styleOf, cssValue, isDark, text, showTip, hideTip,
      onRedraw, redraw, applyOff, toggle, toggled, ends, end,
    };
    for (const part of parts) part(lab);
    return lab;
  }

  return { parts, mount };
})();
