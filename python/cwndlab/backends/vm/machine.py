"""Boot a kernel once in a virtual machine, save its state, and start every run from it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cwndlab.backends.kernel.process import REMEDY, helper_path
from cwndlab.backends.vm.archive import first_file_system
from cwndlab.backends.vm.monitor import OPTIONS, Monitor
from cwndlab.backends.vm.packages import CONFIGURATION
from cwndlab.backends.vm.request import packed_request
from cwndlab.backends.vm.state import count_from_zero
from cwndlab.errors import KernelRunError
from cwndlab.kernel.helper import HELPER_REMEDY
from cwndlab.kernel.helper import helper_path as loader_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cwndlab.backends.vm.packages import StockKernel
    from cwndlab.kernel.objects import KernelProgram

QEMU = "qemu-system-x86_64"
_TOOLS = {QEMU: "qemu-system-x86", "busybox": "busybox-static"}
# REP_GOOD (bit 112) would copy with `rep movsq`, which QEMU executes as a separate translated block
# for each 8 bytes; unrolled loops take less processor time. The second line leaves out what a
# machine without other users does not need: pressure statistics, and hardening against attackers
# (clearing memory, checks of copies, random stacks, security modules).
_COMMAND_LINE = (
    "console=ttyS0 quiet mitigations=off nokaslr audit=0 tsc=reliable panic=-1 clearcpuid=112 "
    "psi=0 init_on_alloc=0 hardened_usercopy=off randomize_kstack_offset=off lsm= apparmor=0"
)
# One instruction takes 1 ns, and an idle machine jumps to its next timer.
_CLOCK = "shift=0,sleep=off"
# Two threads of QEMU read and advance this clock. The thread of devices can find the processor
# halted before the processor's thread has counted its last instructions; then the clock jumps too
# far, by up to 65 us. If a run is recorded, a lock prevents it (QEMU, replay_mutex). The record
# itself is not needed.
_LOCKED_CLOCK = f"{_CLOCK},rr=record,rrfile=/dev/null"
# The guest stops itself by reporting a panic: QEMU then stops at that instruction.
_STOPS_ITSELF = ("-action", "panic=pause")
_MEMORY_MIB = 768
_DISK_BYTES = 2 << 30  # a sparse file: only written blocks take space on the host
_FIRST = ("tun",)
_LAST = (
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
)
_BOOT_S = 600  # time limit on the host
_ELF_DYNAMIC, _ELF_BEGIN_BYTES = b"/lib64/ld-linux", 4096
_WARM_UP = Path(__file__).with_name("warm_up.json")
_INIT = Path(__file__).with_name("init.sh")


def obstacles_to_machines() -> list[tuple[str, str]]:
    """Return all reasons why this machine cannot run virtual machines, each with a remedy."""
    if sys.platform != "linux":
        return [("this machine does not run Linux", "use the simulator")]
    found = []
    if (helper := helper_path()) is None:
        found.append(("cwndlab's helper program has not been built", REMEDY))
    elif not _is_static(helper):
        found.append((f"{helper} needs shared libraries, which a virtual machine lacks", REMEDY))
    for tool, package in _TOOLS.items():
        if not (path := shutil.which(tool)):
            found.append((f"{tool} is not installed", f"sudo apt-get install {package}"))
        elif tool == "busybox" and not _is_static(Path(path)):
            found.append((f"{path} needs shared libraries", f"sudo apt-get install {package}"))
    return found


def _is_static(program: Path) -> bool:
    with program.open("rb") as file:
        return _ELF_DYNAMIC not in file.read(_ELF_BEGIN_BYTES)


def require_machines() -> None:
    """Raise an error if this machine cannot run virtual machines.

    Raises:
        KernelRunError: virtual machines are not possible; the message states the reasons and the
            remedies.
    """
    if obstacles := obstacles_to_machines():
        reasons = "; ".join(f"{what} ({remedy})" for what, remedy in obstacles)
        msg = f"this machine cannot run virtual machines: {reasons}"
        raise KernelRunError(msg)


class VirtualMachine:
    """A virtual machine with a booted kernel; every run starts from the same saved state."""

    def __init__(self, kernel: StockKernel) -> None:
        """Prepare a virtual machine with the given kernel.

        Unless a saved state of the virtual machine exists, boot the kernel and save the state.

        Raises:
            KernelRunError: a required program is missing, the kernel's files are damaged, or the
                virtual machine does not boot.
        """
        require_machines()
        self.is_closed = False
        self._changing = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        files = kernel.files()
        self._kernel = kernel
        self._initial = first_file_system(_guest_files(kernel.release, files))
        told = subprocess.run([QEMU, "--version"], check=True, capture_output=True)  # noqa: S603
        hardware = json.dumps([*_hardware(), _CLOCK, _COMMAND_LINE]).encode()
        parts = (files["vmlinuz"], self._initial, told.stdout, hardware)
        digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
        self._name = f"snapshot-{digest.hexdigest()[:16]}"
        with kernel.locked():
            self._snapshot = self._found() or self._boot()

    def _found(self) -> Path | None:
        """Return the machine's saved state if it is intact; remove damaged and outdated states."""
        for path in self._kernel.folder.glob("snapshot-*"):
            name, _, digest = path.name.partition(".")
            if name == self._name and _digest(path) == digest:
                return path
            path.unlink()
        return None

    def _boot(self) -> Path:
        """Boot the virtual machine, and save its state when it waits for a request.

        The saved state gets a file name only when it is complete, so that an interruption leaves
        no file behind.
        """
        with (
            _nameless(self._kernel.folder) as snapshot,
            tempfile.TemporaryFile() as initial,
            tempfile.TemporaryFile() as disk,
            tempfile.TemporaryFile() as console,
        ):
            initial.write(self._initial)
            initial.flush()
            disk.truncate(_DISK_BYTES)
            here = f"/proc/{os.getpid()}/fd/{snapshot.fileno()}"
            options = [*_STOPS_ITSELF, "-icount", _CLOCK]
            with self._start(initial, disk, console, options) as process:
                late = threading.Timer(_BOOT_S, process.kill)
                late.start()
                try:
                    self._save(process, console, here)
                finally:
                    late.cancel()
                    process.kill()
            count_from_zero(snapshot)
            path = self._kernel.folder / f"{self._name}.{_digest(Path(here))}"
            # The path is absolute, but os.link follows links only if a descriptor is given, too.
            os.link(_path(snapshot), path, src_dir_fd=snapshot.fileno(), follow_symlinks=True)
            return path

    def _save(self, process: subprocess.Popen[bytes], console: IO[bytes], file: str) -> None:
        try:
            monitor = Monitor(process)
        except KernelRunError as error:
            raise self._failure(console, is_booted=False) from error
        if not (monitor.wait_until_stopped() and _is_ready(console)):
            raise self._failure(console, is_booted=False)
        monitor.save(file)

    def _saved_state(self) -> IO[bytes]:
        """Open the saved state; boot again if another version of cwndlab has removed it."""
        try:
            return self._snapshot.open("rb")
        except FileNotFoundError:
            with self._kernel.locked():
                self._snapshot = self._found() or self._boot()
                return self._snapshot.open("rb")

    def run(
        self, request: Mapping[str, Any], programs: Iterable[KernelProgram] = ()
    ) -> dict[str, bytes]:
        """Execute a request in a copy of the virtual machine; return all files that the copy wrote.

        The algorithms `programs` are loaded into the guest kernel before the run. If the kernel
        refuses one of them, the file `answer` is missing, and the file `loaded` contains the
        reason.

        Raises:
            KernelRunError: the virtual machine ended and wrote neither `answer` nor `loaded`; the
                message contains the last line of its console.
            BrokenAlgorithmError: an algorithm does not compile.
        """
        content = packed_request(request, programs)
        with (
            tempfile.TemporaryFile() as asked,
            tempfile.TemporaryFile() as initial,
            tempfile.TemporaryFile() as disk,
            tempfile.TemporaryFile() as console,
            self._saved_state() as snapshot,
        ):
            asked.write(content)
            asked.flush()
            initial.write(self._initial)
            initial.flush()
            disk.truncate(_DISK_BYTES)
            options = ["-fw_cfg", f"name=opt/cwndlab/request,file={_path(asked)}"]
            options += ["-incoming", f"fd:{snapshot.fileno()}", "-icount", _LOCKED_CLOCK]
            with self._start(initial, disk, console, options, asked, snapshot) as process:
                with self._changing:
                    self._running.add(process)
                    if self.is_closed:
                        process.kill()
                try:
                    Monitor(process).resume()
                except KernelRunError:  # the console states the reason
                    process.kill()
            with self._changing:
                self._running.discard(process)
            files = _left(disk)
            if not (files.get("answer") or files.get("loaded")):
                raise self._failure(console, is_booted=True)
            return files

    def close(self) -> None:
        """Stop all running virtual machines, and prevent new ones from starting."""
        with self._changing:
            self.is_closed = True
            for process in self._running:
                process.kill()

    def _start(
        self,
        initial: IO[bytes],
        disk: IO[bytes],
        console: IO[bytes],
        options: list[str],
        *passed: IO[bytes],
    ) -> subprocess.Popen[bytes]:
        """Start QEMU; the operating system kills QEMU when this thread ends."""
        files = [initial, disk, console, *passed]
        command = [
            str(helper_path()),
            "with-parent",
            str(os.getpid()),
            QEMU,
            *_hardware(),
            *OPTIONS,
        ]
        command += ["-kernel", str(self._kernel.image), "-append", _COMMAND_LINE]
        command += ["-initrd", _path(initial), "-serial", f"file:{_path(console)}"]
        command += ["-drive", f"file={_path(disk)},format=raw,if=virtio,cache=unsafe", *options]
        return subprocess.Popen(  # noqa: S603  our own command
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            stderr=console,
            pass_fds=[file.fileno() for file in files],
            process_group=0,  # Ctrl-C interrupts the command, but not QEMU
        )

    def _failure(self, console: IO[bytes], *, is_booted: bool) -> KernelRunError:
        said = [line for line in _text(console).splitlines() if line.strip()]
        last = said[-1].strip() if said else "the console is empty"
        what = "did not answer" if is_booted else "did not boot"
        msg = f"Linux {self._kernel.release} in a virtual machine {what}: {last}"
        return KernelRunError(msg)


