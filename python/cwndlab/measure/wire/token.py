"""Read the file with the token, the secret that a server and its clients share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError, read_failure

if TYPE_CHECKING:
    from pathlib import Path

_SHORTEST_TOKEN = 16


class TokenError(CwndlabError):
    """The file with the token is missing or invalid, or other users can read it."""


def read_token(path: Path) -> str:
    """Return the token that a file contains.

    Raises:
        TokenError: the file cannot be read, its token is too short, or other users can read it.
    """
    try:
        token = path.read_text(encoding="ascii").strip()
        is_open = path.stat().st_mode & 0o077
    except UnicodeDecodeError:
        token, is_open = "", 0
    except OSError as error:
        msg = (
            f"{read_failure(path, error)}; copy the file from the server, where `cwndlab serve` "
            "created it"
        )
        raise TokenError(msg) from None
    if is_open:
        msg = f"{path}: other users can read this file; run chmod 600 {path}"
        raise TokenError(msg)
    if len(token) < _SHORTEST_TOKEN:
        msg = (
            f"{path}: contains no valid token; if you delete the file, `cwndlab serve` creates a "
            "new one"
        )
        raise TokenError(msg)
    return token
