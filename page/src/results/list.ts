// The first page of `cwndlab open`: one row for each study.

import { count, figure, main, make, say, when } from "./dom.ts";
import { ask, type List, type Row } from "./server.ts";

const LOOK_AGAIN_MS = 2000;
const chosen = new Set<string>();

/** Shows the list and keeps it current; returns a function that stops this. */
export function showList(): () => void {
  let page = 0;
  let before = "";
  const search = make("input", {
    type: "search", id: "search", placeholder: "name, link, algorithm, answer…", autocomplete: "off",
    input: () => { page = 0; void look(); },
  });
  const found = make("p", { class: "soft", id: "found" });
  const body = make("tbody");
  const overlay = make("button", { type: "button", class: "button", disabled: true, click: () => {
    location.hash = `#/overlay/${[...chosen].join("/")}`;
  } }, "Compare two studies");
  const heads = ["", "Study", "Link", "Algorithms", "Runs", "State", "Answer", "Changed"];
  const pages = make("p", { class: "pages" });
  main().replaceChildren(
    make("h1", {}, "Studies on this machine"),
    make("div", { class: "tools" }, make("label", { for: "search", class: "soft" }, "Search "), search, overlay),
    found,
    make("div", { class: "scroll" }, make("table", { class: "studies" },
      make("caption", { class: "unseen" }, "Studies, most recently changed first"),
      make("thead", {}, make("tr", {}, ...heads.map((head, at) => make("th", { scope: "col" }, at ? head : make("span", { class: "unseen" }, "Choose"))))),
      body)),
    pages,
  );

  function choose(id: string, isOn: boolean): void {
    if (isOn) chosen.add(id);
    else chosen.delete(id);
    overlay.disabled = chosen.size !== 2;
    for (const box of body.querySelectorAll<HTMLInputElement>("input")) {
      box.disabled = chosen.size >= 2 && !chosen.has(box.value);
    }
  }

  function rowOf(row: Row & { headline: string }): HTMLTableRowElement {
    const box = make("input", {
      type: "checkbox", value: row.id, "aria-label": `Select ${row.title} for a comparison`,
      change: (event) => choose(row.id, (event.target as HTMLInputElement).checked),
    });
    box.checked = chosen.has(row.id);
    const answer = row.problem || row.headline || (row.state === "running" || !row.done ? "–" : "…");
    const cell = (label: string, ...inner: (Node | string)[]) => make("td", { "data-label": label }, ...inner);
    return make("tr", {},
      make("td", { class: "choose" }, box),
      make("th", { scope: "row" }, make("a", { href: `#/study/${row.id}` }, row.title), make("small", { title: row.path }, row.name)),
      cell("Link", ...breakable(row.link || "–")),
      cell("Algorithms", row.algorithms.join(", ") || "–"),
      cell("Runs", progressOf(row)),
      cell("State", make("span", { class: `state ${row.state}` }, row.state)),
      make("td", { "data-label": "Answer", class: row.problem ? "miss answer" : "answer" }, answer),
      cell("Changed", when(row.changed_unix_s)),
    );
  }

  async function look(): Promise<void> {
    const query = search.value;
    let list: List;
    try {
      list = await ask<List>("/api/studies", { q: query, page });
    } catch (error) {
      found.textContent = (error as Error).message;
      return;
    }
    if (query !== search.value || !search.isConnected) return;
    const text = JSON.stringify(list);
    if (text === before) return;
    before = text;
    const told = query ? `${count(list.found, "study")} of ${figure(list.all)}` : count(list.all, "study");
    found.textContent = `${told}, ${count(list.runs, "run")} in all`;
    if (!query) say(found.textContent);
    const focused = (document.activeElement as HTMLAnchorElement | null)?.getAttribute?.("href");
    body.replaceChildren(...list.studies.map(rowOf));
    if (focused) body.querySelector<HTMLAnchorElement>(`a[href="${CSS.escape(focused)}"]`)?.focus();
    if (!list.studies.length) {
      const nothing = query ? "No study contains all of these words." : "There are no results yet: start a study, or pass a folder with results to `cwndlab open`.";
      body.append(make("tr", {}, make("td", { colspan: heads.length, class: "nothing" }, nothing)));
    }
    choose("", false);
    pages.replaceChildren(...pager(page, list.found, list.page_rows, (next) => { page = next; void look(); }));
  }

  const timer = setInterval(() => { if (!document.hidden) void look(); }, LOOK_AGAIN_MS);
  void look();
  return () => clearInterval(timer);
}

/** Lets a one-line link break after its commas. */
function breakable(link: string): Node[] {
  return link.split(/(?<=,)/).flatMap((part) => [document.createTextNode(part), document.createElement("wbr")]);
}

export function progressOf(row: Row): HTMLElement {
  const text = row.done === row.runs ? figure(row.runs) : `${figure(row.done)} of ${figure(row.runs)}`;
  const noun = row.runs === 1 ? " run" : " runs";
  const failed = row.failed ? make("span", { class: "miss" }, ` ${figure(row.failed)} failed`) : "";
  const bar = row.state === "finished" || !row.runs ? "" : make("progress", { max: row.runs, value: row.done, "aria-label": "Finished runs" });
  return make("span", { class: "progress" }, text, make("span", { class: "noun" }, noun), failed, bar);
}

/** Buttons to the previous and next pages; none if one page shows everything. */
export function pager(page: number, found: number, rows: number, go: (page: number) => void): HTMLElement[] {
  if (found <= rows) return [];
  const last = Math.ceil(found / rows) - 1;
  const button = (text: string, to: number) =>
    make("button", { type: "button", class: "button", disabled: to < 0 || to > last || to === page, click: () => go(to) }, text);
  const shown = `${figure(page * rows + 1)} to ${figure(Math.min(found, (page + 1) * rows))} of ${figure(found)}`;
  return [button("First", 0), button("Back", page - 1), make("span", {}, shown), button("Next", page + 1), button("Last", last)];
}
