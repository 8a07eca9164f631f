"""Write the texts of an archive: README, methods, citations, and the versions of the programs."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.algorithm.header_comment import papers
from cwndlab.errors import plural
from cwndlab.papers import find_paper
from cwndlab.text.quantity import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cwndlab.api.results import Results
    from cwndlab.report import Origin

_BIBLIOGRAPHY = Path(__file__).parents[1] / "data" / "citations.bib"
_PACKAGES = ("polars", "pyarrow", "numpy", "matplotlib", "duckdb", "pydantic")
_BACKENDS = {
    "sim": "in cwndlab's simulator, with the TCP settings of the stack profiles named below",
    "kernel": "on the TCP stack of a running Linux kernel, over links emulated in real time",
    "vm": "on the TCP stack of a stock Linux kernel in a virtual machine, in virtual time",
    "live": "on a real network between two machines, with TCP state recorded at both ends",
}


def readme(results: Results) -> str:
    """Return the README, which describes the contents of the archive."""
    return f"""# {results.title}

| | |
|---|---|
| `methods.md` | description of the runs, for the methods section of a paper |
| `citations.md`, `citations.bib` | references for the algorithms, stacks, links and the study |
| `data/` | the results: the study, the tables of all runs (Parquet), time and host of each run |
| `report/` | the report; `report.html` needs no network connection |
| `figures/` | a script for each figure, which needs only Matplotlib, and the figure's data |
| `versions.json` | versions of the programs that computed the runs and wrote this archive |

`cwndlab run data/study.toml` repeats the runs; repeated simulations write identical files.
`cwndlab report data` writes the report again. Any program that reads Parquet can open the tables.
"""


def methods(results: Results, origin: Origin) -> str:
    """Return a description of the runs for the methods section of a paper."""
    entries = [each for each in results.history if each.get("status") == "done"]
    backends = list(dict.fromkeys(str(each.get("backend", "sim")) for each in entries))
    kernels = list(dict.fromkeys(str(each["kernel"]) for each in entries if each.get("kernel")))
    where = " and ".join(_BACKENDS.get(each, each) for each in backends)
    if results.imported is not None:
        transfers = plural(len(entries), "transfer")
        text = f"The data come from {transfers} measured with tools other than cwndlab. "
        return f"# Methods\n\n{text}{origin.description}\n"
    study = results.study
    factors = "; ".join(
        f"{name}: {', '.join(str(level) for level in levels)}"
        for name, levels in study.factors.items()
    )
    conditions = (
        "all algorithms were measured in immediate succession"
        if "live" in backends
        else "all algorithms had the same channel conditions"
    )
    text = f"""cwndlab {core.version()} (behaviour epoch {core.behaviour_epoch()}) carried out
{plural(len(entries), "run")} of {format_duration(study.model.duration)} {where}.
{f"Factors: {factors}." if factors else "No factor was varied."}
Each scenario was run {plural(study.repetitions, "time")}. In each repetition, {conditions}.
Algorithms are therefore compared within each repetition (paired differences). All random seeds
derive from the seed of the study, {study.model.seed}.
{"" if backends == ["sim"] else f"Kernel: {', '.join(kernels)}."}
Means have 95 % confidence intervals over runs; paired differences were tested with Holm's
correction for multiple comparisons. Goodput
is the payload delivered in order to the application, divided by the time since the end of the
warm-up. The sender measures round-trip times from acknowledgements."""
    parts = ["# Methods", " ".join(text.split())]
    for set_up in origin.set_ups:
        title = ", ".join(f"{name} {level}" for name, level in set_up.labels.items())
        items = [f"- {each}" for each in (*set_up.path, *set_up.flows)]
        parts.append("\n".join([f"## {title or 'Set-up'}", "", *items]))
    return "\n\n".join(parts) + "\n"


def citations(results: Results) -> str:
    """Return references to cwndlab, the reproduced paper, the algorithms' papers and the stacks."""
    lines = ["# Citations", "", f"- cwndlab {core.version()}."]
    paper = find_paper(results.id)
    if paper is not None:
        lines.append(f"- {paper.title}. {paper.authors}.")
    names = sorted({str(name) for name in results.flows()["algorithm"].unique()})
    known = core.algorithms()
    for name in names:
        own = known.get(name.removeprefix(core.OURS))
        if own is not None and (found := papers(own.source_text)):
            lines.append(f"- {name}: {found}")
    stacks = sorted({str(name) for name in results.flows()["stack"].unique()})
    for name in stacks:
        if name in core.stacks():
            summary = core.stacks()[name].values.get("summary", "")
            lines.append(f"- Stack profile {name}: {summary}".rstrip(": "))
    return "\n".join(lines) + "\n"


def bibliography(results: Results) -> str:
    """Return the references in BibTeX format, for the file `citations.bib`."""
    named = {str(name).removeprefix(core.OURS) for name in results.flows()["algorithm"].unique()}
    meant = {name for name, each in core.algorithms().items() if named & set(each.aliases)}
    wanted = {results.id.removesuffix("-quick"), *named, *meant}
    own = f"""@software{{cwndlab,
  title = {{cwndlab}},
  version = {{{core.version()}}},
}}
"""
    known = _BIBLIOGRAPHY.read_text(encoding="utf-8")
    entries = [own, *(each for each in _entries(known) if wanted & set(_keywords(each)))]
    return "\n".join(entries)


def _entries(text: str) -> Iterator[str]:
    """Yield the entries of a BibTeX file; a brace at the start of a line ends an entry."""
    return (match[0] for match in re.finditer(r"^@.*?^}\n", text, re.MULTILINE | re.DOTALL))


def _keywords(entry: str) -> list[str]:
    found = re.search(r"keywords = {(.*)}", entry)
    return [] if found is None else found[1].split(", ")


def versions(results: Results) -> Mapping[str, object]:
    """Return the versions of the programs that computed the runs and wrote the archive."""
    runs: dict[str, list[str]] = {}
    for entry in results.history:
        for key in ("cwndlab", "behaviour_epoch", "backend", "kernel", "host"):
            if entry.get(key) is not None and str(entry[key]) not in runs.setdefault(key, []):
                runs[key].append(str(entry[key]))
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    here = {"cwndlab": core.version(), "python": platform.python_version(), **packages}
    return {"runs": runs, "pack": here}
