"""The kernel's congestion-control files, out of Debian's package linux-source-6.1.

They are unpacked below target/, which git ignores, and are read by the compiler only: nothing of
them is kept in the tree.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

PACKAGE = "linux-source-6.1"
ROOT = Path(__file__).resolve().parents[2]
UNPACKED = ROOT / "target" / PACKAGE
_WANTED = ("net/ipv4/tcp_", "lib/win_minmax.c")
_REGISTERS = "tcp_register_congestion_control("


class SourceError(Exception):
    """The package cannot be had."""


def kernel_files(folder: Path | None) -> list[Path]:
    """Every file of the kernel that has a congestion control, the standard one's first.

    Raises:
        SourceError: they cannot be had.
    """
    ipv4 = (folder or _unpack()) / "net" / "ipv4"
    found = [
        path
        for path in sorted(ipv4.glob("tcp_*.c"))
        if path.name != "tcp_cong.c" and _REGISTERS in path.read_text(errors="replace")
    ]
    if not found:
        msg = f"{ipv4} holds no congestion control"
        raise SourceError(msg)
    return [ipv4 / "tcp_cong.c", *found]


def _unpack() -> Path:
    if (UNPACKED / "net/ipv4/tcp_cong.c").exists():
        return UNPACKED
    shutil.rmtree(UNPACKED, ignore_errors=True)
    UNPACKED.mkdir(parents=True)
    installed = Path(f"/usr/src/{PACKAGE}.tar.xz")
    archive = installed if installed.exists() else _download()
    print(f"unpacking {archive.name}", flush=True)
    with tarfile.open(archive, "r:xz") as tar:
        for member in tar:
            _, _, name = member.name.removeprefix("./").partition("/")
            if member.isfile() and name.startswith(_WANTED) and name.endswith((".c", ".h")):
                content = tar.extractfile(member)
                target = UNPACKED / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read() if content else b"")
    return UNPACKED


def _download() -> Path:
    """The archive of the package, without installing it."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        msg = f"{PACKAGE} comes from Debian: name an unpacked kernel with --source FOLDER"
        raise SourceError(msg)
    print(f"downloading {PACKAGE} (140 MB)", flush=True)
    for command in (["apt-get", "download", "-q", PACKAGE], ["apt-get", "update", "-q"]):
        done = subprocess.run(command, cwd=UNPACKED, capture_output=True, text=True, check=False)
        packages = sorted(UNPACKED.glob("*.deb"))
        if packages:
            break
    else:
        again = subprocess.run(
            ["apt-get", "download", "-q", PACKAGE],  # noqa: S607  Debian's own
            cwd=UNPACKED,
            capture_output=True,
            text=True,
            check=False,
        )
        packages = sorted(UNPACKED.glob("*.deb"))
        if not packages:
            msg = f"apt-get download {PACKAGE} failed: {(again.stderr or done.stderr).strip()}"
            raise SourceError(msg)
    subprocess.run(["dpkg-deb", "-x", packages[0], UNPACKED / "deb"], check=True)  # noqa: S607
    return UNPACKED / "deb/usr/src" / f"{PACKAGE}.tar.xz"
