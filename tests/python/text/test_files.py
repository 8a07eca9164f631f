"""A file that a user names is read only up to a size limit, whatever its type."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cwndlab.api.fitting import flows_of_file
from cwndlab.errors import CwndlabError
from cwndlab.judge.ledger import read_ledger
from cwndlab.judge.prediction import read_prediction
from cwndlab.resolve import traces
from cwndlab.resolve.presets import read_link_file
from cwndlab.resolve.traces import Told, read_trace
from cwndlab.text.files import MOST_TEXT_BYTES, read_bytes, user_path
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    from collections.abc import Callable

ENDLESS = Path("/dev/zero")


def test_a_file_of_the_most_bytes_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 2**20)
    assert read_bytes(path, 2**20) == b"x" * 2**20
    path.write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_bytes(path, 2**20)


@pytest.mark.skipif(not ENDLESS.is_char_device(), reason="there is no /dev/zero")
@pytest.mark.parametrize(
    "read",
    [
        TomlSource.read,
        read_link_file,
        read_ledger,
        read_prediction,
        lambda path: read_trace(path, Told()),
    ],
    ids=["study", "link", "ledger", "prediction", "trace"],
)
def test_a_device_without_end_is_refused(
    read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MOST_TRACE_BYTES", MOST_TEXT_BYTES)
    with pytest.raises(CwndlabError, match=r"^/dev/zero: .*larger than \d+ MiB"):
        read(ENDLESS)


@pytest.mark.parametrize(
    "read",
    [TomlSource.read, lambda path: read_trace(path, Told()), flows_of_file],
    ids=["study", "trace", "measurement"],
)
def test_a_pipe_is_refused_before_it_is_opened(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CwndlabError, match="a pipe, which can be read only once"):
        read(tmp_path / "pipe")


def test_the_home_of_an_unknown_user_stays_as_written() -> None:
    assert user_path("~/x") == Path.home() / "x"
    assert user_path("~nosuchuser/x") == Path("~nosuchuser/x")
