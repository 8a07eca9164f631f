"""Advice for one's own network: it agrees with the long study, is honest, and changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import numpy as np
import pytest

from cwndlab import cli
from cwndlab.advice import LOOKS, Wish, advise, compared, judge_wish, window_s
from cwndlab.api.study import Study
from cwndlab.cli import advise as command
from cwndlab.kernel import capabilities, loading
from cwndlab.kernel.capabilities import Kernel
from cwndlab.study.describe import read_link

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINK = "rate=5 Mbit/s,delay=20 ms,queue=100 packets"
NAMES = ("cubic", "vegas")
UNLIMITED_S = 3_600.0  # so that a slow machine gives the same advice
KERNEL = Kernel("6.18", frozenset({"cubic", "reno"}), frozenset(), frozenset())


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A minute of a link whose rate wanders between 0.3 and 3 Mbit/s."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    level, stamps = 1.5, []
    for second in range(60):
        level = float(np.clip(level * rng.lognormal(0, 0.5), 0.3, 3))
        count = int(level * 1e6 / 12_032)
        stamps += [1000 * second + at * 1000 // count + 1 for at in range(count)]
    path = tmp_path / "drive.down"
    path.write_text("\n".join(map(str, [*stamps, 60_000])) + "\n")
    return path


@pytest.mark.parametrize("wish", [Wish.LATENCY, Wish.BALANCE])
def test_advice_agrees_with_a_study_of_the_whole_trace(trace: Path, wish: Wish) -> None:
    link = f"trace:{trace},delay=20 ms"
    advice = advise(link, wish, algorithms=NAMES, budget_s=UNLIMITED_S)
    study = Study(
        link=link, algorithm=NAMES, duration="180 s", begin_within="60 s", repetitions=10, id="long"
    )
    long = judge_wish(compared(study.run("long"))[0], wish)
    assert advice.judged.recommended[0] in long.recommended
    assert advice.repetitions in LOOKS
    assert "5 of 100" in advice.sure
    assert advice.judged.change


def test_repetitions_begin_elsewhere_in_a_trace_and_pairs_at_the_same_place(trace: Path) -> None:
    study = Study(
        link=f"trace:{trace},delay=20 ms",
        algorithm=NAMES,
        flow=[{}, {"start": "1 s", "stop": "3 s"}],
        duration="10 s",
        begin_within="60 s",
        repetitions=5,
    )
    begins: dict[int, set[int]] = {}
    for run in study.matrix.runs:
        first, second = run.scenario.flows
        begin = first.start_ns
        assert 0 <= begin < 60_000_000_000
        assert run.scenario.duration_ns == begin + 10_000_000_000
        assert second.start_ns == begin + 1_000_000_000
        assert second.stop_ns == begin + 3_000_000_000
        begins.setdefault(run.repetition, set()).add(begin)
    assert all(len(each) == 1 for each in begins.values())
    assert len(set.union(*begins.values())) == 5


def test_where_nothing_is_random_it_says_so_and_does_not_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    advice = advise(LINK, Wish.LATENCY, algorithms=NAMES)
    assert advice.looks == 0
    assert "nothing in this link is random" in advice.sure
    assert advice.judged.recommended == ("vegas",)


def test_too_short_a_budget_is_told_and_nothing_is_called_sure(trace: Path) -> None:
    advice = advise(f"trace:{trace},delay=20 ms", Wish.LATENCY, algorithms=NAMES, budget_s=1e-6)
    assert advice.looks == 0
    assert "too few to be sure" in advice.sure


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish.SHORT_TRANSFERS, "completion time"),
        (Wish.FAIRNESS, "Jain's index beside CUBIC"),
        (Wish.STABILITY, "variation of goodput"),
    ],
)
def test_every_goal_gets_the_runs_that_it_needs(trace: Path, wish: Wish, words: str) -> None:
    link = f"trace:{trace},delay=20 ms"
    advice = advise(link, wish, algorithms=NAMES, budget_s=UNLIMITED_S)
    assert words in advice.judged.sentence


def test_balance_keeps_asking_while_a_better_one_may_be_fast_enough(trace: Path) -> None:
    link = f"trace:{trace},delay=20 ms"
    names = ("cubic", "vegas", "westwood")
    advice = advise(link, Wish.BALANCE, algorithms=names, budget_s=UNLIMITED_S)
    throughput = advice.judged.comparison
    chosen = advice.judged.recommended[0]
    for name in throughput.contestants:
        difference = throughput.difference(name, chosen, "rtt_p50_ms")
        if name == chosen or difference is None or difference.relative.estimate >= 0:
            continue
        best = throughput.best("goodput_mbit_s")
        assert best is not None
        behind = throughput.difference(name, best, "goodput_mbit_s")
        assert behind is not None
        assert behind.is_settled or "Not decided" in advice.judged.sentence


@pytest.mark.parametrize(
    ("link", "seconds"),
    [
        ("rate=5 Mbit/s,delay=20 ms", 120),
        ("rate=200 Mbit/s,delay=20 ms", 36),
        ("rate=1 Gbit/s,delay=5 ms", 15),
        ("nr-good", 15),
        ("lte-typical", 60),
    ],
)
def test_runs_are_shorter_where_there_are_more_packets(link: str, seconds: int) -> None:
    _, resolved = read_link(link)
    assert window_s(resolved, "downlink") == seconds


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder; its status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = cli.run([*arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_command_answers_in_a_sentence_with_what_would_change_it(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    asked = ["advise", "--link", LINK, "--algorithm", "cubic,vegas", "--goal", "latency"]
    status, out, _ = run(*asked)
    assert status == 0
    assert "Use vegas: RTT, median" in out
    assert "How sure: " in out
    assert "What would change it: " in out
    status, out, _ = run(*asked, "--format", "json")
    answer = json.loads(out)
    assert answer["goal"] == "latency"
    assert answer["answers"][0]["use"] == ["vegas"]
    assert [row["algorithm"] for row in answer["rows"] if row["is_first"]] == ["vegas"]


def test_results_that_there_are_give_advice_or_say_what_they_lack(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    _, out, _ = run("compare", "--link", LINK, "--algorithm", "cubic,vegas", "--results", "mine",
                    "--duration", "15 s")  # fmt: skip
    assert "limited by" in out
    assert "link queue" in out
    _, out, _ = run("advise", "--results", "mine", "--goal", "latency")
    assert "Use vegas" in out
    _, out, _ = run("advise", "--results", "mine", "--goal", "short-transfers")
    assert "Not measured: no flow has an end" in out
    status, _, err = run("advise", "--results", "mine", "--goal", "short-transfers", "--apply")
    assert status == 2
    assert "there is no winner" in err


def test_settings_that_lack_the_same_are_said_once(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    sizes = [
        {"name": name, "application": {"kind": "sized", "bytes": bytes_}}
        for name, bytes_ in (("small", "20 kB"), ("large", "200 kB"))
    ]
    kinds = [*sizes, {"name": "one", "application": "bulk"}, {"name": "two", "flows": 2}]
    factors = {"algorithm": ["reno", "cubic"], "kind": kinds}
    Study(link=LINK, duration="5 s", factors=factors).run(tmp_path / "mine")
    _, out, _ = run("advise", "--results", str(tmp_path / "mine"), "--goal", "short-transfers")
    assert out.count("Not measured") == 0
    assert "2 other settings: not measured: no flow has an end" in out
    assert out.count("completion time") == 2


@pytest.mark.parametrize("networks", [[], ["--link", LINK, "--trace", "x"]])
def test_one_network_is_asked_about(
    run: Callable[..., tuple[int, str, str]], networks: list[str]
) -> None:
    status, _, err = run("advise", *networks)
    assert status == 2
    assert "one of --link, --trace and --results" in err


def test_apply_asks_first_and_changes_nothing_without_a_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(capabilities, "this_kernel", lambda: KERNEL)
    monkeypatch.setattr(loading, "require_loading", lambda _name: None)
    monkeypatch.setattr(click, "confirm", refuse)
    monkeypatch.setattr(loading, "load", lambda *_, **__: pytest.fail("was loaded"))
    command._apply(["vegas"])  # noqa: SLF001  what --apply does
    assert "nothing was changed" in capsys.readouterr().out


def test_apply_says_how_to_choose_the_winner_and_how_to_undo_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Loaded:
        name = "cl_01234567"

    class NoHelper:
        def __enter__(self) -> None:
            return None

        def __exit__(self, *_: object) -> None:
            return None

    asked: list[str] = []

    def agree(question: str, **_: object) -> bool:
        asked.append(question)
        return True

    monkeypatch.setattr(capabilities, "this_kernel", lambda: KERNEL)
    monkeypatch.setattr(loading, "require_loading", lambda _name: None)
    monkeypatch.setattr(click, "confirm", agree)
    monkeypatch.setattr("cwndlab.kernel.helper.Helper", NoHelper)
    monkeypatch.setattr(loading, "load", lambda *_, **__: Loaded())
    command._apply(["vegas"])  # noqa: SLF001  what --apply does
    out = capsys.readouterr().out
    assert asked == ["Load vegas into this kernel? The machine's default stays as it is."]
    assert "congctl cl_01234567" in out
    assert "to undo it:    cwndlab algorithm unload vegas" in out


def test_apply_loads_nothing_that_the_kernel_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capabilities, "this_kernel", lambda: KERNEL)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: pytest.fail("asked for nothing"))
    command._apply(["cubic"])  # noqa: SLF001  what --apply does
    assert "is in this kernel already" in capsys.readouterr().out
