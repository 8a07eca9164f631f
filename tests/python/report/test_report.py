"""The report: one file that agrees with the results, safe and quiet in a browser."""

import csv
import html
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from markupsafe import Markup

from cwndlab import report
from cwndlab.report.context import Reportable
from cwndlab.report.glossary import GLOSSARY
from cwndlab.report.page import script_json, typeset
from cwndlab.report.rounding import quantile_points, rounded
from cwndlab.report.scenario_text import bdp_pkts, details, facts
from cwndlab.study.describe import Fact

ORIGIN = report.Origin(
    title="Which one <b>here</b>?",
    description="A test.",
    command="cwndlab run results/compare/study.toml",
    study_toml='[study]\nid = "compare" # </script><script>alert(1)</script>\n',
    seed=1,
    versions={"backend": "sim"},
)
VOID = {"meta", "br", "line", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """The page as a browser sees it: open elements, attributes, scripts, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] == "script":
            self.scripts.append(data)
        elif not self.stack or self.stack[-1] != "style":
            self.text.append(data)

    @property
    def ids(self) -> list[str]:
        return [str(attrs["id"]) for _, attrs in self.attributes if "id" in attrs]

    @property
    def data(self) -> Any:  # noqa: ANN401  JSON
        return json.loads(self.scripts[0])

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def page_of(results: Reportable, **changes: Any) -> Page:  # noqa: ANN401  of the sections
    return Page(report.make_page(report.Context(results, ORIGIN), **changes))


def test_page_begins_with_the_answer_and_ends_with_how_it_was_made(results: Reportable) -> None:
    page = page_of(results)
    sections = [str(a["id"]) for tag, a in page.attributes if tag == "section"]
    assert sections == [
        "answer", "trade-off", "numbers", "goals", "timeline", "distributions", "in-flight",
        "made", "words",
    ]  # fmt: skip
    assert "Balance of throughput and delay: use bbr, as measured on exactly this" in page.words
    assert "From cubic to bbr: throughput" in page.words
    assert "Certainty: three questions" in page.words
    assert "31.77 ±0.15" in page.words
    assert "cwndlab run results/compare/study.toml" in page.words


def test_page_needs_nothing_from_anywhere_else(results: Reportable) -> None:
    text = report.make_page(report.Context(results, ORIGIN))
    for tag, attributes in Page(text).attributes:
        assert "src" not in attributes, tag
        if "href" in attributes:
            assert str(attributes["href"]).startswith("#")
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert not re.search(r"url\((?!data:)", text)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts)\b", text)


def test_page_stays_small(results: Reportable) -> None:
    assert len(report.make_page(report.Context(results, ORIGIN)).encode()) < 400_000


def test_chart_library_is_the_published_one_and_its_licence_is_in_the_page(
    results: Reportable,
) -> None:
    folder = Path(report.__file__).parent / "assets" / "vendor" / "uplot"
    version = (folder / "SOURCE").read_text().split(",")[0].removeprefix("uPlot ")
    script = (folder / "uPlot.iife.min.js").read_text()
    assert f"(v{version})" in script[:200]
    text = report.make_page(report.Context(results, ORIGIN))
    assert script in text
    assert (folder / "LICENSE").read_text() in text
    assert f"uPlot {version}, MIT licence" in text


def test_names_from_a_study_cannot_become_markup(results: Reportable) -> None:
    text = report.make_page(report.Context(results, ORIGIN))
    page = Page(text)
    assert "Which one <b>here</b>?" in page.words
    assert "alert(1)" in page.words
    assert not any("alert(1)" in script for script in page.scripts)
    assert script_json({"a": "</script><!--"}) == '{"a":"\\u003c/script>\\u003c!--"}'
    assert json.loads(script_json({"a": "</script>"})) == {"a": "</script>"}


def test_ids_are_unique_and_every_chart_has_its_data(two_flows_two_rates: Reportable) -> None:
    page = page_of(two_flows_two_rates)
    assert len(page.ids) == len(set(page.ids))
    wanted = [str(a["data-chart"]) for _, a in page.attributes if "data-chart" in a]
    assert len(wanted) == len(set(wanted))
    assert sorted(wanted) == sorted(page.data["charts"])
    assert {chart["kind"] for chart in page.data["charts"].values()} == {
        "scatter", "series", "box", "cdf", "dots", "bars", "effect"
    }  # fmt: skip


def test_pictures_are_described_and_buttons_have_names(results: Reportable) -> None:
    page = page_of(results)
    charts = [a for _, a in page.attributes if "data-chart" in a and a.get("role") == "img"]
    assert len(charts) >= 6
    assert all(len(str(a["aria-label"])) > 10 for a in charts)
    pressed = [a for tag, a in page.attributes if tag == "button" and "data-algorithm" in a]
    assert [a["data-algorithm"] for a in pressed] == ["cubic", "bbr", "westwood", "vegas"]
    assert all(a["aria-pressed"] == "true" for a in pressed)
    assert ("html", {"lang": "en"}) in page.attributes


def test_each_setting_has_its_own_part_and_the_first_is_shown(
    two_flows_two_rates: Reportable,
) -> None:
    page = page_of(two_flows_two_rates)
    parts = [a for _, a in page.attributes if a.get("class") == "setting-part"]
    assert {a["data-setting"] for a in parts} == {"0", "1"}
    assert all(("hidden" in a) == (a["data-setting"] != "0") for a in parts)
    assert "All settings at a glance" in page.words
    assert "How flows shared the link" in page.words


def test_one_run_is_called_one_run_and_has_no_interval(one_run: Reportable) -> None:
    page = page_of(one_run)
    assert "one run each" in page.words
    assert "One run per algorithm: the random variation of these numbers is unknown" in page.words
    assert "±" not in page.words.replace("± half", "")
    points = page.data["charts"]["tradeoff-0"]["points"]
    assert all(point["x"][1:] == [None, None] for point in points)
    assert not [name for name in page.data["charts"] if name.startswith("box-")]


def test_timeline_draws_the_representative_runs_and_their_losses(results: Reportable) -> None:
    context = report.Context(results, ORIGIN)
    setting = context.settings[0]
    chart = Page(report.make_page(context)).data["charts"]["timeline-0"]
    lines = {line["name"]: line for line in chart["lines"]}
    samples = results.samples(run=setting.representatives["cubic"])
    assert len(lines["cubic"]["t"]) == len(samples)
    assert max(lines["cubic"]["values"]["cwnd_pkts"]) == pytest.approx(
        float(samples["cwnd_pkts"].to_numpy().max()), rel=1e-3
    )
    assert lines["cubic"]["values"]["ssthresh_pkts"][0] is None
    losses = {loss["name"]: loss for loss in chart["losses"]}
    events = results.events(run=setting.representatives["cubic"])
    assert losses["cubic"]["t"] == pytest.approx(events["t_s"].to_list())
    assert losses["vegas"]["t"] == []


def test_a_section_of_ones_own_goes_where_one_wants_it(results: Reportable) -> None:
    def build(setting: report.Setting) -> report.Content:
        return report.Content(Markup("<p>{}</p>").format(setting.decision.first))

    own = report.SettingSection("claims", "The paper's claims", build)
    silent = report.PageSection("silent", "Never seen", lambda _context: None)
    sections = report.insert_after(report.SECTIONS, "numbers", [own, silent])
    page = page_of(results, sections=sections)
    anchors = [str(a["id"]) for tag, a in page.attributes if tag == "section"]
    assert anchors.index("claims") == anchors.index("numbers") + 1
    assert "silent" not in anchors
    with pytest.raises(
        ValueError, match='no section "nowhere"; its sections are overview, effects, answer'
    ):
        report.insert_after(report.SECTIONS, "nowhere", [own])


def list_of(where: dict[str, object]) -> list[str]:
    runs = where["run"]
    assert isinstance(runs, list)
    return runs


def test_algorithms_that_share_a_run_keep_their_own_flows(results: Reportable) -> None:
    class Contest:
        """Cubic as flow 0 and bbr as flow 1 of the same runs."""

        factors = ()
        path = results.path

        def shared(self, frame: pl.DataFrame) -> pl.DataFrame:
            place = pl.when(pl.col("algorithm") == "cubic").then(0).otherwise(1)
            number = pl.col("run").str.extract(r"-(\d+)$")
            chosen = frame.filter(pl.col("algorithm").is_in(["cubic", "bbr"]))
            return chosen.with_columns(flow=place, run=pl.lit("shared-") + number)

        def runs(self) -> pl.DataFrame:
            return self.shared(results.runs().with_columns(flow=0)).unique("run")

        def flows(self) -> pl.DataFrame:
            return self.shared(results.flows()).drop("factor_algorithm")

        def samples(self, **where: object) -> pl.DataFrame:
            return self.shared(results.samples()).filter(pl.col("run").is_in(list_of(where)))

        def scan(self, table: str) -> pl.LazyFrame:
            return self.shared(getattr(results, table)()).lazy()

        def events(self, **where: object) -> pl.DataFrame:
            return self.shared(results.events()).filter(pl.col("run").is_in(list_of(where)))

        def links(self, **_where: object) -> pl.DataFrame:
            return pl.DataFrame()

    context = report.Context(Contest(), ORIGIN)
    comparison = context.comparisons[0]
    assert comparison.is_contest
    assert comparison.flow_ids == {"cubic": (0,), "bbr": (1,)}
    page = Page(report.make_page(context))
    lines = page.data["charts"]["timeline-0"]["lines"]
    assert [(line["name"], line["flow"]) for line in lines] == [("cubic", 0), ("bbr", 1)]
    assert "competed on the same link" in page.words
    assert re.search(r"50.47 ±0.0\d", page.words)  # cubic's share of 31.77 + 31.17


def test_the_band_of_those_as_fast_is_as_wide_as_the_smallest_effect(results: Reportable) -> None:
    context = report.Context(results, ORIGIN, smallest_effect=0.01)
    page = Page(report.make_page(context))
    assert page.data["charts"]["tradeoff-0"]["effect"] == 0.01


def test_page_figures_and_tables_are_written(results: Reportable, tmp_path: Path) -> None:
    context = report.Context(results, ORIGIN)
    path = report.write_page(context, tmp_path / "report", formats=("svg",))
    assert path == tmp_path / "report" / "report.html"
    written = {str(p.relative_to(tmp_path / "report")) for p in tmp_path.rglob("*") if p.is_file()}
    assert {f"tables/comparison.{e}" for e in ("csv", "xlsx", "md", "tex")} <= written
    assert {f"figures/{n}.svg" for n in ("throughput-delay", "timeline", "windows")} <= written
    linked = re.findall(r'<a href="([^"#]+)">', path.read_text("utf-8"))
    assert sorted(linked) == sorted(written - {"report.html"})


def test_page_is_the_same_every_time(results: Reportable) -> None:
    first = report.make_page(report.Context(results, ORIGIN))
    assert report.make_page(report.Context(results, ORIGIN)) == first


def test_glossary_explains_in_whole_sentences() -> None:
    for word, meaning in GLOSSARY.items():
        assert meaning.endswith("."), word
        assert meaning[0].isupper(), word


SCENARIO: dict[str, Any] = {
    "duration_ns": 60_000_000_000,
    "warm_up_ns": 1_000_000_000,
    "path": {
        "kind": "wire",
        "forward": [
            {
                "rate": {"kind": "fixed", "bits_per_sec": 10_000_000},
                "queue": {"kind": "codel", "packets": 100, "ecn": True},
                "delay_ns": 20_000_000,
                "loss": {"kind": "iid", "ppb": 10_000_000},
                "framing_bytes": 14,
            }
        ],
        "reverse": [{"queue": {"kind": "drop_tail"}, "delay_ns": 20_000_000}],
    },
    "flows": [
        {"sender": {"stack": "linux-6.1"}, "receiver": {"stack": "linux-6.1"}},
        {
            "direction": "reverse",
            "application": {"kind": "sized", "bytes": 9},
            "sender": {"stack": "ns-2-full", "stack_overrides": {"mss": 536}},
            "receiver": {"stack": "linux-6.1"},
        },
    ],
}


SET_UP = report.SetUp(
    labels={"algorithm": "cubic"},
    scenario=SCENARIO,
    path=[
        Fact("forward.0", "10 Mbit/s, delay 20 ms"),
        Fact("reverse.0", "unlimited rate, delay 20 ms"),
    ],
    flows=[Fact("1 flow", "cubic on linux-6.1, bulk")],
)


def test_set_up_is_told_in_a_line_and_in_a_list() -> None:
    assert facts(SET_UP) == (
        "10 Mbit/s, delay 20 ms · 1 bulk flow and 1 sized flow in the reverse direction"
        " · 60 s simulated"
    )
    other = replace(SET_UP, flows=[Fact("1 flow", "reno on linux-6.1, bulk")])
    assert details([SET_UP, other]) == [
        ("forward.0", "10 Mbit/s, delay 20 ms"),
        ("reverse.0", "unlimited rate, delay 20 ms"),
        ("1 flow", "cubic on linux-6.1, bulk"),
        ("1 flow", "reno on linux-6.1, bulk"),
        ("duration", "60 s"),
        ("warm-up (not evaluated)", "1 s"),
    ]


def test_bandwidth_delay_product_counts_both_directions_and_framing() -> None:
    alone = {**SCENARIO, "flows": SCENARIO["flows"][:1]}
    found = bdp_pkts(alone)
    assert found is not None
    assert found[0] == pytest.approx(10e6 * 0.04 / 8 / 1514)
    assert found[1] == 100
    assert bdp_pkts(SCENARIO) is None  # two flows share the path
    trace = {**alone, "path": {"forward": [{"rate": {"kind": "mahimahi", "path": "x"}}]}}
    assert bdp_pkts(trace) is None


def test_origin_finds_the_set_ups_of_a_setting() -> None:
    one, two = replace(SET_UP, labels={"rate": 1, "a": 1}), replace(SET_UP, labels={"rate": 2})
    origin = report.Origin(title="t", set_ups=[one, two])
    assert origin.set_ups_of({"rate": 2}) == [two]
    assert origin.set_ups_of({}) == [one, two]
    assert origin.set_ups_of({"rate": 3}) == []


def test_a_line_never_breaks_between_a_number_and_its_unit() -> None:
    text = "throughput -4 % [-5, -3] of 10 Mbit/s; ledbat-pp at 6 ms, not 3 models of 2026-11-29"
    typeset_text = (
        "throughput \u22124\u00a0% [\u22125, \u22123] of 10\u00a0Mbit/s; ledbat-pp at 6\u00a0ms, "
        "not 3 models of 2026-11-29"
    )
    assert typeset(text) == typeset_text


def test_numbers_in_the_page_have_few_digits_and_no_nan() -> None:
    assert rounded(31.234567) == 31.235
    assert rounded(float("nan")) is None
    assert rounded(3.0) == 3
    assert json.dumps(rounded(3.0)) == "3"
    thinned = quantile_points(np.arange(1000.0), 11)
    assert thinned.tolist() == pytest.approx(np.linspace(0, 999, 11))


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
WATCH = """
<script>
const seen = [];
addEventListener("error", (event) => seen.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => seen.push("blocked " + event.blockedURI));
</script>
"""
CHECK = """
<script>
document.querySelectorAll(".chip")[1].click();
document.querySelector('[data-zoom="start"]').click();
document.querySelector(".sort").click();
document.getElementById("theme").click();
const saved = [];
const Plain = Blob;
window.Blob = function (parts, options) {
  saved.push([options.type, parts.join("")]);
  return new Plain(parts, options);
};
let printed = 0;
window.print = () => {
  printed += document.querySelectorAll("#sheet > svg").length;
  dispatchEvent(new Event("afterprint"));
};
HTMLAnchorElement.prototype.click = () => {};
for (const button of document.querySelectorAll(".save button")) {
  if (button.textContent !== "PNG") button.click();
}
const found = {
  saved,
  printed,
  sheets: document.querySelectorAll("#sheet").length,
  theme: document.documentElement.dataset.theme,
  errors: seen,
  charts: document.querySelectorAll(".chart > svg").length,
  plots: document.querySelectorAll(".uplot canvas").length,
  hidden: document.querySelectorAll(".alg.off").length,
  wide: document.documentElement.scrollWidth > innerWidth,
  loaded: performance.getEntriesByType("resource").length,
};
document.body.innerHTML = "<pre id=found></pre>";
document.getElementById("found").textContent = JSON.stringify(found);
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here to open the page with")
@pytest.mark.parametrize("width", [1366, 600])
def test_page_works_in_a_browser_without_errors_or_requests(
    width: int, results: Reportable, tmp_path: Path
) -> None:
    text = report.make_page(report.Context(results, ORIGIN))
    text = text.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{CHECK}</body>", 1)
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    shown = subprocess.run(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    match = re.search(r'<pre id="found">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert match is not None, shown.stderr[-2000:]
    found = json.loads(html.unescape(match[1]))
    assert found["errors"] == []
    assert found["loaded"] == 0
    assert found["charts"] == 8
    assert found["plots"] == 4
    assert found["hidden"] == 9  # scatter plot, curves, two clouds of dots, and five tables
    assert not found["wide"]
    saved_charts_are_whole(found)


def saved_charts_are_whole(found: dict[str, Any]) -> None:
    """Every chart is saved as SVG with its styles, as PDF and as CSV; the page is unchanged."""
    pictures = [text for kind, text in found["saved"] if kind == "image/svg+xml"]
    tables = [text for kind, text in found["saved"] if kind == "text/csv"]
    assert (len(pictures), len(tables), found["printed"], found["sheets"]) == (9, 9, 9, 0)
    assert found["theme"] == "dark"
    colours = {"rgb(0, 91, 176)", "rgb(34, 34, 34)"}  # colours of cubic and reno on paper
    for text in pictures:
        assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
        assert "var(" not in text
        assert "class=" not in text
        assert any(colour in text for colour in colours)
    for text in tables:
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0][0] == "algorithm"
        assert len(rows) > 1
        assert {len(row) for row in rows} == {len(rows[0])}
