"""Short keys after a preset: their expansion, and the messages if they do not apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.errors import CoreMissingError, StudyError
from cwndlab.resolve.presets import presets
from cwndlab.schema.path import PathPart
from cwndlab.study.describe import describe_link, read_link

if TYPE_CHECKING:
    from pathlib import Path


def cell(spec: str) -> PathPart:
    _, resolved = read_link(spec)
    assert isinstance(resolved.path, PathPart)
    return resolved.path


def wifi(spec: str) -> PathPart:
    _, resolved = read_link(spec)
    assert isinstance(resolved.path, PathPart)
    return resolved.path


def test_changes_to_a_preset_stand_below_its_title() -> None:
    lines = describe_link("lte-typical,bandwidth=20 MHz,cell.radio.layers=2,police=9 Mbit/s, 90 kB")
    start = lines.index("  changes to the preset")
    assert {line.strip() for line in lines[start + 1 : start + 5]} == {
        *("bandwidth = 20 MHz", "cell.radio.layers = 2"),
        *("police.rate = 9 Mbit/s", "police.burst = 90 kB"),
    }
    assert "  changes to the preset" not in describe_link("lte-typical")


def test_a_carrier_in_two_words() -> None:
    radio = cell("nr-typical,bandwidth=60 MHz,layers=4").radio
    assert radio.kind == "nr"
    assert (radio.bandwidth_mhz, radio.downlink_layers, radio.uplink_layers) == (60, 4, 1)
    lte = cell("lte-typical,bandwidth=20 MHz,layers=2").radio
    assert lte.kind == "lte"
    assert (lte.resource_blocks, lte.layers) == (100, 2)


def test_a_speed_sets_the_doppler_shift_and_how_fast_shadows_pass() -> None:
    user = cell("nr-typical,speed=120 km/h").users[0]
    assert user.fading is not None
    # 33.3 m/s at 3.5 GHz; shadow fading of 10 s at 3 km/h passes 40 times as fast.
    assert user.fading.doppler_mhz == pytest.approx(389_150, rel=1e-3)
    assert user.drifts[0].correlation_ns == pytest.approx(250_000_000, rel=1e-3)
    assert user.drifts[0].sigma_mdb == 3000
    # The presets' own Doppler shift is that of a pedestrian.
    for name in ("lte-typical", "nr-typical", "hspa-typical"):
        own, walking = cell(name).users[0].fading, cell(f"{name},speed=3 km/h").users[0].fading
        assert own is not None
        assert walking is not None
        assert walking.doppler_mhz == pytest.approx(own.doppler_mhz, rel=0.02)


def test_users_schemes_coverage_handovers_and_sleep() -> None:
    path = cell(
        "lte-typical,users=3,mcs=10,coverage=16 dB,handover=every 20 s, 40 ms,"
        "drx=after 100 ms, every 40 ms,server=25 ms"
    )
    assert len(path.users) == 3
    assert {(user.downlink_mdb, user.uplink_mdb) for user in path.users} == {(16_000, 13_000)}
    assert path.downlink.adaptation == path.uplink.adaptation == {"kind": "fixed", "scheme": 10}
    assert path.handover is not None
    assert path.handover.interval_ns == 20_000_000_000
    assert path.handover.interruption_ns == 40_000_000
    assert path.rrc is not None
    assert (path.rrc.drx_after_ns, path.rrc.drx_cycle_ns) == (100_000_000, 40_000_000)
    assert path.downlink.core_delay_ns == 25_000_000


def test_a_wi_fi_channel_in_a_line() -> None:
    path = wifi("wifi-typical,wifi.standard=802.11ac,bandwidth=80 MHz,users=12,server=30 ms")
    assert (path.channel_mhz, len(path.stations)) == (80, 12)
    assert path.wire_delay_ns == 30_000_000
    fixed = wifi("wifi-typical,layers=2,mcs=7")
    assert fixed.spatial_streams == 2
    assert fixed.rate_control == {"kind": "fixed", "index": 7}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            "lte-typical,bandwidth=7 MHz",
            "bandwidth: LTE has no carrier of this bandwidth; write 1.4",
        ),
        ("hspa-typical,layers=2", "layers: cwndlab models UMTS with one spatial layer"),
        ("rate=10 Mbit/s,speed=3 km/h", "speed: this is a key of cells and Wi-Fi channels, but"),
        (
            "wifi-typical,handover=every 1 s, 1 ms",
            "handover: a Wi-Fi channel does not have this key; its",
        ),
        ("lte-typical,speed=fast", 'speed: not a speed above 0; write for example "120 km/h"'),
        (
            "lte-typical,handover=30 s",
            'handover: this key needs two times; write for example "every 30 s',
        ),
        ("lte-typical,drx=after 1, every 2 ms", "drx: the number has no unit; write for example"),
        ("nr-typical,sped=3 km/h", "sped: unknown key; did you mean speed?"),
        ("wifi.stations=3", "wifi.standard: this key is needed here and is missing: Wi-Fi"),
        ("cell.users=2", "cell.radio: this key is needed here and is missing: radio technology"),
        ("nr-typical,bandwidth=61 MHz", "bandwidth: NR has no bandwidth of 61 MHz with a"),
        ("lte-typical,layers=4", "layers: a handset of LTE category 4 does not support 4"),
        ("umts-2007,mcs=3", "mcs: a dedicated channel has only one modulation"),
        ("wifi-typical,bandwidth=80 MHz", "bandwidth: 802.11n has no channel of this width: use"),
        ("wifi-typical,layers=7", "layers: 802.11n has no channel with this number of"),
        ("wifi-typical,wifi.channel=80 MHz", "wifi.channel: 802.11n has no channel of this"),
        ("lte-typical,category=9", "category: unknown key; did you mean cell.radio.category?"),
        ("nr-typical,aqm=pie", "aqm: this is a key of wires, but nr-typical is a cell;"),
        ("nr-typical, layers 4", 'preset: "nr-typical, layers 4" is not a link: write keys'),
        (
            "rate=1 Mbit/s,loss.kind=gilbert_elliott,loss.p=1 %",
            (
                "loss.r: this key is needed here and is missing: "
                "probability, for each packet, that the link changes from the bad to the good state"
            ),
        ),
    ],
)
def test_what_does_not_go_names_its_key(spec: str, told: str) -> None:
    with pytest.raises(StudyError) as refused:
        read_link(spec)
    assert f"\n  {told}" in str(refused.value)


def test_a_link_that_is_a_file_names_the_missing_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('[link.cell]\nradio = { kind = "lte", layers = 1 }\n')
    with pytest.raises(StudyError) as refused:
        read_link("mine.toml")
    assert "cell.radio.resource_blocks: this key is needed here" in str(refused.value)


@pytest.mark.parametrize("name", [name for name in presets() if name != "linux-s1"])
def test_every_short_key_is_taken_or_refused_by_every_preset(name: str) -> None:
    values: dict[str, Any] = {
        "bandwidth": "20 MHz",
        "layers": 1,
        "mcs": 3,
        "users": 2,
        "coverage": "10 dB",
        "speed": "30 km/h",
        "handover": "every 30 s, 40 ms",
        "drx": "after 100 ms, every 40 ms",
    }
    for key, value in values.items():
        try:
            read_link(f"{name},{key}={value}")
        except StudyError as refused:
            assert f"\n  {key}: " in str(refused), key  # noqa: PT017  either will do


def test_a_short_key_can_be_a_factor() -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    factors = {"link.speed": ["3 km/h", "120 km/h"]}
    assert len(cw.Study(link="lte-typical", algorithm="reno", factors=factors).cells) == 2
