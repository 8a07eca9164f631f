"""Results as tables: Polars frames, SQL, and what a notebook shows of them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from cwndlab.errors import ResultsError, plural
from cwndlab.results.metrics import run_metrics
from cwndlab.results.store import Folder
from cwndlab.results.tables import LIVE_TABLES, TABLES
from cwndlab.text.toml import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.api.plots import Plotter
    from cwndlab.api.study import Study
    from cwndlab.judge.answer import Answers
    from cwndlab.judge.decision import Decision

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

IMPORT_FILE = "import.toml"
"""Stands instead of a study where results were measured elsewhere."""

KEYS = ("run", "cell", "repetition", "seed")


class Results:
    """The results of a study: what its runs gave, row by row.

    Every table has the columns `run` (the key of its run), one for each factor of the study,
    `repetition` and `seed`, and then its own. A factor that is called like a column of a table
    becomes `factor_NAME` there.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the folder `path`.

        Raises:
            ResultsError: it holds no results, or none that this version can read.
        """
        self.path = Path(path)
        self._folder = Folder.open(self.path)
        matrix_file = self.path / "matrix.parquet"
        if not matrix_file.exists():
            msg = f"{self.path}: its study was stopped before the first run; start it again"
            raise ResultsError(msg)
        self._matrix = pl.read_parquet(matrix_file)

    @cached_property
    def study(self) -> Study:
        """The study that was run.

        Raises:
            ResultsError: none was: the results were imported.
        """
        from cwndlab.api.study import Study  # noqa: PLC0415  a study's run gives results

        if self.imported is not None:
            msg = f"{self.path}: was imported from {self.imported['folder']}; there is no study"
            raise ResultsError(msg)
        return Study.load(self.path / "study.toml")

    @cached_property
    def imported(self) -> Mapping[str, Any] | None:
        """Where the results were imported from, and what to know of them; None if a study ran."""
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
        """The name of the study, or of the import."""
        return self.study.id if self.imported is None else str(self.imported["id"])

    @property
    def title(self) -> str:
        """What reports call the results."""
        return self.study.title if self.imported is None else f"{self.id} (imported)"

    @property
    def manifest(self) -> list[dict[str, Any]]:
        """When, where and in what time each run was made."""
        return self._folder.manifest()

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the study's factors."""
        return tuple(name for name in self._matrix.columns if name not in KEYS)

    @property
    def is_complete(self) -> bool:
        """Whether every run of the study is finished."""
        return self._finished.height == self._matrix.height

    def runs(self, **where: object) -> pl.DataFrame:
        """One row a run: sums and means over its flows, fairness, queue of the path."""
        metrics = run_metrics(self.scan("flows").collect(), self.scan("links").collect())
        matrix = self._finished.drop("cell")
        if "algorithm" in matrix.columns:
            metrics = metrics.drop("algorithm")
        if self._files("flags", self._finished["run"]):
            metrics = metrics.join(self._flags_of_runs(), on="run", how="left")
        return _filtered(matrix.join(metrics, on="run", how="left", maintain_order="left"), where)

    def flows(self, **where: object) -> pl.DataFrame:
        """One row a flow of a run; `where` keeps the rows with these values."""
        return _filtered(self._flows, where)

    def links(self, **where: object) -> pl.DataFrame:
        """One row a link of a run's path."""
        return self._table("links", where)

    def samples(self, **where: object) -> pl.DataFrame:
        """The time series: one row a flow and interval."""
        return self._table("samples", where)

    def events(self, **where: object) -> pl.DataFrame:
        """Losses, recoveries, timeouts and the like, as they happened."""
        return self._table("events", where)

    def acks(self, **where: object) -> pl.DataFrame:
        """One row an ACK, where the study records them."""
        return self._table("acks", where)

    def flags(self, **where: object) -> pl.DataFrame:
        """What befell the runs of a real network: outages, another technology."""
        return self._table("flags", where)

    def radio(self, **where: object) -> pl.DataFrame:
        """Technology, cell, band and signal while runs were measured on a real network."""
        return self._table("radio", where)

    def datagrams(self, **where: object) -> pl.DataFrame:
        """Loss and jitter of the datagrams beside the data of a real network."""
        return self._table("datagrams", where)

    def tcp_info(self, **where: object) -> pl.DataFrame:
        """What the kernels of both ends told of a flow each 10 ms; the simulator has none."""
        return self._table("tcp_info", where)

    def limits(self) -> pl.DataFrame:
        """One row a flow: what limited it most of its time, and the share of each cause."""
        from cwndlab.judge.limits import limits  # noqa: PLC0415  seldom needed

        return limits(self)

    def beside(self, name: str) -> Results | None:
        """Results in a folder below these, such as `networks`; None where there are none."""
        folder = self.path / name
        return Results(folder) if (folder / "study.toml").exists() else None

    def scenario(self, cell: Mapping[str, object]) -> Mapping[str, Any] | None:
        """The scenario of a cell, named by the labels of its factors; None of imported results."""
        if self.imported is not None:
            return None
        for each in self.study.cells:
            if cell.items() <= each.labels.items():
                found: Mapping[str, Any] = each.resolved.scenario.model_dump(
                    mode="json", exclude_none=True
                )
                return found
        return None

    def verdict(self, goal: str | None = None, *, baseline: str = "cubic") -> Decision:
        """The decision for a goal: over all settings of the study, if it has several.

        Args:
            goal: `balance`, `throughput`, `latency`, `short-transfers`, `fairness`,
                `fairness-to-cubic` or `stability`; if None, the one that was asked for, or what
                was measured decides.
            baseline: the algorithm that is run today.

        Raises:
            UnknownNameError: there is no such goal.
            ResultsError: no run has a result.
        """
        return self.answers(goal, baseline=baseline).together

    def answers(self, goal: str | None = None, *, baseline: str = "cubic") -> Answers:
        """The decision for a goal in each setting and direction, and for all of them together.

        Args and errors as of `verdict`.
        """
        from cwndlab.judge.answer import answers  # noqa: PLC0415  seldom needed
        from cwndlab.judge.goals import goal_named  # noqa: PLC0415  seldom needed
        from cwndlab.judge.question import read_question  # noqa: PLC0415  seldom needed

        question = read_question(self.path)
        weights = None if question is None else question.weights_of_users()
        name = goal if goal or question is None else question.goal
        wanted = goal_named(name) if name else None
        found = answers(self, wanted, baseline=baseline, weights=weights)
        if found is None:
            msg = f"{self.path}: no run has a result"
            raise ResultsError(msg)
        return found

    @property
    def plot(self) -> Plotter:
        """Pictures: `results.plot.cwnd(algorithm="cubic")` gives matplotlib axes."""
        from cwndlab.api.plots import Plotter  # noqa: PLC0415  slow to load

        return Plotter(self)

    @cached_property
    def _flows(self) -> pl.DataFrame:
        return self._table("flows", {})

    def scan(self, table: str) -> pl.LazyFrame:
        """A table, read when it is needed; without the factors' columns."""
        files = self._files(table, self._finished["run"])
        if not files:
            return pl.LazyFrame(schema={"run": pl.String})
        return _scan(files)

    def sql(self, query: str) -> pl.DataFrame:
        """Answer a query in SQL over `runs`, `flows`, `links`, `samples`, `events`, `acks`.

        Kernels tell `tcp_info`; a real network has `probes`, `flags`, `radio` and `datagrams` too.
        """
        import duckdb  # noqa: PLC0415  seldom needed, slow to load

        with duckdb.connect() as connection:
            connection.register("matrix", self._finished.to_arrow())
            connection.register("runs", self.runs().to_arrow())
            for table in (*TABLES, *LIVE_TABLES):
                if files := self._files(table, self._finished["run"]):
                    own = pl.scan_parquet(files[0]).collect_schema().names()
                    columns = [
                        "data.run",
                        *(
                            f"matrix.{_identifier(name)} AS {_identifier(shown)}"
                            for name, shown in self._shown_factors(own).items()
                        ),
                        "matrix.repetition",
                        "matrix.seed",
                        "data.* EXCLUDE (run)",
                    ]
                    view = (
                        f"CREATE VIEW {table} AS SELECT {', '.join(columns)} FROM read_parquet("  # noqa: S608  our own names, quoted
                        f"[{', '.join(map(_literal, files))}]) AS data JOIN matrix USING (run)"
                    )
                    connection.execute(view)
            return pl.DataFrame(connection.sql(query).to_arrow_table())

    def _flags_of_runs(self) -> pl.DataFrame:
        """What befell each run, in words; a run that nothing befell is not there."""
        words = pl.format("{}: {}", "flag", "what").str.join("; ").alias("flags")
        return self.scan("flags").group_by("run").agg(words).collect()

    @cached_property
    def _finished(self) -> pl.DataFrame:
        """The rows of the matrix whose run is finished."""
        return self._matrix.filter(pl.col("run").is_in(sorted(self._folder.committed())))

    def _files(self, table: str, runs: pl.Series) -> list[Path]:
        keys = runs.unique(maintain_order=True)
        files = (self.path / "runs" / key / f"{table}.parquet" for key in keys)
        return [file for file in files if file.exists()]

    def _table(self, table: str, where: dict[str, object]) -> pl.DataFrame:
        finished = _filtered(self._finished, {name: where[name] for name in where if name == "run"})
        matrix = finished.lazy().drop("cell")
        files = self._files(table, finished["run"])  # the others are not even opened
        lazy = _scan(files) if files else self.scan(table)
        own = lazy.collect_schema().names()
        names = self._shown_factors(own)
        # What is asked for is left out before any file is read.
        early = {name: value for name, value in where.items() if name in {"run", *names.values()}}
        matrix = _filtered(matrix.rename(names), early)
        late = {name: value for name, value in where.items() if name not in early}
        keys = matrix.select("run").collect()["run"]
        lazy = lazy.filter(pl.col("run").is_in(keys.unique().to_list()))
        joined = matrix.join(lazy, on="run", how="inner", maintain_order="left_right").collect()
        return _filtered(joined, late)

    def _shown_factors(self, own: list[str]) -> dict[str, str]:
        """How a table with these columns calls the factors."""
        return {name: f"factor_{name}" if name in own else name for name in self.factors}

    def __repr__(self) -> str:
        done, wanted = self._finished.height, self._matrix.height
        return f"Results({str(self.path)!r}, {done:,} of {plural(wanted, 'run')})"

    def _repr_html_(self) -> str:
        frame: pl.DataFrame = self.runs()
        return f"<b>{self!r}</b>{frame._repr_html_()}"


def open_results(path: str | Path) -> Results:
    """Open a folder of results.

    Raises:
        ResultsError: it holds no results, or none that this version can read.
    """
    return Results(path)


def _filtered(frame: Frame, where: dict[str, object]) -> Frame:
    for name, value in where.items():
        is_list = isinstance(value, list | tuple | set)
        values = list(value) if is_list else [value]  # type: ignore[call-overload]  # a collection
        frame = frame.filter(pl.col(name).is_in(values))
    return frame


def _scan(files: list[Path]) -> pl.LazyFrame:
    """The files of a table as one, which older runs have without the columns of newer ones."""
    return pl.scan_parquet(files, missing_columns="insert", extra_columns="ignore")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
