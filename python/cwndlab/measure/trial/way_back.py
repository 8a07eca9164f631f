"""Restore the congestion control setting that a trial changed, no matter how the trial ends.

Before the first change, the original values are written to a file. A separate process changes the
setting and watches the trial. When the trial ends or is killed, this process restores the setting.
If the separate process is killed as well, `cwndlab trial restore` or the next trial restores the
setting. A restart of the computer undoes all changes; the boot identifier in the file shows
whether the computer was restarted.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.measure.trial.settings import Default, Route, SettingError, setting_of
from cwndlab.run.user_folders import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_READY = b"+"
_PATIENCE_S = 20
_RESTORED_S = 3.0
"""Longest time in seconds for which a new trial waits for the lock, which allows only one trial at
a time. After a trial was killed, the process that watched the trial holds the lock until the
process has restored the congestion control setting."""


class Switch:
    """Asks a separate process to change the congestion control setting (a route or the default)."""

    def __init__(self, setting: Route | Default, keeper: subprocess.Popen[bytes]) -> None:
        """Use the separate process `keeper` to change `setting`."""
        self._setting = setting
        self._keeper = keeper

    def choose(self, algorithm: str) -> None:
        """Set the congestion control of new connections.

        Raises:
            SettingError: the setting cannot be changed.
        """
        to, back = self._keeper.stdin, self._keeper.stdout
        try:
            if to is not None and back is not None:
                to.write(algorithm.encode() + b"\n")
                to.flush()
                answer = json.loads(back.readline())
        except (OSError, ValueError):
            answer = "the process that changes settings was killed"
        if answer:
            raise SettingError(answer)

    def has_peer(self, address: str) -> bool:
        """Return whether the setting applies to connections to this address."""
        return self._setting.has_peer(address)


@contextlib.contextmanager
def changing(setting: Route | Default) -> Iterator[Switch]:
    """Allow changes to a setting within a context, and restore the setting when the context ends.

    Raises:
        SettingError: another trial is running, or the lock file of trials cannot be opened.
    """
    with _locked() as lock:
        _restore_from_file()
        keeper = subprocess.Popen(
            [sys.executable, "-m", "cwndlab.measure.trial.way_back"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[lock],  # locks out other trials until it ends
        )
        try:
            if keeper.stdout is None or keeper.stdout.read(1) != _READY:
                msg = (
                    "the process that changes the congestion control did not start; "
                    "nothing was changed"
                )
                raise SettingError(msg)
            _keep(setting)
            yield Switch(setting, keeper)
        finally:
            keeper.communicate(timeout=_PATIENCE_S)  # closes its input: it restores
            _restore_from_file()


def restore_left() -> str | None:
    """Restore the setting if a trial was killed before it could restore it.

    Return the name of the restored setting; None if there was nothing to restore.

    Raises:
        SettingError: a trial is running, or the setting cannot be changed.
    """
    with _locked():
        return _restore_from_file()


def _restore_from_file() -> str | None:
    path = _file()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    setting = setting_of(document["setting"])
    is_of_this_boot = document["boot"] == _boot()
    if is_of_this_boot:
        setting.restore()
    path.unlink(missing_ok=True)
    if not is_of_this_boot:
        return None
    return f"the route to {setting.prefix}" if isinstance(setting, Route) else "the default"


def _keep(setting: Route | Default) -> None:
    path = _file()
    text = json.dumps({"boot": _boot(), "setting": setting.to_json()})
    fresh = path.with_suffix(".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


@contextlib.contextmanager
def _locked() -> Iterator[int]:
    path = _file().with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise SettingError(msg) from None
    with file:
        until_s = time.monotonic() + _RESTORED_S
        while not _is_held(file.fileno()):
            if time.monotonic() > until_s:
                msg = "another trial is running on this computer; wait until it ends, or stop it"
                raise SettingError(msg)
            time.sleep(0.05)
        yield file.fileno()


def _is_held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _file() -> Path:
    return state_folder() / "trial.json"


def _boot() -> str:
    """Return the identifiers of the last boot and of the current network namespace."""
    return f"{_BOOT.read_text(encoding='ascii').strip()} {Path('/proc/self/ns/net').readlink()}"


def _watch() -> None:
    """Set each algorithm that the trial requests.

    When the trial ends, restore the original setting.
    """
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError):  # the trial was killed already
        os.write(sys.stdout.fileno(), _READY)
        for line in sys.stdin.buffer:
            answer = json.dumps(_choose(line.decode().strip())) + "\n"
            os.write(sys.stdout.fileno(), answer.encode())
    _restore_from_file()


def _choose(algorithm: str) -> str:
    """Set `algorithm` for new connections; return an error message, or "" on success."""
    try:
        document = json.loads(_file().read_text(encoding="utf-8"))
        setting_of(document["setting"]).choose(algorithm)
    except (SettingError, OSError, ValueError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    _watch()
