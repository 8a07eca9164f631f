"""`reorder`, the jitter of a bad Wi-Fi channel, and ACK filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.errors import CoreMissingError, StudyError
from cwndlab.schema.live import LivePath
from cwndlab.study.describe import describe_link

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.schema.path import PathPart

MS = 1_000_000
PLAIN = "rate=10 Mbit/s,delay=20 ms"


@pytest.fixture(autouse=True)
def core_is_there() -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))


def stage(link: str | dict[str, Any]) -> PathPart:
    study = cw.Study(link=link, algorithm="cubic", duration="5 s")
    path = study.cells[0].resolved.scenario.path
    assert not isinstance(path, LivePath)
    wire: PathPart = path.forward[0]
    return wire


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reorder=1 %, 5 ms", {"kind": "late", "ppb": 10_000_000, "delay_ns": 5 * MS, "gap": 1}),
        (
            "reorder.kind=late,reorder.share=5 %,reorder.delay=1 ms,reorder.gap=9",
            {"kind": "late", "ppb": 50_000_000, "delay_ns": MS, "gap": 9},
        ),
        (
            "reorder.kind=early,reorder.share=25 %,reorder.gap=5",
            {"kind": "early", "ppb": 250_000_000, "gap": 5},
        ),
        ("jitter=4 ms,reorder=jitter", {"kind": "jitter"}),
    ],
)
def test_which_packets_are_out_of_order_is_said_in_a_word_or_a_table(
    text: str, expected: dict[str, Any]
) -> None:
    assert stage(f"{PLAIN},{text}").reorder == expected
    assert stage(PLAIN).reorder is None


def test_the_jitter_of_a_bad_wifi_channel_is_a_word_or_a_table() -> None:
    assert stage(f"{PLAIN},jitter=wifi 7 ms").jitter == {"kind": "wifi", "mean_ns": 7 * MS}
    bunched = stage(f"{PLAIN},jitter=bunched 5 ms").jitter
    assert bunched == {"kind": "bunched", "period_ns": 5 * MS}
    table = {"rate": "1 Mbit/s", "delay": "1 ms", "jitter": {"kind": "wifi", "mean": "7 ms"}}
    assert stage(table).jitter == {"kind": "wifi", "mean_ns": 7 * MS}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reorder=1 %", '"1 %, 5 ms", or "jitter"'),
        ("reorder=jitter", "needs jitter that changes the order"),
        ("reorder=1 %, 5 ms,transition=keep", "both determine the order of packets"),
        ("reorder.kind=lat,reorder.share=1 %", "did you mean late?"),
        ("jitter=wifi 7", "jitter"),
        ("ack_filter=fierce", 'must be "conservative" or "aggressive"'),
        ("ack_filter=aggressive,aqm=pie", 'the aqm of this link is "pie"'),
        ("ack_thinning=1", "ack_thinning: must be at least 2"),
    ],
)
def test_what_cannot_be_is_refused_at_its_key(text: str, said: str) -> None:
    with pytest.raises(StudyError) as raised:
        stage(f"{PLAIN},{text}")
    assert said in str(raised.value)


def test_all_are_described() -> None:
    acks = "ack_filter=aggressive,ack_thinning=4"
    described = "\n".join(describe_link(f"{PLAIN},jitter=wifi 7 ms,reorder=1 %, 5 ms,{acks}"))
    assert "aggressive ACK filter, one ACK in 4" in described
    assert "jitter wifi 7 ms" in described
    assert "1 % of packets have an additional delay of 5 ms" in described


@pytest.mark.parametrize("stack", ["linux-6.1", "ns-2-linux"])
@pytest.mark.parametrize("kind", ["conservative", "aggressive"])
def test_a_filter_thins_acks_and_costs_no_goodput(stack: str, kind: str, tmp_path: Path) -> None:
    """The uplink is too slow for all ACKs of the downlink, which loses packets."""

    def run(ack_filter: str | None) -> tuple[dict[str, Any], float]:
        up = {"rate": "100 kbit/s", "queue": "100 packets", "ack_filter": ack_filter}
        study = cw.Study(
            link={"rate": "20 Mbit/s", "delay": "20 ms", "loss": "0.02 %"},
            reverse_link=up,
            algorithm="reno",
            stack=stack,
            duration="20 s",
            warm_up="2 s",
            seed=5,
        )
        results = study.run(tmp_path / f"{ack_filter}")
        flow = results.flows().to_dicts()[0]
        acks = results.links().filter(pl.col("link") == "reverse.0")["delivered_pkts"][0]
        return flow, acks / flow["sent_pkts"]

    plain, acks_per_segment = run(None)
    filtered, filtered_acks_per_segment = run(kind)
    assert filtered["goodput_mbit_s"] > 0.98 * plain["goodput_mbit_s"]
    assert filtered_acks_per_segment < 0.9 * acks_per_segment
    # SACK repairs the losses, without a timeout for each of them.
    assert filtered["retransmitted_pkts"] > 0
    assert filtered["timeouts"] <= plain["timeouts"] + 1
