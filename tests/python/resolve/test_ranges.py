"""Ranges of assumed values in presets, and draws from these ranges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.errors import CoreMissingError, LinkError
from cwndlab.judge.sampling import Draw, Sample, ends, vary
from cwndlab.judge.templates import KEYS
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.schema.path import PathPart
from cwndlab.schema.problems import FieldError

if TYPE_CHECKING:
    from cwndlab.schema import scenario as si

DRAWS = 50


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)


def resolved(link: str, draws: tuple[Draw, ...]) -> list[si.Scenario]:
    levels = [draw.level() for draw in draws]
    study = cw.Study(link=link, algorithm="cubic", factors={"network": levels})
    return [cell.resolved.scenario for cell in study.cells]


def key_names(sample: Sample) -> set[str]:
    return {key.name for key in sample.keys}


def column(sample: Sample, name: str) -> list[Any]:
    return [draw.keys[name] for draw in sample.draws]


@pytest.mark.parametrize("name", presets())
def test_what_a_preset_assumes_has_a_range_or_a_reason(name: str) -> None:
    preset = load_preset(name, Path())
    assert preset.without_range() == []
    for key, span in preset.ranges.items():
        assert span.source or span.invented, key
    figures = preset.figures()
    for path in preset.fixed:
        assert any(f"{figure}.".startswith(f"{path}.") for figure in figures), path


@pytest.mark.parametrize("name", presets())
def test_both_ends_of_every_range_can_be_run(name: str) -> None:
    sample = ends(name)
    scenarios = resolved(name, sample.draws)
    assert len({scenario.to_json() for scenario in scenarios}) == len(scenarios)
    for key in sample.keys:
        assert key.basis
        if key.choices:
            continue
        assert key.low < key.high
        assert [draw.keys for draw in sample.draws if key.name in draw.keys] == [
            {key.name: key.low},
            {key.name: key.high},
        ]


def test_the_usual_networks_vary_what_decides() -> None:
    always = {"server", "queue", "load", "length", "stack", "qdisc"}
    for technology in ("hspa", "lte", "nr", "wifi"):
        place = {"distance"} if technology == "wifi" else {"coverage", "drift"}
        for coverage in ("good", "typical", "bad"):
            assert key_names(vary(f"{technology}-{coverage}", 1, 1)) >= always | place


def test_each_part_of_a_range_is_drawn_from_once() -> None:
    sample = vary("lte-typical", DRAWS, 7)
    assert len(sample.draws) == DRAWS
    for key in sample.keys:
        values = column(sample, key.name)
        if key.choices:
            counts = [values.count(choice.name) for choice in key.choices]
            assert max(counts) - min(counts) <= 1
        elif not key.is_whole:
            shares = np.array(values, dtype=float)
            ends_of = np.array([key.low, key.high])
            if key.is_log:
                shares, ends_of = np.log(shares), np.log(ends_of)
            parts = (shares - ends_of[0]) / (ends_of[1] - ends_of[0]) * DRAWS
            # Values rounded to three digits may lie slightly outside their part.
            assert np.all(np.abs(np.sort(parts) - (np.arange(DRAWS) + 0.5)) < 1)


def test_draws_follow_from_the_seed_and_the_keys_name() -> None:
    assert vary("lte-typical", DRAWS, 1) == vary("lte-typical", DRAWS, 1)
    assert vary("lte-typical", DRAWS, 1) != vary("lte-typical", DRAWS, 2)
    one, other = vary("lte-typical", DRAWS, 1), vary("lte-bad", DRAWS, 1)
    assert column(one, "queue") == column(other, "queue")
    correlation = np.corrcoef(column(one, "server"), column(one, "queue"))[0, 1]
    assert abs(correlation) < 0.4


def test_a_draw_is_what_its_keys_say() -> None:
    sample = vary("lte-typical", DRAWS, 3)
    for draw, scenario in zip(sample.draws, resolved("lte-typical", sample.draws), strict=True):
        path = scenario.path
        assert isinstance(path, PathPart)
        assert path.kind == "cell"
        keys = draw.keys
        assert path.downlink.core_delay_ns == pytest.approx(float(keys["server"]) * 1e6)
        assert path.downlink.queue_bytes == pytest.approx(float(keys["queue"]) * 1e3)
        assert path.uplink.queue_bytes == path.downlink.queue_bytes
        assert path.users[0].downlink_mdb == pytest.approx(float(keys["coverage"]) * 1e3)
        assert path.users[0].downlink_mdb - path.users[0].uplink_mdb == 3_000
        assert path.background[0].users == keys["load"]
        assert path.background[0].lowest_mdb == 8_000
        assert scenario.duration_ns == pytest.approx(float(keys["length"]) * 1e9)
        assert scenario.flows[0].sender.stack == keys["stack"]
        host = scenario.flows[0].sender.host
        assert (host is None) == (keys["qdisc"] == "none")


def test_what_the_user_says_is_not_assumed() -> None:
    known = key_names(vary("lte-typical", 1, 1))
    assert known - key_names(vary("lte-typical,server=20 ms", 1, 1)) == {"server"}
    core_delay = "lte-typical,cell.downlink.core_delay=20 ms"
    assert known - key_names(vary(core_delay, 1, 1)) == {"server"}
    queue = "lte-typical,cell.uplink.queue=20 kB"
    assert known - key_names(vary(queue, 1, 1)) == {"queue"}
    given = vary("lte-typical", 1, 1, given=("duration", "server_host"))
    assert known - key_names(given) == {"length", "qdisc"}


@pytest.mark.parametrize(
    ("link", "queue", "loss"),
    [
        ("rate=10 Mbit/s,delay=20 ms,loss=1 %", (8, 136, "packets"), (0.5, 2, "%")),
        ("rate=10 Mbit/s,delay=20 ms,queue=40 packets", (10, 160, "packets"), None),
        ("rate=10 Mbit/s,queue=100 kB", (25, 400, "kB"), None),
        ("trace:x.down", (62, 1000, "packets"), None),
        ("far.toml", (125, 2000, "packets"), None),
    ],
)
def test_a_link_that_is_no_preset_has_the_ranges_of_any(
    link: str, queue: tuple[float, float, str], loss: tuple[float, float, str] | None
) -> None:
    Path("x.down").write_text("1\n2\n")
    Path("far.toml").write_text('[link.wifi]\nstandard = "802.11n"\nqueue_packets = 500\n')
    sample = vary(link, 20, 1)
    found = {key.name: (key.low, key.high, key.unit) for key in sample.keys}
    assert found["queue"] == queue
    assert found.get("loss") == loss
    assert found["server"] == (1, 80, "ms")
    assert len(resolved(link, sample.draws)) == 20


def test_no_network_is_drawn_twice() -> None:
    link = "rate=1 Mbit/s,delay=5 ms,server=1 ms"
    ends_given = ("duration", "stack", "user_host", "server_host")
    sample = vary(link, 200, 1, given=ends_given)
    assert key_names(sample) == {"queue"}
    assert [draw.name for draw in sample.draws] == sorted(draw.name for draw in sample.draws)
    assert set(column(sample, "queue")) == set(range(2, 41))
    assert len(resolved(link, sample.draws)) == len(sample.draws) == 39


def test_a_users_file_may_have_ranges_of_its_own() -> None:
    ranges = '[ranges.server]\npaths = ["link.server"]\nlow = "2 ms"\nhigh = "4 ms"\n'
    Path("x.toml").write_text(f'[link]\nrate = "5 Mbit/s"\n{ranges}invented = "a test"\n')
    (server,) = [key for key in vary("x.toml", 1, 1).keys if key.name == "server"]
    assert (server.low, server.high, server.basis) == (2, 4, "invented: a test")
    Path("x.toml").write_text(f'[link]\nrate = "5 Mbit/s"\n{ranges}')
    with pytest.raises(FieldError, match=r'x.toml:\d+: .*\n.*state the "source"'):
        vary("x.toml", 1, 1)
    Path("x.toml").write_text(
        f'[link]\nrate = "5 Mbit/s"\n{ranges}invented = "x"\n'.replace("4 ms", "4 s")
    )
    with pytest.raises(LinkError, match=r"ranges.server: give `low` and `high` in the same unit"):
        vary("x.toml", 1, 1)


def test_every_range_of_a_preset_has_words_for_sentences() -> None:
    for name in presets():
        unnamed = load_preset(name, Path()).ranges.keys() - KEYS.keys()
        assert not unnamed, f"{name}: {unnamed}"
