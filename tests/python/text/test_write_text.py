"""Files are written as a whole, and errors name them."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from cwndlab.text.files import write_text

FULL = Path("/dev/full")


# Only Linux has this device, which is always full; elsewhere, no write fails in this way.
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full, which only Linux has")
def test_an_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    link = tmp_path / "page.html"
    link.symlink_to(FULL)
    with pytest.raises(OSError, match="No space left") as raised:
        write_text(link, "text")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(link))


def test_a_new_file_that_cannot_be_written_as_a_whole_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "prediction.json"
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "half \ud800", "x")
    assert not file.exists()


def test_an_existing_file_is_kept_if_it_must_be_new(tmp_path: Path) -> None:
    file = tmp_path / "prediction.json"
    write_text(file, "first", "x")
    with pytest.raises(FileExistsError):
        write_text(file, "second", "x")
    assert file.read_text() == "first"
