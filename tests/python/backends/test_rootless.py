"""Runs on the kernel and the shell without root, in namespaces of a user namespace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cwndlab.api.study import Study
from cwndlab.backends.kernel import process
from this_machine import needs_kernel

if TYPE_CHECKING:
    from pathlib import Path

# CAP_SETFCAP only permits mapping user 0, which these tests keep, into a user namespace.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
MISSING = shutil.which("setpriv") is None or os.geteuid() != 0

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(
        MISSING,
        reason="setpriv is missing, or these tests do not run as root, whose rights they drop",
    ),
]


def test_a_study_runs_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "helper"
    helper.write_text(f'#!/bin/sh\nexec {" ".join(WITHOUT_RIGHTS)} {process.helper_path()} "$@"\n')
    helper.chmod(0o755)
    monkeypatch.setattr(process, "helper_path", lambda: helper)
    assert not process.obstacles_to_runs()
    made = Study(link="rate=8 Mbit/s,delay=10 ms", algorithm="cubic", duration="3 s", id="s")
    scenario = made.matrix.runs[0].scenario.to_json()
    with process.RunsHelper() as running:
        ran = running.ask({"do": "run", "scenario": json.loads(scenario)})
    # The lateness of packets depends on the load of this machine, so it is not checked.
    assert ran["report"]["is_realtime"] is False, "without root no thread is real-time"
    assert ran["report"]["ring_drops"] == ran["report"]["refused"] == 0
    assert 5.0 < ran["flows"][0]["goodput_mbit_s"] < 8.0
    assert len(ran["kernel"]["namespaces"]) == 2


def test_a_shell_without_root_reaches_this_machine_through_the_proxy() -> None:
    program = (
        "import os, urllib.request; print(os.environ['CWNDLAB_HOST'],"
        " urllib.request.urlopen('http://127.0.0.1:9/').status)"
    )
    command = [sys.executable, "-m", "cwndlab", "shell", "--link", "rate=8 Mbit/s,delay=50 ms"]
    ended = subprocess.run(
        [*WITHOUT_RIGHTS, *command, "--", sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "502" in ended.stderr, "the proxy answers that nothing listens there"
    assert ended.returncode == 1


def test_without_user_namespaces_the_remedy_is_named(tmp_path: Path) -> None:
    # A namespace that must not have a child, as in a container that permits no user namespaces.
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        f"exec setpriv --bounding-set=-all --inh-caps=-all {process.helper_path()} check"
    )
    ended = subprocess.run(
        ["/usr/bin/unshare", "--user", "--map-root-user", "sh", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    what, remedy = ended.stdout.splitlines()
    assert ended.returncode == 1
    assert what.startswith(("no network namespace can be created", "/dev/net/tun cannot be opened"))
    assert remedy.startswith("sudo cwndlab ...")
