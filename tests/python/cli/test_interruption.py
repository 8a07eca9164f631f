"""Ctrl-C ends any command at once and keeps finished work, even if Polars has been imported."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import cwndlab as cw
from finished import finished
from patience import is_soon

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE_S = 0.5

LINK = "rate=100 Mbit/s,delay=20 ms"
LONG = """
[study]
duration = "100000 s"
[factors]
algorithm = ["reno", "cubic"]
[link]
rate = "100 Mbit/s"
delay = "20 ms"
"""
COMMANDS = {
    "run": ["run", "long.toml"],
    "compare": ["compare", "--link", LINK, "--algorithm", "reno,cubic", "--duration", "100000 s"],
    "advise": ["advise", "--link", "lossy", "--budget", "1000 s"],
    "reproduce": ["reproduce", "hsdpa-2010"],
}


def interrupted(
    process: subprocess.Popen[str], by: signal.Signals = signal.SIGINT
) -> tuple[float, str]:
    """Interrupt a process; return its remaining time and its messages."""
    began_s = time.monotonic()
    process.send_signal(by)
    _, err = process.communicate(timeout=60)
    return time.monotonic() - began_s, err


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


def limit_s() -> float:
    """Return the time limit, which grows with the number of processes on this machine."""
    return AT_ONCE_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_ends_a_command_at_once_and_says_what_is_safe(
    name: str, by: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    process = start(tmp_path, "-m", "cwndlab", *COMMANDS[name])
    assert is_soon(lambda: any(tmp_path.glob("results/*/manifest.json")))
    time.sleep(random.Random().uniform(0.3, 1.5))  # noqa: S311  no secret
    took_s, err = interrupted(process, by)
    assert process.returncode == 128 + by
    assert err.splitlines()[-1].startswith("stopped")
    assert took_s < limit_s(), err


def test_ctrl_c_before_the_first_run_says_so_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    for wait_s in (0.3, 0.6, 1.0, 1.5):
        process = start(tmp_path, "-m", "cwndlab", "run", "long.toml")
        time.sleep(wait_s)
        took_s, err = interrupted(process)
        assert took_s < limit_s(), (wait_s, err)
        assert "Traceback" not in err, (wait_s, err)


def test_ctrl_c_is_not_swallowed_while_advise_makes_its_first_answer(tmp_path: Path) -> None:
    """During this step, pydantic-core reads attributes of a value and discards all exceptions."""
    for wait_s in (1.0, 1.15, 1.3, 1.45, 1.6, 1.75):
        process = start(tmp_path, "-m", "cwndlab", *COMMANDS["advise"])
        time.sleep(wait_s)
        took_s, err = interrupted(process)
        assert process.returncode == 130, (wait_s, err)
        assert took_s < limit_s(), (wait_s, err)


@pytest.mark.parametrize("cleared_by", ["pass", "raise TypeError from None"])
def test_a_ctrl_c_that_a_library_clears_is_raised_again(cleared_by: str, tmp_path: Path) -> None:
    program = f"""
import os, signal, sys, time
import click
from cwndlab import cli

class Cleared:
    def __getattr__(self, name):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            {cleared_by}

@click.command()
def clear():
    print("begins", file=sys.stderr, flush=True)
    Cleared().attribute
    time.sleep(60)

cli.app = clear
cli.main([])
"""
    process = start(tmp_path, "-c", program)
    assert process.stderr is not None
    assert process.stderr.readline() == "begins\n"
    began_s = time.monotonic()
    with process.stderr as stream:
        err = stream.read()  # not communicate: readline may have buffered a line
    assert process.wait(timeout=60) == 130
    assert time.monotonic() - began_s < limit_s(), err
    assert err.strip() == "stopped"


def test_ctrl_c_ends_packing_and_leaves_no_archive(tmp_path: Path) -> None:
    record = {"pcap": True, "samples": "none"}
    study = cw.Study(link=LINK, algorithm="reno", duration="30 s", record=record, id="s")
    study.run(tmp_path / "s")
    for wait_s in (0.2, 0.5, 0.8, 1.1, 1.4):
        process = start(tmp_path, "-m", "cwndlab", "pack", "s")
        time.sleep(wait_s)
        if process.poll() is not None:
            process.communicate()
            break
        took_s, err = interrupted(process)
        assert took_s < limit_s(), (wait_s, err)
        assert "Traceback" not in err, (wait_s, err)
        assert process.returncode in {0, 130, -signal.SIGINT}, (wait_s, err)
        assert process.returncode == 0 or not list(tmp_path.glob("*.zip*"))


def test_a_notebook_cell_can_be_interrupted_and_run_again(tmp_path: Path) -> None:
    """A notebook's kernel receives SIGINT as a command does, and continues afterwards."""
    program = """
import sys, polars, cwndlab as cw
link = "rate=100 Mbit/s,delay=20 ms"
study = cw.Study(link=link, algorithm=["reno"], duration="100000 s", id="s")
for _ in range(2):
    try:
        print("cell", file=sys.stderr, flush=True)
        study.run("results/s")
    except cw.errors.InterruptedStudyError as error:
        print(error, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("early", file=sys.stderr, flush=True)
"""
    process = start(tmp_path, "-c", program)
    assert process.stderr is not None
    for _ in range(2):
        assert process.stderr.readline() == "cell\n"
        assert process.stderr.readline().startswith("s: about ")  # the estimated cost
        time.sleep(1)
        began_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("stopped; 0 of 1 run is stored")
        assert time.monotonic() - began_s < limit_s()
    with process.stderr:
        assert process.wait(60) == 0
    assert finished(tmp_path / "results" / "s") == {}
