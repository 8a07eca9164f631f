"use strict";
// What all charts share: data, colours, which algorithms are on, the tooltip, numbers as text.
const cwndlab = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = new Map(data.algorithms.map((algorithm, at) => [algorithm.name, at]));
  const off = new Set();
  const redraws = [];
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);

  function classOf(name) {
    return `a${place.get(name) ?? 0}`;
  }

  function isDark() {
    return document.documentElement.dataset.theme === "dark";
  }

  function colourOf(name) {
    const algorithm = data.algorithms[place.get(name) ?? 0];
    return isDark() ? algorithm.dark : algorithm.colour;
  }

  function styleOf(name) {
    return data.algorithms[place.get(name) ?? 0];
  }

  function cssValue(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Three significant digits, thousands apart, no exponent: as the tables write numbers.
  function text(value, digits = 3) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "-";
    if (value === 0) return "0";
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en", {
      minimumFractionDigits: 0, maximumFractionDigits: Math.min(decimals, 6),
    });
  }

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

  // Charts register how to draw themselves; they are drawn when seen first, sized or recoloured.
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
    for (const element of document.querySelectorAll(".alg")) {
      element.classList.toggle("off", off.has(element.dataset.name));
    }
  }

  return {
    data, off, tip, classOf, colourOf, styleOf, cssValue, isDark, text, showTip, hideTip, onRedraw,
    redraw, applyOff, toggled: [],
  };
})();
