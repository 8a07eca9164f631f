"""Virtual machines with a fake QEMU: packages, archives, snapshots and refusals."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import tarfile
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from cwndlab import core
from cwndlab.backends import backend_of
from cwndlab.backends.kernel.process import helper_path
from cwndlab.backends.vm import executor as executors
from cwndlab.backends.vm import machine as machines
from cwndlab.backends.vm.archive import first_file_system, package_files
from cwndlab.backends.vm.executor import GuestHelper, GuestNames
from cwndlab.backends.vm.machine import VirtualMachine, obstacles_to_machines
from cwndlab.backends.vm.packages import (
    StockKernel,
    add_package,
    download,
    find_kernel,
    kernels,
    remove_kernel,
)
from cwndlab.backends.vm.request import packed_request
from cwndlab.errors import BrokenAlgorithmError, KernelError, KernelRunError, UnknownNameError
from cwndlab.kernel.objects import KernelProgram, kernel_object, kernel_program
from cwndlab.usercode.program import Program

if TYPE_CHECKING:
    from pathlib import Path

QEMU = """#!/usr/bin/env python3
# What QEMU would do: without a state, boots and saves its state on request; otherwise answers.
import io, json, os, re, sys, tarfile, time
if "--version" in sys.argv:
    print("QEMU made up")
    sys.exit()
given = dict(zip(sys.argv[1:], sys.argv[2:]))
def say(**message):
    print(json.dumps(message), flush=True)
def ask(wanted):
    for line in sys.stdin:
        command = json.loads(line)
        if command["execute"] == "query-migrate":
            is_full = os.path.exists(FOLDER + "/full")
            say(**{"return": {"status": "failed", "error-desc": "no space"} if is_full
                   else {"status": "completed"}})
        elif command["execute"] == "query-status":
            say(**{"return": {"status": "guest-panicked"}})
        else:
            say(**{"return": {}})
        if command["execute"] == wanted:
            return command["arguments"]
if os.path.exists(FOLDER + "/fails"):
    print("no such device", file=sys.stderr)
    sys.exit(1)
say(QMP={})
ask("qmp_capabilities")
open(FOLDER + "/log", "a").write("run\\n" if "-incoming" in given else "boot\\n")
if "-incoming" not in given:
    with open(given["-serial"].removeprefix("file:"), "w") as console:
        console.write('ready: {"answer":"ran"}\\n')
    say(event="GUEST_PANICKED")
    say(event="STOP")
    wanted = ask("migrate")["uri"].removeprefix("exec:cat > ")
    open(wanted, "wb").write(bytes.fromhex(STATE))
    ask("")
    sys.exit()
ask("cont")
if os.path.exists(FOLDER + "/hangs"):
    time.sleep(60)
elif os.path.exists(FOLDER + "/dies"):
    print("it died of that", file=sys.stderr)
else:
    disk = re.search("file=([^,]*)", given["-drive"])[1]
    answer = b'{"answer": "ran"}'
    with tarfile.open(disk, "w") as archive:
        member = tarfile.TarInfo("./answer")
        member.size = len(answer)
        archive.addfile(member, io.BytesIO(answer))
"""


def state(bias_ns: int, instructions: int) -> bytes:
    """Return the part of a saved state that contains QEMU's clock."""
    return b"\x05\x0ctimer/icount" + struct.pack(">Iqq", 1, bias_ns, instructions)


