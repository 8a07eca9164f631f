"""Describe an algorithm: its C file's comment, its parameters, and a plot of its window."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.algorithm.header_comment import header_comment, papers
from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study
from cwndlab.errors import AlgorithmError
from cwndlab.resolve.algorithms import algorithm_of
from cwndlab.text.quantity import parse_duration

if TYPE_CHECKING:
    from cwndlab import core

STANDARD_LINK = "rate=10 Mbit/s,delay=20 ms,queue=50 packets"

_NS_PER_S = 1e9
_ENDINGS = (".svg", ".pdf", ".png")
_SAMPLES_PER_RUN = 600
_LINE_WIDTH = 64


@dataclass(frozen=True)
class Page:
    """An algorithm's description, with its congestion window over time on a simulated link."""

    algorithm: core.Algorithm
    link: str
    duration_s: float
    samples: pl.DataFrame
    events: pl.DataFrame

    @property
    def about(self) -> str:
        """The first comment of the algorithm's C file, which describes the algorithm."""
        return header_comment(self.algorithm.source_text)

    def facts(self) -> dict[str, Any]:
        """Return the description of the algorithm as a dictionary for JSON output."""
        entry = self.algorithm
        return {
            "name": entry.name,
            "aliases": list(entry.aliases),
            "description": entry.description,
            "papers": papers(entry.source_text),
            "about": self.about,
            "parameters": parameter_rows(entry),
            "hooks": list(entry.hooks),
            "phases": list(self.phases),
            "source_sha256": entry.source_sha256,
            "window": {
                "link": self.link,
                "t_s": self.samples["t_s"].to_list(),
                "cwnd_pkts": self.samples["cwnd_pkts"].to_list(),
                "ssthresh_pkts": self.samples["ssthresh_pkts"].to_list(),
            },
        }

    @property
    def heading(self) -> str:
        """The heading of the plot: algorithm and link, in lines that fit the plot."""
        what = f"{self.algorithm.name}: congestion window, and slow-start threshold (dashed)"
        spread = re.sub(",(?! )", ", ", self.link)
        return "\n".join((what, *textwrap.wrap(f"on {spread}", _LINE_WIDTH)))

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases that the algorithm can report."""
        return tuple(dict.fromkeys(self.algorithm.phases[1:]))

    def draw(self, out: Path) -> Path:
        """Plot the congestion window and the slow-start threshold; return the path of the file.

        Raises:
            AlgorithmError: the extension of the file name is not supported.
        """
        from cwndlab.figures.canvas import save_figure  # noqa: PLC0415  slow to load
        from cwndlab.figures.over_time import window_figure  # noqa: PLC0415  slow to load

        if out.suffix not in _ENDINGS:
            msg = f"{out}: choose a file name that ends in {', '.join(_ENDINGS)}"
            raise AlgorithmError(msg)
        figure = window_figure(self.samples, events=self.events, heading=self.heading)
        (written,) = save_figure(figure, out.parent, out.stem, (out.suffix[1:],))
        return written


def read_page(reference: str, link: str, duration: str) -> Page:
    """Simulate an algorithm on a link, and return its description with the simulated window.

    Raises:
        UnknownNameError: no algorithm has this name.
        AlgorithmError: the algorithm's file does not exist, or cannot be compiled or run.
    """
    algorithm = algorithm_of(reference, Path())
    duration_s = parse_duration(duration) / _NS_PER_S
    study = Study(
        link=link,
        algorithm=reference,
        duration=duration,
        record={"samples": f"{duration_s * 1000 / _SAMPLES_PER_RUN:.3f} ms"},
    )
    tables = run_once(study)
    named = {
        name: tables[name].with_columns(pl.lit(algorithm.name).alias("algorithm"))
        for name in ("samples", "events")
    }
    events = named["events"].filter(pl.col("flow") == 0)
    return Page(algorithm, link, duration_s, named["samples"], events)


def parameter_rows(algorithm: core.Algorithm) -> list[dict[str, Any]]:
    """Return the name, default, bounds, unit and description of each algorithm parameter."""
    return [
        {
            "parameter": parameter.name,
            "default": parameter.default,
            "min": parameter.min,
            "max": parameter.max,
            "unit": parameter.unit,
            "doc": parameter.doc,
        }
        for parameter in algorithm.parameters
    ]