def _hardware() -> list[str]:
    return [
        *("-M", "pc", "-accel", "tcg,tb-size=128", "-smp", "1"),
        *("-m", str(_MEMORY_MIB), "-nodefaults", "-display", "none", "-no-reboot", "-seed", "1"),
        *("-rtc", "base=2026-01-01,clock=vm", "-device", "pvpanic"),
    ]


def obstacle_to_loading(kernel: StockKernel) -> str | None:
    """Return why cwndlab's algorithms cannot be loaded into the kernel; None if they can be."""
    if (lacking := kernel.obstacle_to_bpf()) is not None:
        return lacking
    if (loader := loader_path()) is None:
        return f"cwndlab's program that loads algorithms has not been built ({HELPER_REMEDY})"
    if not _is_static(loader):
        return f"{loader} needs shared libraries, which a virtual machine lacks ({REMEDY})"
    return None


def _guest_files(release: str, kernel: Mapping[str, bytes]) -> dict[str, bytes]:
    """Map the path of each file of the virtual machine's file system to the file's content."""
    programs = {
        "bin/busybox": shutil.which("busybox") or "",
        "bin/cwndlab-testbed": str(helper_path()),
    }
    if (loader := loader_path()) is not None and _is_static(loader):
        programs["bin/cwndlab-kernel"] = str(loader)
    files = {"init": _INIT.read_bytes(), "warm-up": _warm_up()}
    if CONFIGURATION in kernel:
        files[f"boot/config-{release}"] = kernel[CONFIGURATION]  # libbpf reads HZ there
    for name, path in programs.items():
        files[name] = Path(path).read_bytes()
    own = sorted(name.removesuffix(".ko") for name in kernel if name.startswith("tcp_"))
    for folder, modules in (("first", (*_FIRST, *own)), ("last", _LAST)):
        for number, module in enumerate(modules):
            if f"{module}.ko" in kernel:  # otherwise it is built in
                files[f"modules/{folder}/{number:02}-{module}.ko"] = kernel[f"{module}.ko"]
    files["modules/qemu_fw_cfg.ko"] = kernel["qemu_fw_cfg.ko"]
    return files


