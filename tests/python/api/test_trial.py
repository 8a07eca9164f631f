"""A trial from the registration to the ledger."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab.api.trial import Design, judge_trial, register, run_between_hosts
from cwndlab.backends.live import RealNetwork
from cwndlab.cli import run as cwndlab
from cwndlab.errors import ResultsError
from cwndlab.judge.prediction import FILE
from cwndlab.measure.trial.guard import Guardrails
from live_server import server_here

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Results:
    study = cw.Study(
        link="rate=5 Mbit/s,delay=10 ms,queue=100 packets",
        algorithm=["reno", "cubic", "vegas"],
        duration="4 s",
        repetitions=6,
        start_jitter="100 ms",
    )
    return study.run(tmp_path_factory.mktemp("simulated") / "results")


def test_the_recommended_algorithm_is_the_challenger(simulated: Results) -> None:
    found = register(simulated, None, "cubic", Design(), "latency")
    assert found.challenger == "vegas"
    assert found.probability > 0.9
    assert found.low <= found.change <= found.high
    assert found.network_class == "wire"
    assert found.blocks == 6  # few blocks suffice, because the change is large


def test_what_cannot_be_tried_is_refused(simulated: Results) -> None:
    with pytest.raises(ResultsError, match="contains no result for bbr, only for"):
        register(simulated, "bbr", "cubic", Design())
    with pytest.raises(ResultsError, match="name another algorithm with --challenger"):
        register(simulated, "cubic", "cubic", Design())
    with pytest.raises(
        ResultsError, match="add --goal throughput, --goal balance or --goal latency"
    ):
        register(simulated, "reno", "cubic", Design(), "stability")
    with pytest.raises(ResultsError, match="set the number of blocks with --blocks"):
        register(simulated, "reno", "cubic", Design(spread=1000.0), "throughput")


def test_a_trial_between_two_hosts(
    simulated: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design = Design(blocks=2, period_s=0.6, washout_s=0.1)
    trial = tmp_path / "trial"
    trial.mkdir()
    register(simulated, "reno", "cubic", design).write(trial / FILE)
    with server_here() as address:
        run_between_hosts(trial, RealNetwork(address), limits=Guardrails(1e9, 0.0, 100.0))
    found = judge_trial(trial)
    assert (len(found.periods), found.left) == (6, 0)
    (back,) = found.returns
    assert (back.algorithm, back.checks) == (
        "cubic",
        "the first period with reno is always checked for harm",
    )
    assert cw.open_results(trial / "part").flows().height == 1
    assert all(each.outcome.utility is not None for each in found.periods)
    assert {each.algorithm for each in found.periods} == {"reno", "cubic"}
    assert found.entry.verdict == "not enough"  # two blocks are too few
    runs = cw.open_results(trial / "runs").flows()
    assert runs.filter(runs["algorithm"] == "reno").height == 2
    ledger = tmp_path / "ledger.jsonl"
    for _ in range(2):
        assert cwndlab(["trial", "verdict", str(trial), "--ledger", str(ledger)]) == 0
    said = capsys.readouterr().out
    assert "Not enough data: the trial was too short to distinguish the algorithms." in said
    assert (
        "The trial returned to cubic 1 time to check whether reno harms the traffic; "
        "1 of these checks found no harm." in " ".join(said.split())
    )
    assert (
        cwndlab(["trial", "verdict", str(trial), "--ledger", str(ledger), "--format", "json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["returns"][0]["algorithm"] == "cubic"
    assert len(ledger.read_text().splitlines()) == 1
    assert cwndlab(["ledger", "--ledger", str(ledger)]) == 0
    assert "wire" in capsys.readouterr().out


def test_commands_say_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cwndlab(["trial", "run", str(tmp_path), "--route", "default"]) == 2
    assert "register a prediction with cwndlab trial register" in capsys.readouterr().err
    assert cwndlab(["ledger", "--ledger", str(tmp_path / "none")]) == 0
    assert "no prediction has been tested" in capsys.readouterr().out
    assert cwndlab(["ledger", str(tmp_path / "none")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_length_of_a_short_trial_is_in_seconds(
    simulated: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ("--challenger", "reno", "--blocks", "6", "--period", "2 s", "--wash-out", "0.5 s")
    arguments = ["trial", "register", str(simulated.path), *plan, "--out", str(tmp_path / "trial")]
    assert cwndlab(arguments) == 0
    output = capsys.readouterr().out
    assert "6 blocks, each with two periods, take 26 s." in output
    assert "suitable only for rehearsals" in output
    said = " ".join(output.split())
    assert "the trial returns to cubic for 2 s. It then compares both algorithms" in said
    assert "shows that reno harms the traffic." in said
    assert json.loads((tmp_path / "trial" / FILE).read_text())["return_s"] == 2


@pytest.mark.parametrize(
    ("period_s", "washout_s", "return_s"), [(60, 5, 30), (10, 3, 5), (8, 3, 5), (2, 0.5, 2)]
)
def test_a_return_lasts_for_half_a_period_but_long_enough_to_see_harm(
    period_s: float, washout_s: float, return_s: float
) -> None:
    assert Design(period_s=period_s, washout_s=washout_s).return_s == return_s
