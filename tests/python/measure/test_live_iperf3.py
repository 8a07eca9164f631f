"""`cwndlab live --via iperf3`: its requests, the limits of iperf3, and a real iperf3 server."""

from __future__ import annotations

import json
import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.api.running import run_study
from cwndlab.backends.live import RealNetwork
from cwndlab.cli import run as run_cli
from cwndlab.errors import CampaignEndedError, StudyError
from cwndlab.kernel.capabilities import this_kernel
from cwndlab.measure.iperf3 import Iperf3
from cwndlab.run.progress import Silent
from live_server import HOST, iperf3_server

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results

STUDY = """
[study]
id = "mine"
duration = "{duration}"
flows = {flows}
warm_up = "{warm_up}"

[application]
{application}

[live]
pause = "1 ms"
algorithm_on = "{algorithm_on}"

[factors]
direction = ["downlink", "uplink"]
algorithm = ["{algorithm}"]
"""
USUAL = {
    "duration": "1 s",
    "flows": "1",
    "warm_up": "0 s",
    "application": 'kind = "paced"\nrate = "8 Mbit/s"\nwrite = "1 kB"',
    "algorithm_on": "sender",
    "algorithm": "reno",
}

needs_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")


def study(folder: Path, **keys: str) -> cw.Study:
    path = folder / "mine.toml"
    path.write_text(STUDY.format(**(USUAL | keys)), encoding="utf-8")
    return cw.Study.load(path, is_live=True)


def measured(made: cw.Study, folder: Path, address: Iperf3, patience_s: float = 5) -> Results:
    return run_study(
        made, folder, backend=RealNetwork(address, None, {}, patience_s), report=lambda *_: Silent()
    )


def test_the_command_is_what_one_would_type(tmp_path: Path) -> None:
    keys = {"duration": "60 s", "warm_up": "5 s", "flows": "2", "application": 'kind = "bulk"'}
    down, up = (run.scenario for run in study(tmp_path, **keys).matrix.runs)
    words = " ".join(Iperf3("192.0.2.1").command(down, "bbr"))
    assert words == (
        "iperf3 --client 192.0.2.1 --port 5201 --json --get-server-output --connect-timeout 10000 "
        "--interval 0.1 --congestion bbr --reverse --omit 5 --parallel 2 --time 55"
    )
    plain = Iperf3("192.0.2.1").command(up, None)
    assert "--congestion" not in plain
    assert "--reverse" not in plain


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"application": 'kind = "on_off"\non = "1 s"\noff = "1 s"'}, "the application on_off"),
        ({"warm_up": "500 ms"}, "whole seconds"),
        (
            {"application": 'kind = "sized"\nbytes = "1 MB"', "flows": "2"},
            "divides the requested size among the flows",
        ),
    ],
)
def test_what_iperf3_cannot_is_refused_before_the_first_run(
    keys: dict[str, str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/iperf3")
    with pytest.raises(StudyError, match=f"{complaint}.*cwndlab serve"):
        measured(study(tmp_path, **keys), tmp_path / "r", Iperf3("127.0.0.1", 9))
    assert not (tmp_path / "r").exists()


def test_without_iperf3_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_cli(["live", "mine.toml", "--via", "iperf3", "--server", "127.0.0.1"]) == 2
    assert "apt-get install iperf3" in capsys.readouterr().err


def test_a_test_that_failed_is_tried_again_and_stays_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message of iperf3 while its server is busy with another client."""
    busy = {"start": {}, "error": "the server is busy running a test. try again later"}
    program = tmp_path / "iperf3"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(busy)}'\nexit 1\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(CampaignEndedError, match="busy running a test"):
        measured(study(tmp_path), tmp_path / "r", Iperf3("127.0.0.1", 9), patience_s=-1)
    assert [path.suffix for path in (tmp_path / "r" / "failed").iterdir()] == [".json"]


@needs_iperf3
def test_a_plain_server_is_measured_and_both_ends_are_known(tmp_path: Path) -> None:
    with iperf3_server() as port:
        results = measured(study(tmp_path), tmp_path / "r", Iperf3(HOST, port))
    flows = results.flows()
    assert flows["algorithm"].to_list() == ["reno", "reno"]
    assert sorted(flows["direction"]) == ["forward", "reverse"]
    assert flows["goodput_mbit_s"].to_list() == pytest.approx([8, 8], rel=0.1)
    for column in ("rtt_mean_ms", "cwnd_mean_pkts", "retransmitted_pkts", "delivered_bytes"):
        assert flows[column].null_count() == 0, column
    for row in results.history:
        assert row["live"]["via"].startswith("iperf 3")
        raw = results.path / "files" / row["run"] / "iperf3.json"
        assert json.loads(raw.read_bytes())["end"]["sum_received"]["bytes"] > 0


@needs_iperf3
def test_an_algorithm_set_on_the_client_alone_gets_no_credit_for_the_downlink(
    tmp_path: Path,
) -> None:
    default = "reno" if _default() != "reno" else "cubic"
    with iperf3_server() as port:
        made = study(tmp_path, algorithm_on="client", algorithm=default)
        results = measured(made, tmp_path / "r", Iperf3(HOST, port))
    flows = results.flows()
    assert set(flows["algorithm"]) == {default}
    assert dict(flows.select("direction", "sent_by").iter_rows()) == {
        "reverse": default,
        "forward": _default(),
    }


@needs_iperf3
def test_what_is_missing_is_told_with_its_remedy(tmp_path: Path) -> None:
    missing = next(name for name in core.algorithms() if this_kernel().state_of(name) is None)
    with iperf3_server() as port, pytest.raises(CampaignEndedError, match="sudo modprobe"):
        measured(study(tmp_path, algorithm=missing), tmp_path / "r", Iperf3(HOST, port))
    with pytest.raises(CampaignEndedError, match="is `iperf3 --server` running there"):
        measured(study(tmp_path), tmp_path / "s", Iperf3("127.0.0.1", 9), patience_s=-1)


def _default() -> str:
    with open("/proc/sys/net/ipv4/tcp_congestion_control", encoding="ascii") as file:  # noqa: PTH123  no file
        return file.read().strip()