def package(path: Path, release: str, names: tuple[str, ...] = ("tun", "qemu_fw_cfg")) -> Path:
    """Create a Debian package of a kernel."""
    packed = io.BytesIO()
    files = {f"./boot/vmlinuz-{release}": b"a kernel", f"./boot/config-{release}": b"CONFIG_X=y\n"}
    files |= {f"./lib/modules/{release}/kernel/a/{name}.ko": name.encode() for name in names}
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": packed.getvalue()}
    text = b"!<arch>\n"
    for name, content in parts.items():
        text += f"{name:16}{0:<12}{0:<6}{0:<6}{'100644':8}{len(content):<10}`\n".encode()
        text += content + b"\n" * (len(content) % 2)
    path.write_bytes(text)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/cwndlab/kernels"


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with a fake QEMU and a fake busybox."""
    if helper_path() is None:
        pytest.skip("the helper was not built")
    folder = tmp_path / "programs"
    folder.mkdir()
    saved = state(5_000_000_007, 4_000_000_000).hex()
    program = QEMU.replace("FOLDER", repr(str(folder))).replace("STATE", repr(saved))
    for name, text in (("qemu-system-x86_64", program), ("busybox", "static")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(machines, "_is_static", lambda _: True)
    return folder


def test_a_package_is_read_without_the_programs_of_debian(tmp_path: Path) -> None:
    files = dict(package_files(package(tmp_path / "a.deb", "6.1.0-9-amd64")))
    assert files["/boot/vmlinuz-6.1.0-9-amd64"] == b"a kernel"
    assert files["/lib/modules/6.1.0-9-amd64/kernel/a/tun.ko"] == b"tun"


def test_what_is_no_package_or_is_cut_is_said(tmp_path: Path, cache: Path) -> None:
    whole = package(tmp_path / "a.deb", "6.1.0-9-amd64").read_bytes()
    for content, message in (
        (b"PK", "not a Debian package"),
        (whole[:300], "damaged Debian package"),
        (whole[:136], "contains no files"),
    ):
        (tmp_path / "b.deb").write_bytes(content)
        with pytest.raises(KernelRunError, match=message):
            add_package(tmp_path / "b.deb")
    with pytest.raises(KernelRunError, match=r"contains no tun\.ko and no qemu_fw_cfg\.ko"):
        add_package(package(tmp_path / "c.deb", "6.1.0-9-amd64", ("tcp_bic",)))
    assert not list(cache.glob("*")), "nothing was added"


def test_the_first_file_system_has_every_file_behind_its_folders() -> None:
    packed = first_file_system({"bin/a": b"12345", "init": b"x"})
    found, position = {}, 0
    while True:
        fields = [int(packed[position + n : position + n + 8], 16) for n in range(6, 110, 8)]
        length, mode, name_length = fields[6], fields[1], fields[11]
        name = packed[position + 110 : position + 109 + name_length].decode()
        position += -(-(110 + name_length) // 4) * 4
        if name == "TRAILER!!!":
            break
        found[name] = (mode, packed[position : position + length])
        position += -(-length // 4) * 4
    expected = {"bin": (0o40755, b""), "bin/a": (0o100755, b"12345"), "init": (0o100755, b"x")}
    assert found == expected
    assert packed == first_file_system({"init": b"x", "bin/a": b"12345"})


def test_kernels_are_added_found_by_their_begin_and_removed(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(KernelRunError, match=r"run: cwndlab kernel add 6\.1"):
        find_kernel(None)
    for release in ("6.12.9+deb12-amd64", "6.1.0-9-amd64", "6.1.0-10-amd64"):
        add_package(package(tmp_path / "a.deb", release, ("tun", "qemu_fw_cfg", "tcp_bic")))
    releases = [each.release for each in kernels()]
    assert releases == ["6.1.0-9-amd64", "6.1.0-10-amd64", "6.12.9+deb12-amd64"]
    assert find_kernel("6.1").release == "6.1.0-10-amd64"
    assert find_kernel(None).release == "6.12.9+deb12-amd64"
    assert find_kernel("6.12").algorithms == ["bic", "cubic", "reno"]
    with pytest.raises(UnknownNameError, match=r"cwndlab kernel add 6\.18"):
        find_kernel("6.18")
    remove_kernel("6.12")
    assert find_kernel(None).release == "6.1.0-10-amd64"
    assert sorted(path.name for path in cache.iterdir()) == ["6.1.0-10-amd64", "6.1.0-9-amd64"]


def test_a_changed_file_of_a_kernel_is_noticed(tmp_path: Path, cache: Path) -> None:
    kernel = add_package(package(tmp_path / "a.deb", "6.1.0-9-amd64"))
    assert kernel.files()["tun.ko"] == b"tun"
    assert kernel.files()["config"] == b"CONFIG_X=y\n"
    (cache / "6.1.0-9-amd64/tun.ko").write_bytes(b"other")
    with pytest.raises(
        KernelRunError, match=r"tun\.ko has changed since it was added; run: cwndlab kernel"
    ):
        kernel.files()


def test_versions_that_cannot_be_downloaded_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(KernelRunError, match="neither a version"):
        download("newest")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KernelRunError, match=r"apt-cache is not installed; .*add FILE\.deb"):
        download("6.1")


@pytest.mark.usefixtures("cache")
def test_a_version_is_not_the_beginning_of_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = "linux-image-6.1.0-9-amd64\nlinux-image-6.12.117+deb12-amd64\n"
    package(tmp_path / "a.deb", "6.1.0-9-amd64")
    (tmp_path / "names").write_text(names)
    for tool, script in {
        "apt-cache": f"cat {tmp_path}/names",
        "apt-get": f'echo "$3" > {tmp_path}/asked; cp {tmp_path}/a.deb .',
    }.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert download("6.1").release == "6.1.0-9-amd64"
    assert (tmp_path / "asked").read_text() == "linux-image-6.1.0-9-amd64\n"


def test_a_kernel_boots_once_and_again_if_its_snapshot_is_damaged(
    tmp_path: Path, cache: Path, qemu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = add_package(package(tmp_path / "a.deb", "6.1.0-9-amd64"))
    (images := tmp_path / "images").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(images))
    assert VirtualMachine(kernel).run({"do": "run"}) == {"answer": b'{"answer": "ran"}'}
    VirtualMachine(kernel).run({"do": "run"})
    assert (qemu / "log").read_text().split() == ["boot", "run", "run"]
    (snapshot,) = cache.glob("*/snapshot-*")
    assert snapshot.read_bytes() == state(9_000_000_007, 0)
    snapshot.write_text("another")
    machine = VirtualMachine(kernel)
    assert (qemu / "log").read_text().split()[-1] == "boot"
    (snapshot,) = cache.glob("*/snapshot-*")
    assert snapshot.read_bytes() == state(9_000_000_007, 0)
    snapshot.unlink()  # as another version of cwndlab does
    assert machine.run({"do": "run"}) == {"answer": b'{"answer": "ran"}'}
    assert (qemu / "log").read_text().split()[-2:] == ["boot", "run"]
    assert not list(images.iterdir())


@pytest.mark.usefixtures("cache")
def test_a_machine_that_does_not_start_says_why(tmp_path: Path, qemu: Path) -> None:
    kernel = add_package(package(tmp_path / "a.deb", "6.1.0-9-amd64"))
    (qemu / "fails").touch()
    with pytest.raises(KernelRunError, match="did not boot: no such device"):
        VirtualMachine(kernel)


def test_a_state_that_could_not_be_saved_is_not_kept(
    tmp_path: Path, cache: Path, qemu: Path
) -> None:
    kernel = add_package(package(tmp_path / "a.deb", "6.1.0-9-amd64"))
    (qemu / "full").touch()
    with pytest.raises(KernelRunError, match="could not be saved: no space"):
        VirtualMachine(kernel)
    assert not list(cache.glob("*/snapshot-*"))


@pytest.mark.usefixtures("cache")
def test_a_machine_that_dies_is_told_with_its_last_words(tmp_path: Path, qemu: Path) -> None:
    machine = VirtualMachine(add_package(package(tmp_path / "a.deb", "6.1.0-9-amd64")))
    (qemu / "dies").touch()
    with pytest.raises(KernelRunError, match="did not answer: it died of that"):
        machine.run({})


@pytest.mark.usefixtures("cache")
def test_what_runs_is_broken_off(tmp_path: Path, qemu: Path) -> None:
    machine = VirtualMachine(add_package(package(tmp_path / "a.deb", "6.1.0-9-amd64")))
    (qemu / "hangs").touch()
    failures: list[Exception] = []

    def run() -> None:
        try:
            machine.run({})
        except KernelRunError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while (qemu / "log").read_text().split()[-1] != "run":
        time.sleep(0.01)
    machine.close()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert len(failures) == 1


class Answering:
    """A machine that always gives the same answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        """Store the answer, with a file."""
        self.answer = answer
        self.asked: dict[str, Any] = {}

    def run(self, request: dict[str, Any], programs: list[KernelProgram]) -> dict[str, bytes]:
        """Return the stored answer."""
        self.asked = request
        self.loaded = [program.name for program in programs]
        return {
            "answer": json.dumps(self.answer).encode(),
            "states": b"rows",
            "sysctls": b"tcp_rmem 4096\t131072\t5153856\ntcp_wmem 4096 16384 4194304\n",
        }


