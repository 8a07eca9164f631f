"""A campaign that is killed at any point resumes, and ends with the same bytes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cwndlab.results.folder import Folder
from finished import finished
from patience import PATIENCE_S, is_soon

WORKER = Path(__file__).parents[1].joinpath("campaign_worker.py")
REPETITIONS = 8
RUNS = 6 * REPETITIONS
KILLS = 50
KILLS_IN_THE_MIDDLE = 10
"""At least so many of them after the first run and before the last: then a result is half done."""
CHANGING = {"manifest.json", ".manifest.json", "history.parquet", ".lock"}
"""Files that tell when and where runs were made, or their digests."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(WORKER.parent), *sys.path])}


def start(folder: Path, jobs: int = 2) -> subprocess.Popen[str]:
    """Start a campaign in a separate process group; return when it has begun."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(folder), str(jobs), str(REPETITIONS)],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == "ready\n"
    return process


def finish(folder: Path, jobs: int = 2, threads: int = 2) -> None:
    """Run a campaign to its end."""
    environment = {**ENVIRONMENT, "POLARS_MAX_THREADS": str(threads)}
    command = [sys.executable, str(WORKER), str(folder), str(jobs), str(REPETITIONS)]
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=PATIENCE_S)


def wait_for_moment(
    process: subprocess.Popen[str], folder: Path, duration_s: float, draw: random.Random
) -> None:
    """Wait until any moment: while the folder is created, between two runs, or after the end."""
    wanted = draw.choice([0, 0, draw.randrange(RUNS), draw.randrange(RUNS), RUNS])
    assert is_soon(lambda: len(finished(folder)) >= wanted or process.poll() is not None, 0.001)
    time.sleep(draw.random() * duration_s / (10 if wanted == 0 else RUNS))


def result_bytes(folder: Path) -> dict[str, bytes]:
    """Return the content of all files except those that contain times and machines."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in CHANGING
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Return an undisturbed campaign, and its duration after its start."""
    folder = tmp_path_factory.mktemp("undisturbed") / "crash"
    process = start(folder)
    began_s = time.monotonic()
    assert process.wait(PATIENCE_S) == 0
    return folder, time.monotonic() - began_s


@pytest.mark.long
def test_nothing_is_lost_or_repeated_over_fifty_kills(
    undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    whole, duration_s = undisturbed
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201  shown if the test fails
    draw = random.Random(seed)  # noqa: S311  no secret
    kills = 0
    campaign = 0
    killed_in_the_middle = 0
    while kills < KILLS or killed_in_the_middle < KILLS_IN_THE_MIDDLE:
        assert kills < 4 * KILLS, "moments in the middle of a campaign are not met"
        folder = tmp_path / str(campaign) / "crash"
        campaign += 1
        before: dict[str, int] = {}
        for _ in range(KILLS):
            process = start(folder)
            wait_for_moment(process, folder, duration_s, draw)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE_S)
            kills += 1
            after = finished(folder)
            assert before.items() <= after.items(), "a finished run was lost or made again"
            before = after
            killed_in_the_middle += 0 < len(after) < RUNS
            if len(after) == RUNS:
                break
        finish(folder)
        assert before.items() <= finished(folder).items()
        assert result_bytes(folder) == result_bytes(whole)
        assert set(finished(folder).values()) == {1}, "a run was computed twice"


@pytest.mark.parametrize(("jobs", "threads"), [(1, 1), (2, 1), (5, 2)])
def test_bytes_depend_on_no_number_of_cores(
    undisturbed: tuple[Path, float], tmp_path: Path, jobs: int, threads: int
) -> None:
    folder = tmp_path / "crash"
    finish(folder, jobs, threads)
    assert result_bytes(folder) == result_bytes(undisturbed[0])


def test_two_campaigns_in_one_folder_do_not_mix(tmp_path: Path) -> None:
    folder = tmp_path / "crash"
    first = start(folder)
    assert is_soon((folder / "manifest.json").exists, 0.001)
    command = [sys.executable, str(WORKER), str(folder), "1", str(REPETITIONS)]
    second = subprocess.run(
        command, check=False, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert first.wait(PATIENCE_S) == 0
    # The second process started while the first was writing, or found all runs finished.
    assert second.returncode in (0, 2)
    if second.returncode == 2:
        assert "another cwndlab process is writing to this folder (process" in second.stderr
    assert len(finished(folder)) == RUNS
    assert len(Folder.open(folder).history) == RUNS


def test_a_file_that_cannot_grow_is_a_full_disk_and_loses_nothing(
    undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    """The limit on file sizes stops the journal after some runs, as a full disk would."""
    folder = tmp_path / "crash"
    command = [sys.executable, str(WORKER), str(folder), "2", str(REPETITIONS)]
    stopped = subprocess.run(
        [*command, str(60_000)],  # only the journal exceeds this limit
        check=False,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert stopped.returncode == 2, stopped.stderr
    assert stopped.stderr.startswith(f"{folder}: file too large; free some space on that disk\n")
    safe = finished(folder)
    assert 0 < len(safe) < RUNS  # how many results are written at once depends on the machine
    are = "is" if len(safe) == 1 else "are"
    assert f"{len(safe)} of {RUNS} runs {are} stored" in stopped.stderr
    finish(folder)
    assert safe.items() <= finished(folder).items()
    assert result_bytes(folder) == result_bytes(undisturbed[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_stops_the_campaign_and_loses_nothing(
    undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "cwndlab-test", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this root may not mount")
    try:
        folder = disk / "crash"
        command = [sys.executable, str(WORKER), str(folder), "2", str(REPETITIONS)]
        stopped = subprocess.run(
            command,
            check=False,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert stopped.returncode == 2, stopped.stderr
        assert "no space left on device; free some space on that disk" in stopped.stderr
        safe = finished(folder)
        assert 0 < len(safe) < RUNS
        grow = ["mount", "-o", "remount,size=50m", str(disk)]
        subprocess.run(grow, check=True, capture_output=True)
        finish(folder)
        assert safe.items() <= finished(folder).items()
        assert result_bytes(folder) == result_bytes(undisturbed[0])
    finally:
        subprocess.run(["umount", str(disk)], check=True)  # noqa: S607  a system tool