def _is_ready(console: IO[bytes]) -> bool:
    """Return whether the guest has booted and completed the run of `_warm_up`."""
    return '"answer":"ran"' in _text(console).partition("ready: ")[2]


def _left(disk: IO[bytes]) -> dict[str, bytes]:
    """Map file names to contents; the virtual machine wrote the files to its disk as an archive."""
    disk.seek(0)
    files = {}
    with suppress(tarfile.TarError), tarfile.open(fileobj=disk, mode="r:") as archive:
        for member in archive:
            if content := archive.extractfile(member):
                files[member.name.removeprefix("./")] = content.read()
    return files


def _nameless(folder: Path) -> IO[bytes]:
    """Create a file without a name; unlike a `TemporaryFile`, it can get a name later."""
    return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600), "w+b")


def _path(file: IO[bytes]) -> str:
    """Return a path by which a child process can open an inherited file that has no name."""
    return f"/proc/self/fd/{file.fileno()}"


def _text(file: IO[bytes]) -> str:
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode(errors="replace")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _warm_up() -> bytes:
    """Return the request that a virtual machine executes once before its state is saved."""
    scenario = json.loads(_WARM_UP.read_bytes())
    return (
        json.dumps({"do": "run", "scenario": scenario, "is_held": True, "is_awake": False}).encode()
        + b"\n"
    )