def test_files_come_out_of_the_machine_and_nothing_keeps_its_processor_awake(
    tmp_path: Path,
) -> None:
    machine = Answering({"answer": "ran", "report": {"cpu_pct": 29.0}})
    request = {"do": "run", "states": str(tmp_path / "states"), "capture": None}
    helper = GuestHelper(machine)
    limits = {"tcp_rmem": [4096, 131_072, 5_153_856], "tcp_wmem": [4096, 16_384, 4_194_304]}
    assert helper.ask(request) == {"report": {"cpu_pct": 29.0}, "facts": {"sysctls": limits}}
    assert (tmp_path / "states").read_bytes() == b"rows"
    assert machine.asked["states"] == "/out/states"
    assert machine.asked["capture"] is None
    assert machine.asked["is_awake"] is False


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"answer": "ran", "report": {"cpu_pct": 41.2}}, r"41 % of the virtual .*limit: 30 %"),
        ({"answer": "refused", "message": "flows[0].x: no"}, r"flows\[0\]\.x: no"),
    ],
)
def test_too_much_work_and_what_the_helper_refuses_are_refused(
    answer: dict[str, Any], message: str
) -> None:
    with pytest.raises(KernelRunError, match=message):
        GuestHelper(Answering(answer)).ask({})


class Refusing:
    """A machine whose kernel refuses the second of two algorithms."""

    def __init__(self, kind: str) -> None:
        """Store the kind of the refusal."""
        self._refusal = {"answer": "refused", "kind": kind, "message": "not so", "log": ["why"]}

    def run(self, _request: dict[str, Any], _programs: list[KernelProgram]) -> dict[str, bytes]:
        """Return the answer."""
        lines = ({"answer": "done"}, self._refusal)
        return {"loaded": b"".join(json.dumps(line).encode() + b"\n" for line in lines)}


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("verifier", BrokenAlgorithmError, r"^\./second\.c: not so\n  why"),
        ("kernel", KernelError, "^not so"),
    ],
)
def test_an_algorithm_that_the_guest_kernel_refuses_is_an_error(
    kind: str, error: type[Exception], message: str
) -> None:
    programs = {
        name: KernelProgram(name, name, Program(f"./{name}.c", ()), ())
        for name in ("first", "second")
    }
    request = {"kernel_names": {"a": "first", "b": "second"}}
    with pytest.raises(error, match=message):
        GuestHelper(Refusing(kind), programs).ask(request)


