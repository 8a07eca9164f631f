"""A Wi-Fi channel in study files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import cwndlab as cw
from cwndlab.errors import StudyError
from cwndlab.schema.path import PathPart

DOCS = Path(__file__).parents[3] / "docs/explanation/wifi.md"


def test_the_channel_of_the_docs_runs(tmp_path: Path) -> None:
    channel, _ = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    study = tmp_path / "study.toml"
    more = '[study]\nid = "docs"\nduration = "3 s"\ndirection = "uplink"'
    flows = '[[flow]]\ncount = 3\nuser = "each"\n'
    study.write_text(channel.replace("[study]", more) + flows)
    loaded = cw.Study.load(study)
    path = loaded.cells[0].resolved.scenario.path
    assert isinstance(path, PathPart)
    assert path.kind == "wifi"
    assert [node.x_mm for node in path.stations] == [10_000] * 3
    assert path.interference is not None
    assert (path.interference.kind, path.interference.share_ppb) == ("heard", 300_000_000)
    ran = loaded.run(tmp_path / "results").flows()
    # At 10 m nothing is lost, and the other network leaves 70 % of the airtime.
    rates = ran["goodput_mbit_s"].to_list()
    assert min(rates) > 1
    assert 20 < sum(rates) < 40


def test_the_access_point_of_the_docs_runs() -> None:
    _, link = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    study = cw.Study(link=tomllib.loads(link)["link"], algorithm="cubic", duration="3 s")
    path = study.cells[0].resolved.scenario.path
    assert isinstance(path, PathPart)
    assert path.access_point.queue.kind == "airtime"


CHANNEL = """
[study]
id = "w"
duration = "2 s"
algorithm = "cubic"
[link.wifi]
standard = "802.11n"
"""


def read(tmp_path: Path, keys: str) -> list[tuple[int, int]]:
    """Return the positions of the stations of a channel with these keys."""
    study = tmp_path / "study.toml"
    study.write_text(CHANNEL + keys)
    path = cw.Study.load(study).cells[0].resolved.scenario.path
    assert isinstance(path, PathPart)
    assert path.kind == "wifi"
    return [(node.x_mm, node.y_mm) for node in path.stations]


def test_what_stations_have_in_common_may_take_turns(tmp_path: Path) -> None:
    turns = 'station = [{ x = "1 m" }, { x = "2 m", y = "3 m" }]\n'
    assert read(tmp_path, turns) == [(1000, 0)]
    assert read(tmp_path, turns + "stations = 3\n") == [(1000, 0), (2000, 3000), (1000, 0)]
    own = 'stations = [{ y = "5 m" }, {}]\n'
    assert read(tmp_path, turns + own) == [(1000, 5000), (2000, 3000)]
    assert read(tmp_path, "stations = 2\n") == [(0, 0)] * 2


@pytest.mark.parametrize(
    ("station", "problem"),
    [
        ("[]", "station\n  must not be empty"),
        ("3", "station = 3\n  must be a table"),
        ('[{ x = "1 m" }, { z = "1 m" }]', 'station[1].z = "1 m"\n  unknown key'),
        ('[{ x = "1 s" }]', 'station[0].x = "1 s"\n  not a length'),
        ('{ x = "1 s" }', 'station.x = "1 s"\n  not a length'),
    ],
)
def test_a_wrong_station_is_told_once(tmp_path: Path, station: str, problem: str) -> None:
    with pytest.raises(StudyError) as told:
        read(tmp_path, f"station = {station}\n")
    assert str(told.value).count("study.toml") == 1
    assert problem in str(told.value)
