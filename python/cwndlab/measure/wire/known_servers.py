"""Store the fingerprints of servers that the user has used, as ssh does in known_hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError, read_failure
from cwndlab.run.user_folders import state_folder

if TYPE_CHECKING:
    from pathlib import Path


class OtherServerError(CwndlabError):
    """A server's fingerprint is not the expected one, or the file of fingerprints is unusable."""


@dataclass(frozen=True, slots=True)
class KnownServers:
    """A file of known servers, with a line `HOST:PORT SHA256:...` for each server."""

    path: Path

    @classmethod
    def of_user(cls) -> KnownServers:
        """Return the file in which the current user's known servers are stored."""
        return cls(state_folder() / "known-servers")

    def check(self, server: str, fingerprint: str) -> None:
        """Compare a server's fingerprint with the stored fingerprint, if there is one.

        Raises:
            OtherServerError: the fingerprint differs, or the file cannot be read.
        """
        known = self._read().get(server)
        if known not in {None, fingerprint}:
            msg = (
                f"{server} has the fingerprint {fingerprint}, but {self.path} lists "
                f"{known} for this server. If `cwndlab serve` was moved or has a new --key, "
                "delete the line of this server"
            )
            raise OtherServerError(msg)

    def remember(self, server: str, fingerprint: str) -> None:
        """Add a server, unless it is listed; it must have proved that it knows the token.

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
            msg = (
                f"{self.path}: cannot be written ({error.strerror}); use the option "
                "--fingerprint instead"
            )
            raise OtherServerError(msg) from None

    def _read(self) -> dict[str, str]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError:
            msg = f"{self.path}: not a text file; delete the file, and cwndlab creates a new one"
            raise OtherServerError(msg) from None
        except OSError as error:
            raise OtherServerError(read_failure(self.path, error)) from None
        words = [line.split() for line in text.splitlines()]
        return {each[0]: each[1] for each in words if len(each) == 2}  # noqa: PLR2004  name, value
