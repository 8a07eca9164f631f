"""Read a study's results as Polars data frames or with SQL, and display them in notebooks."""

from __future__ import annotations

import glob
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.api.selection import rows_where
from cwndlab.errors import ArgumentError, ResultsError, UnknownNameError, plural
from cwndlab.judge.answer import BASELINE, answers, check_baseline, known_of
from cwndlab.judge.goals import goal_named
from cwndlab.judge.limits import limits
from cwndlab.judge.question import read_question
from cwndlab.resolve.queues import narrowest_queue
from cwndlab.results.compaction import shown_labels
from cwndlab.results.folder import IMPORT_FILE, MATRIX, Folder, no_result
from cwndlab.results.metrics import run_metrics
from cwndlab.results.tables import MEASURED_TABLES, TABLES, read_parquet, scan_parquet
from cwndlab.study.definition import StudyDefinition
from cwndlab.text.files import checked_path
from cwndlab.text.toml import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cwndlab.api.plots import Plotter
    from cwndlab.judge.answer import Answers
    from cwndlab.judge.decision import Decision
    from cwndlab.resolve import Resolved
    from cwndlab.resolve.queues import QueueSize
    from cwndlab.results.manifest import Manifest

KEYS = ("run", "cell", "repetition", "seed")


class Results:
    """The results of a study, as tables.

    Every table begins with the same columns: `run` (the key of the run), one column for each
    factor of the study, `repetition` and `seed`. The table's own columns follow. If one of them
    already has the name of a factor, the factor's column is called `factor_NAME`.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the results folder `path`.

        Raises:
            ArgumentError: `path` is not a path.
            ResultsError: the folder contains no results that this version can read.
        """
        self.path = checked_path(path, "path")
        self._folder = Folder.open(self.path)
        matrix_file = self._folder.file(MATRIX)
        if matrix_file is None:
            msg = f"{self.path}: the study was stopped before its first run; run the study again"
            raise ResultsError(msg)
        self._matrix_file = matrix_file

    @cached_property
    def _matrix(self) -> pl.DataFrame:
        """The table of all runs of the study; it is read when it is first used."""
        return read_parquet(self._matrix_file)

    @cached_property
    def study(self) -> StudyDefinition:
        """The study that produced the results.

        Raises:
            ResultsError: the results were imported and contain no study.
        """
        if self.imported is not None:
            msg = f"{self.path} was imported from {self.imported['folder']} and contains no study"
            raise ResultsError(msg)
        return StudyDefinition.load(self.path / "study.toml")

    @cached_property
    def imported(self) -> Mapping[str, Any] | None:
        """Description of an import, such as its folder and notes; None for results of a study."""
        path = self.path / IMPORT_FILE
        if not path.exists():
            return None
        try:
            table: Mapping[str, Any] = read_toml(path.read_text(encoding="utf-8"))["import"]
        except (OSError, ValueError, KeyError) as error:
            msg = f"{path}: damaged ({error}); import the files again"
            raise ResultsError(msg) from None
        return table

    @property
    def id(self) -> str:
        """ID of the study; for imported results, the ID of the import."""
        return self.study.id if self.imported is None else str(self.imported["id"])

    @property
    def title(self) -> str:
        """Title of the results in reports."""
        return self.study.title if self.imported is None else f"{self.id} (imported)"

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record for each attempt to execute a run: its time, host, duration and outcome."""
        return self._folder.history

    @property
    def manifest(self) -> Manifest:
        """The files of the results, with their SHA-256 checksums."""
        return self._folder.manifest

    @property
    def is_written(self) -> bool:
        """True if the tables contain all finished runs, so that no rows remain only in journals."""
        return not self._folder.journals

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the study's factors."""
        return tuple(name for name in self._matrix.columns if name not in KEYS)

    @property
    def is_complete(self) -> bool:
        """True if every run of the study is finished."""
        return self._finished.height == self._matrix.height

    def runs(self, **where: object) -> pl.DataFrame:
        """Return one row for each finished run.

        A row contains the run's fairness and queue length, and totals or means over its flows.
        """
        metrics = run_metrics(self.scan("flows").collect(), self.scan("links").collect())
        matrix = self._finished.drop("cell")
        if "algorithm" in matrix.columns:
            metrics = metrics.drop("algorithm")
        if "flags" in self.tables:
            metrics = metrics.join(self._flags_of_runs(), on="run", how="left")
        elif self.imported is None and self.study.model.live is not None:
            metrics = metrics.with_columns(pl.lit(None, dtype=pl.String).alias("flags"))
        return rows_where(matrix.join(metrics, on="run", how="left", maintain_order="left"), where)

    def flows(self, **where: object) -> pl.DataFrame:
        """Return one row for each flow of each run; `where` selects rows by column values."""
        return rows_where(self._flows, where)

    def links(self, **where: object) -> pl.DataFrame:
        """Return one row for each link of each run's path."""
        return self._table("links", where)

    def samples(self, **where: object) -> pl.DataFrame:
        """Return the time series: one row for each flow and interval."""
        return self._table("samples", where)

    def events(self, **where: object) -> pl.DataFrame:
        """Return one row for each loss, recovery, timeout or similar event."""
        return self._table("events", where)

    def acks(self, **where: object) -> pl.DataFrame:
        """Return one row for each ACK, if the study records ACKs."""
        return self._table("acks", where)

    def flags(self, **where: object) -> pl.DataFrame:
        """Return events that disturbed runs on a real network, such as outages."""
        return self._table("flags", where)

    def radio(self, **where: object) -> pl.DataFrame:
        """Return the radio technology, cell, band and signal during runs on a real network."""
        return self._table("radio", where)

    def datagrams(self, **where: object) -> pl.DataFrame:
        """Return loss and jitter of UDP datagrams that were sent in parallel with measured runs."""
        return self._table("datagrams", where)

    def tcp_info(self, **where: object) -> pl.DataFrame:
        """Return TCP_INFO of each flow's sender and receiver every 10 ms; empty for simulations."""
        return self._table("tcp_info", where)

    def limits(self) -> pl.DataFrame:
        """Return what limits each flow's rate, and for which share of the time it does so."""
        return limits(self)

    def beside(self, name: str) -> Results | None:
        """Open the results in the subfolder `name`, such as `networks`; None if there are none."""
        folder = self.path / name
        return Results(folder) if (folder / "study.toml").exists() else None

    def scenario(self, cell: Mapping[str, object]) -> Mapping[str, Any] | None:
        """Return all settings of a run with these factor values; None for imported results."""
        found = self._resolved(cell)
        return None if found is None else found.scenario.model_dump(mode="json", exclude_none=True)

    def queue(self, cell: Mapping[str, object]) -> QueueSize | None:
        """Return the queue size of the slowest wired link in a scenario with given factor values.

        Return None for imported results, or if the queue has no fixed size.
        """
        found = self._resolved(cell)
        if found is None:
            return None
        flows = found.scenario.flows
        direction = flows[0].direction if flows else "forward"
        return narrowest_queue(found.scenario.path, found.traces, found.server_ns, direction)

    def _resolved(self, cell: Mapping[str, object]) -> Resolved | None:
        """Return the first scenario with these factor values, or None if there is none.

        Imported results have no scenarios.
        """
        if self.imported is not None:
            return None
        cells = (each for each in self.study.cells if cell.items() <= each.labels.items())
        return next((each.resolved for each in cells), None)

    def verdict(self, goal: str | None = None, *, baseline: str | None = None) -> Decision:
        """Decide which algorithm is best for a goal, over all networks of the study combined.

        Args:
            goal: `balance`, `throughput`, `latency`, `short-transfers`, `fairness`,
                `fairness-to-cubic` or `stability`. If None, the goal that was given to `advise`,
                or else a goal that suits the measured quantities.
            baseline: the algorithm in use today. If None, the one that was given to `advise`, or
                else `cubic`.

        Raises:
            UnknownNameError: the goal does not exist.
            ArgumentError: the results do not contain `baseline`.
            ResultsError: no run has a result.
        """
        return self.answers(goal, baseline=baseline).together

    def answers(self, goal: str | None = None, *, baseline: str | None = None) -> Answers:
        """Decide which algorithm is best on each network and direction, and on all combined.

        The arguments and the errors are the same as for `verdict`.
        """
        if baseline is not None and not isinstance(baseline, str):
            raise ArgumentError(baseline, "baseline", "write the name of an algorithm")
        question = read_question(self.path)
        weights = None if question is None else question.weights_of_users()
        name = goal if goal or question is None else question.goal
        wanted = goal_named(name) if name else None
        known = known_of(self, weights)
        usual = BASELINE if question is None else question.baseline
        found = answers(self, wanted, baseline=baseline or usual, knowledge=known)
        if found is None:
            raise no_result(self.path)
        if baseline is not None:
            check_baseline(found, baseline)
        return found

    @property
    def plot(self) -> Plotter:
        """Plots of the results; for example, `results.plot.cwnd(algorithm="cubic")`."""
        from cwndlab.api.plots import Plotter  # noqa: PLC0415  slow to load

        return Plotter(self)

    @cached_property
    def _flows(self) -> pl.DataFrame:
        return self._table("flows", {})

    @property
    def tables(self) -> list[str]:
        """Names of the tables in the folder of results."""
        logged = self._folder.logged.blocks.tables
        return sorted(logged.union(self._folder.tables()) - {"runs"})

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame, without the columns of the factors.

        Raises:
            UnknownNameError: there is no table with this name.
        """
        known = sorted({*TABLES, *MEASURED_TABLES, *self.tables})
        if table not in known:
            raise UnknownNameError(table, known, f"tables: {', '.join(known)}", kind="table")
        return self._rows(table).filter(pl.col("run").is_in(self._finished["run"].implode()))

    def _rows(self, table: str) -> pl.LazyFrame:
        """Return all rows of a table, even rows of runs that are not finished."""
        labels = self._folder.label_columns(table)
        logged = self._folder.logged
        frames = []
        if parts := self._folder.parts(table):
            own = scan_parquet(parts).drop(labels, strict=False)
            if logged.done.any():
                keys = self._folder.numbering.keys(np.flatnonzero(logged.done))
                own = own.filter(~pl.col("run").is_in(keys.implode()))
            frames.append(own)
        frames += [frame.lazy() for frame in logged.blocks.frames(table, self._folder.numbering)]
        if not frames:
            return pl.LazyFrame(schema={"run": pl.String})
        return pl.concat(frames, how="diagonal_relaxed") if len(frames) > 1 else frames[0]

    def sql(self, query: str) -> pl.DataFrame:
        """Run an SQL query on the tables `runs`, `flows`, `links`, `samples`, `events`, `acks`.

        Runs on a kernel also fill the table `tcp_info`. Runs on a real network can also fill the
        tables `tcp_info`, `probes`, `flags`, `radio` and `datagrams`.

        Raises:
            ArgumentError: DuckDB cannot run the query, or the query returns no table.
        """
        import duckdb  # noqa: PLC0415  seldom needed, slow to load

        with duckdb.connect() as connection:
            connection.register("matrix", self._finished.to_arrow())
            connection.register("runs", self.runs().to_arrow())
            for table in self.tables:
                own = self._register(connection, table)
                columns = [
                    "data.run",
                    *(
                        f"matrix.{_identifier(name)} AS {_identifier(shown)}"
                        for name, shown in self._shown_factors(own).items()
                    ),
                    "matrix.repetition",
                    "matrix.seed",
                    *(f"data.{_identifier(name)}" for name in own if name != "run"),
                ]
                view = (
                    f"CREATE VIEW {table} AS SELECT {', '.join(columns)} FROM raw_{table} "  # noqa: S608  our own names, quoted
                    "AS data JOIN matrix USING (run)"
                )
                connection.execute(view)
            try:
                found = connection.sql(query)
                if found is not None:
                    return pl.DataFrame(found.to_arrow_table())
            except duckdb.Error as error:
                raise ArgumentError(query, "query", str(error)) from None
        raise ArgumentError(query, "query", "write a query that returns a table: SELECT ...")

    def _register(self, connection: Any, table: str) -> list[str]:  # noqa: ANN401  DuckDB is loaded late
        """Make a table available to DuckDB as `raw_TABLE`; return the names of its columns."""
        rows = self._rows(table)
        own = rows.collect_schema().names()
        if self._folder.logged.done.any():
            connection.register(f"raw_{table}", rows.collect().to_arrow())
        else:
            files = ", ".join(map(_literal, self._folder.parts(table)))
            connection.execute(
                f"CREATE VIEW raw_{table} AS SELECT * FROM read_parquet([{files}])"  # noqa: S608  quoted
            )
        return own

    def _flags_of_runs(self) -> pl.DataFrame:
        """Return a table with the key of each disturbed run and a text about its disturbances."""
        words = pl.format("{}: {}", "flag", "what").str.join("; ").alias("flags")
        return self.scan("flags").group_by("run").agg(words).collect()

    @cached_property
    def _finished(self) -> pl.DataFrame:
        """The table of all finished runs of the study."""
        return self._matrix.filter(pl.col("run").is_in(self._folder.committed().implode()))

    def _table(self, table: str, where: dict[str, object]) -> pl.DataFrame:
        lazy = self._rows(table)
        own = lazy.collect_schema().names()
        names = self._shown_factors(own)
        # Exclude unwanted runs before reading any row.
        early = {name: value for name, value in where.items() if name in {"run", *names.values()}}
        matrix = rows_where(self._finished.drop("cell").rename(names), early)
        late = {name: value for name, value in where.items() if name not in early}
        if matrix.height < self._matrix.height:
            lazy = lazy.filter(pl.col("run").is_in(matrix["run"].to_list()))
        rows = matrix.lazy().join(lazy, on="run", how="inner", maintain_order="left_right")
        return rows_where(rows.collect(), late)

    def _shown_factors(self, own: list[str]) -> dict[str, str]:
        """Map each factor's NAME to its column: NAME, or `factor_NAME` if `own` contains NAME."""
        return shown_labels(self.factors, own)

    def __repr__(self) -> str:
        done, wanted = self._finished.height, self._matrix.height
        return f"Results({str(self.path)!r}, {done:,} of {plural(wanted, 'run')})"

    def _repr_html_(self) -> str:
        frame: pl.DataFrame = self.runs()
        return f"<b>{self!r}</b>{frame._repr_html_()}"


def open_results(path: str | Path) -> Results:
    """Open a folder of results.

    Raises:
        ArgumentError: `path` is not a path.
        ResultsError: the folder contains no results that this version can read.
    """
    return Results(path)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(path: Path) -> str:
    return "'" + glob.escape(str(path.absolute())).replace("'", "''") + "'"  # no pattern
