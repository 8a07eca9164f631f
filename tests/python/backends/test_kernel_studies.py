"""Studies on this machine's kernel, if it permits them: all applications, files and refusals."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from cwndlab.api.running import run_study
from cwndlab.api.study import Study
from cwndlab.cli import run as run_cli
from cwndlab.errors import KernelRunError, RunsFailedError
from cwndlab.kernel.capabilities import obstacles
from cwndlab.run.progress import Silent
from this_machine import is_gone_soon, needs_kernel
from user_code import GOOD, mine

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(bool(obstacles()), reason="; ".join(each.what for each in obstacles())),
]

OUTAGE = {"start": "1.5 s", "stop": "2.2 s"}
LINK = {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "60 packets"}
# All applications and directions, with algorithms of the kernel, of cwndlab and of a user.
FLOWS: list[dict[str, Any]] = [
    {"algorithm": "cubic"},
    {"algorithm": "ours:vegas", "bytes": "300 kB"},
    {"algorithm": "reno", "application": {"kind": "on_off", "on": "200 ms", "off": "300 ms"}},
    {
        "algorithm": "reno",
        "direction": "uplink",
        "application": {
            "kind": "request_response",
            "request": "200 B",
            "response": "20 kB",
            "think": "10 ms",
            "count": 5,
        },
    },
    {"algorithm": "reno", "application": {"kind": "paced", "rate": "1 Mbit/s", "write": "1 kB"}},
    {
        "algorithm": "./mine.c",
        "direction": "uplink",
        "application": {
            "kind": "windowed_file",
            "request": "32 kB",
            "outstanding": 2,
            "total": "200 kB",
        },
    },
    {"algorithm": "ours:cubic", "direction": "uplink", "parameters": {"beta": 700}},
]


def run(study: Study, folder: Path) -> Results:
    return run_study(study, folder, backend="kernel", report=lambda *_: Silent())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("kernel")
    mine(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        study = Study(
            id="all",
            link={**LINK, "outages": [OUTAGE]},
            reverse_link=LINK,
            duration="4 s",
            record={"pcap": True},
            algorithm="cubic",
            flow=FLOWS,
        )
        return run(study, folder / "r")


def test_every_application_is_one_on_the_kernel(results: Results) -> None:
    flows = results.flows()
    delivered = flows["delivered_bytes"].to_list()
    assert (delivered[1], delivered[3], delivered[5]) == (300_000, 100_000, 200_000)
    is_complete = flows["completion_ms"].is_not_null().to_list()
    assert is_complete == [False, True, False, True, False, True, False]
    assert 350_000 < delivered[4] <= 500_000, "1 Mbit/s, and an outage"
    assert flows["algorithm"].to_list() == [
        "cubic",
        "ours:vegas",
        "reno",
        "reno",
        "reno",
        "mine",
        "ours:cubic",
    ]
    assert flows["direction"].to_list() == ["forward", "forward", "forward"] + [
        "reverse" if "direction" in flow else "forward" for flow in FLOWS[3:]
    ]
    assert flows.filter(pl.col("goodput_mbit_s") > 0).height == len(FLOWS)


def test_both_kernels_tell_every_10_ms(results: Results) -> None:
    states = results.tcp_info()
    assert set(states["end"]) == {"sender", "receiver"}
    bulk = states.filter(pl.col("flow") == 0)
    for end in ("sender", "receiver"):
        assert bulk.filter(pl.col("end") == end).height > 350
    received = states.filter(pl.col("end") == "receiver")
    last = received.group_by("flow").agg(pl.col("bytes_received").max()).sort("flow")
    assert last["bytes_received"][0] > 0.95 * results.flows()["delivered_bytes"][0]
    assert results.sql("SELECT count(*) AS n FROM tcp_info")["n"].item() == states.height


def test_tracepoints_agree_with_what_the_kernel_counts(results: Results) -> None:
    entry = results.history[-1]
    assert "not_traced" not in entry
    flows, netstat = results.flows(), entry["netstat"]
    timeouts = [each["timeout"] for each in entry["traced"]]
    assert timeouts[0] >= 1, "the outage lasts longer than the timer"
    # Timeouts are counted in two ways: by the socket, and by its namespace.
    assert flows["timeouts"].to_list() == timeouts
    for side, direction in ((0, "forward"), (1, "reverse")):
        own = flows.filter(pl.col("direction") == direction)
        recoveries = netstat[side].get("TCPSackRecovery", 0)
        # The namespace is read milliseconds after the end; by then, a flow may have begun a
        # recovery.
        assert 0 <= recoveries - own["recoveries"].sum() <= own.height
    events = results.events()
    traced = events.filter(pl.col("event") == "timeout").group_by("flow").len().sort("flow")
    assert dict(traced.iter_rows()) == {n: each for n, each in enumerate(timeouts) if each}
    assert events["t_s"].is_sorted()


def test_a_capture_is_one_for_other_programs_and_for_us(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [capture] = results.path.glob("files/*/capture.pcap")
    (tmp_path / "in").mkdir()
    shutil.copy(capture, tmp_path / "in" / "all_1.pcap")
    arguments = ["import", str(tmp_path / "in"), "--pattern", "{algorithm}_{repetition}.pcap"]
    assert run_cli([*arguments, "--results", str(tmp_path / "r")]) == 0
    assert "1 run" in capsys.readouterr().out
    tshark = shutil.which("tshark")
    if tshark is None:
        return
    done = subprocess.run(
        [tshark, "-n", "-r", str(capture), "-T", "fields", "-e", "tcp.len"],
        check=True,
        capture_output=True,
        text=True,
    )
    lengths = [int(line) for line in done.stdout.split()]
    sent = results.flows()["sent_pkts"].sum()
    # The same interfaces carry requests: 5 on their own and 7 for the file, with retransmissions.
    assert sent <= sum(length > 0 for length in lengths) < sent + 40


def test_files_and_parameters_are_in_the_kernel_for_their_runs(results: Results) -> None:
    names = results.history[-1]["ours_in_kernel"]
    assert sorted(names) == ["mine", "ours:cubic", "ours:vegas"]
    assert all(is_gone_soon(name) for name in names.values())


def refusal(tmp_path: Path, **keys: Any) -> str:  # noqa: ANN401  keys of a study
    base = {"link": "rate=10 Mbit/s,delay=5 ms", "algorithm": "reno", "duration": "1 s", "id": "s"}
    with pytest.raises(RunsFailedError) as told:
        run(Study(**{**base, **keys}), tmp_path / "refused")
    return str(told.value)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"record": {"ack_trace": True}}, "does not support recording a row for each ACK"),
        ({"flow": [{"access_delay": "5 ms"}]}, "an additional delay of a single flow"),
        (
            {"algorithm": "cubic", "parameters": {"cubic": {"beta": 700}}},
            "the kernel's cubic has no parameter beta; use ours:cubic, cwndlab's implementation",
        ),
    ],
)
def test_what_is_refused_says_so(tmp_path: Path, keys: dict[str, Any], why: str) -> None:
    assert why in refusal(tmp_path, **keys)


def test_algorithms_that_the_kernel_lacks_are_named_before_the_first_run(tmp_path: Path) -> None:
    study = Study(link="rate=10 Mbit/s,delay=5 ms", algorithm=["nv", "reno", "bic"], duration="1 s")
    with pytest.raises(KernelRunError, match=r"this kernel lacks bic, nv; .* ours:bic, ours:nv"):
        run(study, tmp_path / "refused")
    assert not list((tmp_path / "refused").glob("failed/*"))


def test_a_file_that_the_kernel_does_not_take_fails_its_runs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The loop is valid C and harmless natively, but the verifier follows each iteration.
    endless = '	for (u32 n = 0; n < tcp_snd_cwnd(tcp_sk(sk)); n++)\n		asm volatile("");\n'
    mine(tmp_path, GOOD.replace("\t/* here */\n", endless))
    told = refusal(tmp_path, algorithm=["./mine.c", "reno"])
    assert "1 of 2 runs failed" in told
    assert "too large" in told
