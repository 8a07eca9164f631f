"""The command line with the simulator itself: from a line or a file to results."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import threading
from pathlib import Path

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.errors import UnknownNameError
from cwndlab.results.lock import LOCK
from cwndlab.run.campaign import tasks
from cwndlab.run.executor import Batch, LocalExecutor
from program import LINK, run


def test_compare_finds_what_a_fixed_link_carries(tmp_path: Path) -> None:
    arguments = ("--link", LINK, "--algorithm", "reno,cubic", "--duration", "20 s")
    out, _ = run(tmp_path, "compare", *arguments, "--format", "json")
    rows = json.loads(out)["rows"]
    assert [row["algorithm"] for row in rows] == ["reno", "cubic"]
    for row in rows:
        # 1448 of 1500 bytes are payload, and the link is never idle for long.
        assert 0.95 * 10 * 1448 / 1500 < row["goodput_mbit_s"] <= 10 * 1448 / 1500
        # 40 ms of propagation delay, and up to 50 packets of 1.2 ms in the queue.
        assert 41 < row["rtt_p50_ms"] < 101


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="there is no folder closed to root")
def test_a_report_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    arguments = ("--link", LINK, "--algorithm", "reno,cubic", "--duration", "5 s")
    run(tmp_path, "compare", *arguments, "--results", "r")
    for out in ("/sys/kernel/mine", "/proc/mine"):  # not even root can write here
        _, err = run(tmp_path, "report", "r", "--out", out, status=2)
        assert err.startswith(f"{out}: ")
        assert err.count("\n") == 1
    (tmp_path / "r" / "report").touch()
    _, err = run(tmp_path, "report", "r", status=2)
    assert err == "r/report: file exists; choose another path\n"


def test_random_loss_makes_repetitions_and_intervals(tmp_path: Path) -> None:
    arguments = ("--link", f"{LINK},loss=0.5 %", "--algorithm", "reno,cubic", "--duration", "5 s")
    out, _ = run(tmp_path, "compare", *arguments, "--repeat", "8")
    assert "8 paired repetitions" in out
    assert "±" in out


def test_two_algorithms_see_the_same_losses(tmp_path: Path) -> None:
    """Paired by seed: the wire drops the same packets while both algorithms send alike."""
    study = cw.Study(
        link=f"{LINK},loss=2 %", algorithm=["reno", "cubic"], repetitions=6, duration="3 s"
    )
    results = study.run(tmp_path / "r")
    seeds = results.runs().group_by("repetition").agg(pl.col("seed").n_unique())
    assert seeds["seed"].to_list() == [1] * 6
    first = (
        results.events()
        .filter(pl.col("event") != "start")
        .group_by("repetition", "algorithm")
        .agg(pl.col("t_s").min())
        .group_by("repetition")
        .agg(pl.col("t_s").max() - pl.col("t_s").min())
    )
    assert (first["t_s"] == 0).sum() >= 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad.down: the trace is empty"),
        (b"3\n2\n", "bad.down: line 2: the time 2 ms follows the later time 3 ms"),
        (b"-1\n2\n", "bad.down: line 1: `-1` is negative"),
        (b"\x7fELF\x00\x01", "bad.down: line 1: byte 0x7f is not text"),
        (
            b"1.5\n",
            "bad.down: the columns have no names; the columns are 1: name the column of",
        ),
        (b"0\n0\n", "bad.down: line 2: the last time is 0 ms"),
    ],
)
def test_a_bad_trace_is_told_with_file_and_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "bad.down").write_bytes(content)
    (tmp_path / "s.toml").write_text('[study]\nalgorithm = "reno"\n[link]\ntrace = "bad.down"\n')
    out, err = run(tmp_path, "run", "s.toml", status=2)
    assert out == ""
    assert err.startswith(f's.toml:4: link.trace = "bad.down"\n  {message}')
    assert not (tmp_path / "results").exists()


def test_a_trace_is_offered_to_the_byte(tmp_path: Path) -> None:
    """Ten opportunities every 7 ms; the end of the run may cut off the last repetition."""
    stamps_ms = [7 * n for n in range(1, 100) for _ in range(10)]
    (tmp_path / "x.down").write_text("".join(f"{stamp}\n" for stamp in stamps_ms))
    study = cw.Study(
        link=f"trace:{tmp_path / 'x.down'},delay=5 ms", algorithm="cubic", duration="3 s"
    )
    links = study.run(tmp_path / "r").links()
    forward = links.filter(pl.col("link") == "forward.0").row(0, named=True)
    lap_ms = stamps_ms[-1]
    offered = sum(lap * lap_ms + stamp <= 3000 for lap in range(6) for stamp in stamps_ms)
    assert forward["offered_bytes"] == 1504 * offered


def test_a_study_with_everything_runs(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        """
[study]
id = "all"
duration = "3 s"
algorithm = "reno"

