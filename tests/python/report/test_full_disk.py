"""A report that cannot be written names its folder and a remedy."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NoReturn

import pytest

import cwndlab as cw
from cwndlab.report import writer

if TYPE_CHECKING:
    from pathlib import Path

LINK = "rate=10 Mbit/s,delay=20 ms"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "no space left on device; free some space on that disk"),
        (errno.EROFS, "read-only file system; choose another path, or change the permissions"),
    ],
)
def test_a_report_that_cannot_be_written_names_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def fail(*_arguments: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    study = cw.Study(link=LINK, algorithm="reno", duration="1 s", id="s")
    results = study.run(tmp_path / "s")
    monkeypatch.setattr(writer, "write_files", fail)
    with pytest.raises(cw.errors.ResultsError) as raised:
        writer.write_report(results, tmp_path / "page")
    assert str(raised.value) == f"{tmp_path / 'page'}: {remedy}"
    assert isinstance(raised.value, cw.errors.DiskFullError) == (number == errno.ENOSPC)
