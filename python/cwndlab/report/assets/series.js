"use strict";
// Time series: one uPlot chart for each quantity, with linked cursors and zoom; strokes at the top mark
// losses.
cwndlab.parts.push((lab) => {
  lab.THRESHOLD_DASHES = [2, 4];

  // The lines of a panel: the lines of the quantity, and in the panel of cwnd also ssthresh.
  lab.linesOf = (spec, panel) => {
    const lines = spec.lines.map((line) => ({ line, column: panel.column, isThreshold: false }));
    if (panel.column === "cwnd_pkts") {
      for (const line of spec.lines) {
        if (line.values.ssthresh_pkts) lines.push({ line, column: "ssthresh_pkts", isThreshold: true });
      }
    }
    return lines;
  };

  lab.isFirstOf = (spec, line) => line === spec.lines.find((other) => other.name === line.name);

  // The time range that each chart shows, by the name of the chart.
  lab.shownTime = new Map();

  function build(element, spec) {
    const tables = spec.lines.map((line) => line.t);
    const times = Array.from(new Set(tables.flat())).sort((a, b) => a - b);
    const at = new Map(times.map((time, index) => [time, index]));
    const end = times.at(-1) ?? 1;
    const plots = [];
    const whole = [spec.start ?? 0, Math.min(spec.stop ?? end, end)];
    const state = { low: whole[0], high: whole[1] };
    lab.shownTime.set(element.dataset.chart, state);

    function column(line, name) {
      const values = new Array(times.length).fill(null);
      const own = line.values[name];
      if (own) line.t.forEach((time, index) => { values[at.get(time)] = own[index]; });
      return values;
    }

    function zoom(low, high) {
      const span = Math.min(whole[1] - whole[0], Math.max(high - low, (whole[1] - whole[0]) / 500));
      state.low = Math.max(whole[0], Math.min(low, whole[1] - span));
      state.high = state.low + span;
      for (const { plot } of plots) plot.setScale("x", { min: state.low, max: state.high });
    }

    function dashesOf(name) {
      const { dashes } = lab.styleOf(name);
      return dashes.length ? dashes : undefined;
    }

    const linesOf = (panel) => lab.linesOf(spec, panel);

    function marks(plot) {
      const { ctx } = plot;
      const ratio = devicePixelRatio;
      const top = plot.bbox.top;
      ctx.save();
      spec.losses.forEach((loss, row) => {
        if (lab.off.has(loss.name)) return;
        ctx.strokeStyle = lab.colourOf(loss.name);
        ctx.lineWidth = 1.4 * ratio;
        ctx.beginPath();
        const inside = (time) => time >= plot.scales.x.min && time <= plot.scales.x.max;
        for (const time of loss.t.filter(inside)) {
          const x = plot.valToPos(time, "x", true);
          ctx.moveTo(x, top - 9 * ratio);
          ctx.lineTo(x, top - 2 * ratio);
        }
        for (const time of loss.timeouts.filter(inside)) {
          const x = plot.valToPos(time, "x", true);
          const r = 4 * ratio;
          const y = top - 6 * ratio;
          ctx.moveTo(x - r, y - r);
          ctx.lineTo(x + r, y + r);
          ctx.moveTo(x + r, y - r);
          ctx.lineTo(x - r, y + r);
        }
        ctx.stroke();
      });
      ctx.restore();
    }

    // Without a cursor, this place contains the names of the algorithms as the legend.
    function names(panel) {
      const told = new Set();
      panel.readout.replaceChildren();
      for (const { line } of panel.lines) {
        if (told.has(line.name) || lab.off.has(line.name)) continue;
        told.add(line.name);
        const item = document.createElement("span");
        item.className = lab.classOf(line.name);
        item.textContent = line.name;
        panel.readout.append(item);
      }
    }

    function readout(panel, plot) {
      const index = plot.cursor.idx;
      panel.readout.replaceChildren();
      if (index === null || index === undefined || plot.cursor.left < 0) {
        names(panel);
        return;
      }
      const time = document.createElement("span");
      time.className = "time";
      time.textContent = `at ${lab.text(times[index], 4)} s`;
      panel.readout.append(time);
      const told = new Set();
      panel.lines.forEach(({ line, column: name, isThreshold }, row) => {
        if (isThreshold || lab.off.has(line.name) || told.has(line.name)) return;
        const values = plot.data[row + 1];
        let near = index;
        while (near > 0 && values[near] === null) near -= 1;
        if (values[near] === null || values[near] === undefined) return;
        told.add(line.name);
        const item = document.createElement("span");
        item.className = lab.classOf(line.name);
        item.textContent = `${line.name} ${lab.text(values[near])}`;
        panel.readout.append(item);
      });
    }

    function drawAll(width) {
      for (const { plot } of plots) plot.destroy();
      plots.length = 0;
      element.replaceChildren();
      const soft = lab.cssValue("--soft");
      const grid = { stroke: lab.cssValue("--line"), width: 1 };
      const sync = uPlot.sync(element.dataset.chart);
      spec.panels.forEach((about, row) => {
        const isLast = row === spec.panels.length - 1;
        const lines = linesOf(about);
        const head = document.createElement("div");
        head.className = "panel";
        const title = document.createElement("div");
        title.className = "panel-head";
        const name = document.createElement("b");
        name.append(about.title, " ");
        const unit = document.createElement("span");
        unit.className = "unit";
        unit.textContent = about.unit;
        name.append(unit);
        const shown = document.createElement("span");
        shown.className = "readout";
        title.append(name, shown);
        head.append(title);
        element.append(head);
        const panel = { ...about, lines, readout: shown };
        const options = {
          width,
          height: (spec.panels.length === 1 ? 260 : width < 480 ? 130 : 150) + (isLast ? 26 : 0),
          padding: [12, 8, 0, 0],
          legend: { show: false },
          cursor: {
            sync: { key: sync.key, setSeries: false },
            drag: { x: true, y: false, setScale: false },
            points: { size: 6 },
            dataIdx: (self, _series, index) => index,
          },
          scales: {
            x: { time: false, min: state.low, max: state.high },
            y: { range: (_self, _low, high) => [0, high > 0 ? high * 1.05 : 1] },
          },
          axes: [
            {
              stroke: soft, grid, ticks: { show: false }, size: isLast ? 22 : 14, gap: 4,
              values: isLast ? (_self, values) => values.map((value) => lab.text(value, 5)) : () => [],
              label: isLast ? "Time (s)" : undefined, labelSize: isLast ? 20 : 0, labelGap: 2, labelFont: "12px system-ui", font: "12px system-ui",
            },
            { stroke: soft, grid, ticks: { show: false }, size: 46, font: "12px system-ui", values: (_self, values) => values.map((value) => lab.text(value)) },
            ...(spec.paper_label ? [{
              side: 1, scale: "y", stroke: soft, grid: { show: false }, ticks: { show: false }, size: 34, font: "12px system-ui",
              label: spec.paper_label, labelSize: 18, labelFont: "12px system-ui",
            }] : []),
          ],
          series: [
            {},
            ...lines.map(({ line, isThreshold }) => ({
              label: line.name,
              show: !lab.off.has(line.name),
              stroke: () => lab.colourOf(line.name),
              width: isThreshold ? 1 : 1.6,
              dash: isThreshold ? lab.THRESHOLD_DASHES : dashesOf(line.name),
              alpha: lab.isFirstOf(spec, line) ? 1 : 0.6,
              spanGaps: true,
              points: { show: false },
            })),
          ],
          hooks: {
            draw: [marks],
            setCursor: [(self) => readout(panel, self)],
            setSelect: [(self) => {
              if (self.select.width > 4) {
                zoom(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
              }
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            }],
          },
        };
        const plot = new uPlot(options, [times, ...lines.map(({ line, column: key }) => column(line, key))], head);
        plot.over.addEventListener("dblclick", (event) => {
          event.stopImmediatePropagation();
          zoom(...whole);
        }, true);
        plot.over.setAttribute("role", "img");
        plot.over.setAttribute("aria-label", `${about.title} over time`);
        names(panel);
        plots.push({ plot, lines, panel });
      });
    }

    function step(what) {
      const span = state.high - state.low;
      const middle = (state.low + state.high) / 2;
      const moves = {
        all: whole,
        start: [whole[0], whole[0] + Math.max(2, (whole[1] - whole[0]) / 20)],
        in: [middle - span / 4, middle + span / 4],
        out: [middle - span, middle + span],
        left: [state.low - span / 2, state.high - span / 2],
        right: [state.low + span / 2, state.high + span / 2],
      };
      zoom(...moves[what]);
    }

    lab.onRedraw(element, drawAll);
    lab.ends.push(() => { for (const { plot } of plots) plot.destroy(); });
    lab.toggled.push(() => {
      for (const { plot, lines, panel } of plots) {
        names(panel);
        plot.batch(() => lines.forEach(({ line }, row) => plot.setSeries(row + 1, { show: !lab.off.has(line.name) })));
      }
    });
    for (const button of element.closest("figure")?.querySelectorAll("[data-zoom]") ?? []) {
      button.addEventListener("click", () => step(button.dataset.zoom));
    }
  }

  for (const { element, spec } of lab.charts) {
    if (spec.kind === "series") build(element, spec);
  }
});
