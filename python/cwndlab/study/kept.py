"""Read the scenarios of a completed study, which are stored in its results folder.

Presets, hosts and defaults may change after a study has been run. Therefore, reports, packs and
repeated runs do not evaluate `study.toml` again, but use the scenarios that are stored next to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from cwndlab.errors import StudyError, TraceError
from cwndlab.resolve import Resolved
from cwndlab.resolve.algorithms import describe_file
from cwndlab.resolve.traces import Trace, read_packet_trains, read_trace
from cwndlab.schema import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import polars as pl

    from cwndlab.resolve.algorithms import FileAlgorithm
    from cwndlab.study.runs import Cell

SCENARIOS = "scenarios.parquet"
STUDY = "study.toml"
TRACES = "traces"
_MANIFEST = "manifest.json"  # results.manifest, which is above this layer
_COMMIT = ".commit"
_COLUMNS = ("cell", "scenario", "start_jitter_ns", "begin_within_ns", "server_ns")


@dataclass(frozen=True)
class KeptScenarios:
    """Reads the scenarios in a results folder: one scenario for each combination of levels."""

    folder: Path

    @classmethod
    def beside(cls, study_file: Path) -> KeptScenarios | None:
        """Return the scenarios that are stored in the same folder as a study file.

        The result is None if the folder contains no scenarios, or if the name of the study file is
        not `study.toml`.
        """
        is_kept = study_file.name == STUDY and (study_file.parent / SCENARIOS).exists()
        return cls(study_file.parent) if is_kept else None

    def resolved(self, cell: int, references: Mapping[str, str]) -> Resolved:
        """Return the stored scenario of a combination of levels (cell).

        Args:
            cell: number of the cell.
            references: the algorithms in the study's document that are files (`references_in`).

        Raises:
            StudyError: the cell does not exist, or another version of cwndlab wrote the folder.
        """
        try:
            _, text, jitter_ns, begin_within_ns, server_ns = self._rows[cell]
            scenario = Scenario.model_validate_json(text)
        except (IndexError, ValidationError) as error:
            reason = str(error).partition("\n")[0]
            msg = f"{self.folder / SCENARIOS}: the file does not belong to this study ({reason})"
            raise StudyError([msg]) from None
        traces = {name: trace for name, trace in self._traces.items() if f'"{name}"' in text}
        flows = chain(scenario.flows, *scenario.before)
        named = {end.algorithm for flow in flows for end in (flow.sender, flow.receiver)}
        files = {name: own for name, own in self._files_of(references).items() if name in named}
        return Resolved(scenario, traces, files, tuple(jitter_ns), begin_within_ns, server_ns)

    def _files_of(self, references: Mapping[str, str]) -> dict[str, FileAlgorithm]:
        found = (describe_file(each, self.folder) for each in references.values())
        return {each.algorithm.name: each for each in found}

    @cached_property
    def _rows(self) -> list[tuple[Any, ...]]:
        import polars as pl  # noqa: PLC0415  imported only when a results folder is read

        try:
            content = (self.folder / SCENARIOS).read_bytes()
            if not self._is_listed(content):
                raise self._damaged()
            frame = pl.read_parquet(content)
            if "server_ns" not in frame.columns:  # older results folders do not contain it
                frame = frame.with_columns(pl.lit(0).alias("server_ns"))
            return frame.select(_COLUMNS).rows()
        except (OSError, pl.exceptions.PolarsError):
            raise self._damaged() from None

    def _is_listed(self, content: bytes) -> bool:
        """Return False if the manifest has a different hash for the scenario file, else True."""
        if (self.folder / _COMMIT).exists():
            return True  # the process was killed while it replaced both files
        try:
            listed = json.loads((self.folder / _MANIFEST).read_bytes())["files"].get(SCENARIOS)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return True  # a damaged manifest is reported when the folder is opened
        return listed in {None, hashlib.sha256(content).hexdigest()}

    def _damaged(self) -> StudyError:
        msg = (
            f"{self.folder / SCENARIOS}: the file is damaged; delete it to run {STUDY} with the "
            "presets and defaults of this version of cwndlab"
        )
        return StudyError([msg])

    @cached_property
    def _traces(self) -> dict[str, Trace]:
        """Maps each trace's name in the scenarios to the trace, read from the results folder."""
        traces = {}
        for path in sorted((self.folder / TRACES).glob("*")):
            for read in (read_trace, read_packet_trains):
                # Some files are logs, next to the traces that were made from the logs.
                with contextlib.suppress(TraceError):
                    trace = read(path)
                    traces[trace.content_name] = trace
                    break
        return traces


def scenario_frame(cells: Iterable[Cell]) -> pl.DataFrame:
    """Return a table with a scenario for each combination of factor levels; the seeds are 0."""
    import polars as pl  # noqa: PLC0415  imported only when results are stored

    rows = [
        (
            n,
            cell.resolved.scenario.to_json(),
            list(cell.resolved.start_jitter_ns),
            cell.resolved.begin_within_ns,
            cell.resolved.server_ns,
        )
        for n, cell in enumerate(cells)
    ]
    types = (pl.Int64, pl.String, pl.List(pl.Int64), pl.Int64, pl.Int64)
    return pl.DataFrame(rows, schema=dict(zip(_COLUMNS, types, strict=True)), orient="row")
