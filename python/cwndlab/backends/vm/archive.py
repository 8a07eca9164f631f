"""Read Debian packages, and write the initial RAM file system (initramfs) of a virtual machine."""

from __future__ import annotations

import lzma
import tarfile
from typing import IO, TYPE_CHECKING

from cwndlab.errors import KernelRunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_AR_MAGIC = b"!<arch>\n"
_AR_HEADER_BYTES = 60
_CPIO_HEADER_BYTES = 110
_REGULAR, _FOLDER = 0o100755, 0o040755


def package_files(package: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the absolute path and the content of each regular file in a Debian package.

    Raises:
        KernelRunError: the file is not a Debian package, or it is damaged.
    """
    try:
        with package.open("rb") as file:
            _seek_data(file, package)
            with tarfile.open(fileobj=file, mode="r|*") as data:
                for member in data:
                    content = data.extractfile(member) if member.isreg() else None
                    if content is not None:
                        yield member.name.removeprefix("."), content.read()
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        msg = f"{package}: damaged Debian package ({error}); download it again"
        raise KernelRunError(msg) from error


def _seek_data(file: IO[bytes], package: Path) -> None:
    """Seek to the content of the member `data.tar` in a Debian package, an `ar` archive."""
    if file.read(len(_AR_MAGIC)) != _AR_MAGIC:
        msg = f"{package} is not a Debian package; choose a file linux-image-*.deb"
        raise KernelRunError(msg)
    while header := file.read(_AR_HEADER_BYTES):
        if header[:16].strip().startswith(b"data.tar"):
            return
        length = int(header[48:58])
        file.seek(length + length % 2, 1)
    msg = f"{package}: the Debian package contains no files; download it again"
    raise KernelRunError(msg)


def first_file_system(files: Mapping[str, bytes]) -> bytes:
    """Return a cpio archive (format `newc`) of `files` and their folders; files are executable.

    The bytes depend only on `files`: the archive contains no times, owners or inode numbers of
    this machine.
    """
    folders = {
        "/".join(parts[:length])
        for parts in (name.split("/") for name in files)
        for length in range(1, len(parts))
    }
    members = [(name, _FOLDER, b"") for name in sorted(folders)]
    members += [(name, _REGULAR, content) for name, content in sorted(files.items())]
    packed = bytearray()
    for number, (name, mode, content) in enumerate([*members, ("TRAILER!!!", 0, b"")], 1):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        packed += b"070701" + b"".join(b"%08X" % field for field in fields)
        packed += name.encode() + b"\0"
        packed += bytes(-len(packed) % 4)
        packed += content + bytes(-len(content) % 4)
    return bytes(packed)
