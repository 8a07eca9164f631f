"""Recorded links in all formats, as named in studies and in one-line links."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from cwndlab import core
from cwndlab.api.study import Study
from cwndlab.errors import CoreMissingError, StudyError, TraceError
from cwndlab.resolve.queues import narrowest_queue
from cwndlab.resolve.traces import Told, read_folder, read_trace
from cwndlab.schema.path import PathPart
from cwndlab.study.describe import describe_link, read_link

if TYPE_CHECKING:
    from pathlib import Path

DRIVE = """time,throughput,speed
2023-04-04 10:07:13 CDT,81.4,23.68
2023-04-04 10:07:14 CDT,113.0,16.87
"""


@pytest.fixture(autouse=True)
def _core() -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_file_of_any_form_becomes_what_the_simulator_reads(tmp_path: Path) -> None:
    drive = read_trace(write(tmp_path, "drive.csv", DRIVE))
    assert drive.content == b"time_s,rate_mbit_s\n0,81.4\n1,113.0\n"
    assert drive.kind == "log"
    assert drive.info["understood"] == (
        'CSV: a sample a second, Mbit/s, column 2 "throughput", 2 s, unit Mbit/s assumed'
    )
    packed = read_trace(write(tmp_path, "drive.csv.gz", gzip.compress(DRIVE.encode())))
    assert packed.content == drive.content
    told = read_trace(tmp_path / "drive.csv", Told(column="speed", unit="kbit/s"))
    assert told.content == b"time_s,rate_mbit_s\n0,0.02368\n1,0.01687\n"


def test_one_key_takes_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "drive.csv", DRIVE)
    write(tmp_path, "x.down", "1\n2\n")
    write(tmp_path, "cooked", "0.0\t4.03\n0.55\t4.79\n")
    for spec, kind in (
        ("trace:drive.csv,delay=20 ms", "log"),
        ("log:drive.csv,delay=20 ms", "log"),
        ("trace:cooked", "log"),
        ("trace:x.down", "mahimahi"),
        ("delay=20 ms,log=x.down", "mahimahi"),
    ):
        _, resolved = read_link(spec)
        assert isinstance(resolved.path, PathPart)
        assert resolved.path.forward[0].rate.kind == kind, spec
    _, resolved = read_link("trace:drive.csv,column=speed,unit=bytes/s")
    assert next(iter(resolved.traces.values())).info["mean_rate_mbit_s"] == pytest.approx(
        0.000162, abs=1e-6
    )
    assert any("CSV: a sample a second" in line for line in describe_link("trace:drive.csv"))


def test_what_is_ambiguous_names_the_key_that_settles_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "two.csv", "time,tcp_mbps,udp_mbps\n0,1,2\n1,1,2\n")
    told = (
        'several columns could be the rate; the columns are 1 "time", 2 "tcp_mbps", 3 '
        '"udp_mbps": name the column of the rate, for example column = "tcp_mbps"'
    )
    with pytest.raises(StudyError) as refused:
        read_link("trace:two.csv,delay=20 ms")
    assert told in str(refused.value)
    with pytest.raises(StudyError, match='"unit" describes a "trace", but this link has no trace'):
        read_link("rate=10 Mbit/s,unit=Mbit/s")
    with pytest.raises(TraceError, match=r"x\.txt: the trace is empty"):
        read_trace(write(tmp_path, "x.txt", "once upon a time\n"))


def test_a_queue_that_nobody_names_follows_the_mean_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{second},330\n" for second in range(10))
    write(tmp_path, "fast.csv", f"time,mbps\n{rows}")
    write(tmp_path, "slow.csv", "time,mbps\n0,3\n1,5\n")
    for spec, packets, is_default in (
        ("trace:fast.csv,delay=20 ms", 1100, True),  # 330 Mbit/s x 40 ms in packets of 1500 bytes
        ("trace:slow.csv,delay=20 ms", 250, True),
        ("trace:fast.csv,delay=20 ms,queue=250 packets", 250, False),
        ("trace:fast.csv,delay=20 ms,queue=0.5 BDP", 550, False),
        ("rate=10 Mbit/s,delay=20 ms", 34, True),
        # The server is beyond the link and does not change any queue.
        ("trace:fast.csv,delay=20 ms,server=30 ms", 1100, True),
        ("rate=10 Mbit/s,delay=20 ms,server=30 ms", 34, True),
    ):
        _, resolved = read_link(spec)
        size = narrowest_queue(resolved.path, resolved.traces, resolved.server_ns)
        assert size is not None
        assert (size.packets, size.is_default) == (packets, is_default), spec
        assert any("by default" in line for line in describe_link(spec)) == is_default
    said = "1,100 packets, 1 BDP of 330 Mbit/s on average and 40 ms, by default"
    _, resolved = read_link("trace:fast.csv,delay=20 ms")
    assert str(narrowest_queue(resolved.path, resolved.traces, resolved.server_ns)) == said


def test_a_folder_of_cellreplay_is_both_directions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "driving"
    folder.mkdir()
    write(folder, "down-pdo", "1\n2\n10\n")
    write(folder, "up-pdo", "5\n10\n")
    write(folder, "down-delay-light-pdo", "0 20 0 1 3\n100 24\n200 22 0\n")
    write(folder, "up-delay-light-pdo", "0 30 0 1 3\n100 34\n200 32 0\n")
    light = read_folder(folder)["down"].light
    assert light is not None
    assert light.info["understood"] == (
        "packet trains: 3, 0.3 s; median base delay 22 ms (minimum 20 ms), 1 packet in 0 ms"
    )
    _, resolved = read_link("trace:driving")
    path = resolved.path
    assert isinstance(path, PathPart)
    assert (path.forward[0].delay_ns, path.reverse[0].delay_ns) == (20_000_000, 30_000_000)
    assert path.forward[0].rate != path.reverse[0].rate
    assert path.forward[0].rate.light.path == light.content_name
    assert resolved.contents[light.content_name] == light.content
    _, farther = read_link("trace:driving,delay=5 ms")
    assert isinstance(farther.path, PathPart)
    assert farther.path.forward[0].delay_ns == 25_000_000
    (folder / "down-pdo").rename(folder / "down-heavy-pdo")
    (folder / "up-pdo").rename(folder / "up-heavy-pdo")
    _, renamed = read_link("trace:driving")
    assert renamed.path == path
    write(folder, "up-heavy-pdo", "1\nx\n")
    with pytest.raises(StudyError, match="driving/up-heavy-pdo: line 2: `x` is not"):
        read_link("trace:driving")
    (folder / "up-heavy-pdo").unlink()
    with pytest.raises(
        StudyError, match="a folder is a trace only if it contains CellReplay's files"
    ):
        read_link("trace:driving")


def test_packet_trains_are_kept_with_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "d.trace", "".join(f"{at}\n" for at in range(1, 500)))
    write(tmp_path, "d.light", "0 20 0 1 3\n100.5 24 0 1\n200 22 0\n")
    link = {"trace": "d.trace", "light_trace": "d.light", "light_after": "30 ms"}
    study = Study(link=link, algorithm="reno", duration="2 s")
    folder = tmp_path / "results"
    (run,) = study.run(results=folder).runs().to_dicts()
    (tmp_path / "d.light").unlink()
    again = Study.load(folder / "study.toml").run(results=tmp_path / "again")
    assert again.runs().to_dicts()[0]["goodput_mbit_s"] == run["goodput_mbit_s"]
    (kept,) = folder.glob("traces/*.light")
    lines = describe_link(f"trace:d.trace,light_trace={kept}")
    assert any("packet trains: 3, " in line and "median base delay 22 ms" in line for line in lines)


def test_wrong_packet_trains_are_refused_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "d.trace", "1\n2\n")
    write(tmp_path, "d.light", "0 20 0\n7 20 0 2 1\n")
    wanted = "d.light: line 2: the arrival 1 ms follows a later arrival"
    with pytest.raises(StudyError, match=wanted):
        read_link("trace:d.trace,light_trace=d.light")
    write(tmp_path, "trains", "0 20 0 1 2\n7 20 0 1\n")
    with pytest.raises(StudyError, match="write its name as light_trace"):
        read_link("trace:trains")
    with pytest.raises(StudyError, match=r"line 1: `1` is not a time, a base delay and arrivals"):
        read_link("trace:d.trace,light_trace=d.trace")
