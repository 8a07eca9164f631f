"""Studies on a Dask cluster of this machine, whose scheduler and workers are separate processes."""

from __future__ import annotations

import hashlib
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import user_code
from cwndlab.api.study import Study
from cwndlab.backends.cluster import ClusterExecutor, identity
from cwndlab.cli import app
from cwndlab.errors import ClusterError, ResultsError, RunsFailedError
from cwndlab.results.folder import Folder
from cwndlab.run.campaign import tasks
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'cwndlab[dask]'"
)

LINK = "rate=10 Mbit/s,delay=20 ms"


@contextmanager
def dask(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start a program of Dask; yield the process and its log file."""
    log = folder / f"{arguments[0]}-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process, log
        finally:
            process.kill()


def told(log: Path, pattern: str) -> str:
    """Wait until a pattern appears in a log, and return the match."""
    found: re.Match[str] | None = None

    def is_told() -> bool:
        nonlocal found
        found = re.search(pattern, log.read_text("utf-8", "replace"))
        return found is not None

    if not is_soon(is_told) or found is None:
        pytest.fail(f"nothing like {pattern} in:\n{log.read_text()}")
    return found[1]


@contextmanager
def lone_scheduler(folder: Path) -> Iterator[str]:
    """Yield the address of a scheduler without workers."""
    arguments = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    with dask(folder, *arguments) as (_, log):
        yield told(log, r"Scheduler at:\s+tcp://(\S+)")


@contextmanager
def worker(scheduler: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Add a worker to the cluster."""
    how = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
    with dask(folder, "worker", f"tcp://{scheduler}", *how) as (process, log):
        told(log, r"(Registered to|Starting established connection)")
        yield process


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with lone_scheduler(tmp_path_factory.mktemp("dask")) as address:
        yield address


@pytest.fixture(scope="module")
def cluster(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a cluster with one permanent worker, to which tests add others."""
    with worker(scheduler, tmp_path_factory.mktemp("worker")):
        yield f"dask://{scheduler}"


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.parquet"))
        if path.name != "history.parquet"
    }


def test_a_cluster_gives_the_same_bytes(scheduler: str, cluster: str, tmp_path: Path) -> None:
    trace = tmp_path / "road.down"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 400, 2)))
    study = Study(
        link=[LINK, f"trace:{trace},delay=20 ms"],
        algorithm=["reno", "cubic"],
        duration="5 s",
        repetitions=3,
        id="s",
    )
    study.run(tmp_path / "here")
    with worker(scheduler, tmp_path):
        study.run(tmp_path / "there", executor=cluster)
    assert len(files(tmp_path / "here")) == 7
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_own_algorithms_run_there_and_their_crashes_stay_there(
    cluster: str, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.c", tmp_path / "bad.c"
    good.write_text(user_code.GOOD)
    bad.write_text(user_code.BREAKING[0].source.replace('"mine"', '"bad"'))
    study = Study(
        link=LINK, algorithm=["reno", str(good), str(bad)], duration="2 s", repetitions=1, id="s"
    )
    with pytest.raises(RunsFailedError, match=r"1 of 3 runs failed, 2 of 3 runs are stored"):
        study.run(tmp_path / "there", executor=cluster)
    again = Study(link=LINK, algorithm=["reno"], duration="2 s", repetitions=2, id="t")
    assert again.run(tmp_path / "more", executor=cluster).is_complete


def committed(folder: Path) -> int:
    try:
        return len(Folder.open(folder).committed())
    except ResultsError:
        return 0  # the folder does not exist yet


def test_a_worker_that_dies_loses_nothing(scheduler: str, cluster: str, tmp_path: Path) -> None:
    study = Study(link=LINK, algorithm=["reno"], duration="60 s", repetitions=40, id="s")
    command = [
        sys.executable,
        "-c",
        """import sys, cwndlab as cw
cw.Study(link=sys.argv[1], algorithm=["reno"], duration="60 s", repetitions=40, id="s").run(
    sys.argv[2], executor=sys.argv[3])""",
    ]
    folder = tmp_path / "there"
    with (
        worker(scheduler, tmp_path) as other,
        subprocess.Popen([*command, LINK, str(folder), cluster]) as running,
    ):
        assert is_soon(lambda: committed(folder) > 1)
        other.send_signal(signal.SIGKILL)
        assert running.wait(PATIENCE_S) == 0
    study.run(tmp_path / "here")
    assert files(folder) == files(tmp_path / "here")


def test_what_a_worker_gave_is_kept_when_it_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Any] = []

    def as_completed(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  Dask's
        waiting.append(real(*arguments, **options))
        return waiting[0]

    real = distributed.as_completed
    monkeypatch.setattr(distributed, "as_completed", as_completed)
    runs = Study(link=LINK, algorithm=["reno"], duration="1 s", repetitions=4, id="s").matrix.runs
    with lone_scheduler(tmp_path) as address:
        with worker(address, tmp_path) as only:
            outcomes = ClusterExecutor(f"dask://{address}").batches(tasks(runs))
            done = [next(outcomes)]
            # While a slow disk stores the first result, the others arrive.
            assert is_soon(lambda: waiting[0].queue.qsize() == len(runs) - 1)
            only.send_signal(signal.SIGKILL)
            with distributed.Client(f"tcp://{address}", set_as_default=False) as watching:
                assert is_soon(lambda: not watching.nthreads())
        done += outcomes
    found = [outcome for batch in done for outcome in batch.outcomes]
    assert {outcome.key for outcome in found} == {run.key for run in runs}
    assert not any(outcome.error for outcome in found)


def test_what_is_no_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cwndlab.backends.cluster._CONNECT_S", 1)
    with pytest.raises(ClusterError, match=r'"dask:8786": write the address .*dask://HOST:PORT'):
        ClusterExecutor("dask:8786")
    with pytest.raises(ClusterError, match=r"no scheduler answered within"):
        list(ClusterExecutor("dask://127.0.0.1:1").batches([]))


def test_a_cluster_without_workers_is_refused(tmp_path: Path) -> None:
    with (
        lone_scheduler(tmp_path) as address,
        pytest.raises(ClusterError, match="the cluster has no workers"),
    ):
        list(ClusterExecutor(f"dask://{address}").batches([]))


def test_workers_that_would_give_other_results_are_refused(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = identity() | {"behaviour epoch": "1,000"}
    monkeypatch.setattr("cwndlab.backends.cluster.identity", lambda: other)
    with pytest.raises(ClusterError, match=r"epoch is \d+ on this worker but 1,000 on the "):
        list(ClusterExecutor(cluster).batches([]))


def test_the_command_line_names_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    app(["run", "--help"], standalone_mode=False)
    assert "--executor dask://HOST:PORT" in capsys.readouterr().out
