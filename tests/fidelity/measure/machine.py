"""Debian's kernel in a virtual machine whose time is counted in instructions."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = "linux-image-6.1.0-56-amd64"
MODULES = ("drivers/net/veth", "net/sched/sch_netem")
COMMAND_LINE = "console=ttyS0 quiet mitigations=off nokaslr audit=0 tsc=reliable panic=-1"
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static"}
TOOLS |= {"ip": "iproute2", "tc": "iproute2", "dpkg-deb": "dpkg", "cc": "gcc", "ldd": "libc-bin"}


class MachineError(RuntimeError):
    """The machine cannot be built or did not do its job; the message says what to do."""


class Machine:
    """Runs jobs, each on a kernel that was just booted.

    A nanosecond of its time is an instruction, and what it waits for does not take time: how fast
    or busy the host is changes nothing.
    """

    def __init__(self, folder: Path) -> None:
        """Fetch the kernel's package into `folder` and build what it boots from, once."""
        missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
        if missing:
            msg = f"missing: apt-get install {' '.join(missing)}"
            raise MachineError(msg)
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.glob("boot/vmlinuz-*")):
            self._fetch()
        self._kernel = next(folder.glob("boot/vmlinuz-*"))
        self._initial = self._make_initial()

    def _fetch(self) -> None:
        fetched = subprocess.run(
            ["apt-get", "download", KERNEL],  # noqa: S607  Debian's own
            check=False,
            cwd=self._folder,
            capture_output=True,
            text=True,
        )
        packages = list(self._folder.glob(f"{KERNEL}_*.deb"))
        if fetched.returncode or not packages:
            msg = (
                f"{KERNEL}: {fetched.stderr.strip() or 'not found'}; put the package "
                f"into {self._folder}"
            )
            raise MachineError(msg)
        subprocess.run(["dpkg-deb", "-x", packages[0], self._folder], check=True)  # noqa: S607

    def _make_initial(self) -> bytes:
        root = self._folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        (root / "bin").mkdir(parents=True)
        (root / "modules").mkdir()
        shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
        for tool in ("ip", "tc"):
            path = str(shutil.which(tool))
            shutil.copy(path, root / f"bin/iproute-{tool}")
            linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)  # noqa: S607
            for library in re.findall(r"(/\S+)", linked.stdout):
                target = root / library.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, target)
        program = ["cc", "-O2", "-static", "-pthread", "-o", str(root / "bin/guest")]
        subprocess.run([*program, str(HERE / "guest.c")], check=True)
        modules = next(self._folder.glob("lib/modules/*/kernel"))
        for name in MODULES:
            shutil.copy(modules / f"{name}.ko", root / "modules")
        for path in modules.glob("net/ipv4/tcp_*.ko"):
            if path.stem != "tcp_diag":
                shutil.copy(path, root / "modules")
        shutil.copy(HERE / "guest.sh", root / "init")
        (root / "init").chmod(0o755)
        return _archive(root)

    def run(self, job: str) -> dict[str, str]:
        """Run a shell script and give the files that it left in /out."""
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            (folder / "added").mkdir()
            (folder / "added/job.sh").write_text(job)
            (folder / "initial").write_bytes(self._initial + _archive(folder / "added"))
            command = ["qemu-system-x86_64", "-M", "pc", "-accel", "tcg", "-smp", "1", "-m", "768"]
            command += ["-icount", "shift=0,sleep=off", "-display", "none", "-no-reboot"]
            command += ["-nic", "none", "-kernel", str(self._kernel), "-append", COMMAND_LINE]
            command += ["-initrd", str(folder / "initial")]
            for line in ("console", "out"):
                command += ["-serial", f"file:{folder / line}"]
            subprocess.run(command, check=True)
            out = (folder / "out").read_text(errors="replace").replace("\r", "")
            parts = re.split(r"^=== (.*)\n", out, flags=re.MULTILINE)
            files = dict(zip(parts[1::2], parts[2::2], strict=True))
            if "end" not in files:
                console = (folder / "console").read_text(errors="replace")
                msg = f"the kernel did not finish its job:\n{console[-2000:]}"
                raise MachineError(msg)
            return files


def _archive(root: Path) -> bytes:
    names = "\n".join(sorted(str(path.relative_to(root)) for path in root.rglob("*")))
    packed = subprocess.run(
        ["busybox", "cpio", "-o", "-H", "newc"],  # noqa: S607  looked for at the start
        input=names.encode(),
        cwd=root,
        capture_output=True,
        check=True,
    )
    return gzip.compress(packed.stdout, compresslevel=1, mtime=0)
