"""Collect the origin of results: study, scenarios, versions, machine and command."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.study.describe import Fact, describe_flows, describe_path
from cwndlab.text.quantity import format_duration

if TYPE_CHECKING:
    from cwndlab.api.results import Results

_NO_WARM_UP = format_duration(0)


@dataclass(frozen=True)
class SetUp:
    """A scenario (path and flows), and the combination of factor levels that defines it."""

    labels: Mapping[str, object]
    """The level of each factor in this scenario."""
    scenario: Mapping[str, Any]
    """The scenario in canonical form, which the simulator runs."""
    path: Sequence[Fact] = ()
    """Name and settings, as text, of each wired stage and radio link of the network path."""
    flows: Sequence[Fact] = ()
    """Description, as text, of each group of flows with equal settings."""


@dataclass(frozen=True)
class Origin:
    """The origin of the results that a report shows; unknown parts are empty."""

    title: str
    description: str = ""
    command: str = ""
    """Command that reproduces the results."""
    study_toml: str = ""
    seed: int | None = None
    set_ups: Sequence[SetUp] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True
    is_short: bool = False
    """True if the results come from the short version that the study's `[quick]` table defines."""

    def set_ups_of(self, cell: Mapping[str, object]) -> list[SetUp]:
        """Return the scenarios that have all factor levels in `cell`."""
        return [
            each
            for each in self.set_ups
            if all(str(each.labels.get(name)) == str(value) for name, value in cell.items())
        ]


def origin_of(results: "Results") -> Origin:
    """Read the origin of results from the folder that contains them."""
    if results.imported is not None:
        return _origin_of_import(results, results.imported)
    study = results.study
    manifest = [entry for entry in results.history if entry.get("status") == "done"]
    set_ups = [
        SetUp(
            labels=dict(cell.labels),
            scenario=cell.resolved.scenario.model_dump(mode="json", exclude_none=True),
            path=describe_path(
                cell.resolved.scenario.path, cell.resolved.traces, cell.resolved.server_ns
            ),
            flows=describe_flows(cell.resolved.scenario),
        )
        for cell in study.cells
    ]
    return Origin(
        title=study.title,
        description=study.description,
        command=f"cwndlab run {_shown(results.path / 'study.toml')}",
        study_toml=study.to_toml(),
        seed=study.model.seed,
        set_ups=set_ups,
        versions=_versions(manifest),
        is_complete=results.is_complete,
        is_short=study.is_short,
    )


def _origin_of_import(results: "Results", imported: Mapping[str, Any]) -> Origin:
    """Describe imported results: their source, missing values, and files that were not imported."""
    left_out = [f"Left out: {each}." for each in imported["left_out"]]
    command = ["cwndlab", "import", imported["folder"], "--pattern", imported["pattern"]]
    if imported["warm_up"] != _NO_WARM_UP:
        command += ["--warm-up", imported["warm_up"]]
    return Origin(
        title=results.title,
        description=" ".join([*imported["notes"], *left_out]),
        command=shlex.join(command),
        versions=_versions([each for each in results.history if each.get("status") == "done"]),
        is_complete=results.is_complete,
    )


def _versions(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return facts about the execution of the runs, by title, such as "machine" or "started"."""
    versions = {"report written by": f"cwndlab {core.version()}"}
    for title, key in (
        ("version of cwndlab that made the runs", "cwndlab"),
        ("behaviour epoch", "behaviour_epoch"),
        ("backend", "backend"),
        ("machine", "host"),
        ("Linux kernel of the machine", "kernel"),
    ):
        seen = dict.fromkeys(str(entry[key]) for entry in manifest if entry.get(key) is not None)
        if seen:
            versions[title] = ", ".join(seen)
    began = sorted(str(entry["began"]) for entry in manifest if entry.get("began"))
    if began:
        versions["started"] = began[0] if began[0] == began[-1] else f"{began[0]} to {began[-1]}"
    spent = [float(entry["duration_s"]) for entry in manifest if entry.get("duration_s")]
    if spent:
        versions["computing time"] = f"{sum(spent):,.1f} s for {len(spent):,} runs"
    return versions


def _shown(path: Path) -> str:
    """Return a path relative to the working folder; a path outside this folder stays unchanged."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