def guest(folder: Path, release: str, *configuration: str) -> StockKernel:
    (folder / "tcp_bic.ko").touch()
    (folder / "config").write_text("".join(f"{line}\n" for line in configuration))
    return StockKernel(release, folder)


LOADING = ("CONFIG_BPF_SYSCALL=y", "CONFIG_BPF_JIT=y", "CONFIG_DEBUG_INFO_BTF=y")


def scenario(algorithm: str, **parameters: int) -> dict[str, Any]:
    end = {"algorithm": algorithm, "parameters": parameters}
    return {"flows": [{"sender": end, "receiver": {"algorithm": "bic"}}]}


@pytest.mark.parametrize(
    ("release", "left_out", "message"),
    [
        ("5.10.0-9-amd64", 3, "needs Linux 6.0 or later; this is Linux 5.10.0-9-amd64"),
        ("6.1.0-9-amd64", 2, r"built without type information \(CONFIG_DEBUG_INFO_BTF\)"),
        ("6.1.0-9-amd64", 0, r"without BPF programs .* and without the BPF compiler"),
    ],
)
def test_a_kernel_that_cannot_load_algorithms_is_refused_with_the_reason(
    tmp_path: Path, release: str, left_out: int, message: str
) -> None:
    names = GuestNames(guest(tmp_path, release, *LOADING[:left_out]))
    assert names.of(scenario("bic")) == {}
    with pytest.raises(KernelRunError, match=f"vegas cannot be loaded .*{message}"):
        names.of(scenario("ours:vegas"))


