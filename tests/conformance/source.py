"""The kernel's congestion-control files, from Debian's packages linux-source-VERSION.

They are unpacked below target/, which git ignores, and are read by the compiler only: nothing of
them is kept in the tree.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

VERSIONS = ("6.1", "6.12")
ROOT = Path(__file__).resolve().parents[2]
_WANTED = ("net/ipv4/tcp_", "lib/win_minmax.c")
_REGISTERS = "tcp_register_congestion_control("


class SourceError(Exception):
    """The package cannot be had."""


def package_files(version: str) -> list[Path]:
    """Find every file with a congestion control in Debian's package of a kernel version.

    Raises:
        SourceError: they cannot be had.
    """
    return kernel_files(_unpack(f"linux-source-{version}"))


def kernel_files(folder: Path) -> list[Path]:
    """Find every file with a congestion control in an unpacked kernel, `tcp_cong.c` first.

    Raises:
        SourceError: they cannot be had.
    """
    ipv4 = folder / "net" / "ipv4"
    found = [
        path
        for path in sorted(ipv4.glob("tcp_*.c"))
        if path.name != "tcp_cong.c" and _REGISTERS in path.read_text(errors="replace")
    ]
    if not found:
        msg = f"{ipv4} holds no congestion control"
        raise SourceError(msg)
    return [ipv4 / "tcp_cong.c", *found]


def _unpack(package: str) -> Path:
    unpacked = ROOT / "target" / package
    if (unpacked / "net/ipv4/tcp_cong.c").exists():
        return unpacked
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    installed = Path(f"/usr/src/{package}.tar.xz")
    archive = installed if installed.exists() else _download(package, unpacked)
    print(f"unpacking {archive.name}", flush=True)
    with tarfile.open(archive, "r:xz") as tar:
        for member in tar:
            _, _, name = member.name.removeprefix("./").partition("/")
            if member.isfile() and name.startswith(_WANTED) and name.endswith((".c", ".h")):
                content = tar.extractfile(member)
                target = unpacked / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read() if content else b"")
    return unpacked


def _download(package: str, folder: Path) -> Path:
    """Download the package without installing it, and return the archive in it."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        msg = f"{package} comes from Debian: name an unpacked kernel with --source FOLDER"
        raise SourceError(msg)
    print(f"downloading {package} (140 MB)", flush=True)
    download = ["apt-get", "download", "-q", package]
    for command in (download, ["apt-get", "update", "-q"], download):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        packages = sorted(folder.glob("*.deb"))
        if packages:
            break
    else:
        msg = f"apt-get download {package} failed: {done.stderr.strip()}"
        raise SourceError(msg)
    subprocess.run(["dpkg-deb", "-x", packages[0], folder / "deb"], check=True)  # noqa: S607
    return folder / "deb/usr/src" / f"{package}.tar.xz"
