"""Uses: their applications, the quality that users notice, and its weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.errors import StudyError
from cwndlab.judge.goals import CALL, RPC, VIDEO, WEB, Goal, goal_named
from cwndlab.judge.uses import STANDSTILL_PRICE, USES, Use, call_rating, gains_of_uses

if TYPE_CHECKING:
    from pathlib import Path

MEASURES = (
    "goodput_mbit_s",
    "responses",
    "response_p95_ms",
    "response_p99_ms",
    "response_geometric_mean_ms",
    "video_bitrate_mbit_s",
    "video_rebuffering_pct",
    "datagram_loss_pct",
    "datagram_delay_p95_ms",
)
LINK = "rate=20 Mbit/s,delay=20 ms,queue=50 packets"


def _gain(goal: Goal, **columns: object) -> float:
    """Return the gain of one flow with these measurements."""
    base: dict[str, Any] = {"run": "a", "flow": 0, "start_s": 0.0, "end_s": 60.0}
    unmeasured = dict.fromkeys(MEASURES)
    flows = pl.DataFrame([base | unmeasured | {"application": "bulk"} | columns])
    return float(gains_of_uses(flows)[goal.gain][0])


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_every_use_can_be_run_and_is_decided(use: Use, tmp_path: Path) -> None:
    document: dict[str, Any] = {"link": LINK, "reverse_link": LINK}
    document |= {"algorithm": ["cubic", "reno"], "repetitions": 2}
    document |= use.document({"start_jitter": "100 ms"}) | {"duration": "20 s"}
    results = cw.Study(**document).run(tmp_path / "results")
    flows = results.flows()
    own = flows.filter(pl.col("application") != "datagrams")
    assert own["algorithm"].unique().sort().to_list() == ["cubic", "reno"]
    goal = use.goal or goal_named("balance")
    (answer,) = results.answers(goal.name).settings
    assert len(answer.decision.entrants) == 2
    for column in use.columns:
        assert answer.comparison.has(column), column
    for entrant in answer.decision.entrants:
        assert math.isfinite(entrant.score.estimate)
    if use.goal is not None:
        others = {WEB, VIDEO, RPC, CALL} - {use.goal}
        expected = {RPC} if use.goal is WEB else {WEB} if use.goal is RPC else set()
        found = {each for each in others if results.answers(each.name).settings[0].decision.best}
        assert found == expected, "pages and answers are both responses"


def test_a_call_is_nobodys_algorithm_and_waits_in_the_transfers_queue(tmp_path: Path) -> None:
    document: dict[str, Any] = {"link": LINK, "algorithm": ["cubic", "vegas"]}
    document |= USES["call"].document()
    flows = cw.Study(**document).run(tmp_path / "results").flows()
    calls = flows.filter(pl.col("application") == "datagrams")
    assert calls["algorithm"].unique().to_list() == ["none"]
    delay_ms = dict(zip(calls["factor_algorithm"], calls["datagram_delay_p95_ms"], strict=True))
    # 50 packets take 30 ms at 20 Mbit/s; Vegas keeps only a few packets in the queue.
    assert 40 < delay_ms["cubic"] <= 52
    assert delay_ms["vegas"] < 30


def test_what_nothing_arrived_of_counts_as_the_worst() -> None:
    assert _gain(WEB, application="web", responses=0) == pytest.approx(-math.log(60_000))
    assert _gain(RPC, responses=0) == pytest.approx(-math.log(60_000))
    assert _gain(VIDEO, application="video") == pytest.approx(math.log(0.01) - STANDSTILL_PRICE)


def test_pages_are_weighed_by_the_slow_and_by_the_usual_ones() -> None:
    gain = _gain(WEB, responses=9, response_p95_ms=4_000.0, response_geometric_mean_ms=1_000.0)
    assert gain == pytest.approx(-math.log(2_000))


def test_standing_still_costs_a_video_what_it_gains_in_rate() -> None:
    video = {"application": "video", "video_bitrate_mbit_s": 3.0}
    smooth = _gain(VIDEO, **video, video_rebuffering_pct=0.0)
    jerky = _gain(VIDEO, **video, video_rebuffering_pct=10.0)
    assert smooth == pytest.approx(math.log(3))
    assert smooth - jerky == pytest.approx(STANDSTILL_PRICE / 9)


def test_a_call_is_weighed_with_the_transfer_beside_it() -> None:
    rows = [
        {"flow": 0, "application": "bulk", "goodput_mbit_s": 10.0},
        {"flow": 1, "application": "datagrams", "datagram_delay_p95_ms": 0.0},
    ]
    base = dict.fromkeys(MEASURES) | {"run": "a", "start_s": 0.0, "end_s": 9.0}
    flows = pl.DataFrame([base | row | {"datagram_loss_pct": 0.0} for row in rows])
    gains = gains_of_uses(flows)[CALL.gain].to_list()
    assert gains == [pytest.approx(math.log(94.2 - 0.48) + 0.1 * math.log(10)), None]


@pytest.mark.parametrize(
    ("delay_ms", "loss_pct", "rating"),
    [
        (0.0, 0.0, 94.2 - 0.024 * 20),
        (157.3, 0.0, 94.2 - 0.024 * 177.3),
        (257.3, 0.0, 94.2 - 0.024 * 277.3 - 11),
        (0.0, 100 / 15, 94.2 - 0.48 - 30 * math.log(2)),
        (None, 100.0, 1.0),
        (5_000.0, 50.0, 1.0),
    ],
)
def test_a_call_is_rated_by_the_e_model(
    delay_ms: float | None, loss_pct: float, rating: float
) -> None:
    frame = pl.DataFrame(
        {"datagram_delay_p95_ms": [delay_ms], "datagram_loss_pct": [loss_pct]},
        schema={"datagram_delay_p95_ms": pl.Float64, "datagram_loss_pct": pl.Float64},
    )
    assert frame.select(call_rating()).item() == pytest.approx(rating)


@pytest.mark.parametrize(
    ("application", "message"),
    [
        (
            {"kind": "video", "ladder": ["2 Mbit/s", "1 Mbit/s"]},
            "the rates must be in ascending order",
        ),
        ({"kind": "video", "buffer": "19 s"}, "ten chunks"),
        ({"kind": "datagrams", "bytes": "1473 bytes"}, "1,472 bytes at most"),
        ({"kind": "web", "objects": -1}, "greater than or equal to 0"),
    ],
)
def test_what_an_application_cannot_be_is_said(
    application: dict[str, object], message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        cw.Study(link=LINK, algorithm="cubic", application=application)
