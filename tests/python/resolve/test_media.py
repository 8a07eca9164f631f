"""Cells and Wi-Fi channels in study files, and the resulting input of the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cwndlab import core
from cwndlab.api.study import Study
from cwndlab.errors import CoreMissingError, StudyError
from cwndlab.schema.path import PathPart

CELL = """
title = "a cell"
[link.cell]
radio = { kind = "lte", resource_blocks = 50, layers = 1, category = 3 }
user = { downlink = "16.5 dB", uplink = "-3 dB", fading = { doppler = "5.8 Hz", branches = 4 } }
access = { request_period = "20 ms" }
[link.cell.downlink]
core_delay = "5 ms"
queue = "500 kB"
adaptation = { kind = "fixed", scheme = 20 }
[link.cell.uplink]
adaptation = { kind = "fixed", scheme = 10 }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(CELL)


def study(**keys: Any) -> Study:  # noqa: ANN401  keys of a study
    return Study(**{"algorithm": "reno", "duration": "2 s", **keys})


def cell(**keys: Any) -> PathPart:  # noqa: ANN401  keys of a study
    path = study(**keys).cells[0].resolved.scenario.path
    assert isinstance(path, PathPart)
    return path


def complaint(**keys: Any) -> str:  # noqa: ANN401  keys of a study
    with pytest.raises(StudyError) as caught:
        study(**keys)
    return str(caught.value)


def test_quantities_become_whole_si_units() -> None:
    path = cell(link="cell.toml")
    assert (path.downlink.core_delay_ns, path.downlink.queue_bytes) == (5_000_000, 500_000)
    assert path.access
    assert path.access.request_period_ns == 20_000_000
    (user,) = path.users
    assert (user.downlink_mdb, user.uplink_mdb) == (16_500, -3_000)
    assert user.fading == {"doppler_mhz": 5_800, "branches": 4}


def test_a_key_of_a_preset_is_changed_and_the_others_stay() -> None:
    path = cell(link="cell.toml,cell.access.keep_alive=5 ms,cell.downlink.queue_packets=75")
    assert path.access
    assert (path.access.keep_alive_ns, path.access.request_period_ns) == (5_000_000, 20_000_000)
    assert (path.downlink.queue_packets, path.downlink.queue_bytes) == (75, 500_000)


def test_reports_have_timers_of_their_own(tmp_path: Path) -> None:
    reports = {"period": "20 ms", "repeat": "320 ms"}
    link = {"preset": "lte-good", "cell": {"access": {"keep_alive": "0 ms", "reports": reports}}}
    path = cell(link=link)
    assert path.access
    assert path.access.reports
    assert (path.access.reports.period_ns, path.access.reports.repeat_ns) == (
        20_000_000,
        320_000_000,
    )
    made = study(link=link, direction="downlink", duration="5 s", algorithm="cubic")
    assert made.run(tmp_path / "timers").flows()["goodput_mbit_s"][0] > 0.5


def test_a_number_of_users_are_alike_and_a_list_shares_what_they_have_in_common() -> None:
    alike = cell(link="cell.toml,cell.users=3")
    assert len(set(map(str, alike.users))) == 1
    assert len(alike.users) == 3
    link = {"preset": "cell.toml", "cell": {"users": [{}, {"downlink": "3 dB"}]}}
    first, second = cell(link=link).users
    assert (first.downlink_mdb, second.downlink_mdb, second.uplink_mdb) == (16_500, 3_000, -3_000)
    assert second.fading == first.fading


def test_a_wifi_channel_needs_little() -> None:
    path = study(link="wifi.standard=802.11n,wifi.stations=2,wifi.channel=40 MHz").cells[0]
    found = path.resolved.scenario.path
    assert isinstance(found, PathPart)
    node = {"x_mm": 0, "y_mm": 0}
    assert (found.standard, found.stations, found.channel_mhz) == ("802.11n", [node, node], 40)
    assert (found.access_point, found.rate_control) == (node, {"kind": "ideal"})
    absent = ("aggregation", "radio", "interference", "wire_delay_ns", "beacons")
    assert found.keys().isdisjoint(absent)


def test_a_kind_that_is_a_figure_and_no_choice_of_tables_is_kept() -> None:
    interference = {"kind": "hidden", "mean_burst": "2 ms", "share": "10 %"}
    link = {"wifi": {"standard": "802.11n", "interference": interference}}
    path = study(link=link).cells[0].resolved.scenario.path
    assert isinstance(path, PathPart)
    assert path.interference == {
        "kind": "hidden",
        "mean_burst_ns": 2_000_000,
        "share_ppb": 100_000_000,
    }


