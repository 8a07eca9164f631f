"""Limits of a flow: one case with a known cause for each limit, and columns of the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.imports.series import Series
from cwndlab.judge.limits import Limit, shares_of
from cwndlab.report import write_report

if TYPE_CHECKING:
    from pathlib import Path

SHORT = "rate=10 Mbit/s,delay=20 ms,queue=50 packets"
LONG = "rate=100 Mbit/s,delay=50 ms"
CASES: dict[Limit, dict[str, object]] = {
    Limit.CWND_AFTER_LOSS: {"link": f"{SHORT},loss=2 %"},
    Limit.CWND_BY_DELAY: {"link": SHORT, "algorithm": "vegas"},
    Limit.SLOW_START: {"link": "rate=1 Gbit/s,delay=100 ms", "duration": "1.5 s"},
    Limit.PACING: {"link": SHORT, "algorithm": "bbr"},
    Limit.RECEIVE_WINDOW: {
        "link": LONG,
        "stack_overrides": {"receive_buffer_max_bytes": 131_072},
    },
    Limit.SEND_BUFFER: {"link": LONG, "stack_overrides": {"send_buffer_max_bytes": 65_536}},
    Limit.APPLICATION: {
        "link": SHORT,
        "application": {"kind": "paced", "rate": "2 Mbit/s", "write": "1460 bytes"},
    },
    Limit.LINK_QUEUE: {"link": SHORT, "algorithm": "cubic"},
    Limit.HOST_QUEUE: {
        "link": "lte-good",
        "direction": "uplink",
        "stack": "linux-3.5",
        "user_host": "linux-ppp",
    },
}


def run(folder: Path, **keys: object) -> cw.Results:
    study = {"algorithm": "reno", "duration": "30 s", **keys}
    return cw.Study(**study).run(folder / "results")  # type: ignore[arg-type]  # as a user calls it


@pytest.mark.parametrize("limit", Limit)
def test_case_is_limited_by_what_it_was_built_with(limit: Limit, tmp_path: Path) -> None:
    (row,) = run(tmp_path, **CASES[limit]).limits().iter_rows(named=True)
    assert row["limited_by"] == limit.value
    assert row[limit.value] > 0.8
    assert sum(row[each.value] for each in Limit) == pytest.approx(1)


@pytest.mark.parametrize("stack", ["linux-3.5", "linux-6.1"])
def test_a_device_slower_than_the_link_is_the_hosts_queue(stack: str, tmp_path: Path) -> None:
    device = {"queue_packets": 1000, "rate": "2 Mbit/s"}
    results = run(
        tmp_path, link=SHORT, server_host=device, stack=stack, record={"samples": "50 ms"}
    )
    (row,) = results.limits().iter_rows(named=True)
    assert row["limited_by"] == "host queue"
    assert row["host queue"] > 0.8
    flow = results.flows().row(0, named=True)
    assert flow["host_refusals"] < 3  # a window of a thousand packets fills the host's queue
    assert results.samples().filter(pl.col("host_queue_pkts") > 1).height > 100


def test_refusals_are_counted_and_without_a_host_unknown(tmp_path: Path) -> None:
    link = "rate=10 Mbit/s,delay=20 ms,queue=2000 packets"
    hosts = {"stack": "linux-3.5", "factors": {"server_host": ["linux-ppp", "none"]}}
    results = run(tmp_path, link=link, algorithm="cubic", duration="10 s", **hosts)
    behind, free = results.flows().sort("host_refusals", nulls_last=True).iter_rows(named=True)
    assert behind["host_refusals"] > 0
    assert behind["retransmitted_pkts"] == 0
    assert free["host_refusals"] is None
    queues = results.samples(run=free["run"])["host_queue_pkts"]
    assert queues.null_count() == len(queues)
    # One refusal in slow start does not limit a flow that later fills the link's queue.
    rows = {row["run"]: row for row in results.limits().iter_rows(named=True)}
    assert rows[behind["run"]]["limited_by"] == "link queue"


def test_idle_time_is_the_applications(tmp_path: Path) -> None:
    bursts = {"kind": "on_off", "on": "100 ms", "off": "900 ms"}
    (row,) = run(tmp_path, link=SHORT, application=bursts).limits().iter_rows(named=True)
    assert row["limited_by"] == "application"
    assert 0.6 < row["application"] < 0.9  # the burst's queue drains during the silence
    assert row["link queue"] > 0.1


def test_every_flow_of_every_run_has_a_row(tmp_path: Path) -> None:
    results = run(tmp_path, link=SHORT, algorithm=["reno", "vegas"], flows=2, duration="5 s")
    assert results.limits().select("run", "flow").n_unique() == 4


# Linux 6.1 in the reference: scenario S2 (10 Mbit/s, 100 ms, 500 packets, 40 s), columns
# rwnd_limited_pct and sndbuf_limited_pct, shares of the busy time.
@pytest.mark.parametrize(("algorithm", "rwnd_pct"), [("hybla", 3.22), ("cubic", 0), ("reno", 0)])
def test_clocks_agree_with_the_reference(algorithm: str, rwnd_pct: float, tmp_path: Path) -> None:
    buffers = {"receive_buffer_max_bytes": 16_777_216, "send_buffer_max_bytes": 16_777_216}
    results = run(
        tmp_path,
        link="rate=10 Mbit/s,delay=0 ms,queue=500 packets,framing=14 bytes",
        reverse_link={"delay": "100 ms"},
        algorithm=algorithm,
        duration="40 s",
        stack_overrides=buffers,
    )
    flow = results.flows().row(0, named=True)
    assert flow["busy_s"] == pytest.approx(40 - 0.1, abs=0.01)  # without the handshake
    assert 100 * flow["rwnd_limited_s"] / flow["busy_s"] == pytest.approx(rwnd_pct, abs=0.3)
    assert flow["sndbuf_limited_s"] == 0
    (row,) = results.limits().iter_rows(named=True)
    assert 100 * row["receive window"] == pytest.approx(rwnd_pct, abs=0.3)
    assert row["limited_by"] == "link queue"


def full_window(times: list[float], window: object, **more: object) -> pl.DataFrame:
    """Return samples of a window that is always full, by default over a queue of ten packets."""
    columns = {"queue_pkts": 10, "rtt_ms": 50.0, "throughput_mbit_s": 10.0, **more}
    return pl.DataFrame({"t_s": times, "cwnd_pkts": window}).with_columns(
        inflight_pkts=pl.col("cwnd_pkts"),
        pacing_rate_mbit_s=pl.lit(None, pl.Float64),
        **{name: pl.lit(value) for name, value in columns.items()},
    )


def bulk_flow(end_s: float, rtt_mean_ms: float) -> dict[str, object]:
    """Return a flow that always had data to send and room in its buffers."""
    clocks = {"start_s": 0.0, "end_s": end_s, "busy_s": end_s}
    none = {"rwnd_limited_s": 0.0, "sndbuf_limited_s": 0.0}
    rtt = {"rtt_mean_ms": rtt_mean_ms, "rtt_base_ms": 40.0}
    return {"application": "bulk", **clocks, **none, **rtt}


def test_plateau_of_cubic_is_not_taken_for_delay() -> None:
    # 60 s of a window with CUBIC's plateaus: C = 0.4, a loss every 12 s, full queues.
    times = [0.1 * n for n in range(1, 601)]
    samples = full_window(times, [round(100 + 0.4 * ((t % 12) - 5) ** 3) for t in times])
    events = pl.DataFrame({"t_s": [12.0 * n for n in range(1, 6)], "event": ["recovery"] * 5})
    flow = bulk_flow(60.0, 50.0)
    shares = shares_of(flow, samples, events)
    assert shares is not None
    assert shares[Limit.CWND_BY_DELAY] == 0
    assert shares[Limit.LINK_QUEUE] == pytest.approx(1)
    held = samples.with_columns(cwnd_pkts=100, inflight_pkts=100)
    same = shares_of(flow, held, events.clear())
    assert same is not None
    assert same[Limit.CWND_BY_DELAY] == pytest.approx(1)


def test_a_window_that_is_being_reduced_is_not_held() -> None:
    # Recovery from 900 packets lasts 3 s, followed by 17 s of growth from 450.
    times = [0.1 * n for n in range(1, 201)]
    window = [900 - 150 * t if t <= 3 else 450 + t for t in times]
    samples = full_window(times, window, queue_pkts=100, rtt_ms=1_000.0)
    samples = samples.with_columns(ca_state=pl.when(pl.col("t_s") <= 3).then(3).otherwise(0))
    events = pl.DataFrame({"t_s": [0.05], "event": ["recovery"]})
    flow = bulk_flow(20.0, 500.0)
    shares = shares_of(flow, samples, events)
    assert shares is not None
    assert shares[Limit.LINK_QUEUE] == pytest.approx(1)
    # Without recorded states, a shrinking window counts as held.
    untold = shares_of(flow, samples.with_columns(ca_state=pl.lit(None, pl.Int64)), events)
    assert untold is not None
    assert untold[Limit.CWND_BY_DELAY] > 0.1


def saw_tooth(**more: object) -> tuple[dict[str, object], pl.DataFrame, pl.DataFrame]:
    """Return 20 s of a window that oscillates each second from 5 to 10 packets, without losses."""
    times = [0.1 * n for n in range(1, 201)]
    window = 5 + (pl.Series(times) % 1 * 5).floor()
    unknown = {
        "queue_pkts": pl.lit(None, pl.Int64),
        "host_queue_pkts": pl.lit(None, pl.Float64),
    }
    samples = full_window(times, window, rtt_ms=41.0, throughput_mbit_s=2.0)
    events = pl.DataFrame({"t_s": [float(n) for n in range(1, 20)], "event": ["cwr"] * 19})
    flow = {**bulk_flow(20.0, 41.0), "host_refusals": None, **more}
    return flow, samples.with_columns(**unknown), events


@pytest.mark.parametrize(
    ("known", "limit"),
    [
        ({}, Limit.HOST_QUEUE),
        ({"ecn_marked_pkts": 0, "tail_loss_probes": 0}, Limit.HOST_QUEUE),
        ({"ecn_marked_pkts": 19}, Limit.CWND_AFTER_LOSS),
        ({"tail_loss_probes": 2}, Limit.CWND_AFTER_LOSS),
        ({"host_refusals": 0}, Limit.CWND_AFTER_LOSS),
    ],
)
def test_a_measured_reduction_that_no_network_explains_is_the_hosts(
    known: dict[str, object], limit: Limit
) -> None:
    shares = shares_of(*saw_tooth(**known))
    assert shares is not None
    assert shares[limit] > 0.9


@pytest.mark.parametrize(("srtt_ms", "limit"), [(60.0, "link queue"), (41.0, "slow start")])
def test_a_measured_queue_at_the_link_is_seen_in_the_smoothed_round_trip(
    srtt_ms: float, limit: str
) -> None:
    flow, samples, events = saw_tooth()
    growing = samples.with_columns(cwnd_pkts=pl.col("t_s") + 5, inflight_pkts=pl.col("t_s") + 5)
    measured = growing.with_columns(rtt_ms=pl.lit(None, pl.Float64), srtt_ms=pl.lit(srtt_ms))
    shares = shares_of(flow, measured, events.clear())
    assert shares is not None
    assert shares[Limit(limit)] > 0.7


def test_a_reduction_after_something_was_repeated_is_no_refusal() -> None:
    flow, samples, events = saw_tooth()
    repeated = events.with_columns(pl.col("t_s") - 0.05, event=pl.lit("recovery"))
    shares = shares_of(flow, samples, pl.concat([events, repeated]))
    assert shares is not None
    assert shares[Limit.CWND_AFTER_LOSS] > 0.9


def test_a_measured_reduction_is_an_event_once() -> None:
    states = [0, 2, 2, 0, 3, 2, 0]
    rows = [{"t_s": 0.01 * at, "ca_state": state} for at, state in enumerate(states, 100)]
    events = Series.of(rows).events(flow=3)
    assert [(each["event"], round(each["t_s"], 3)) for each in events] == [
        ("cwr", 0.01),
        ("cwr", 0.05),
    ]
    assert {each["flow"] for each in events} == {3}


def test_a_flow_without_its_senders_clocks_has_no_label() -> None:
    flow = dict.fromkeys(("application", "start_s", "end_s", "busy_s", "rwnd_limited_s"), None)
    nothing = pl.DataFrame(schema={"t_s": pl.Float64, "event": pl.String})
    samples = pl.DataFrame({"t_s": [1.0]})
    timed = {**flow, "start_s": 0.0, "end_s": 2.0, "sndbuf_limited_s": None}
    assert shares_of(timed, samples, nothing) is None


def test_report_says_what_limited_each_flow(tmp_path: Path) -> None:
    results = run(tmp_path, link=SHORT, algorithm=["cubic", "vegas"], duration="10 s")
    page = write_report(results, tmp_path / "report", formats=()).read_text("utf-8")
    assert "Limits of each flow" in page
    assert "cwnd by delay" in page


def test_a_sender_paced_at_two_packets_a_second_is_limited_by_pacing(tmp_path: Path) -> None:
    link = "rate=50 kbit/s,delay=300 ms,queue=1 packet"
    (row,) = run(tmp_path, link=link, algorithm="bbr").limits().iter_rows(named=True)
    assert row["limited_by"] == "pacing"
    assert row["send buffer"] < 0.1  # the endpoint's clock of the send buffer shows 0 s


def test_a_connection_that_was_never_established_has_no_limit(tmp_path: Path) -> None:
    assert run(tmp_path, link=f"{SHORT},loss=100 %").limits().is_empty()
