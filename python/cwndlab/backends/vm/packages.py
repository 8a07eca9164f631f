"""Manage stock kernels for virtual machines; kernel packages are unpacked, not installed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.backends.vm.archive import package_files
from cwndlab.errors import KernelRunError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHOSEN = re.compile(
    r"/(?:tun|qemu_fw_cfg|virtio|virtio_ring|virtio_pci|virtio_pci_legacy_dev"
    r"|virtio_pci_modern_dev|virtio_blk|tcp_(?!diag)\w+)\.ko(?:\.xz)?$"
)
_IMAGE = re.compile(r"/boot/vmlinuz-(.+)$")
_CONFIG = re.compile(r"/boot/config-(.+)$")
CONFIGURATION = "config"
"""File name of the kernel's build configuration; kernels added before November 2026 lack it."""
# What loading algorithms as BPF needs, and how the kernel's documentation describes it.
_NEEDED = {
    "CONFIG_BPF_SYSCALL": "BPF programs",
    "CONFIG_BPF_JIT": "the BPF compiler",
    "CONFIG_DEBUG_INFO_BTF": "type information",
}
_FIRST_WITH_PACING = (6, 0)
_FIRST_WITH_LINKS = (6, 4)
_SUMS = "sha256.json"
_KERNEL = "vmlinuz"
_VERSION = re.compile(r"\d+(\.\d+)+")


