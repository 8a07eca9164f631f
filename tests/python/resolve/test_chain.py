"""Wires, cells and Wi-Fi channels in series, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.errors import CoreMissingError, StudyError
from cwndlab.schema.direction import Direction
from cwndlab.schema.path import PathPart
from cwndlab.schema.paths import base_rtt_ns, has_medium, wire_stages
from cwndlab.study.describe import describe_link

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
DSL = {"rate": "20 Mbit/s", "delay": "8 ms", "reverse": {"rate": "5 Mbit/s"}}


@pytest.fixture(autouse=True)
def core_is_there() -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))


def study(link: str | dict[str, Any], **keys: Any) -> cw.Study:  # noqa: ANN401  keys of a study
    return cw.Study(link=link, algorithm="cubic", duration="5 s", **keys)


def path(link: str | dict[str, Any], **keys: Any) -> PathPart:  # noqa: ANN401  as above
    found = study(link, **keys).cells[0].resolved.scenario.path
    assert isinstance(found, PathPart)
    return found


def kinds(link: str | dict[str, Any]) -> list[str]:
    found = path(link)
    assert found.kind == "chain"
    return [part.kind for part in found.links]


def complaint(link: str | dict[str, Any], **keys: Any) -> str:  # noqa: ANN401  as above
    with pytest.raises(StudyError) as raised:
        path(link, **keys)
    return str(raised.value)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ([DSL, {"preset": "wifi-good"}], ["wire", "wifi"]),
        ([{"preset": "wifi-good"}, DSL], ["wifi", "wire"]),
        ([DSL, {"preset": "lte-typical"}, {"delay": "1 ms"}], ["wire", "cell", "wire"]),
        ([{"preset": "lte-typical"}, {"preset": "wifi-good"}], ["cell", "wifi"]),
        ([{"preset": "wired-50"}, {"wifi": {"standard": "802.11n"}}], ["wire", "wifi"]),
    ],
)
def test_stages_may_be_of_any_kind_in_any_order(
    stages: list[dict[str, Any]], expected: list[str]
) -> None:
    assert kinds({"stage": stages}) == expected


def test_a_wire_before_a_medium_is_one_line() -> None:
    found = path("wifi-good,wire.rate=20 Mbit/s,wire.delay=8 ms,wire.reverse.rate=5 Mbit/s,users=3")
    assert found == path({"stage": [DSL, {"preset": "wifi-good", "users": 3}]})
    assert has_medium(found)
    (down,), (up,) = (wire_stages(found, direction) for direction in Direction)
    assert (down.rate, up.rate) == (
        {"kind": "fixed", "bits_per_sec": 20_000_000},
        {"kind": "fixed", "bits_per_sec": 5_000_000},
    )
    assert (down.delay_ns, up.delay_ns) == (8 * MS, 8 * MS)
    # 1 BDP of 16 ms; on the uplink, at least 10 packets.
    assert (down.queue, up.queue) == (
        {"kind": "drop_tail", "packets": 27},
        {"kind": "drop_tail", "packets": 10},
    )


def test_the_server_stands_before_the_first_link_of_a_chain() -> None:
    near = "wifi-good,wire.rate=20 Mbit/s,wire.delay=8 ms"
    assert base_rtt_ns(path(f"{near},server=20 ms")) == base_rtt_ns(path(near)) + 40 * MS
    assert wire_stages(path(f"{near},server=20 ms"), Direction.DOWNLINK)[0].delay_ns == 28 * MS
    stages = [{"preset": "wifi-good"}, DSL]
    assert base_rtt_ns(path({"stage": stages, "server": "20 ms"})) == (16 + 40) * MS


def test_a_policer_of_a_wifi_channel_stands_before_it() -> None:
    found = path("wifi-good,police=20 Mbit/s, 100 kB")
    assert found.kind == "chain"
    (policer,) = wire_stages(found, Direction.DOWNLINK)
    assert policer.police == {"bits_per_sec": 20_000_000, "burst_bytes": 100_000}
    assert any(
        "policed to 20 Mbit/s, burst 100 kB" in line
        for line in describe_link("wifi-good,police=20 Mbit/s, 100 kB")
    )
    assert path("lte-typical,police=20 Mbit/s, 100 kB").kind == "cell"


def test_the_slowest_link_of_a_chain_decides(tmp_path: Path) -> None:
    def goodput_mbit_s(name: str, link: str | dict[str, Any]) -> float:
        results = study(link, seed=3).run(tmp_path / name)
        return float(results.flows()["goodput_mbit_s"][0])

    alone = goodput_mbit_s("alone", "wifi-good")
    assert alone > 25
    behind = goodput_mbit_s("behind", {"stage": [DSL, {"preset": "wifi-good"}]})
    before = goodput_mbit_s("before", {"stage": [{"preset": "wifi-good"}, DSL]})
    policed = goodput_mbit_s("policed", "wifi-good,police=10 Mbit/s, 60 kB,server=5 ms")
    assert 15 < behind < 20
    assert 15 < before < 20
    assert 3 < policed < 10


def test_all_users_share_the_wire_and_have_queues_of_their_own_behind_it(tmp_path: Path) -> None:
    link = {"stage": [DSL, {"preset": "wifi-good", "users": 2}]}
    results = study(link, flows=2, user="each").run(tmp_path / "shared")
    links = results.links()
    assert links["link"].to_list() == [
        "forward.0",
        "user1.forward.1",
        "user1.reverse.0",
        "reverse.1",
        "user2.forward.1",
        "user2.reverse.0",
    ]
    rows = {row["link"]: row for row in links.to_dicts()}
    behind = sum(rows[f"user{user}.forward.1"]["arrived_pkts"] for user in (1, 2))
    assert 0 <= rows["forward.0"]["delivered_pkts"] - behind < 50
    flows = results.flows()
    assert sorted(flows["user"].to_list()) == [1, 2]
    assert 15 < float(flows["goodput_mbit_s"].sum()) < 20


def test_stages_of_wires_say_their_other_direction_themselves_or_in_a_reverse_link() -> None:
    written = path({"stage": [DSL, {"delay": "2 ms"}]})
    assert written.kind == "wire"
    assert [stage.delay_ns for stage in written.reverse] == [2 * MS, 8 * MS]
    assert written.reverse[1].rate == {"kind": "fixed", "bits_per_sec": 5_000_000}
    apart = path({"stage": [{**DSL, "reverse": None}, {"delay": "2 ms"}]})
    assert apart.kind == "wire"
    assert [stage.delay_ns for stage in apart.reverse] == [10 * MS]
    assert apart.reverse[0].rate == {"kind": "unlimited"}


@pytest.mark.parametrize(
    ("link", "keys", "said"),
    [
        ({"stage": [DSL, {"preset": "wifi-god"}]}, {}, "did you mean wifi-good"),
        (
            {"stage": [DSL, {"preset": "wifi-good", "rate": "1 Mbit/s"}]},
            {},
            "is a Wi-Fi channel; for a wire in front of the Wi-Fi channel, write wire.rate",
        ),
        ({"stage": [DSL, {"preset": "lte-ns2-2011"}]}, {}, "the preset lte-ns2-2011 is a chain"),
        ({"stage": [DSL, {"wifi": {"standard": "802.11n"}, "reverse": {}}]}, {}, "both directions"),
        (
            {"stage": [DSL, {"preset": "wifi-good", "police": "1 Mbit/s, 9 kB"}]},
            {},
            "in a separate stage before",
        ),
        ({"stage": [DSL], "wifi": {"standard": "802.11n"}}, {}, '"stage" and "wifi"'),
        ("wired-50,wire.rate=1 Mbit/s", {}, "this link is a wire, and"),
        (
            "wifi-good,police=1 Mbit/s, 900 bytes",
            {},
            "police.burst: the burst is too small: a packet of 1500",
        ),
        (
            "lte-typical,police=1 Mbit/s, 900 bytes",
            {},
            "police: the burst is too small: a packet of 1500",
        ),
        ("wifi-good,wire.rte=1 Mbit/s", {}, "did you mean rate?"),
        (
            {"stage": [DSL, {"preset": "wifi-good"}]},
            {"reverse_link": "wired-50"},
            'as the key "reverse"',
        ),
        ({"stage": [DSL]}, {"reverse_link": "wired-50"}, "remove one of them"),
        (
            {"stage": [{"preset": "lte-typical", "users": 2}, {"preset": "wifi-good"}]},
            {},
            "has 2 users and another link has 1",
        ),
        (
            {"stage": [DSL, {"preset": "wifi-good", "wifi": {"spatial_streams": 9}}]},
            {},
            "link.stage[1].wifi",
        ),
    ],
)
def test_what_makes_no_chain_is_refused(
    link: str | dict[str, Any], keys: dict[str, Any], said: str
) -> None:
    assert said in complaint(link, **keys)


def test_each_link_of_a_chain_is_described() -> None:
    lines = describe_link("wifi-good,wire.rate=20 Mbit/s,wire.delay=8 ms")
    assert any(
        " ".join(line.split()).startswith("0.forward.0 20 Mbit/s, delay 8 ms") for line in lines
    )
    assert any(line.strip().startswith("1.wifi") for line in lines)
