from __future__ import annotations

import hashlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from cwndlab import core
from cwndlab.api.results import Results, open_results
from cwndlab.api.running import run_study
from cwndlab.api.study import Study
from cwndlab.errors import InterruptedStudyError, ResultsError, RunsFailedError
from cwndlab.results.writer import Writer
from cwndlab.run.executor import MOST_RUNS, Batch, LocalExecutor, Task, compute
from cwndlab.run.progress import Silent
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("fake_core")


def study(**keys: Any) -> Study:  # noqa: ANN401  keys of a study
    base = {
        "link": "rate=10 Mbit/s,delay=20 ms",
        "algorithm": ["reno", "cubic"],
        "repetitions": 3,
        "id": "s",
    }
    return Study(**{**base, **keys})


def run(made: Study, folder: Path, **how: Any) -> Results:  # noqa: ANN401  arguments
    return run_study(made, folder, report=lambda *_: Silent(), **how)


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.parquet"))
        if path.name != "history.parquet"
    }


class Backwards:
    """An executor that computes the last task first."""

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        return (compute([task]) for task in reversed(list(tasks)))


def test_any_order_of_runs_gives_the_same_bytes(tmp_path: Path) -> None:
    made = study(factors={"flows": [1, 3]})
    run(made, tmp_path / "a", jobs=1)
    run(made, tmp_path / "b", jobs=4)
    run(made, tmp_path / "c", executor=Backwards())
    tables = ["runs", "flows", "links", "samples", "events"]
    names = [f"{table}/00000.parquet" for table in tables]
    assert set(hashes(tmp_path / "a")) == {"matrix.parquet", "scenarios.parquet", *names}
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") == hashes(tmp_path / "c")


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(study(), tmp_path / "s")
    monkeypatch.setattr(core, "run_many", lambda *_: pytest.fail("ran again"))
    assert run(study(), tmp_path / "s").is_complete


def test_more_repetitions_and_levels_add_to_what_is_there(tmp_path: Path) -> None:
    run(study(), tmp_path / "s")
    before = open_results(tmp_path / "s")
    wanted = study(repetitions=4, algorithm=["reno", "cubic", "highspeed"])
    more = run(wanted, tmp_path / "s")
    assert more.runs().height == 12
    assert len(more.history) == 12
    of_before = more.flows(run=before.runs()["run"].to_list())
    assert of_before.sort("run").equals(before.flows().sort("run"))
    # Runs of an earlier version of the study stay in the folder, but not in its tables.
    fewer = run(study(repetitions=1), tmp_path / "s")
    assert fewer.runs().height == 2
    again = run(wanted, tmp_path / "s")
    assert len(again.history) == 12
    assert again.flows().equals(more.flows())
    assert not list((tmp_path / "s").glob("unused/*/*"))


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with pytest.raises(RunsFailedError) as caught:
        run(study(algorithm=["reno", "fails"]), folder)
    assert caught.value.exit_status == 1
    assert str(caught.value) == (
        f"3 of 6 runs failed, 3 of 6 runs are stored; {folder / 'failed'} contains the reasons; "
        "the first failure: the window of flow 0 became 0"
    )
    results = open_results(folder)
    assert results.runs()["algorithm"].to_list() == ["reno"] * 3
    assert not results.is_complete
    reason = json.loads(next((folder / "failed").iterdir()).read_text())
    assert reason["error"] == "the window of flow 0 became 0"
    assert reason["scenario"]["flows"][0]["sender"]["algorithm"] == "fails"


def failing(*_: object, **__: object) -> None:
    msg = "no luck"
    raise RuntimeError(msg)


def test_failed_runs_are_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_run = core.module().run
    monkeypatch.setattr(core.module(), "run", failing)
    with pytest.raises(RunsFailedError, match=r"6 of 6 runs failed, 0 of 6 runs are stored"):
        run(study(), tmp_path / "s")
    monkeypatch.setattr(core.module(), "run", real_run)
    assert run(study(), tmp_path / "s").is_complete
    assert list((tmp_path / "s" / "failed").iterdir()) == []


