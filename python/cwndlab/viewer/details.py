"""Compute the content of a study's page: decision, charts, and list of runs."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from cwndlab.api.results import open_results
from cwndlab.errors import CwndlabError, DamagedResultsError
from cwndlab.figures.style import styles_of
from cwndlab.judge.decision import ZONE
from cwndlab.judge.sentences import certainty, headline, sentences
from cwndlab.report.sections.answer import TRADE_OFF
from cwndlab.report.sections.timeline import OPERATING_POINT, TIMELINE, run_series
from cwndlab.report.writer import context_of, make_page
from cwndlab.results.columns import quantity
from cwndlab.text.wording import percent
from cwndlab.viewer.summary import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.judge.decision import Decision
    from cwndlab.report.context import Context
    from cwndlab.viewer.summary import Signature

PAGE_RUNS = 100
_MOST_OPEN = 2
_SHOWN = ("goodput_mbit_s", "rtt_p50_ms", "rtt_p95_ms", "retransmitted_pct", "timeouts")
_CHARTS = (TRADE_OFF, TIMELINE, OPERATING_POINT)
_MOST_FAILURES = 20
_WAITS_S = (0.05, 0.1, 0.2)

Found = TypeVar("Found")


class OpenStudies:
    """Reads the studies that users view, and keeps the last two of them in memory."""

    def __init__(self) -> None:
        """Start without a study in memory."""
        self._taking = threading.Lock()
        self._open: OrderedDict[Path, _Opened] = OrderedDict()

    def page(self, folder: Path, at: int) -> dict[str, Any]:
        """Return the content of a study's page, with the charts of network setting number `at`.

        Raises:
            CwndlabError: the results cannot be read, or no run has a result.
        """
        return self._read(folder, lambda opened: _page(opened, at))

    def runs(self, folder: Path, page: int, query: str) -> dict[str, Any]:
        """Return page number `page` (from 0) of the finished runs that match `query`.

        A run matches if its factor levels and repetition number contain all words of `query`.

        Raises:
            CwndlabError: the results cannot be read.
        """
        return self._read(folder, lambda opened: _runs(opened, page, query))

    def run(self, folder: Path, key: str) -> dict[str, Any]:
        """Return the chart of a run over time, with a line for each flow.

        Raises:
            CwndlabError: the run does not exist, or contains no samples.
        """
        return self._read(folder, lambda opened: _run(opened.results, key))

    def report(self, folder: Path) -> str:
        """Return the report of a study as a single HTML page.

        Raises:
            CwndlabError: the results cannot be read, or no run has a result.
        """
        return self._read(folder, lambda opened: make_page(opened.context))

    def _read(self, folder: Path, read: Callable[[_Opened], Found]) -> Found:
        """Read a study; if its files change while they are read, read them again.

        The process that runs a study moves rows from the journal into tables. A file may therefore
        disappear before it is opened.

        Raises:
            CwndlabError: the results cannot be read.
        """
        for wait_s in _WAITS_S:
            with self._taking:
                try:
                    return read(self._opened(folder))
                except (FileNotFoundError, DamagedResultsError, pl.exceptions.PolarsError):
                    self._open.pop(folder, None)
            time.sleep(wait_s)  # without the lock, so that other threads can read
        with self._taking:
            try:
                return read(self._opened(folder))
            except (FileNotFoundError, pl.exceptions.PolarsError) as error:
                msg = f"{folder}: files changed while they were read; try again ({error})"
                raise CwndlabError(msg) from None

    def _opened(self, folder: Path) -> _Opened:
        signature = signature_of(folder)
        known = self._open.pop(folder, None)
        if known is None or known.signature != signature:
            known = _Opened(folder, signature)
        self._open[folder] = known
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return known


class _Opened:
    """The results of a study, with the values that have been computed from them so far."""

    def __init__(self, folder: Path, signature: Signature) -> None:
        self.signature = signature
        self.results: Results = open_results(folder)
        self._context: Context | None = None
        self._runs: pl.DataFrame | None = None

    @property
    def context(self) -> Context:
        if self._context is None:
            if self.results.flows().is_empty():
                msg = f"{self.results.path}: no run is finished yet"
                raise CwndlabError(msg)
            self._context = context_of(self.results)
        return self._context

    @property
    def runs(self) -> pl.DataFrame:
        if self._runs is None:
            self._runs = self.results.runs()
        return self._runs


def _page(opened: _Opened, at: int) -> dict[str, Any]:
    context = opened.context
    if not context.settings:
        msg = f"{opened.results.path}: no run is finished yet"
        raise CwndlabError(msg)
    setting = context.settings[min(at, len(context.settings) - 1)]
    charts: dict[str, Any] = {}
    for section in _CHARTS:
        content = section.build(setting)
        charts |= {} if content is None else content.charts
    return {
        "settings": [each.name for each in context.settings],
        "setting": setting.index,
        "together": None if context.together is None else _said(context.together),
        **_said(setting.decision),
        "charts": [{"name": name.rsplit("-", 1)[0], **chart} for name, chart in charts.items()],
        "styles": _styles(context.contestants),
    }


def _runs(opened: _Opened, page: int, query: str) -> dict[str, Any]:
    frame = opened.runs
    factors = [name for name in opened.results.factors if name in frame.columns]
    labels = [*factors, "repetition"]
    text = pl.concat_str([pl.col(name).cast(pl.String) for name in labels], separator=" ")
    for word in query.lower().split():
        own = text.fill_null("").str.to_lowercase().str.contains(word, literal=True)
        frame = frame.filter(own)
    measured = [name for name in _SHOWN if name in frame.columns]
    some = frame.slice(page * PAGE_RUNS, PAGE_RUNS).select("run", *labels, *measured)
    heads = [{"title": name, "unit": ""} for name in labels]
    heads += [{"title": quantity(name).title, "unit": quantity(name).unit} for name in measured]
    return {
        "heads": heads,
        "rows": [list(row) for row in some.iter_rows()],
        "found": frame.height,
        "page_rows": PAGE_RUNS,
        "failures": _failures(opened.results.path),
    }


def _run(results: Results, key: str) -> dict[str, Any]:
    samples = results.samples(run=key)
    if samples.is_empty():
        msg = f"{results.path}: the run {key} has no samples"
        raise CwndlabError(msg)
    chart = run_series(samples, results.events(run=key))
    names = [str(line["name"]) for line in chart["lines"]]
    return {"chart": chart, "styles": _styles(dict.fromkeys(names))}


def _said(decision: Decision) -> dict[str, Any]:
    is_decided = bool(decision.best) and not decision.is_alone
    lines = certainty(decision) if is_decided else ()
    return {
        "headline": headline(decision),
        "sentences": list(sentences(decision)),
        "certainty": [[line.name, line.value, line.meaning] for line in lines],
        "zone": percent(ZONE),
    }


def _styles(names: Iterable[str]) -> dict[str, Any]:
    return {
        name: {
            "colour": style.colour,
            "dark": style.dark_colour,
            "dashes": list(style.dashes),
            "marker": style.marker,
        }
        for name, style in styles_of(names).items()
    }


def _failures(folder: Path) -> list[str]:
    """Return the beginning of each failed run's error report, for at most 20 runs."""
    found = sorted((folder / "failed").glob("*.json"))[:_MOST_FAILURES]
    return [f"{path.stem}: {path.read_text('utf-8', 'replace')[:300]}" for path in found]
