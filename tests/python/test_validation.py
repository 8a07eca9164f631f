from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from cwndlab.validation.judge import COMPARED, Judgement, Pair, Verdict, judge
from cwndlab.validation.page import write_page

if TYPE_CHECKING:
    from pathlib import Path


def pair(simulated: list[float], measured: list[float]) -> Pair:
    return Pair(tuple(simulated), tuple(measured))


def verdict(goodput: Pair, rtt: Pair) -> Verdict:
    pairs = {name: pair([1], [1]) for name in COMPARED}
    return Judgement({}, {**pairs, "goodput_mbit_s": goodput, "rtt_p50_ms": rtt}, 0.1).verdict


SAME = pair([10], [10])


def test_medians_within_the_bounds_agree() -> None:
    assert verdict(pair([9.71, 1, 12], [10]), SAME) is Verdict.AGREES
    assert verdict(SAME, pair([10.49], [10])) is Verdict.AGREES


def test_beyond_the_bounds_ranges_decide() -> None:
    assert verdict(pair([9.69], [10]), SAME) is Verdict.DIFFERS
    assert verdict(pair([9, 9, 10.1], [10, 10, 11]), SAME) is Verdict.OVERLAPS
    assert verdict(SAME, pair([10.51], [10])) is Verdict.DIFFERS
    # One quantity that differs is not outweighed by another that overlaps.
    assert verdict(pair([9, 9, 10.1], [10, 10, 11]), pair([8], [10])) is Verdict.DIFFERS


def test_what_has_no_value_does_not_agree() -> None:
    assert verdict(pair([], [10]), SAME) is Verdict.DIFFERS
    assert math.isnan(pair([1], [0]).difference)


class FakeResults:
    """Results of one algorithm or two in memory."""

    factors = ("algorithm",)
    title = "a study"

    def __init__(self, goodputs: dict[str, list[float]], cwnd: int) -> None:
        rows: list[dict[str, Any]] = []
        self._samples: list[dict[str, Any]] = []
        for algorithm, values in goodputs.items():
            for repetition, value in enumerate(values):
                run = {"run": f"{algorithm}-{repetition}", "repetition": repetition}
                for flow in (0, 1):
                    known = dict.fromkeys(COMPARED, 1.0)
                    row = {**run, "algorithm": algorithm, "flow": flow, **known}
                    rows.append({**row, "goodput_mbit_s": value / 2, "timeouts": None})
                    samples = [
                        {**row, "t_s": n / 10, "cwnd_pkts": cwnd + 10 * flow} for n in range(1, 4)
                    ]
                    self._samples += samples
        self._flows = pl.DataFrame(rows, schema_overrides={"timeouts": pl.Int64})
        self.manifest = [{"kernel": "6.1.0"}]

    def flows(self) -> pl.DataFrame:
        return self._flows

    def samples(self, **where: object) -> pl.DataFrame:
        frame = pl.DataFrame(self._samples)
        kept = [pl.col(name) == pl.lit(value) for name, value in where.items()]
        return frame.filter(*kept) if kept else frame


def test_runs_are_judged_by_all_of_their_flows_together(tmp_path: Path) -> None:
    simulated: Any = FakeResults({"reno": [9.0, 10.0, 11.0], "cubic": [5.0, 5.0, 5.0]}, 12)
    measured: Any = FakeResults({"reno": [10.0, 10.1, 9.0], "cubic": [9.0, 9.1, 9.2]}, 10)
    reno, cubic = judge(simulated, measured)
    assert (reno.cell, cubic.cell) == ({"algorithm": "reno"}, {"algorithm": "cubic"})
    assert reno.pairs["goodput_mbit_s"].medians == (10.0, 10.0)
    assert (reno.verdict, cubic.verdict) == (Verdict.AGREES, Verdict.DIFFERS)
    # Windows of 12 and 22 beside 10 and 20.
    assert reno.cwnd_distance == pytest.approx(2 / 15)
    assert math.isnan(reno.pairs["timeouts"].medians[0])
    page = write_page([reno, cubic], simulated, measured, tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "1 of 2 agree" in text
    assert 'class="differs"' in text
    assert "http" not in text.replace("http://www.w3.org", "")