def test_factors_reach_into_a_medium() -> None:
    made = study(link="cell.toml", factors={"link.cell.access.keep_alive": ["0 ms", "20 ms"]})
    paths = [made.resolved.scenario.path for made in made.cells]
    times = [
        path.access.keep_alive_ns for path in paths if isinstance(path, PathPart) and path.access
    ]
    assert times == [0, 20_000_000]


def test_mistakes_name_the_key_as_it_was_written() -> None:
    wrong = complaint(link="cell.toml,cell.access.keepalive=5 ms")
    assert "unknown key; did you mean keep_alive?" in wrong
    assert "not a time" in complaint(link="cell.toml,cell.access.keep_alive=5 MHz")
    missing = complaint(link={"cell": {"radio": {"kind": "lte"}}})
    assert "this key is needed here and is missing" in missing
    assert "defines both directions; remove the reverse link" in complaint(
        link="cell.toml", reverse_link="rate=1 Mbit/s"
    )
    assert '"rate" is a key of wires' in complaint(
        link={"rate": "1 Mbit/s", "wifi": {"standard": "802.11n"}}
    )
    assert "cell.toml is a cell; write server" in complaint(link="cell.toml,delay=5 ms")


def test_the_core_refuses_what_no_cell_can_be() -> None:
    assert "there is no user 2; the number of users of the cell or Wi-Fi channel is 1" in complaint(
        link="cell.toml", flows=2, user="each"
    )
    link = {
        "preset": "cell.toml",
        "cell": {"radio": {"kind": "lte", "resource_blocks": 51, "layers": 1, "category": 3}},
    }
    assert "51" in complaint(link=link)


@pytest.mark.parametrize(
    ("preset", "cell", "reason"),
    [
        (
            "lte-good",
            {"radio": {"kind": "lte", "resource_blocks": 51}},
            "51 resource blocks are not possible: use 6,",
        ),
        ("lte-good", {"radio": {"kind": "lte", "layers": 3}}, "use 1, 2, 4 or 8 layers, at most 2"),
        (
            "lte-good",
            {"radio": {"kind": "lte", "category": 17}},
            "there is no handset category 17: use 1 to 16",
        ),
        ("lte-good", {"downlink": {"adaptation": {"kind": "fixed", "scheme": 29}}}, "at most 28"),
        ("nr-good", {"radio": {"kind": "nr", "bandwidth": "55 MHz"}}, "no bandwidth of 55 MHz"),
        (
            "nr-good",
            {"radio": {"kind": "nr", "pattern": [{"downlink_symbols": 14}]}},
            "carry data of the uplink",
        ),
        (
            "nr-good",
            {"radio": {"kind": "nr", "pattern": [{"downlink_symbols": 12, "uplink_symbols": 2}]}},
            (
                "must carry data of the uplink: a resource block carries 12 resource elements "
                "in each symbol, minus overhead"
            ),
        ),
        (
            "nr-good",
            {"radio": {"kind": "nr", "pattern": [{"downlink_symbols": 9, "uplink_symbols": 6}]}},
            "slot 0 of the pattern has 15 symbols: use at most 14",
        ),
        ("nr-good", {"uplink": {"adaptation": {"kind": "fixed", "scheme": 28}}}, "use at most 27"),
        (
            "hspa-good",
            {"radio": {"kind": "umts", "downlink": {"kind": "hsdpa", "category": 13}}},
            "there is no handset category 13: use 1 to 12",
        ),
        (
            "hspa-good",
            {"radio": {"kind": "umts", "uplink": {"kind": "dedicated", "rate": "100 kbit/s"}}},
            "use 64, 128 or 384",
        ),
        ("hspa-good", {"access": {"request_period": "10 ms"}}, "umts must not have it"),
    ],
)
def test_an_impossible_combination_is_refused_with_the_reason(
    preset: str, cell: dict[str, object], reason: str
) -> None:
    assert reason in complaint(link={"preset": preset, "cell": cell})


def test_what_the_simulator_refuses_is_named_by_its_key() -> None:
    scheme = {"downlink": {"adaptation": {"kind": "fixed", "scheme": 29}}}
    text = complaint(link={"preset": "lte-good", "cell": scheme})
    assert text.startswith("link.cell.downlink.adaptation\n")
    assert text.endswith("there is no modulation and coding scheme 29: use at most 28")
    text = complaint(link={"preset": "lte-good"}, flow=[{"stack_overrides": {"sack": 3}}])
    assert text.startswith("flow[0].stack_overrides")


