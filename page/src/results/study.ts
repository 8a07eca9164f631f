// Pages for a study (answer, charts, runs), for one of its runs, and for two studies in the same
// charts.

import { Drawn } from "./charts.ts";
import { count, figure, main, make, say, when } from "./dom.ts";
import { pager, progressOf } from "./list.ts";
import { ask, post, type Chart, type Runs, type Said, type SeriesChart, type State, type Study, type Styles } from "./server.ts";

const LOOK_AGAIN_MS = 1500;
const DRAW_AGAIN_MS = 8000;

export function showStudy(id: string): () => void {
  let drawn: Drawn | null = null;
  let asked = 0;
  let drawnAt = { done: -1, ms: 0 };
  let setting = 0;
  let isLeft = false;
  const title = make("h1", {}, "…");
  const facts = make("p", { class: "soft" });
  const state = make("div", { class: "state-line" });
  const printed = make("pre", { hidden: true, tabindex: 0, "aria-label": "Last lines that the command printed" });
  const answer = make("section", { "aria-label": "The answer" });
  const charts = make("section", { "aria-label": "Charts" });
  const runs = make("section", { "aria-label": "Runs" });
  const actions = make("p", { class: "tools" });
  main().replaceChildren(title, facts, state, printed, actions, answer, charts, runs);

  async function look(): Promise<void> {
    try {
      const now = await ask<State>("/api/state", { id });
      if (isLeft) return;
      title.textContent = now.title;
      document.title = `${now.title} – cwndlab`;
      facts.textContent = [now.link, now.algorithms.join(", "), now.path, `changed ${when(now.changed_unix_s)}`].filter(Boolean).join(" · ");
      state.replaceChildren(make("span", { class: `state ${now.state}` }, now.state), " ", progressOf(now), now.problem ? make("p", { class: "miss", role: "alert" }, now.problem) : "");
      printed.hidden = !now.printed || now.state === "finished";
      printed.textContent = now.printed;
      showActions(now);
      const isOld = now.done !== drawnAt.done && (now.state !== "running" || Date.now() - drawnAt.ms > DRAW_AGAIN_MS);
      if (now.state === "damaged") return;
      if (isOld) {
        drawnAt = { done: now.done, ms: Date.now() };
        if (now.done) void Promise.all([showAnswer(), showRuns(0, "")]);
        else answer.replaceChildren(make("p", { class: "soft" }, "No run is finished yet."));
      }
    } catch (error) {
      state.replaceChildren(make("p", { class: "miss", role: "alert" }, (error as Error).message));
    }
  }

  function showActions(now: State): void {
    const key = `${now.state} ${now.is_running_here} ${now.done > 0}`;
    if (actions.dataset.key === key) return;
    actions.dataset.key = key;
    const act = (text: string, path: string, said: string) => make("button", { type: "button", class: "button", click: () => {
      say(said);
      post(path, { id }).then(look, (error: Error) => { printed.hidden = false; printed.textContent = error.message; });
    } }, text);
    actions.replaceChildren(
      ...(now.done ? [make("a", { class: "button", href: `/report?id=${id}`, target: "_blank", rel: "noopener" }, "Open the report")] : []),
      ...(now.is_running_here ? [act("Stop", "/api/stop", "Stopping; finished runs are stored")] : []),
      ...(now.state === "stopped" ? [act("Go on", "/api/go-on", "Going on")] : []),
    );
  }

  async function showAnswer(): Promise<void> {
    const own = ++asked;
    if (!drawn) answer.replaceChildren(make("p", { class: "soft" }, "Computing the answer…"));
    try {
      const study = await ask<Study>("/api/study", { id, setting });
      if (isLeft || own !== asked) return;
      const select = make("select", { id: "setting", change: (event) => { setting = Number((event.target as HTMLSelectElement).value); void showAnswer(); } },
        ...study.settings.map((name, at) => make("option", { value: at, selected: at === study.setting }, name)));
      answer.replaceChildren(
        ...(study.together ? [make("h2", {}, "All settings together"), ...said(study.together)] : []),
        ...(study.settings.length > 1 ? [make("p", { class: "tools" }, make("label", { for: "setting" }, "Setting "), select)] : []),
        ...said(study),
      );
      drawn?.end();
      drawn = new Drawn(study.charts, study.styles);
      charts.replaceChildren(make("h2", {}, "Figures"), make("p", { class: "soft" }, "Curves over time: the most representative run of each algorithm."), drawn.element);
    } catch (error) {
      answer.replaceChildren(make("p", { class: "miss", role: "alert" }, (error as Error).message));
      drawnAt = { done: -1, ms: Date.now() }; // retry: the study may just be being written
    }
  }

  async function showRuns(page: number, query: string): Promise<void> {
    try {
      const found = await ask<Runs>("/api/runs", { id, page, q: query });
      if (isLeft) return;
      const search = make("input", { type: "search", id: "run-search", value: query, placeholder: "cubic 3", change: (event) => void showRuns(0, (event.target as HTMLInputElement).value) });
      const had = document.activeElement?.id === "run-search";
      runs.replaceChildren(
        make("h2", {}, "Runs"),
        make("div", { class: "tools" }, make("label", { for: "run-search", class: "soft" }, "Those with "), search, make("span", { class: "soft" }, count(found.found, "run"))),
        make("div", { class: "scroll" }, make("table", { class: "runs" },
          make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Run"), ...found.heads.map((head) => make("th", { scope: "col" }, head.title, " ", make("small", {}, head.unit))))),
          make("tbody", {}, ...found.rows.map(([key, ...cells]) => make("tr", {},
            make("th", { scope: "row" }, make("a", { href: `#/run/${id}/${key}` }, String(key).slice(0, 8))),
            ...cells.map((value) => make("td", {}, figure(value)))))))),
        make("p", { class: "pages" }, ...pager(page, found.found, found.page_rows, (next) => void showRuns(next, query))),
        ...(found.failures.length ? [make("h2", {}, "Failed runs"), make("ul", {}, ...found.failures.map((text) => make("li", {}, text)))] : []),
      );
      if (had) search.focus();
    } catch (error) {
      runs.replaceChildren(make("p", { class: "miss" }, (error as Error).message));
    }
  }

  const timer = setInterval(() => { if (!document.hidden) void look(); }, LOOK_AGAIN_MS);
  void look();
  return () => {
    isLeft = true;
    clearInterval(timer);
    drawn?.end();
  };
}