[[link.stage]]
rate = "20 Mbit/s"
burst = "15 kB"
aqm = { kind = "codel", ecn = true }
delay = "2 ms"

[[link.stage]]
rate = "8 Mbit/s"
delay = "10 ms"
queue = "30 packets"
aqm = { kind = "fq_codel", target = "20 ms", quantum = "300 bytes" }
jitter = "1 ms"
loss = { kind = "gilbert_elliott", p = "0.1 %", r = "20 %" }
outages = [{ start = "1 s", stop = "1.2 s" }]
schedule = [{ at = "2 s", rate = "4 Mbit/s", delay = "30 ms" }]

[reverse_link]
rate = "2 Mbit/s"
queue = "64 KiB"
aqm = "pie"

[[flow]]

[[flow]]
algorithm = "cubic"
start = "0.5 s"
start_jitter = "100 ms"
bytes = "100 kB"

[[flow]]
direction = "reverse"
application = { kind = "paced", rate = "500 kbit/s", write = "1 kB" }

[[flow]]
application = { kind = "request_response", request = "200 bytes", response = "30 kB" }
access_delay = "5 ms"

[[flow]]
application = { kind = "on_off", on = "200 ms", off = "300 ms", distribution = "exponential" }
stop = "2.5 s"

[[flow]]
application = { kind = "windowed_file", request = "32 KiB", outstanding = 4 }
receiver_algorithm = "cubic"

