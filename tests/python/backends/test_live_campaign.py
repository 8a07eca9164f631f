"""Campaigns over the loopback interface: finished samples survive the death of any process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from cwndlab.api.results import Results, open_results
from cwndlab.api.running import run_study
from cwndlab.backends.live import RealNetwork
from cwndlab.errors import CampaignEndedError, StudyError
from cwndlab.measure.wire.address import Address
from cwndlab.run.progress import Silent
from finished import finished
from live_server import HOST, TOKEN, server_apart, server_here
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
[study]
id = "mine"
duration = "{duration}"
repetitions = {repetitions}

[application]
kind = "paced"
rate = "8 Mbit/s"
write = "1 kB"

[live]
pause = "1 ms"
{live}

[factors]
algorithm = ["reno", "cubic"]
direction = ["downlink", "uplink"]
"""


def written(
    folder: Path, *, duration: str = "300 ms", repetitions: int = 1, live: str = ""
) -> Path:
    path = folder / "mine.toml"
    text = STUDY.format(duration=duration, repetitions=repetitions, live=live)
    path.write_text(text, encoding="utf-8")
    return path


def measured(study: Path, folder: Path, address: Address, patience_s: float = 30) -> Results:
    loaded = cw.Study.load(study, is_live=True)
    return run_study(
        loaded,
        folder,
        backend=RealNetwork(address, None, {}, patience_s),
        report=lambda *_: Silent(),
    )


def test_both_ends_are_seen_and_the_tables_are_those_of_all_backends(tmp_path: Path) -> None:
    with server_here() as address:
        results = measured(written(tmp_path, duration="1 s"), tmp_path / "r", address)
    flows = results.flows()
    assert flows.height == 4
    assert flows["goodput_mbit_s"].to_list() == pytest.approx([8] * 4, rel=0.15)
    assert set(flows["direction"]) == {"forward", "reverse"}
    assert flows["algorithm"].to_list() == flows["factor_algorithm"].to_list()
    assert all(base_ms < 50 for base_ms in flows["rtt_base_ms"])
    for row in results.history:
        assert row["live"]["probes_answered"] > 0
        # Both ends have the same clock, so the measured offset must be within its uncertainty.
        assert abs(row["live"]["clock_offset_ms"]) <= row["live"]["clock_uncertainty_ms"] + 0.001
        assert row["live"]["path_mtu_of_client_bytes"] > 1000
        state = results.tcp_info(run=row["run"])
        assert set(state["end"]) == {"sender", "receiver"}
        assert all(cwnd > 0 for cwnd in state.filter(end="sender")["snd_cwnd"])


def test_what_the_sender_did_not_run_is_not_attributed(tmp_path: Path) -> None:
    """The downlink of a thesis that set the algorithm only on the client."""
    study = written(tmp_path, live='algorithm_on = "client"')
    with server_here() as address:
        results = measured(study, tmp_path / "r", address)
    default = results.history[0]["live"]["server_default_algorithm"]
    for row in results.flows().to_dicts():
        assert row["algorithm"] == row["factor_algorithm"]
        assert row["sent_by"] == (row["algorithm"] if row["direction"] == "reverse" else default)


def test_a_killed_client_goes_on_where_it_was(tmp_path: Path) -> None:
    study = written(tmp_path, repetitions=3)
    process, port = server_apart(tmp_path)
    command = [sys.executable, "-m", "cwndlab", "live", str(study), "--server", f"{HOST}:{port}"]
    try:
        client = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        folder = tmp_path / "results" / "mine-live"
        assert is_soon(lambda: len(finished(folder)) >= 3)
        client.send_signal(signal.SIGKILL)
        client.wait()
        before = finished(folder)
        assert 3 <= len(before) < 12
        command[3:4] = ["run", "--backend", "live"]  # another name of the same command
        again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stdout + again.stderr
        after = finished(folder)
        assert len(after) == 12
        assert {name: after[name] for name in before} == before, "nothing was measured twice"
    finally:
        process.kill()
        process.communicate()


def test_a_killed_server_is_waited_for_and_the_failure_stays_on_record(tmp_path: Path) -> None:
    study = written(tmp_path, repetitions=2)
    process, port = server_apart(tmp_path)
    command = [sys.executable, "-m", "cwndlab", "live", str(study), "--server", f"{HOST}:{port}"]
    client = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        folder = tmp_path / "results" / "mine-live"
        assert is_soon(lambda: len(finished(folder)) >= 2)
        process.kill()
        process.communicate()
        time.sleep(1)
        process, _ = server_apart(tmp_path, port)
        out, _ = client.communicate(timeout=PATIENCE_S)
        assert client.returncode == 0, out
        assert "failed and will be tried again" in out
        statuses = [
            row["status"] for row in open_results(tmp_path / "results" / "mine-live").history
        ]
        assert statuses.count("done") == 8
        assert statuses.count("failed") >= 1
    finally:
        client.kill()
        client.communicate()
        process.kill()
        process.communicate()


def test_patience_ends_and_what_was_measured_is_safe(tmp_path: Path) -> None:
    with pytest.raises(CampaignEndedError, match="0 of 4 runs are stored"):
        measured(written(tmp_path), tmp_path / "r", Address(HOST, 9, TOKEN), patience_s=0.5)


def test_a_study_of_several_places_asks_where_it_is(tmp_path: Path) -> None:
    study = written(tmp_path)
    text = study.read_text(encoding="utf-8")
    study.write_text(f'{text}"live.place" = ["home", "campus"]\n', encoding="utf-8")
    with pytest.raises(StudyError, match="home, campus; select one with --place"):
        measured(study, tmp_path / "r", Address(HOST, 9, TOKEN))
