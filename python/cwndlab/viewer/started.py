"""Start studies from the page of `cwndlab open`, each as a separate process `cwndlab run`."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.errors import CwndlabError
from cwndlab.results.manifest import MANIFEST, located
from cwndlab.study.kept import STUDY
from cwndlab.viewer.form import FOLDER, checked, identity_in, text_of
from cwndlab.viewer.summary import is_written_now, locked_inodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MOST_AT_ONCE = 4
_BEGINS_WITHIN_S = 60.0
_LOOK_AGAIN_S = 0.05
_END_WITHIN_S = 10.0
_TAIL = 4000


class RefusedForm(CwndlabError):  # noqa: N818  a reply, not an error
    """The form of a new study contains problems; `problems` lists them with their keys."""

    def __init__(self, problems: Sequence[Mapping[str, Any]]) -> None:
        """Store the problems of a study, and create a message that lists all of them."""
        super().__init__(
            "\n".join(f"{each['key'] or 'study'}: {each['text']}" for each in problems)
        )
        self.problems = list(problems)


@dataclass(slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    results: Path
    printed: Path


class Started:
    """Runs studies in processes, which continue after the user closes the browser."""

    def __init__(self, folder: Path) -> None:
        """Prepare to store the results of each new study in its own folder below `folder`."""
        self._folder = folder
        self._taking = threading.Lock()
        self._children: dict[Path, _Child] = {}

    def start(self, form: Mapping[str, Any]) -> Path:
        """Create a study file from `form`, start the study, and return its results folder.

        Raises:
            CwndlabError: the id of the study is invalid or already used, `_MOST_AT_ONCE` studies
                are running, or `cwndlab run` refuses the study; the message states the reason.
            RefusedForm: the form contains problems, which the error lists by field.
        """
        text = text_of(form)
        identity = identity_in(text)
        if problems := checked(form)["problems"]:
            raise RefusedForm(problems)
        files = self._folder / FOLDER
        study, results = files / f"{identity}.toml", self._folder / identity
        with self._taking:
            if study.exists() or results.exists():
                msg = f"id: results named {identity} exist already; choose another id"
                raise CwndlabError(msg)
            files.mkdir(parents=True, exist_ok=True)
            study.write_text(text, encoding="utf-8")
            try:
                return self._run(study, results)
            except CwndlabError:
                if not results.exists():
                    study.unlink()
                raise

    def go_on(self, results: Path) -> None:
        """Start to compute the missing runs of a results folder.

        Raises:
            CwndlabError: `_MOST_AT_ONCE` studies are running, or `cwndlab run` refuses the study,
                for example because of untrusted C files.
        """
        with self._taking:
            self._run(results / STUDY, results)

    def stop(self, results: Path) -> None:
        """Stop a study in the same way as Ctrl-C; finished runs stay in the results.

        Raises:
            CwndlabError: the study is not running, or was not started from the page.
        """
        with self._taking:
            child = self._children.get(results)
            if child is None or child.process.poll() is not None:
                msg = (
                    f"{results}: no process that this page started is running this study; if it "
                    "was started elsewhere, stop it there"
                )
                raise CwndlabError(msg)
            child.process.send_signal(signal.SIGINT)

    def said_of(self, results: Path) -> tuple[bool, str]:
        """Return whether the process of a study is running, and the end of what it printed.

        If the page did not start the study, return False and an empty text.
        """
        child = self._children.get(results)
        if child is None:
            return False, ""
        return child.process.poll() is None, _tail(child.printed)

    def end(self) -> int:
        """Stop all running studies that the page started, and return their number."""
        with self._taking:
            running = [each for each in self._children.values() if each.process.poll() is None]
            for child in running:
                child.process.send_signal(signal.SIGINT)
            for child in running:
                try:
                    child.process.wait(_END_WITHIN_S)
                except subprocess.TimeoutExpired:
                    child.process.kill()
        return len(running)

    def _run(self, study: Path, results: Path) -> Path:
        running = sum(each.process.poll() is None for each in self._children.values())
        if running >= _MOST_AT_ONCE:
            msg = f"{_MOST_AT_ONCE} studies are running already; wait until one ends, or stop one"
            raise CwndlabError(msg)
        (self._folder / FOLDER).mkdir(parents=True, exist_ok=True)
        printed = self._folder / FOLDER / f"{results.name}.txt"
        command = [sys.executable, "-m", "cwndlab", "run", str(study), "--results", str(results)]
        with printed.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  runs this program, without a shell
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        self._children[results] = _Child(process, results, printed)
        until_s = time.monotonic() + _BEGINS_WITHIN_S
        while process.poll() is None and time.monotonic() < until_s:
            has_begun = located(results, MANIFEST).exists()
            if has_begun and is_written_now(results, locked_inodes()):
                return results  # the study was accepted
            time.sleep(_LOOK_AGAIN_S)
        if process.returncode not in {None, 0, 1}:
            raise CwndlabError(
                _tail(printed) or f"cwndlab run ended with exit status {process.returncode}"
            )
        return results


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip()
    except OSError:
        return ""
