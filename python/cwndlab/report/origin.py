"""Where results come from: the study, what it resolved to, versions, machine, the command again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab import core

if TYPE_CHECKING:
    from cwndlab.results import Results


@dataclass(frozen=True)
class Origin:
    """What a report says of how it was made; whatever is not known is empty."""

    title: str
    description: str = ""
    command: str = ""
    """Makes these results again."""
    study_toml: str = ""
    seed: int | None = None
    scenarios: Sequence[tuple[Mapping[str, object], Mapping[str, Any]]] = ()
    """Factor levels and resolved scenario of each cell."""
    versions: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True

    def scenario_of(self, cell: Mapping[str, object]) -> Mapping[str, Any] | None:
        """Return the scenario of the first cell whose factors have these values."""
        for labels, scenario in self.scenarios:
            if all(str(labels.get(name)) == str(value) for name, value in cell.items()):
                return scenario
        return None


def origin_of(results: "Results") -> Origin:
    """Read where results come from out of their folder."""
    study = results.study
    manifest = [entry for entry in results.manifest if entry.get("status") == "done"]
    scenarios = [
        (dict(cell.labels), cell.resolved.scenario.model_dump(mode="json", exclude_none=True))
        for cell in study.cells
    ]
    return Origin(
        title=study.title,
        description=study.description,
        command=f"cwndlab run {_shown(results.path / 'study.toml')}",
        study_toml=study.to_toml(),
        seed=study.model.seed,
        scenarios=scenarios,
        versions=_versions(manifest),
        is_complete=results.is_complete,
    )


def _versions(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what the runs were made with and when, from the manifest."""
    versions = {"report written by": f"cwndlab {core.version()}"}
    for title, key in (
        ("runs made by cwndlab", "cwndlab"),
        ("behaviour epoch", "behaviour_epoch"),
        ("backend", "backend"),
        ("machine", "host"),
        ("its kernel", "kernel"),
    ):
        seen = dict.fromkeys(str(entry[key]) for entry in manifest if entry.get(key) is not None)
        if seen:
            versions[title] = ", ".join(seen)
    began = sorted(str(entry["began"]) for entry in manifest if entry.get("began"))
    if began:
        versions["begun"] = began[0] if began[0] == began[-1] else f"{began[0]} to {began[-1]}"
    spent = [float(entry["duration_s"]) for entry in manifest if entry.get("duration_s")]
    if spent:
        versions["computing time"] = f"{sum(spent):,.1f} s for {len(spent):,} runs"
    return versions


def _shown(path: Path) -> str:
    """Return a path relative to the working folder where it is below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
