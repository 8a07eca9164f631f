"""The way back: what a trial changed is put back, whatever ends it.

Before the first change, what is needed to undo it is on disk.  A process of its own makes all
changes and watches the trial: when the trial ends, by itself or killed, that process puts the
setting back, and no change of it can come later.  If both are killed, `cwndlab trial restore`, or
the next trial, does; after a restart of the machine nothing is left to undo, and the file says so
by the machine's boot identifier.
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
"""The process of a trial that was killed needs less to put settings back."""


class Switch:
    """The setting of a trial that is under way."""

    def __init__(self, setting: Route | Default, keeper: subprocess.Popen[bytes]) -> None:
        """Have `keeper` change `setting`."""
        self._setting = setting
        self._keeper = keeper

    def choose(self, algorithm: str) -> None:
        """Give new connections this congestion control.

        Raises:
            SettingError: it cannot be changed.
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
        """Whether a connection to this address has the setting."""
        return self._setting.has_peer(address)


@contextlib.contextmanager
def changing(setting: Route | Default) -> Iterator[Switch]:
    """Keep the way back open while the setting is changed, and take it at the end.

    Raises:
        SettingError: another trial is under way, or this user may not write its file.
    """
    with _locked() as lock:
        _restore_from_file()
        keeper = subprocess.Popen(
            [sys.executable, "-m", "cwndlab.measure.trial.way_back"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[lock],  # no other trial begins before it ends
        )
        try:
            if keeper.stdout is None or keeper.stdout.read(1) != _READY:
                msg = "the process that changes settings did not start; nothing was changed"
                raise SettingError(msg)
            _keep(setting)
            yield Switch(setting, keeper)
        finally:
            keeper.communicate(timeout=_PATIENCE_S)  # its input ends, so that it restores
            _restore_from_file()


def restore_left() -> str | None:
    """Put back what a killed trial left; None if there was nothing.

    Raises:
        SettingError: a trial is under way, or the setting cannot be changed.
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
                msg = "another trial changes this machine; wait until it ends, or stop it"
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
    """Identifier of this start of the machine, and of the network namespace of this process."""
    return f"{_BOOT.read_text(encoding='ascii').strip()} {Path('/proc/self/ns/net').readlink()}"


def _watch() -> None:
    """Apply each requested setting until the trial ends, then restore the original one."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError):  # killed already
        os.write(sys.stdout.fileno(), _READY)
        for line in sys.stdin.buffer:
            answer = json.dumps(_choose(line.decode().strip())) + "\n"
            os.write(sys.stdout.fileno(), answer.encode())
    _restore_from_file()


def _choose(algorithm: str) -> str:
    """Return what went wrong; empty if nothing did."""
    try:
        document = json.loads(_file().read_text(encoding="utf-8"))
        setting_of(document["setting"]).choose(algorithm)
    except (SettingError, OSError, ValueError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    _watch()
