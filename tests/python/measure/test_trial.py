"""Trials: order of measurements, guardrails, and settings that are always restored."""

from __future__ import annotations

import itertools
import json
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

from cwndlab.errors import ResultsError
from cwndlab.judge.goals import BALANCE
from cwndlab.measure.machine.sock_diag import Connection
from cwndlab.measure.trial import settings
from cwndlab.measure.trial.conduct import Step, Tried, conduct, due
from cwndlab.measure.trial.guard import Guard, Guardrails
from cwndlab.measure.trial.periods import (
    NOTHING,
    PILOT,
    MeasuredPeriod,
    PeriodLog,
    PeriodOutcome,
    blocks,
)
from cwndlab.measure.trial.settings import Default, Route, SettingError, require_algorithms
from cwndlab.measure.trial.traffic import PeriodTraffic
from iproute import IP, ip, needs_ip
from judge.test_ledger import CLAIM
from patience import is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cwndlab.measure.trial.conduct import Alarm

GOOD = PeriodOutcome(1.0, 10.0, 50.0, 0.1, 4)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="routes are changed as root")


class Made:
    """A network with invented periods, which may be interrupted."""

    def __init__(
        self,
        *,
        breaks_after: int = 10**6,
        worse: PeriodOutcome = GOOD,
        back: PeriodOutcome = GOOD,
        alarms: int = 0,
    ) -> None:
        """Break off before a step; `worse` and `back` are the outcomes of bbr and of returns.

        The first `alarms` steps of bbr end after 20 s.
        """
        self.measured: list[tuple[str, int]] = []
        self.steps: list[Step] = []
        self._breaks_after = breaks_after
        self._worse = worse
        self._back = back
        self._alarms = alarms

    def measure(self, step: Step, alarm: Alarm) -> Tried:
        if len(self.measured) == self._breaks_after:
            raise KeyboardInterrupt
        self.measured.append((step.algorithm, step.block))
        self.steps.append(step)
        if step.is_return:
            assert step.algorithm == "cubic"
            return Tried(self._back, None, step.duration_s)
        outcome = self._worse if step.algorithm == "bbr" else GOOD
        if step.algorithm == "bbr" and self._alarms:
            self._alarms -= 1
            return Tried(outcome, "an alarm", 20.0)
        for _ in range(20):
            if harm := alarm(outcome):
                return Tried(outcome, harm, 10.0)
        return Tried(outcome, None, step.duration_s)


def test_a_pilot_comes_first_and_every_block_has_both(tmp_path: Path) -> None:
    network = Made()
    periods = conduct(CLAIM, PeriodLog(tmp_path / "periods.jsonl"), network)
    assert network.measured[0] == ("cubic", PILOT)
    assert len(periods) == 1 + 2 * CLAIM.blocks
    assert set(blocks(periods)) == set(range(CLAIM.blocks))
    assert all(set(own) == {"cubic", "bbr"} for own in blocks(periods).values())
    assert due(CLAIM, periods) == []
    first = [each.algorithm for each in periods[1::2]]
    assert first.count("bbr") == CLAIM.blocks / 2


def test_a_trial_goes_on_where_it_broke_off_and_a_broken_block_begins_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "periods.jsonl"
    for _ in range(2):  # interrupted twice in the same block
        with pytest.raises(KeyboardInterrupt):
            conduct(CLAIM, PeriodLog(path), Made(breaks_after=2 if not path.exists() else 1))
    with path.open("a") as file:
        file.write('{"block": 0, "algor')  # killed while writing
    network = Made()
    periods = conduct(CLAIM, PeriodLog(path), network)
    assert len(network.measured) == 2 * CLAIM.blocks
    assert due(CLAIM, periods) == []
    assert PeriodLog(path).read() == periods


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "periods.jsonl"
    path.write_text("{}\n")
    with pytest.raises(ResultsError, match=r"periods\.jsonl: damaged"):
        PeriodLog(path).read()


