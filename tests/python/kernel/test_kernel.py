"""Algorithms in the running kernel: names, obstacles and, as root, real loading."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from cwndlab import core
from cwndlab.cli import doctor
from cwndlab.errors import AlgorithmError, BrokenAlgorithmError, KernelError
from cwndlab.kernel import capabilities, helper, loading
from cwndlab.kernel.capabilities import Kernel, Obstacle, obstacles, this_kernel
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.loading import Pin, kernel_states, load, require_loading, unload
from cwndlab.kernel.objects import kernel_object, kernel_program
from cwndlab.kernel.replay import CallRecorder, replay
from examples import algorithms as algorithms_of_the_documentation
from patience import PATIENCE_S
from program import run
from this_machine import is_gone_soon
from user_code import mine

if TYPE_CHECKING:
    from pathlib import Path

IN_THE_WAY = "; ".join(obstacle.what for obstacle in obstacles())
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="there is no clang")
needs_kernel = pytest.mark.skipif(bool(IN_THE_WAY), reason=IN_THE_WAY or "nothing")
NAME = re.compile(r"cl_[0-9a-f]{8}")

pytestmark = pytest.mark.usefixtures("own_cache")

DEBIAN = Kernel(
    "6.12",
    frozenset({"reno", "cubic", "bbr", "cl_01234567"}),
    frozenset({"bbr"}),
    frozenset({"bbr", "vegas"}),
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cwndlab", "algorithm", *arguments]


def test_a_kernel_says_how_it_has_an_algorithm() -> None:
    assert DEBIAN.state_of("cubic") == "built in"
    assert DEBIAN.state_of("bbr") == "module, loaded"
    assert DEBIAN.state_of("vegas") == "module: modprobe tcp_vegas"
    assert DEBIAN.state_of("compound") is None
    assert DEBIAN.own == ["bbr", "cubic", "reno"]
    assert DEBIAN.ours == {"cl_01234567"}


def test_the_list_says_what_this_kernel_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "this_kernel", lambda: DEBIAN)
    monkeypatch.setattr(loading, "pins", lambda: [Pin("cubic", "cl_01234567")])
    monkeypatch.setattr(loading, "obstacles", list)
    names = ["reno", "cubic", "vegas", "compound"]
    assert kernel_states(names) == {
        "reno": "built in",
        "cubic": "built in, ours as cl_01234567",
        "vegas": "module: modprobe tcp_vegas",
        "compound": "loadable",
    }
    monkeypatch.setattr(loading, "obstacles", lambda: [Obstacle("clang is missing", "apt")])
    assert kernel_states(["compound"]) == {
        ("compound"): "cannot be loaded (cwndlab doctor shows the reason)"
    }


def test_the_command_lists_every_algorithm(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "algorithm", "list", "--format", "json")
    rows = json.loads(out)
    states = {row["name"]: row["kernel"] for row in rows}
    assert all(states[name] for name in core.algorithms())
    assert states["newreno"] is None


@needs_clang
def test_a_name_is_that_of_source_and_parameters(tmp_path: Path) -> None:
    reno = kernel_program("reno", tmp_path)
    assert NAME.fullmatch(reno.name)
    assert reno == kernel_program("reno", tmp_path)
    names = {
        program.name
        for program in (
            reno,
            kernel_program("cubic", tmp_path),
            kernel_program("cubic", tmp_path, {"beta": 700}),
            kernel_program("cubic", tmp_path, {"beta": 701}),
        )
    }
    assert len(names) == 4


@needs_clang
def test_the_same_text_elsewhere_has_the_same_name(tmp_path: Path) -> None:
    programs = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        mine(folder)
        programs.append(kernel_program("./mine.c", folder))
    assert programs[0].name == programs[1].name
    assert programs[0].label == "mine"
    assert programs[0].pin == f"mine-{programs[0].name}"


@needs_clang
def test_a_pin_has_no_dots(tmp_path: Path) -> None:
    mine(tmp_path, name="reno.c")
    program = kernel_program("./reno.c", tmp_path)
    assert program.label == "reno.c"
    assert program.pin == f"reno_c-{program.name}"


@needs_clang
def test_every_algorithm_becomes_an_object_once(tmp_path: Path) -> None:
    for name in core.algorithms():
        first = kernel_object(kernel_program(name, tmp_path).program)
        assert first.read_bytes().startswith(b"\x7fELF")
        stamp = first.stat().st_mtime_ns
        second = kernel_object(kernel_program(name, tmp_path).program)
        assert (second, second.stat().st_mtime_ns) == (first, stamp)


@needs_clang
def test_what_does_not_compile_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text('#include "cc.h"\n\nint x = y;\n', encoding="utf-8")
    with pytest.raises(BrokenAlgorithmError, match=r"bad\.c:3:.*undeclared identifier 'y'"):
        kernel_object(kernel_program("./bad.c", tmp_path).program)


def test_a_recovery_is_no_algorithm_of_a_kernel(tmp_path: Path) -> None:
    with pytest.raises(AlgorithmError, match="newreno differs from reno only in loss recovery"):
        kernel_program("newreno", tmp_path)


def test_a_kernels_own_file_is_its_module(tmp_path: Path) -> None:
    with pytest.raises(AlgorithmError, match="modprobe tcp_vegas"):
        kernel_program("linux:net/ipv4/tcp_vegas.c", tmp_path)


def test_without_clang_one_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from cwndlab.kernel.clang import clang  # noqa: PLC0415  its cache is emptied

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CLANG", raising=False)
    clang.cache_clear()
    try:
        with pytest.raises(AlgorithmError, match="apt install clang"):
            clang()
        assert "clang is missing" in {obstacle.what for obstacle in obstacles()}
    finally:
        clang.cache_clear()


def test_a_user_is_told_the_command_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Obstacle("only root can load algorithms", "sudo", is_root=True)
    monkeypatch.setattr(loading, "obstacles", lambda: [root])
    monkeypatch.setattr(loading, "this_kernel", lambda: DEBIAN)
    with pytest.raises(KernelError) as told:
        require_loading("compound")
    assert str(told.value) == (
        "compound is not in this kernel, and loading it needs root: "
        "sudo cwndlab algorithm load compound"
    )
    types = Obstacle("this kernel has no types", "run another")
    monkeypatch.setattr(loading, "obstacles", lambda: [types, root])
    with pytest.raises(KernelError, match=r"(?s)cannot be loaded.*no types: run another.*sudo"):
        require_loading("compound")


def test_without_the_helper_one_is_told_how_to_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "_NAME", "no-such-program")
    with pytest.raises(KernelError, match=r"libelf-dev.*make setup"):
        KernelHelper()


def test_without_types_there_is_nothing_to_load_into(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(capabilities, "_TYPES", tmp_path / "vmlinux")
    assert any("vmlinux" in obstacle.what for obstacle in obstacles())
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-13-amd64")
    assert any("6.1.0-13-amd64 is too old" in obstacle.what for obstacle in obstacles())


@pytest.mark.parametrize(
    ("capabilities_hex", "uid_map", "in_the_way"),
    [
        ("000001ffffffffff", "0 0 4294967295", 0),
        ("000000c000001000", "0 0 4294967295", 0),  # BPF, PERFMON and NET_ADMIN
        ("00000000a80425fb", "0 0 4294967295", 1),  # root of a container
        ("000001ffffffffff", "0 1000 1", 1),  # root of a user namespace
        ("0000000000000000", "0 0 4294967295", 1),
    ],
)
def test_root_is_who_may_load(
    monkeypatch: pytest.MonkeyPatch, capabilities_hex: str, uid_map: str, in_the_way: int
) -> None:
    texts = {"status": f"Name:\tx\nCapEff:\t{capabilities_hex}\n", "uid_map": uid_map}
    monkeypatch.setattr(capabilities, "_read", lambda path: texts.get(path.name, ""))
    assert sum(obstacle.is_root for obstacle in obstacles()) == in_the_way


def test_the_doctor_says_what_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "obstacles", lambda: [Obstacle("clang is missing", "sudo apt")])
    rows = [check for check in doctor.checks() if check.name.startswith("loading algorithms")]
    assert [(row.state, row.found, row.remedy) for row in rows] == [
        ("optional", "clang is missing", "sudo apt")
    ]


def test_unloading_needs_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Obstacle("only root can load algorithms", "sudo", is_root=True)
    monkeypatch.setattr(loading, "obstacles", lambda: [root])
    with pytest.raises(KernelError, match="sudo cwndlab algorithm unload vegas"):
        unload("vegas", tmp_path)


@needs_kernel
def test_the_doctor_loads_one_to_see() -> None:
    row = next(check for check in doctor.checks() if check.name.startswith("loading algorithms"))
    found = 'the algorithm "fixed" was loaded and unloaded as a test'
    assert (row.state, row.found) == ("ok", found)


@needs_kernel
def test_it_stays_while_the_helper_lives(tmp_path: Path) -> None:
    with KernelHelper() as running:
        program = load(running, "cubic", tmp_path, {"beta": 600})
        assert program.name in this_kernel().ours
        with KernelHelper() as other, pytest.raises(KernelError, match=f"{program.name} already"):
            load(other, "cubic", tmp_path, {"beta": 600})
        with pytest.raises(
            KernelError, match=f"{program.name} was loaded by a cwndlab command that is still"
        ):
            unload(program.name, tmp_path)
    assert is_gone_soon(program.name)


@needs_kernel
def test_the_algorithms_of_the_documentation_are_loaded(tmp_path: Path) -> None:
    for name, text in algorithms_of_the_documentation().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        with KernelHelper() as running:
            assert load(running, f"./{name}", tmp_path).name in this_kernel().ours


@needs_kernel
def test_every_algorithm_of_ours_passes_the_verifier(tmp_path: Path) -> None:
    with KernelHelper() as running:
        for algorithm in core.algorithms():
            # A copy with another name, because the algorithm may already be loaded.
            text = core.algorithm(algorithm).source_text
            source = tmp_path / f"{algorithm}.c"
            source.write_text(f"{text}/* {tmp_path} */\nint v{os.getpid()};\n", encoding="utf-8")
            name = load(running, f"./{source.name}", tmp_path).name
            assert name in this_kernel().ours, algorithm


@needs_kernel
def test_what_the_verifier_says_is_told(tmp_path: Path) -> None:
    reno = core.algorithm("reno").source_text
    text = reno.replace("	(void)ack;", "	(void)ack;\n	tcp_sk(sk)->snd_cwnd_clamp = 9;")
    assert text != reno
    (tmp_path / "mine.c").write_text(text, encoding="utf-8")
    says = r"mine\.c: the algorithm writes a field (.|\n)*no write support"
    with KernelHelper() as running, pytest.raises(BrokenAlgorithmError, match=says):
        load(running, "./mine.c", tmp_path)


@needs_kernel
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_leaves_nothing_behind(tmp_path: Path, end: signal.Signals) -> None:
    mine(tmp_path, core.algorithm("reno").source_text + f"/* {tmp_path} */\nint v{os.getpid()};\n")
    running = subprocess.Popen(
        command("load", "./mine.c"), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    name = running.stdout.readline().strip()
    assert name in this_kernel().ours
    running.send_signal(end)
    running.wait(PATIENCE_S)
    running.stdout.close()
    assert is_gone_soon(name)


def send(algorithm: str, count: int) -> None:
    """Send bytes over the loopback interface, with this algorithm at both ends."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        for each in (server, client):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        client.connect(server.getsockname())
        connection, _ = server.accept()
        with connection:
            reader = threading.Thread(target=lambda: drain(connection))
            reader.start()
            client.sendall(bytes(count))
            client.shutdown(socket.SHUT_WR)
            reader.join()