@pytest.mark.parametrize(
    ("wifi", "reason"),
    [
        ({"rate_control": {"kind": "fixed", "index": 9}}, "use 0, 1, 2, 3, 4, 5, 6, 7"),
        ({"channel": "80 MHz"}, "802.11n has no channel of this width"),
        ({"standard": "802.11b"}, "only one packet in each frame"),
        ({"spatial_streams": 5}, "no channel with this number of spatial streams"),
        ({"aggregation": {"max_packets": 0}}, "must be from 1 to 64"),
    ],
)
def test_an_impossible_channel_is_refused_with_the_reason(
    wifi: dict[str, object], reason: str
) -> None:
    assert reason in complaint(link={"preset": "wifi-good", "wifi": wifi})


def test_two_users_of_a_cell_are_told_apart_in_the_results(tmp_path: Path) -> None:
    made = study(
        link="cell.toml,cell.users=2,cell.user.uplink=12 dB",
        flow=[{"user": 1}, {"user": 2, "direction": "uplink"}],
    )
    results = made.run(tmp_path / "results")
    flows = results.flows().sort("flow")
    assert flows["user"].to_list() == [1, 2]
    assert flows["direction"].to_list() == ["forward", "reverse"]
    assert all(rate > 0.5 for rate in flows["goodput_mbit_s"])
    links = results.links()["link"].unique().sort().to_list()
    assert links == [f"user{user}.{way}.0" for user in (1, 2) for way in ("forward", "reverse")]


def test_the_queue_of_one_user_does_not_delay_another(tmp_path: Path) -> None:
    """Users are isolated, because a cell has a queue for each user."""
    deep = "lte-good,cell.users=2,cell.downlink.queue=4 MB"
    quiet = {
        "user": 2,
        "application": {"kind": "paced", "rate": "200 kbit/s", "write": "500 bytes"},
    }
    alone = study(link=deep, flow=[quiet], duration="20 s").run(tmp_path / "alone")
    beside = study(link=deep, flow=[quiet, {"user": 1, "algorithm": "cubic"}], duration="20 s")
    flows = beside.run(tmp_path / "beside").flows().sort("flow")
    own_ms, bulk_ms = flows["rtt_p50_ms"].to_list()
    assert bulk_ms > 5 * own_ms
    assert own_ms < alone.flows()["rtt_p50_ms"][0] + 10


def test_proportional_fair_shares_a_cell_between_two_downloads(tmp_path: Path) -> None:
    made = study(link="lte-good,cell.users=2", flows=2, user="each", duration="30 s")
    first, second = made.run(tmp_path / "two").flows().sort("flow")["goodput_mbit_s"].to_list()
    assert first / (first + second) == pytest.approx(0.5, abs=0.1)


def test_data_and_acks_share_the_air_of_wifi(tmp_path: Path) -> None:
    flow = [{"direction": "downlink"}, {"direction": "uplink"}]
    both = study(link="wifi-good", flow=flow, algorithm="cubic", duration="20 s")
    flows = both.run(tmp_path / "both").flows()["goodput_mbit_s"]
    one = study(link="wifi-good", algorithm="cubic", duration="20 s").run(tmp_path / "one")
    alone = one.flows()["goodput_mbit_s"][0]
    assert 0.8 * alone < flows.sum() < 1.1 * alone
    assert flows.min() > 0.05 * alone


def test_a_refusal_stands_at_the_nearest_key_that_is_written(tmp_path: Path) -> None:
    study = tmp_path / "x.toml"

    def place_of(keys: str) -> str:
        study.write_text(f'[study]\nalgorithm = "cubic"\n[link]\npreset = "lte-good"\n{keys}')
        with pytest.raises(StudyError) as refused:
            Study.load(study)
        return str(refused.value).split("\n")[0].split("/")[-1].split(" = ")[0]

    handover = '{ interval = "10 ms", interruption = "50 ms", is_lossless = true }'
    assert place_of(f"cell.handover = {handover}\n") == "x.toml:5: link.cell.handover"
    discard = "{ at_packets = 0, spacing_packets = 5 }"
    place = place_of(f"[link.cell.uplink]\nearly_discard = {discard}\n")
    assert place == "x.toml:6: link.cell.uplink.early_discard"
    radio = '{ kind = "lte", resource_blocks = 51 }'
    assert (
        place_of(f"[link.cell]\nradio = {radio}\n") == "x.toml:6: link.cell.radio.resource_blocks"
    )