@pytest.mark.parametrize(
    ("worse", "words"),
    [
        (replace(GOOD, rtt_p95_ms=130.0), "95th percentile RTT is 130 ms (baseline: 50 ms)"),
        (replace(GOOD, goodput_mbit_s=3.0), "goodput is 3 Mbit/s (baseline: 10 Mbit/s)"),
        (
            replace(GOOD, retransmitted_pct=6.0),
            "6.0 % of the segments are retransmitted (baseline: 0.1 %)",
        ),
    ],
)
def test_harm_ends_the_trial_in_its_period(
    tmp_path: Path, worse: PeriodOutcome, words: str
) -> None:
    network = Made(worse=worse)
    periods = conduct(CLAIM, PeriodLog(tmp_path / "periods.jsonl"), network)
    assert words in periods[-1].harm
    assert [name for name, _ in network.measured].count("bbr") == 1
    assert due(CLAIM, periods) == []


def test_the_guard_waits_for_two_seconds_and_needs_a_reference() -> None:
    clock = itertools.count(0, 0.25)
    guard = Guard(Guardrails(), lambda: next(clock))
    bad = replace(GOOD, rtt_p95_ms=500.0)
    assert [bool(guard.harm(bad, [GOOD])) for _ in range(10)].index(True) == 8
    guard.begin()
    assert not any(guard.harm(bad, [GOOD]) or guard.harm(GOOD, [GOOD]) for _ in range(20))
    assert guard.harm_of_period(bad, [NOTHING]) is None
    assert guard.harm_of_period(NOTHING, [GOOD]) is None


def connection(
    cookie: int, acked: int, busy_ms: int, rtt_ms: int, algorithm: str = "bbr"
) -> Connection:
    info = {
        "bytes_acked": acked,
        "busy_time_us": 1000 * busy_ms,
        "rtt_us": 1000 * rtt_ms,
        "min_rtt_us": 20_000,
        "segs_out": acked // 1448,
        "total_retrans": acked // 144_800,
    }
    return Connection(bytes([cookie]), ("10.0.0.1", 80), ("10.0.0.2", 5000), algorithm, info)


def test_only_connections_that_began_with_the_algorithm_count() -> None:
    period = PeriodTraffic("bbr", lambda _: True, BALANCE)
    old, other = connection(1, 10**6, 1000, 30), connection(2, 0, 0, 30, "cubic")
    period.look([old], counts=False)
    period.look([old, other, connection(3, 500_000, 400, 90)], counts=False)
    period.look(
        [
            connection(1, 9 * 10**6, 9000, 300),
            connection(2, 9 * 10**6, 9000, 300, "cubic"),
            connection(3, 1_500_000, 1400, 60),
            connection(4, 1_000_000, 500, 40),
        ],
        counts=True,
    )
    found = period.outcome()
    assert found.flows == 2
    assert found.goodput_mbit_s == pytest.approx((8.0 + 16.0) / 2)  # 1 MB/s and 2 MB/s
    assert found.retransmitted_pct == pytest.approx(1, abs=0.1)


def test_connections_to_others_or_with_little_data_do_not_count() -> None:
    period = PeriodTraffic("bbr", lambda peer: peer == "10.9.9.9", BALANCE)
    period.look([], counts=False)
    period.look([connection(1, 10**6, 100, 30)], counts=True)
    assert period.outcome() == NOTHING
    small = PeriodTraffic("bbr", lambda _: True, BALANCE)
    small.look([], counts=False)
    small.look([connection(1, 20_000, 100, 30)], counts=True)
    assert small.outcome() == NOTHING


@pytest.mark.parametrize("text", ["10.0.0.1/8", "example", "10.0.0.0/33"])
def test_a_wrong_prefix_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingError, match=r"198\.51\.100\.0/24"):
        Route.to(text)


def test_an_algorithm_that_the_kernel_lacks_is_refused_and_not_loaded() -> None:
    with pytest.raises(SettingError, match="this kernel does not contain none-such"):
        require_algorithms(("none-such",))


@pytest.mark.parametrize(("user", "remedy"), [(0, "use --route instead"), (1000, "needs root")])
def test_a_default_that_cannot_be_changed_says_what_to_do(
    user: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "SYSCTL", Path("/proc/version"))  # a file that nobody can write
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(SettingError, match=remedy):
        Default("cubic").restore()


