"""Cache values computed from results; computing them for many folders takes long."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.errors import CwndlabError
from cwndlab.usercode.cache import cache_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cwndlab.viewer.summary import Signature

_MOST = 5_000


class Kept:
    """A cache file with a JSON value for each folder of results.

    The value is valid until the content of the folder changes.
    """

    def __init__(self, file: str) -> None:
        """Read the cache file; treat a missing or damaged file as empty."""
        self._file = file
        self._known: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError, CwndlabError):
            found = json.loads((cache_folder() / file).read_text("utf-8"))
            if isinstance(found, dict):
                self._known = found

    def value(self, folder: Path, signature: Signature) -> Any:  # noqa: ANN401  any JSON value
        """Return the value that is stored for this folder and signature, or None."""
        return self._known.get(_key(folder, signature))

    def keep(self, values: Mapping[Path, tuple[Signature, Any]]) -> None:
        """Store values; if there are more than `_MOST`, remove those that were stored first."""
        before = dict(self._known)
        for folder, (signature, value) in values.items():
            self._known[_key(folder, signature)] = value
        if self._known == before:
            return
        self._known = dict(list(self._known.items())[-_MOST:])
        with contextlib.suppress(OSError, CwndlabError):
            write_whole(cache_folder() / self._file, json.dumps(self._known).encode())


def _key(folder: Path, signature: Signature) -> str:
    text = json.dumps([str(folder), signature, core.version(), core.behaviour_epoch()])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
