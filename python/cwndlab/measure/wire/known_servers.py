"""The servers that this user has measured with, and their fingerprints, as ssh's known hosts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cwndlab.errors import CwndlabError, read_failure


class OtherServerError(CwndlabError):
    """The server's fingerprint is not the remembered or given one."""


@dataclass(frozen=True, slots=True)
class KnownServers:
    """A file with a line a server: `HOST:PORT SHA256:...`."""

    path: Path

    @classmethod
    def of_user(cls) -> KnownServers:
        """Those of the user who runs this."""
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(home, "cwndlab", "known-servers"))

    def check(self, server: str, fingerprint: str) -> None:
        """Compare what a server shows with what it showed before, if it is known.

        Raises:
            OtherServerError: it is another, or the file cannot be read.
        """
        known = self._read().get(server)
        if known not in {None, fingerprint}:
            msg = (
                f"{server} is not the server that it was: its fingerprint is {fingerprint}, and "
                f"{self.path} has {known}. If `cwndlab serve` was moved or given a new --key, "
                "delete that line"
            )
            raise OtherServerError(msg)

    def remember(self, server: str, fingerprint: str) -> None:
        """Add a server that has shown that it knows the token.

        Raises:
            OtherServerError: the file cannot be read or written.
        """
        if server in self._read():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{server} {fingerprint}\n")
        except OSError as error:
            msg = f"{self.path}: cannot be written ({error.strerror}); give --fingerprint instead"
            raise OtherServerError(msg) from None

    def _read(self) -> dict[str, str]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError:
            msg = f"{self.path}: not a text; delete it, and servers are remembered anew"
            raise OtherServerError(msg) from None
        except OSError as error:
            raise OtherServerError(read_failure(self.path, error)) from None
        words = [line.split() for line in text.splitlines()]
        return {each[0]: each[1] for each in words if len(each) == 2}  # noqa: PLR2004  name, value
