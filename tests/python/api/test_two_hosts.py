"""Trials between two hosts: harm ends a period, kills leave nothing, and IPv6."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab.api.trial import judge_trial, run_between_hosts
from cwndlab.backends.live import RealNetwork
from cwndlab.cli import run as cwndlab
from cwndlab.judge.prediction import FILE
from cwndlab.judge.switchback import orders
from cwndlab.measure.trial.guard import Guardrails
from cwndlab.measure.trial.periods import PILOT, PeriodLog
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.client import Session
from judge.test_ledger import CLAIM
from live_server import TOKEN, server_apart, server_here

if TYPE_CHECKING:
    from collections.abc import Iterator

ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_congestion_control")
ALWAYS_HARM = Guardrails(goodput_ratio=1e6)
NEVER_HARM = Guardrails(1e9, 0.0, 100.0)


def registered(folder: Path, *, period_s: float, washout_s: float, blocks: int = 6) -> Path:
    """A trial in which the challenger, Reno, comes first."""
    seed = next(n for n in range(100) if orders(blocks, n)[0])
    claim = replace(
        CLAIM, challenger="reno", blocks=blocks, period_s=period_s, washout_s=washout_s, seed=seed
    )
    folder.mkdir()
    claim.write(folder / FILE)
    return folder


@pytest.mark.parametrize("direction", ["downlink", "uplink"])
def test_harm_ends_a_period_between_two_hosts_before_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], direction: str
) -> None:
    before = ALGORITHMS.read_text()
    trial = registered(tmp_path / "trial", period_s=7, washout_s=0.3)
    with server_here() as address:
        network = RealNetwork(address)
        run_between_hosts(trial, network, direction=direction, flows=2, limits=ALWAYS_HARM)
        with Session(address) as session:
            assert list(session.turn()) == [], "the server serves the next client at once"
    pilot, harmful = PeriodLog(trial / "periods.jsonl").read()
    assert (pilot.block, pilot.algorithm, pilot.harm) == (PILOT, "cubic", "")
    assert (harmful.block, harmful.algorithm, harmful.outcome.flows) == (0, "reno", 2)
    assert harmful.harm.startswith("goodput is ")
    results = cw.open_results(trial / "runs")
    (run,) = (each for each in results.history if each["live"].get("is_cut_short"))
    assert 2 < run["duration_s"] < 6.5, "after two seconds of harm, long before the end"
    flows = results.flows()
    cut = flows.filter(flows["run"] == run["run"])
    assert set(cut["algorithm"]) == set(cut["sent_by"]) == {"reno"}
    assert max(cut["end_s"]) < 6
    assert judge_trial(trial).left == 0
    assert cwndlab(["trial", "verdict", str(trial), "--ledger", str(tmp_path / "l.jsonl")]) == 0
    assert "Refuted: reno did harm (goodput is " in capsys.readouterr().out
    assert ALGORITHMS.read_text() == before


def test_a_block_that_broke_off_is_measured_again_and_not_read_from_the_first_results(
    tmp_path: Path,
) -> None:
    trial = registered(tmp_path / "trial", period_s=0.3, washout_s=0.1, blocks=1)
    log = PeriodLog(trial / "periods.jsonl")

    def stop(_: object, left: int) -> None:
        if left == 1:
            raise KeyboardInterrupt

    with server_here() as address:
        network = RealNetwork(address)
        with pytest.raises(KeyboardInterrupt):
            run_between_hosts(trial, network, limits=NEVER_HARM, on_period=stop)
        (_, first) = log.read()
        run_between_hosts(trial, network, limits=NEVER_HARM)
    again = log.read()[2]
    assert (again.block, again.algorithm) == (first.block, first.algorithm)
    assert again.outcome != first.outcome
    assert cw.open_results(trial / "runs-2").flows().height == 2


KILLS = int(os.environ.get("CWNDLAB_KILLS", "4"))
SYSCTLS = Path("/proc/sys/net/ipv4")


def settings() -> dict[str, str]:
    """Every setting of TCP, all routes, and the algorithms that the kernel has."""
    found = {path.name: path.read_text() for path in SYSCTLS.glob("tcp_*") if _is_readable(path)}
    routes = (Path("/proc/net/route"), Path("/proc/net/ipv6_route"))
    return found | {path.name: _without_counters(path) for path in routes if path.exists()}


def _is_readable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o400) and os.access(path, os.R_OK)


def _without_counters(path: Path) -> str:
    """Return the routes without the counters of their use."""
    at = (0, 1, 2, 3, 6, 7) if path.name == "route" else (0, 1, 2, 3, 4, 9)
    rows = (line.split() for line in path.read_text().splitlines())
    return "\n".join(sorted(" ".join(row[n] for n in at) for row in rows))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    process, port = server_apart(tmp_path)
    try:
        yield port
    finally:
        process.kill()
        process.communicate()


def test_settings_are_as_before_whenever_a_trial_between_two_hosts_is_killed(
    tmp_path: Path, server: int
) -> None:
    trial = registered(tmp_path / "trial", period_s=1.2, washout_s=0.3, blocks=KILLS)
    before, draws = settings(), random.Random(20)  # noqa: S311  moments
    run = [sys.executable, "-m", "cwndlab", "trial", "run", str(trial), "--most-rtt", "1e9"]
    for n in range(KILLS):
        process = subprocess.Popen(
            [*run, "--server", f"127.0.0.1:{server}"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        )
        assert process.stdout is not None
        for _ in range(n % 4):
            process.stdout.readline()
        time.sleep(draws.uniform(0, 2))
        process.send_signal(draws.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.communicate()
        assert settings() == before
        PeriodLog(trial / "periods.jsonl").read()
    assert judge_trial(trial).left > 0
    with Session(Address("127.0.0.1", server, TOKEN)) as session:
        list(session.turn())  # the server notices that the killed clients are gone