def kernels_folder() -> Path:
    """Return the cache folder in which kernels are stored."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cwndlab/kernels"


@dataclass(frozen=True, slots=True)
class StockKernel:
    """A stock Linux kernel, with the kernel modules that a run needs."""

    release: str
    folder: Path

    @property
    def image(self) -> Path:
        """Path of the kernel image."""
        return self.folder / _KERNEL

    @property
    def algorithms(self) -> list[str]:
        """Names of the kernel's congestion control algorithms, in alphabetical order."""
        modules = (path.name for path in self.folder.glob("tcp_*.ko"))
        names = {name.removeprefix("tcp_").removesuffix(".ko") for name in modules}
        return sorted({*names, "cubic", "reno"})

    @property
    def has_bpf_links(self) -> bool:
        """True if the kernel unloads a BPF algorithm when its loader ends (Linux 6.4 or later)."""
        return self._version >= _FIRST_WITH_LINKS

    @property
    def _version(self) -> tuple[int, int]:
        major, minor, *_ = _numbers(self.release)
        return major, minor

    def obstacle_to_bpf(self) -> str | None:
        """Return why the kernel cannot load algorithms as BPF programs, or None if it can.

        Before Linux 6.0, a BPF program could not set `sk_pacing_rate`, and an algorithm with
        `cong_control` needed `cong_avoid`, too.
        """
        if self._version < _FIRST_WITH_PACING:
            return f"loading an algorithm needs Linux 6.0 or later; this is Linux {self.release}"
        try:
            lines = (self.folder / CONFIGURATION).read_text(encoding="utf-8").splitlines()
        except OSError:
            return (
                f"the build configuration of Linux {self.release} was not stored; run: "
                f"cwndlab kernel remove {self.release}, then add this kernel again"
            )
        lacking = [f"{what} ({key})" for key, what in _NEEDED.items() if f"{key}=y" not in lines]
        if lacking:
            return f"Linux {self.release} was built without {' and without '.join(lacking)}"
        return None

    def files(self) -> Mapping[str, bytes]:
        """Map the name of each file of the kernel to the file's content.

        Raises:
            KernelRunError: a file is missing, or has changed since the kernel was added.
        """
        try:
            sums = json.loads((self.folder / _SUMS).read_bytes())
            files = {name: (self.folder / name).read_bytes() for name in sums}
        except (OSError, ValueError) as error:
            raise self._damaged(error) from error
        for name, content in files.items():
            if hashlib.sha256(content).hexdigest() != sums[name]:
                what = f"{name} has changed since it was added"
                raise self._damaged(what)
        return files

    def _damaged(self, what: object) -> KernelRunError:
        msg = (
            f"{self.folder}: {what}; run: cwndlab kernel remove {self.release}, then add this "
            "kernel again"
        )
        return KernelRunError(msg)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the kernel's folder, so that no other process of cwndlab writes to it.

        The lock ends even if cwndlab is killed.
        """
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def kernels() -> list[StockKernel]:
    """Return all kernels that have been added; the oldest release comes first."""
    folders = kernels_folder().glob(f"*/{_SUMS}")
    found = [StockKernel(path.parent.name, path.parent) for path in folders]
    return sorted(found, key=lambda each: _numbers(each.release))


def find_kernel(wanted: str | None) -> StockKernel:
    """Return the added kernel with the highest release.

    If `wanted` is given, only releases that begin with `wanted` are considered.

    Raises:
        KernelRunError: no kernel has been added.
        UnknownNameError: no added kernel has this release.
    """
    found = kernels()
    if not found:
        msg = "no kernel for virtual machines has been added; run: cwndlab kernel add 6.1"
        raise KernelRunError(msg)
    if wanted is None:
        return found[-1]
    fitting = [each for each in found if _fits(each.release, wanted)]
    if not fitting:
        names = [each.release for each in found]
        note = (
            f"added kernels: {', '.join(names)}; to add {wanted}, run: cwndlab kernel add {wanted}"
        )
        raise UnknownNameError(wanted, names, note, kind="kernel")
    return fitting[-1]


def add_package(package: Path) -> StockKernel:
    """Unpack the kernel of a Debian package into the cache folder.

    Raises:
        KernelRunError: the package contains no kernel, or lacks a file that a run needs.
    """
    release, files = "", {}
    for name, content in package_files(package):
        if match := _IMAGE.search(name):
            release, files[_KERNEL] = match[1], content
        elif _CONFIG.search(name):
            files[CONFIGURATION] = content
        elif _CHOSEN.search(name):
            module = lzma.decompress(content) if name.endswith(".xz") else content
            files[Path(name).name.removesuffix(".xz")] = module
    missing = [name for name in (_KERNEL, "tun.ko", "qemu_fw_cfg.ko") if name not in files]
    if missing:
        msg = (
            f"{package} contains no {' and no '.join(missing)}; use a Debian package "
            f"linux-image-RELEASE-amd64"
        )
        raise KernelRunError(msg)
    parent = kernels_folder()
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".new-") as name:
        made = Path(name) / "kernel"
        made.mkdir()
        for file, content in files.items():
            (made / file).write_bytes(content)
        sums = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
        (made / _SUMS).write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n")
        remove_kernel(release, is_needed=False)
        made.rename(parent / release)
    return StockKernel(release, parent / release)


def check_version(version: str) -> None:
    """Check that a text has the form of a kernel version, such as "6.1" or "6.1.170".

    Raises:
        KernelRunError: the text does not have this form.
    """
    if not _VERSION.fullmatch(version):
        msg = f"{version} is neither a version such as 6.1 nor a file *.deb"
        raise KernelRunError(msg)


def download(version: str) -> StockKernel:
    """Download the newest package of a kernel version with apt, and unpack the package.

    Raises:
        KernelRunError: this machine has no apt, or apt does not offer this version.
    """
    check_version(version)
    for tool in ("apt-cache", "apt-get"):
        if not shutil.which(tool):
            msg = (
                f"{tool} is not installed; download the kernel's Debian package by hand, then "
                "run: cwndlab kernel add FILE.deb"
            )
            raise KernelRunError(msg)
    pattern = re.compile(rf"linux-image-({re.escape(version)}(?!\d)[^ ]*?-amd64)")
    listed = _apt("apt-cache", "pkgnames", "linux-image-").split()
    releases = [match[1] for name in listed if (match := pattern.fullmatch(name))]
    real = [
        release
        for release in releases
        if re.search(r"\d+\.\d+\.\d+", release) and not re.search(r"-(rt|cloud|dbg)", release)
    ]
    if not real:
        msg = (
            f"apt offers no linux-image-{version}*-amd64; run apt-get update, "
            "or add a package file: cwndlab kernel add FILE.deb"
        )
        raise KernelRunError(msg)
    with tempfile.TemporaryDirectory(prefix="cwndlab-") as folder:
        name = f"linux-image-{max(real, key=_numbers)}"
        # apt compares the downloaded package with the signed index of the archive.
        _apt("apt-get", "-q", "download", name, folder=folder)
        return add_package(next(Path(folder).glob("*.deb")))


def remove_kernel(release: str, *, is_needed: bool = True) -> None:
    """Remove a kernel and the saved states of its virtual machines.

    Raises:
        KernelRunError: no kernel has been added.
        UnknownNameError: this kernel has not been added.
    """
    folder = kernels_folder() / release
    if is_needed:
        folder = find_kernel(release).folder
    if folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".old-") as name:
            folder.rename(Path(name) / "kernel")


def _fits(release: str, wanted: str) -> bool:
    return release == wanted or re.match(rf"{re.escape(wanted)}(?!\d)", release) is not None


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]


def _apt(*command: str, folder: str | None = None) -> str:
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)  # noqa: S603  apt's own
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["apt reported no reason"]
        msg = (
            f"{' '.join(command[:2])}: {said[-1]}; you can add a package file instead: "
            "cwndlab kernel add FILE.deb"
        )
        raise KernelRunError(msg)
    return done.stdout
