"""Encounters, harm and starvation: computed by hand, and known effects of algorithms on a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import cwndlab as cw
from cwndlab.judge.coexistence import (
    Coexistence,
    Metric,
    harm_where_less_is_better,
    harm_where_more_is_better,
    judge_coexistence,
)
from cwndlab.judge.encounters import (
    PLAIN,
    Encounter,
    Mix,
    Network,
    Order,
    alone,
    document_of,
    encounters_of,
    meeting,
    network_of,
    report_mixes,
)
from cwndlab.schema.path import PathPart

if TYPE_CHECKING:
    from pathlib import Path

WIRE = "rate=10 Mbit/s,delay=20 ms,queue=1 BDP"


def _row(
    encounter: Encounter, flow: int, repetition: int, goodput: float, **values: float
) -> dict[str, object]:
    return {
        "encounter": encounter.name,
        "flow": flow,
        "repetition": repetition,
        "goodput_mbit_s": goodput,
        "rtt_p95_ms": values.get("delay_ms", 50.0) + 40.0,
        "rtt_base_ms": 40.0,
        "retransmitted_pct": values.get("loss_pct", 0.0),
        "completion_ms": values.get("completion_ms"),
        "start_s": 0.0,
        "end_s": 15.0,
    }


def _measured(
    ours: float, theirs: float, *, own_delay_ms: float = 50.0, **beside: float
) -> Coexistence:
    """CUBIC gets 10 alone and 5 against CUBIC; it competes with `x` in three repetitions.

    `own_delay_ms` is the queueing delay of CUBIC against CUBIC; alone, it is 50 ms.
    """
    special = {
        Encounter("x", "cubic").name: beside,
        Encounter("cubic", "cubic").name: {"delay_ms": own_delay_ms},
    }
    rows = []
    for repetition in range(3):
        scale = 1 + repetition / 10  # differs between repetitions, but not within pairs
        values = {
            alone("cubic", PLAIN): [10.0],
            alone("x", PLAIN): [8.0],
            Encounter("cubic", "cubic"): [5.0, 5.0],
            Encounter("x", "x"): [4.0, 4.0],
            Encounter("x", "cubic"): [ours, theirs],
        }
        rows += [
            _row(
                encounter,
                flow,
                repetition,
                scale * goodput,
                **special.get(encounter.name, {}),
            )
            for encounter, goodputs in values.items()
            for flow, goodput in enumerate(goodputs)
        ]
    found = judge_coexistence(pl.DataFrame(rows, infer_schema_length=None), ["x"])
    return found[0]


def _estimate(coexistence: Coexistence, kind: str, metric: Metric) -> float:
    interval = getattr(getattr(coexistence, kind), metric.value)
    assert interval is not None
    return float(interval.estimate)


def test_harm_is_the_share_that_is_lost() -> None:
    alone_, beside = np.array([10.0, 10.0, 0.0, 4.0]), np.array([4.0, 12.5, 0.0, 0.0])
    assert harm_where_more_is_better(alone_, beside) == pytest.approx([0.6, -0.2, 0, 1])
    assert harm_where_less_is_better(alone_, beside) == pytest.approx([-0.6, 0.2, 0, -1])


def test_harm_beyond_that_of_the_own_kind_is_excess() -> None:
    greedy = _measured(ours=8.0, theirs=2.0, delay_ms=100.0)
    assert _estimate(greedy, "done", Metric.THROUGHPUT) == pytest.approx(0.8)
    assert _estimate(greedy, "accepted", Metric.THROUGHPUT) == pytest.approx(0.5)
    assert _estimate(greedy, "excess", Metric.THROUGHPUT) == pytest.approx(0.3)
    assert _estimate(greedy, "done", Metric.DELAY) == pytest.approx(0.5)
    assert _estimate(greedy, "suffered", Metric.THROUGHPUT) == pytest.approx(0.0)
    assert greedy.harmed == (Metric.THROUGHPUT, Metric.DELAY)
    assert greedy.share_pct is not None
    assert greedy.share_pct.estimate == pytest.approx(80)
    assert greedy.starved is None
    assert greedy.done.completion is None


def test_a_benefit_smaller_than_that_of_the_own_kind_is_not_a_harm() -> None:
    beside = _measured(5.0, 5.0, own_delay_ms=40.0, delay_ms=49.0)
    assert beside.accepted.delay is not None
    assert beside.accepted.delay.estimate < beside.done.delay.estimate < 0  # type: ignore[union-attr]
    assert Metric.DELAY not in beside.harmed
    assert Metric.DELAY in _measured(5.0, 5.0, own_delay_ms=40.0, delay_ms=51.0).harmed


def test_a_meek_flow_harms_nobody_and_may_starve() -> None:
    meek = _measured(ours=1.0, theirs=9.0)
    assert meek.harmed == ()
    assert meek.starved == "x"
    assert _estimate(meek, "excess", Metric.THROUGHPUT) == pytest.approx(-0.4)
    assert _measured(ours=9.0, theirs=1.0).starved == "cubic"
    assert _measured(ours=1.3, theirs=8.7).starved is None, "above a quarter of its fair share"


def test_encounters_are_what_each_comparison_needs_and_no_more() -> None:
    found = encounters_of(["cubic", "bbr", "reno"])
    names = [each.name for each in found]
    assert len(set(names)) == len(names)
    both = {(e.candidate, e.neighbour) for e in found if not e.is_transfer}
    assert both == {
        *((None, name) for name in ("cubic", "bbr", "reno")),
        *((name, "cubic") for name in ("cubic", "bbr", "reno")),
        *((name, name) for name in ("bbr", "reno")),
    }
    assert sum(e.is_transfer for e in found) == 4


def test_encounters_of_a_repetition_share_their_seed() -> None:
    study = cw.Study(**document_of({"link": WIRE}, encounters_of(["bbr"]), repetitions=3))
    seeds = {run.repetition: run.seed for run in study.matrix.runs}
    assert len(set(seeds.values())) == 3
    assert all(run.seed == seeds[run.repetition] for run in study.matrix.runs)


@pytest.mark.parametrize(("link", "mixes"), [(WIRE, 10), ("lte-typical", 11), ("wifi-typical", 11)])
def test_every_mix_of_a_report_is_a_run_of_its_own(link: str, mixes: int) -> None:
    study = cw.Study(**document_of({"link": link}, encounters_of(["bbr"]), repetitions=1))
    path = study.cells[0].resolved.scenario.path
    network = Network(path, "forward", base_rtt_ms=40.0, bdp_bytes=50_000.0)
    report = report_mixes(is_shared=network.is_shared, has_queue_key=network.has_queue_key)
    assert len(report) == mixes
    document = document_of({"link": link}, encounters_of(["bbr"], report), network=network)
    cells = {cell.labels["encounter"]: cell for cell in cw.Study(**document).cells}
    assert len({meeting("cubic", "cubic", Mix(n, 17 - n)).name for n in (1, 16)}) == 1
    many = cells[Encounter("bbr", "cubic", Mix(neighbours=16)).name].resolved.scenario
    assert [flow.sender.algorithm for flow in many.flows] == ["bbr", *["cubic"] * 16]
    far = cells[Encounter("bbr", "cubic", Mix(rtt_ratio=4.0)).name].resolved.scenario
    assert [flow.access_delay_ns for flow in far.flows] == [0, 60_000_000]
    first = cells[Encounter("bbr", "cubic", Mix(order=Order.NEIGHBOUR_FIRST)).name]
    starts = [flow.start_ns for flow in first.resolved.scenario.flows]
    assert starts[0] > starts[1]
    if network.is_shared:
        apart = cells[Encounter("bbr", "cubic", Mix(is_across_users=True)).name]
        assert [flow.user for flow in apart.resolved.scenario.flows] == [1, 2]


def test_queues_are_multiples_of_the_bandwidth_delay_product() -> None:
    study = cw.Study(**document_of({"link": WIRE}, encounters_of(["bbr"]), repetitions=1))
    path = study.cells[0].resolved.scenario.path
    network = Network(path, "forward", base_rtt_ms=40.0, bdp_bytes=60_000.0)
    mix = Mix(queue_bdp=0.5)
    document = document_of({"link": WIRE}, [Encounter("bbr", "cubic", mix)], network=network)
    (cell,) = cw.Study(**document).cells
    changed = cell.resolved.scenario.path
    assert isinstance(changed, PathPart)
    assert changed.forward[0].queue == {"kind": "drop_tail", "bytes": 30_000}


def test_what_is_known_of_a_phones_queue_comes_out(tmp_path: Path) -> None:
    names = ["reno", "bbr", "vegas"]
    document = document_of({"link": "lte-typical"}, encounters_of(names))
    results = cw.Study(**document).run(tmp_path / "results")
    flows = results.flows()
    found = {(c.candidate, c.neighbour): c for c in judge_coexistence(flows, names)}
    # CUBIC keeps the deep queue full, and Vegas reacts to the delay, so Vegas starves.
    assert found["vegas", "cubic"].starved == "vegas"
    assert _estimate(found["vegas", "cubic"], "suffered", Metric.THROUGHPUT) > 0.5
    # BBR (version 1) gets less than half against one CUBIC flow if queues are deep.
    bbr = found["bbr", "cubic"]
    assert bbr.share_pct is not None
    assert 5 < bbr.share_pct.estimate < 45
    assert Metric.THROUGHPUT not in bbr.harmed
    # Two flows of the same algorithm that start at random times harm each other equally.
    reno = found["reno", "reno"]
    done, suffered = (_estimate(reno, kind, Metric.THROUGHPUT) for kind in ("done", "suffered"))
    assert done == pytest.approx(suffered, abs=0.2)
    assert done == pytest.approx(0.5, abs=0.15)
    # A short transfer waits behind a full queue, and less behind a short queue.
    assert _estimate(bbr, "done", Metric.COMPLETION) > 0.3
    assert _estimate(found["vegas", "cubic"], "excess", Metric.COMPLETION) < -0.2
    network = network_of(cw.Study(**document).cells[0].resolved.scenario.path, "forward", flows)
    assert 15 < network.base_rtt_ms < 60
    assert network.bdp_bytes > 10_000
