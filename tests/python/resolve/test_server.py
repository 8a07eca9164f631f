"""`server`: the one-way delay between the link and the server, on every link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.errors import CoreMissingError, StudyError
from cwndlab.resolve.presets import presets
from cwndlab.run.saturation import saturate
from cwndlab.schema.direction import Direction
from cwndlab.schema.path import PathPart
from cwndlab.schema.paths import propagation_ns
from cwndlab.study.describe import describe_link, read_link
from wires import wires

if TYPE_CHECKING:
    from cwndlab.schema import scenario as si

MS = 1_000_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    Path("steady.down").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))


def scenario(link: str | dict[str, Any], **keys: Any) -> si.Scenario:  # noqa: ANN401  keys of a study
    study = cw.Study(link=link, algorithm="reno", duration="5 s", **keys)
    return study.cells[0].resolved.scenario


def smallest_rtt_ms(link: str, tmp_path: Path) -> float:
    """Return the smallest RTT of short responses to short, widely spaced requests."""
    application = {"kind": "request_response", "request": "100 bytes", "response": "100 bytes"}
    study = cw.Study(
        link=link,
        algorithm="reno",
        duration="5 s",
        application={**application, "think": "100 ms"},
    )
    return float(study.run(tmp_path / "results").flows()["rtt_base_ms"][0])


@pytest.mark.parametrize(
    "link",
    [
        "rate=10 Mbit/s,delay=20 ms",
        "wired-50",
        "satellite-geo",
        "trace:steady.down,delay=7 ms",
        "wifi.standard=802.11n,wifi.stations=1",
        "wifi.standard=802.11n,wifi.stations=3",
    ],
)
def test_the_round_trip_is_longer_by_twice_the_delay(link: str, tmp_path: Path) -> None:
    near = smallest_rtt_ms(f"{link},server=5 ms", tmp_path)
    far = smallest_rtt_ms(f"{link},server=30 ms", tmp_path)
    # A trace passes packets once per millisecond, and a station waits for whole slots of 9 us.
    step_ms = {"trace": 1, "wifi.": 0.018}.get(link[:5], 0)
    assert far - near == pytest.approx(50, abs=step_ms or 1e-9)


def test_a_cells_core_is_the_way_to_its_server(tmp_path: Path) -> None:
    path = scenario("hsdpa-2010,server=30 ms").path
    assert isinstance(path, PathPart)
    assert path.kind == "cell"
    assert (path.downlink.core_delay_ns, path.uplink.core_delay_ns) == (30 * MS, 30 * MS)
    assert path.downlink.core_frame_ns == 10 * MS
    near = smallest_rtt_ms("lte-good,server=8 ms", tmp_path)
    far = smallest_rtt_ms("lte-good,server=28 ms", tmp_path)
    assert far - near == pytest.approx(40, abs=2)  # slots and grants occur at other times
    assert scenario("lte-good,server=8 ms") == scenario("lte-good")


@pytest.mark.parametrize("name", presets())
def test_every_preset_has_it(name: str) -> None:
    near = read_link(name)[1].path
    for direction in Direction:
        far = read_link(f"{name},server=35 ms")[1].path
        if near.kind == "wire":
            added = propagation_ns(far, direction) - propagation_ns(near, direction)
            assert added == 35 * MS
        else:
            assert propagation_ns(far, direction) == 35 * MS


def test_it_lies_before_a_chain_and_changes_no_queue() -> None:
    link = {
        "server": "30 ms",
        "stage": [
            {"delay": "1 ms", "schedule": [{"at": "2 s", "delay": "4 ms"}]},
            {"rate": "10 Mbit/s", "delay": "19 ms"},
        ],
    }
    path = wires(scenario(link))
    assert [stage.delay_ns for stage in path.forward] == [31 * MS, 19 * MS]
    assert path.forward[0].schedule[0].delay_ns == 34 * MS
    assert [stage.delay_ns for stage in path.reverse] == [50 * MS]
    assert path.forward[1].queue == {"kind": "drop_tail", "packets": 34}  # 1 BDP of 40 ms


def test_without_the_key_a_scenario_is_what_it_was() -> None:
    text = scenario("wifi-typical").to_json()
    assert "wire_delay" not in text
    assert '"wire_delay_ns":20000000' in scenario("wifi-typical,server=20 ms").to_json()


def test_it_can_be_a_factor_and_a_key_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "far.toml"
    file.write_text(
        '[study]\nalgorithm = "cubic"\nlink = "wifi-good"\n'
        '[factors]\n"link.server" = ["5 ms", "80 ms"]\n'
    )
    paths = [cell.resolved.scenario.path for cell in cw.Study.load(file).cells]
    assert [isinstance(path, PathPart) and path.wire_delay_ns for path in paths] == [
        5 * MS,
        80 * MS,
    ]


def test_a_reverse_link_has_none() -> None:
    with pytest.raises(StudyError, match="applies to both directions; write it in the link"):
        scenario("wired-50", reverse_link="rate=5 Mbit/s,server=3 ms")


def test_a_link_shows_what_else_it_might_be() -> None:
    text = "\n".join(describe_link("lte-good"))
    assert "    server: 3 ms to 80 ms: light in glass" in text
    assert "    load: nobody else or one other user: invented: " in text
    assert "    link.cell.radio: fixed: a different carrier" in text


def test_a_link_shows_it() -> None:
    assert any("wire_delay 20 ms" in line for line in describe_link("wifi-good,server=20 ms"))
    assert any("core_delay 20 ms" in line for line in describe_link("lte-good,server=20 ms"))
    _, near = read_link("wifi-good")
    _, far = read_link("wifi-good,server=20 ms")
    one, other = (saturate(link, Direction.DOWNLINK, 2 * 10**9) for link in (near, far))
    assert int(one.delay_ns.min()) < 5 * MS
    assert 20 * MS < int(other.delay_ns.min()) < 25 * MS
    assert other.rate_mbit_s == pytest.approx(one.rate_mbit_s, rel=0.01)
    assert other.queue_pkts.max() <= 500