[record]
samples = "50 ms"
ack_trace = true
pcap = true
"""
    )
    run(tmp_path, "run", "s.toml")
    results = cw.open_results(tmp_path / "results" / "all")
    flows = results.flows()
    assert flows["application"].to_list() == [
        "bulk",
        "sized",
        "paced",
        "request_response",
        "on_off",
        "windowed_file",
    ]
    assert flows["direction"].to_list().count("reverse") == 1
    assert (flows["delivered_bytes"] > 0).all()
    assert flows["completion_ms"][1] > 0
    assert not results.acks().is_empty()
    key = results.runs()["run"][0]
    capture = (results.path / "files" / key / "capture.pcap").read_bytes()
    assert capture[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")


def test_captures_are_kept_on_demand_and_open_elsewhere(tmp_path: Path) -> None:
    text = f'[study]\nid = "s"\nlink = "{LINK}"\nalgorithm = "reno"\nduration = "1 s"\n'
    (tmp_path / "s.toml").write_text(text)
    run(tmp_path, "run", "s.toml")
    assert not list(tmp_path.glob("results/s/files/*/capture.pcap"))
    out, _ = run(tmp_path, "run", "s.toml", "--pcap", "--results", "captured")
    assert "captured/files/*/capture.pcap" in out
    [capture] = tmp_path.glob("captured/files/*/capture.pcap")
    assert capture.stat().st_size > 100_000
    if tshark := shutil.which("tshark"):
        command = [tshark, "-r", str(capture), "-c", "1", "-T", "fields", "-e", "tcp.flags.syn"]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert told.stdout.strip() in {"1", "True"}


def test_parameters_and_stacks_reach_the_simulator(tmp_path: Path) -> None:
    study = cw.Study(
        link=LINK,
        duration="5 s",
        factors={
            "variant": [
                {"name": "linux", "algorithm": "reno"},
                {"name": "ns-2", "algorithm": "reno", "stack": "ns-2-packet"},
                {"name": "ten", "algorithm": "fixed", "parameters.fixed.window_pkts": 10},
                {"name": "twenty", "algorithm": "fixed", "parameters.fixed.window_pkts": 20},
            ]
        },
    )
    runs = study.run(tmp_path / "r").runs()
    goodput = dict(zip(runs["variant"], runs["goodput_mbit_s"], strict=True))
    assert goodput["ns-2"] != goodput["linux"]
    assert goodput["twenty"] / goodput["ten"] == pytest.approx(2, rel=0.05)


def test_an_unknown_stack_override_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f'[study]\nalgorithm = "reno"\nlink = "{LINK}"\n[stack_overrides]\nno_such_key = 1\n'
    )
    _, err = run(tmp_path, "run", "s.toml", status=2)
    assert err.startswith(
        "s.toml:4: stack_overrides\n  stack setting `no_such_key`: there is no such setting; "
    )
    assert not (tmp_path / "results").exists()


def test_a_link_that_the_simulator_cannot_build_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    red = '{ kind = "red", min = "90 kB", max = "30 kB" }'
    (tmp_path / "s.toml").write_text(
        f'[study]\nalgorithm = "reno"\n[link]\nrate = "1 Mbit/s"\naqm = {red}\n'
    )
    _, err = run(tmp_path, "run", "s.toml", status=2)
    assert "the simulator refuses the study: path.forward[0]" in err


def test_runs_that_nobody_waits_for_are_broken_off() -> None:
    """Their threads end before the process does."""
    studies = [
        cw.Study(link=LINK, algorithm="reno", duration=duration, repetitions=count, id="s")
        for duration, count in (("1 s", 1), ("1000000 s", 2))
    ]
    others = set(threading.enumerate())
    all_tasks = [task for study in studies for task in tasks(study.matrix.runs)]
    outcomes = LocalExecutor(2).batches(all_tasks)
    batch = next(outcomes)
    assert isinstance(batch, Batch)
    assert [outcome.error for outcome in batch.outcomes] == [None]
    outcomes.close()  # type: ignore[attr-defined]  # it is a generator
    assert set(threading.enumerate()) <= others


def test_the_report_is_written_and_its_path_printed(tmp_path: Path) -> None:
    arguments = ("--link", LINK, "--algorithm", "reno,cubic", "--duration", "3 s")
    run(tmp_path, "compare", *arguments, "--results", "r")
    out, _ = run(tmp_path, "report", "r")
    page = Path(out.strip())
    assert (tmp_path / page).read_text(encoding="utf-8").startswith("<!")


def test_doctor_finds_nothing_missing(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "doctor", "--format", "json")
    assert {row["state"] for row in json.loads(out)} <= {"ok", "optional"}


def test_an_unknown_backend_is_refused(tmp_path: Path) -> None:
    study = cw.Study(link="rate=10 Mbit/s", algorithm="reno", duration="1 s")
    with pytest.raises(UnknownNameError, match='unknown backend "kernal"; did you mean kernel'):
        study.run(tmp_path / "results", backend="kernal")  # type: ignore[arg-type]


def test_a_folder_that_is_being_created_is_no_earlier_comparison(tmp_path: Path) -> None:
    """Another process writes the manifest first, and holds the lock."""
    arguments = ("--link", LINK, "--algorithm", "reno", "--duration", "1 s", "--results", "r")
    run(tmp_path, "compare", *arguments)
    (tmp_path / "r" / "study.toml").unlink()
    with (tmp_path / "r" / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _, err = run(tmp_path, "compare", *arguments, status=2)
    assert "another cwndlab process is writing to this folder" in err
