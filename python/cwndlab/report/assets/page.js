"use strict";
// Controls of the page: theme, visible algorithms, settings, tooltips, sorting and copying.
(() => {
  const lab = cwndlab.mount(document, JSON.parse(document.getElementById("data").textContent));
  const root = document.documentElement;
  const themeButton = document.getElementById("theme");

  function setTheme(theme) {
    root.dataset.theme = theme;
    themeButton.textContent = theme === "dark" ? "Light" : "Dark";
  }
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  themeButton.addEventListener("click", () => {
    setTheme(lab.isDark() ? "light" : "dark");
    lab.redraw(true);
  });

  for (const dot of document.querySelectorAll("[data-dot]")) dot.classList.add(lab.classOf(dot.dataset.dot));
  for (const row of document.querySelectorAll("tr[data-row]")) {
    row.classList.add("alg");
    row.dataset.name = row.dataset.row;
  }

  for (const chip of document.querySelectorAll(".chip")) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(lab.toggle(chip.dataset.algorithm)));
    });
  }

  function choose(setting) {
    for (const part of document.querySelectorAll(".setting-part")) part.hidden = part.dataset.setting !== setting;
    for (const section of document.querySelectorAll("main > section")) {
      const parts = [...section.querySelectorAll(":scope > .setting-part")];
      section.hidden = parts.length > 0 && parts.every((part) => part.hidden);
    }
    lab.redraw(false);
  }
  const select = document.getElementById("setting");
  if (select) {
    select.addEventListener("change", () => choose(select.value));
    for (const button of document.querySelectorAll("[data-choose]")) {
      button.addEventListener("click", () => {
        select.value = button.dataset.choose;
        choose(select.value);
        document.getElementById("answer").scrollIntoView();
      });
    }
    choose(select.value);
  }

  for (const element of document.querySelectorAll("[data-tip]:not([data-tip=''])")) {
    const show = (event) => {
      const where = element.getBoundingClientRect();
      lab.showTip(element.dataset.tip, event.clientX ?? where.left, event.clientX === undefined ? where.bottom : event.clientY);
    };
    element.addEventListener("pointerenter", show);
    element.addEventListener("pointerleave", lab.hideTip);
    element.addEventListener("focus", () => {
      const where = element.getBoundingClientRect();
      lab.showTip(element.dataset.tip, where.left, where.bottom);
    });
    element.addEventListener("blur", lab.hideTip);
  }
  addEventListener("scroll", lab.hideTip, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") lab.hideTip(); });

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector(".sort");
      if (!button) return;
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const isAscending = before ? before === "descending" : head.dataset.better !== "higher";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", isAscending ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        const key = (row) => row.cells[column].dataset.value;
        rows.sort((a, b) => {
          if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
          return (isAscending ? 1 : -1) * (Number(key(a)) - Number(key(b)));
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  for (const button of document.querySelectorAll(".copy-button")) {
    button.addEventListener("click", async () => {
      const text = button.closest(".copy").querySelector("pre").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.closest(".copy").querySelector("pre"));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  let themeBeforePrint = null;
  addEventListener("beforeprint", () => {
    themeBeforePrint = root.dataset.theme;
    setTheme("light");
    lab.redraw(true);
  });
  addEventListener("afterprint", () => {
    if (themeBeforePrint) setTheme(themeBeforePrint);
    lab.redraw(true);
  });

  new ResizeObserver(() => lab.redraw(false)).observe(document.getElementById("main"));
  lab.redraw(true);
})();