function said(decision: Said): HTMLElement[] {
  return [
    make("p", { class: "headline" }, decision.headline),
    make("ul", { class: "findings" }, ...decision.sentences.map((text) => make("li", {}, text))),
    make("dl", { class: "certainty" }, ...decision.certainty.map(([name, value, meaning]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), ` ${meaning}`)))),
  ];
}

export function showRun(id: string, key: string): () => void {
  let drawn: Drawn | null = null;
  const place = make("section", {}, make("p", { class: "soft" }, "Reading…"));
  main().replaceChildren(make("p", {}, make("a", { href: `#/study/${id}` }, "Back to the study")), make("h1", {}, `Run ${key.slice(0, 8)} over time`), place);
  ask<{ chart: SeriesChart; styles: Styles }>("/api/run", { id, run: key }).then(({ chart, styles }) => {
    if (!place.isConnected) return;
    drawn = new Drawn([{ ...chart, name: "run" }], styles);
    place.replaceChildren(drawn.element);
  }, (error: Error) => place.replaceChildren(make("p", { class: "miss", role: "alert" }, error.message)));
  return () => drawn?.end();
}

/** Shows two studies in the same charts; the second is dashed and hollow. */
export function showOverlay(ids: string[]): () => void {
  let drawn: Drawn | null = null;
  const place = make("section", {}, make("p", { class: "soft" }, "Reading both studies…"));
  main().replaceChildren(make("h1", {}, "Two studies in the same charts"), place);
  Promise.all(ids.flatMap((id) => [ask<State>("/api/state", { id }), ask<Study>("/api/study", { id })])).then((found) => {
    if (!place.isConnected) return;
    const both = [0, 1].map((at) => ({ state: found[2 * at] as State, study: found[2 * at + 1] as Study }));
    const same = both[0]!.state.title === both[1]!.state.title;
    const named = both.map(({ state, study }, at) => renamed(study, same ? state.path.split("/").at(-1)! : state.title, at === 1));
    drawn = new Drawn(laidOver(named[0]!.charts, named[1]!.charts), { ...named[0]!.styles, ...named[1]!.styles });
    place.replaceChildren(
      ...both.map(({ state, study }) => make("div", { class: "of-two" }, make("h2", {}, make("a", { href: `#/study/${state.id}` }, state.title)), make("p", { class: "soft" }, state.link), make("p", {}, (study.together ?? study).headline))),
      make("p", { class: "soft" }, "The second study has dashed lines and hollow points. Both studies share the axes."),
      drawn.element,
    );
  }, (error: Error) => place.replaceChildren(make("p", { class: "miss", role: "alert" }, error.message)));
  return () => drawn?.end();
}

function renamed(study: Study, title: string, isSecond: boolean): { charts: Chart[]; styles: Styles } {
  const name = (own: string) => `${title}: ${own}`;
  const each = <Item extends { name: string }>(items: Item[]) => items.map((item) => ({ ...item, name: name(item.name) }));
  const charts = study.charts.map((chart): Chart => {
    if (chart.kind === "series") return { ...chart, lines: each(chart.lines), losses: each(chart.losses) };
    return chart.kind === "scatter" ? { ...chart, points: each(chart.points) } : { ...chart, groups: each(chart.groups) };
  });
  const styles = Object.fromEntries(Object.entries(study.styles).map(([own, style]) => [name(own), { ...style, dashes: isSecond ? [6, 3] : [], is_hollow: isSecond }]));
  return { charts, styles };
}

function laidOver(one: Chart[], other: Chart[]): Chart[] {
  return one.flatMap((chart): Chart[] => {
    const beside = other.find(({ name }) => name === chart.name);
    if (chart.kind === "series" && beside?.kind === "series") {
      return [{ ...chart, lines: [...chart.lines, ...beside.lines], losses: [...chart.losses, ...beside.losses] }];
    }
    if (chart.kind === "scatter" && beside?.kind === "scatter") return [{ ...chart, points: [...chart.points, ...beside.points], front: [] }];
    if (chart.kind === "dots" && beside?.kind === "dots") return [{ ...chart, marks: [], groups: [...chart.groups, ...beside.groups] }];
    return [];
  });
}