@pytest.fixture
def network() -> Iterator[str]:
    """Create a network namespace with a route to a prefix through a gateway."""
    name = f"cwndlab-trial-{os.getpid()}"
    ip("netns", "add", name)
    try:
        for words in (
            "tuntap add dev d0 mode tun",
            "address add 10.1.0.1/24 dev d0",
            "-6 address add fd00:1::1/64 dev d0 nodad",
            "link set d0 up",
            "-6 route add fd00:2::/48 via fd00:1::fe dev d0 initcwnd 20 congctl reno",
            "route add 10.2.0.0/16 via 10.1.0.254 dev d0 initcwnd 20 congctl reno",
        ):
            ip("-n", name, *words.split())
        yield name
    finally:
        ip("netns", "del", name)


def in_namespace(name: str, program: str, state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [IP, "netns", "exec", name, sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
    )


SWITCHING = """
import random, time
from cwndlab.measure.trial.settings import Route
from cwndlab.measure.trial.way_back import changing
route = Route.to("{prefix}")
print("begun", flush=True)
with changing(route) as switch:
    while True:
        switch.choose(random.choice(["cubic", "reno"]))
        print("changed", flush=True)
"""
PREFIXES = (
    *("10.2.0.0/16", "10.1.0.0/24", "10.2.3.0/24"),
    *("fd00:2::/48", "fd00:1::/64", "fd00:2:0:3::/64"),
)
"""Of each protocol: a prefix with a route through a gateway, one of the device, and a new one."""
KILLS = int(os.environ.get("CWNDLAB_KILLS", "6"))


@needs_ip
@needs_root
@pytest.mark.parametrize("prefix", PREFIXES)
def test_routes_are_as_before_whenever_a_trial_is_killed(
    network: str, tmp_path: Path, prefix: str
) -> None:
    def routes() -> str:
        return ip("-n", network, "route") + ip("-n", network, "-6", "route")

    before, draws = routes(), random.Random(prefix)  # noqa: S311  moments
    for n in range(max(1, KILLS // len(PREFIXES))):
        trial = in_namespace(network, SWITCHING.format(prefix=prefix), tmp_path)
        assert trial.stdout is not None
        assert trial.stdout.readline() == "begun\n"
        if n % 2:
            trial.stdout.readline()
        time.sleep(draws.uniform(0, 0.2))
        trial.send_signal(draws.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        trial.communicate()
        state = tmp_path / "cwndlab" / "trial.json"
        assert is_soon(lambda: not state.exists())  # noqa: B023  of this turn
        assert routes() == before


@needs_ip
@needs_root
def test_what_two_kills_left_is_put_back_by_restore(network: str, tmp_path: Path) -> None:
    def routes() -> str:
        return ip("-n", network, "route")

    before = routes()
    trial = in_namespace(network, SWITCHING.format(prefix="10.2.0.0/16"), tmp_path)
    assert trial.stdout is not None
    trial.stdout.readline()
    trial.stdout.readline()
    children = Path(f"/proc/{trial.pid}/task/{trial.pid}/children").read_text(encoding="ascii")
    os.kill(int(children.split()[0]), signal.SIGKILL)
    trial.kill()
    trial.communicate()
    kept = json.loads((tmp_path / "cwndlab" / "trial.json").read_text())
    assert kept["setting"]["prefix"] == "10.2.0.0/16"
    restore = in_namespace(
        network, "from cwndlab.cli import main; main(['trial', 'restore'])", tmp_path
    )
    said, _ = restore.communicate()
    assert said == "the route to 10.2.0.0/16 was restored\n"
    assert routes() == before


def test_blocks_ignore_harm_and_pilot() -> None:
    periods = [
        MeasuredPeriod(PILOT, "cubic", "", GOOD),
        MeasuredPeriod(0, "cubic", "", GOOD),
        MeasuredPeriod(0, "bbr", "", GOOD, "harm"),
    ]
    assert blocks(periods) == {0: {"cubic": GOOD}}
