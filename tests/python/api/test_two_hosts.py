"""Trials between two hosts: harm ends a period, killed processes leave nothing behind, and IPv6."""

from __future__ import annotations

import os
import random
import signal
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
from cwndlab.measure.trial.guard import Guard, Guardrails
from cwndlab.measure.trial.periods import PILOT, PeriodLog
from cwndlab.measure.wire.client import Session
from iproute import needs_ip
from judge.test_ledger import CLAIM
from live_server import server_here
from two_hosts import IPV4, IPV6, Hosts, hosts, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_congestion_control")
ALWAYS_HARM = Guardrails(goodput_ratio=1e6)
NEVER_HARM = Guardrails(1e9, 0.0, 100.0)


def registered(
    folder: Path, *, period_s: float, washout_s: float, blocks: int = 6, return_s: float = 0
) -> Path:
    """Register a trial in which the challenger, Reno, comes first."""
    seed = next(n for n in range(100) if orders(blocks, n)[0])
    claim = replace(
        CLAIM,
        challenger="reno",
        blocks=blocks,
        period_s=period_s,
        washout_s=washout_s,
        seed=seed,
        return_s=return_s,
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
    assert "Refuted: reno harmed the traffic (goodput is " in capsys.readouterr().out
    assert ALGORITHMS.read_text() == before


def test_a_return_between_two_hosts_confirms_harm(tmp_path: Path) -> None:
    trial = registered(tmp_path / "trial", period_s=7, washout_s=0.3, return_s=0.6)
    with server_here() as address:
        run_between_hosts(trial, RealNetwork(address), limits=ALWAYS_HARM)
    _, back, harmful = PeriodLog(trial / "periods.jsonl").read()
    assert (back.algorithm, back.outcome.flows) == ("cubic", 1)
    assert back.checks.startswith("goodput is ")
    assert (harmful.block, harmful.algorithm, harmful.outcome.flows) == (0, "reno", 1)
    assert harmful.harm.startswith("goodput is ")
    assert cw.open_results(trial / "part").flows()["algorithm"].to_list() == ["cubic"]
    found = judge_trial(trial)
    assert (found.entry.verdict, found.left) == ("refuted", 0)


def test_a_period_between_two_hosts_goes_on_after_a_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Guard, "harm_after_return", lambda *_, **__: None)
    trial = registered(tmp_path / "trial", period_s=6, washout_s=0.2, return_s=0.5, blocks=1)
    with server_here() as address:
        run_between_hosts(trial, RealNetwork(address), limits=ALWAYS_HARM)
    found = PeriodLog(trial / "periods.jsonl").read()
    kinds = [(each.algorithm, bool(each.checks)) for each in found]
    assert kinds[:2] == [("cubic", False), ("cubic", True)]
    assert kinds[-2:] == [("reno", False), ("cubic", False)]
    parts = sorted(each.name for each in trial.glob("part*") if each.is_dir())
    assert len(parts) == 2 * (len(found) - 3) - 1, "a run for each return, and for what follows it"
    period = found[-2]
    assert period.outcome.flows == len(found) - 3
    assert judge_trial(trial).left == 0


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


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are made as root")
KILLS = int(os.environ.get("CWNDLAB_KILLS", "4"))


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Hosts]:
    with hosts(tmp_path) as found, serving(found):
        yield found


@needs_ip
@needs_root
def test_settings_are_as_before_whenever_a_trial_between_two_hosts_is_killed(
    tmp_path: Path, at: Hosts
) -> None:
    before, draws = at.settings(), random.Random(20)  # noqa: S311  moments
    run = ["-m", "cwndlab", "trial", "run", "--server", IPV4["far"]]
    for n in range(KILLS):
        trial = registered(tmp_path / f"trial-{n}", period_s=1.2, washout_s=0.3, return_s=1.2)
        process = at.start("near", *run, str(trial))
        assert process.stdout is not None
        for _ in range(n % 4):
            process.stdout.readline()
        time.sleep(draws.uniform(0, 2))
        assert process.poll() is None
        process.send_signal(draws.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.communicate()
        assert at.settings() == before
        assert judge_trial(trial).left > 0
    done = at.start("near", *run, str(trial))  # the server is free, and the trial continues
    out, _ = done.communicate()
    assert done.returncode == 0, out
    assert judge_trial(trial).left == 0
    assert at.settings() == before


@needs_ip
@needs_root
def test_a_trial_over_ipv6(tmp_path: Path, at: Hosts) -> None:
    trial = registered(tmp_path / "trial", period_s=0.5, washout_s=0.1, blocks=1)
    run = ["-m", "cwndlab", "trial", "run", str(trial), "--most-rtt", "1e9", "--server"]
    done = at.start("near", *run, IPV6["far"])
    out, _ = done.communicate()
    assert done.returncode == 0, out
    assert "0 periods left" in out
    assert all(each.outcome.flows for each in PeriodLog(trial / "periods.jsonl").read())


SERVE_ONE = """
import socket, sys
from cwndlab.measure.machine.sock_diag import connections
from cwndlab.measure.trial.settings import Route
from cwndlab.measure.trial.way_back import changing
route = Route.to(sys.argv[1])
with socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
    with changing(route) as switch:
        for algorithm in ("reno", "cubic"):
            switch.choose(algorithm)
            print("ready", flush=True)
            connection, _ = listener.accept()
            (seen,) = [c for c in connections() if c.own[1] == 7000]
            print(seen.algorithm == algorithm, switch.has_peer(seen.peer[0]), flush=True)
            connection.close()
"""
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 7000)).recv(1)"


@needs_ip
@needs_root
@pytest.mark.parametrize(
    ("prefix", "address"),
    [("fd18:7::/64", IPV6), ("fd18:7::1/128", IPV6), ("198.18.7.0/24", IPV4)],
)
def test_a_route_sets_the_algorithm_of_a_servers_connections_over_both_protocols(
    tmp_path: Path, prefix: str, address: dict[str, str]
) -> None:
    with hosts(tmp_path) as at:
        before = at.settings()
        server = at.start("far", "-c", SERVE_ONE, prefix)
        assert server.stdout is not None
        for _ in range(2):
            assert server.stdout.readline() == "ready\n"
            client = at.start("near", "-c", CONNECT, address["far"])
            assert server.stdout.readline() == "True True\n"
            client.communicate()
        server.communicate()
        assert server.returncode == 0
        assert at.settings() == before