def drain(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


@needs_kernel
def test_recorded_calls_are_made_again(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    parameters = {"high_gain": 700}
    recorder = CallRecorder("bbr", tmp_path, calls, parameters)
    send(recorder.program.name, 3_000_000)
    count = recorder.finish()
    assert is_gone_soon(recorder.program.name)
    same = replay("bbr", tmp_path, calls, parameters)
    assert (same.total, same.mismatches, same.differences) == (count, 0, ())
    assert same.calls["bbr_cong_control"] > 10
    assert replay("bbr", tmp_path, calls).mismatches > 0
    with pytest.raises(BrokenAlgorithmError, match="no_such=1"):
        replay("bbr", tmp_path, calls, {"no_such": 1})
    with pytest.raises(BrokenAlgorithmError, match="named after its hook"):
        replay("reno", tmp_path, calls)
    mine(tmp_path, core.algorithm("bbr").source_text.replace("PERCENT	99u", "PERCENT	98u"))
    changed = replay("./mine.c", tmp_path, calls, parameters)
    assert changed.mismatches > 0
    assert "sk_pacing_rate" in {each["field"] for each in changed.differences}


PINNING = """
set -eu
mount -t bpf bpf /sys/fs/bpf
{python} -m cwndlab algorithm load ./mine.c --pin | head -1
{python} -m cwndlab algorithm load ./mine.c --pin 2>&1 || true
{python} -m cwndlab algorithm unload ./mine.c
{python} -m cwndlab algorithm unload ./mine.c 2>&1 || true
"""


@needs_kernel
@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_a_pinned_algorithm_stays_until_it_is_unloaded(tmp_path: Path) -> None:
    """In a separate mount namespace, so that its pins do not conflict with others."""
    mine(tmp_path, core.algorithm("reno").source_text + f"int w{os.getpid()};\n")
    script = PINNING.format(python=sys.executable)
    done = subprocess.run(
        [shutil.which("unshare") or "unshare", "--mount", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    name, again, unloaded, missing = done.stdout.splitlines()
    assert NAME.fullmatch(name)
    assert again.endswith(f"/mine-{name} already exists; unload this algorithm first")
    assert unloaded == f"unloaded mine ({name}); connections that already use it keep it"
    assert missing == "./mine.c is not loaded; `cwndlab algorithm list` shows loaded algorithms"
    assert is_gone_soon(name)