def test_a_kernel_that_was_added_without_its_configuration_is_to_be_added_again(
    tmp_path: Path,
) -> None:
    with pytest.raises(KernelRunError, match=r"remove 6\.1\.0-9-amd64, then add this kernel again"):
        GuestNames(StockKernel("6.1.0-9-amd64", tmp_path)).of(scenario("ours:vegas"))


def test_what_the_kernel_lacks_or_cannot_change_is_refused(tmp_path: Path) -> None:
    names = GuestNames(guest(tmp_path, "6.1.0", *LOADING))
    with pytest.raises(KernelRunError, match=r"bbr3 is not in Linux 6\.1\.0.*ours:bbr3"):
        names.of(scenario("bbr3"))
    with pytest.raises(KernelRunError, match="has no parameter beta"):
        names.of(scenario("bic", beta=7))


def test_our_algorithms_are_loaded_in_the_form_that_the_kernel_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    monkeypatch.setattr(executors, "obstacle_to_loading", lambda _: None)
    found = {}
    for release in ("6.1.0-9-amd64", "6.12.9-amd64"):
        names = GuestNames(guest(tmp_path, release, *LOADING), may_fall_back=True)
        (asked,) = (given := names.of(scenario("vegas", alpha=3)))
        assert asked == "vegas"
        found[release] = names.programs[given["vegas"]]
        machine = Answering({"answer": "ran", "report": {"cpu_pct": 3.0}})
        GuestHelper(machine, names.programs).ask({"kernel_names": given})
        assert machine.loaded == [given["vegas"]]
    old, new = found.values()
    assert old.name != new.name
    assert b".struct_ops.link" in kernel_object(new.program).read_bytes()
    assert b".struct_ops.link" not in kernel_object(old.program).read_bytes()
    packed = packed_request({"do": "run"}, [old])
    assert packed == packed_request({"do": "run"}, [old])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        inside = {each.name: archive.extractfile(each) for each in archive}
        texts = {name: file.read() for name, file in inside.items() if file}
    assert sorted(texts) == sorted(("request", "loads", f"{old.name}.bpf.o"))
    load = json.loads(texts["loads"])
    assert load["object"] == f"/run/asked/{old.name}.bpf.o"
    assert load["parameters"] == {"alpha": 3}


@pytest.mark.usefixtures("cache")
def test_calls_are_recorded_from_the_load_to_the_end_of_the_run(tmp_path: Path) -> None:
    program = kernel_program("reno", tmp_path, is_recording=True, seed=7)
    with tarfile.open(fileobj=io.BytesIO(packed_request({"do": "run"}, [program]))) as archive:
        inside = {each.name: archive.extractfile(each) for each in archive}
        texts = {name: file.read() for name, file in inside.items() if file}
    load, record = (json.loads(line) for line in texts["loads"].splitlines())
    assert (load["do"], load["seed"], record["do"]) == ("load", 7, "record")
    assert json.loads(texts["ends"]) == {"do": "stop_recording", "name": program.name}


@pytest.mark.usefixtures("cache")
def test_a_kernel_is_chosen_for_virtual_machines_only() -> None:
    with pytest.raises(KernelRunError, match="add --backend vm"):
        backend_of("sim", kernel="6.1")
    with pytest.raises(KernelRunError, match="cwndlab kernel add"):
        backend_of("vm")


def test_each_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    remedies = dict(obstacles_to_machines())
    assert remedies["qemu-system-x86_64 is not installed"] == "sudo apt-get install qemu-system-x86"
    assert remedies["busybox is not installed"] == "sudo apt-get install busybox-static"


def test_the_first_request_of_a_machine_is_a_scenario_of_today() -> None:
    request = json.loads(machines._warm_up())  # noqa: SLF001  what a machine is asked first
    result = core.run_many([json.dumps(request["scenario"])], {})
    assert result["errors"] == [None]
