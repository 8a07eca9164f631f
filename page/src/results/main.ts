// The results of this machine: shows the page that the address names.

import "uplot/dist/uPlot.min.css";
import "../../../python/cwndlab/report/assets/charts.css";
import "./style.css";
import { main, say } from "./dom.ts";
import { showList } from "./list.ts";
import { showStart } from "./start.ts";
import { showOverlay, showRun, showStudy } from "./study.ts";

let leave: () => void = () => undefined;

function go(): void {
  const [page, ...parts] = location.hash.replace(/^#\/?/, "").split("/");
  leave();
  document.title = "Results – cwndlab";
  if (page === "study" && parts[0]) leave = showStudy(parts[0]);
  else if (page === "run" && parts[0] && parts[1]) leave = showRun(parts[0], parts[1]);
  else if (page === "overlay" && parts.length === 2) leave = showOverlay(parts);
  else if (page === "new") leave = showStart();
  else leave = showList();
}

addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  go();
  scrollTo(0, 0);
  main().focus();
  say(document.querySelector("h1")?.textContent ?? "");
});
document.getElementById("skip")!.addEventListener("click", (event) => {
  event.preventDefault();
  main().focus();
});
addEventListener("keydown", (event) => {
  const search = document.querySelector<HTMLInputElement>("input[type=search]");
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if ((event as KeyboardEvent).key === "/" && search && !isTyping) {
    event.preventDefault();
    search.focus();
  }
});
go();