def test_an_interruption_says_what_is_safe_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Impatient(Silent):
        done = 0

        def advance(self, what: str, runs: int = 1) -> None:
            assert what in ("reno", "cubic")
            self.done += runs
            raise KeyboardInterrupt

    with pytest.raises(InterruptedStudyError) as caught:
        run_study(
            study(), tmp_path / "s", jobs=1, report=lambda *_: Impatient(), again="`cwndlab run x`"
        )
    assert str(caught.value) == "stopped; 1 of 6 runs is stored; run `cwndlab run x` to continue"
    assert open_results(tmp_path / "s").runs().height == 1
    assert caught.value.exit_status == 130
    ran: list[str] = []
    real_run = core.run_many

    def counted(texts: list[str], *more: Any) -> core.Columns:  # noqa: ANN401  what it takes
        ran.extend(texts)
        return real_run(texts, *more)

    monkeypatch.setattr(core, "run_many", counted)
    assert run(study(), tmp_path / "s").is_complete
    assert len(ran) == 5


def test_a_folder_of_results_can_be_run_again_by_itself(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.down").write_text("1\n2\n3\n")
    (tmp_path / "in" / "s.toml").write_text(
        '[study]\nid = "s"\n[link]\ntrace = "x.down"\ndelay = "1 ms"\n'
        '[factors]\nalgorithm = ["reno"]\nreverse_link = ["trace:x.down,delay=2 ms", "lossy"]\n'
    )
    first = run(Study.load(tmp_path / "in" / "s.toml"), tmp_path / "out" / "s")
    (tmp_path / "in" / "x.down").unlink()
    moved = tmp_path / "elsewhere"
    (tmp_path / "out" / "s").rename(moved)
    again = Study.load(moved / "study.toml")
    assert again.id == "s"
    assert [run.key for run in again.matrix.runs] == [
        run["run"] for run in pl.read_parquet(moved / "matrix.parquet").iter_rows(named=True)
    ]
    assert first.path != moved
    assert "/in/" not in (moved / "study.toml").read_text()


def test_the_manifest_tells_when_where_and_how_long(tmp_path: Path) -> None:
    results = run(study(repetitions=1), tmp_path / "s")
    entries = results.history
    assert {entry["run"] for entry in entries} == set(results.runs()["run"])
    for entry in entries:
        assert entry["duration_s"] >= 0
        assert entry["host"]
        assert entry["began"].endswith("+00:00")
        assert entry["behaviour_epoch"] == 1


def test_tables_have_the_keys_the_factors_and_their_own_columns(tmp_path: Path) -> None:
    results = run(study(factors={"link.rate": ["1 Mbit/s", "2 Mbit/s"]}, flows=2), tmp_path / "s")
    assert results.factors == ("algorithm", "rate")
    assert results.runs().columns[:5] == ["run", "algorithm", "rate", "repetition", "seed"]
    flows = results.flows()
    assert flows.columns[:5] == ["run", "factor_algorithm", "rate", "repetition", "seed"]
    assert flows.height == 2 * 2 * 2 * 3
    assert (flows["factor_algorithm"] == flows["algorithm"]).all()
    samples = results.samples(algorithm="reno", rate="1 Mbit/s", flow=0)
    assert samples.height == 3 * 20
    assert samples["algorithm"].unique().to_list() == ["reno"]
    two = results.runs()["run"][:2].to_list()
    assert results.samples(run=two)["run"].n_unique() == 2
    assert results.events()["flow"].null_count() > 0
    assert results.acks().is_empty()


def test_undefined_is_null_and_columns_have_one_type(tmp_path: Path) -> None:
    results = run(study(), tmp_path / "s")
    assert results.flows()["completion_ms"].null_count() == 6
    assert results.flows().schema["completion_ms"] == pl.Float64
    assert results.flows().schema["retransmission_burst_max_pkts"] == pl.Int64
    assert results.links().schema["offered_bytes"] == pl.Int64
    samples = results.samples()
    assert samples["ssthresh_pkts"].null_count() > 0
    assert not any(series.is_nan().any() for series in samples if series.dtype.is_float())


def test_runs_sum_up_their_flows(tmp_path: Path) -> None:
    results = run(study(flows=3), tmp_path / "s")
    flows = results.flows()
    for row in results.runs().iter_rows(named=True):
        own = flows.filter(pl.col("run") == row["run"])
        shares = own["goodput_mbit_s"].to_list()
        squares = sum(share**2 for share in shares)
        assert row["goodput_mbit_s"] == pytest.approx(sum(shares))
        assert row["jain_index"] == pytest.approx(sum(shares) ** 2 / (3 * squares))
        assert row["rtt_p50_ms"] == pytest.approx(own["rtt_p50_ms"].mean())
        resent = 100 * sum(own["retransmitted_pkts"]) / sum(own["sent_pkts"])
        assert row["retransmitted_pct"] == pytest.approx(resent)
        assert row["completion_ms"] is None


def test_sql_sees_every_table_with_its_factors(tmp_path: Path) -> None:
    results = run(study(id="it's"[:2]), tmp_path / "it's")
    counted = results.sql(
        "SELECT algorithm, count(*) AS n FROM samples GROUP BY algorithm ORDER BY algorithm"
    )
    assert counted.to_dicts() == [
        {"algorithm": "cubic", "n": 60},
        {"algorithm": "reno", "n": 60},
    ]
    joined = results.sql("SELECT sum(f.timeouts) AS n FROM flows f JOIN runs r USING (run)")
    assert joined["n"][0] == results.runs()["timeouts"].sum()


def test_tables_can_be_opened_without_cwndlab(tmp_path: Path) -> None:
    results = run(study(), tmp_path / "s")
    for table in ("runs", "flows", "links", "samples", "events"):
        direct = pl.read_parquet(tmp_path / "s" / table / "*.parquet")
        assert direct.equals(getattr(results, table)())


def test_results_give_pandas_frames_and_show_themselves(tmp_path: Path) -> None:
    results = run(study(), tmp_path / "s")
    assert results.runs().to_pandas()["algorithm"].tolist() == ["reno", "cubic"] * 3
    assert repr(results) == f"Results({str(tmp_path / 's')!r}, 6 of 6 runs)"
    assert "<table" in results._repr_html_()
    assert results.study.id == "s"


def test_a_folder_that_was_left_before_its_first_run_says_so(tmp_path: Path) -> None:
    with Writer(tmp_path / "s", "s"):
        pass
    with pytest.raises(ResultsError, match="stopped before its first run; run the study again"):
        open_results(tmp_path / "s")


def test_one_run_in_two_cells_is_computed_once(tmp_path: Path) -> None:
    made = study(
        link={"rate": "10 Mbit/s", "delay": "20 ms"},
        algorithm="reno",
        factors={"flow": [[{"stop": "5 s"}], [{"stop": "5000 ms", "start": "1 s"}]]},
        repetitions=1,
    )
    assert run(made, tmp_path / "s").runs().height == 2


def tasks(count: int, began: list[int] | None = None) -> Iterator[Task]:
    for n in range(count):
        if began is not None:
            began.append(n)
        yield Task(str(n), "{}", {}, weight=1e9)


NOTHING: core.Columns = {"errors": [None], "pcap": None}


def test_the_executor_stops_when_its_caller_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> core.Columns:
        time.sleep(0.01)
        return NOTHING

    monkeypatch.setattr(core, "run_many", slow)
    began: list[int] = []
    others = set(threading.enumerate())
    outcomes = LocalExecutor(2).batches(tasks(100_000, began))
    next(outcomes)
    crew = set(threading.enumerate()) - others
    outcomes.close()  # type: ignore[attr-defined]  # it is a generator
    for thread in crew:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in crew)
    # Two workers, each with one running batch and up to two waiting ones, of at most 512 runs.
    assert len(began) < 5_000


def test_the_executor_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "run_many", lambda *_: NOTHING)
    began: list[int] = []
    outcomes = LocalExecutor(2).batches(tasks(5000, began))
    next(outcomes)
    time.sleep(0.2)
    assert len(began) <= 2 * MOST_RUNS + 20, "finished runs pile up in memory"
    assert len(list(outcomes)) == 4999


def test_an_error_in_the_tasks_themselves_reaches_the_caller() -> None:
    def broken() -> Iterator[Task]:
        yield from tasks(1)
        msg = "no more"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="no more"):
        list(LocalExecutor(2).batches(broken()))
