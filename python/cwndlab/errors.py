"""Errors that users can cause and fix: one class per remedy; each message names the next step.

The command line maps each error to its exit status, in one place, and never shows a traceback.
"""

from __future__ import annotations

import difflib
import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class CwndlabError(Exception):
    """An error that the user can fix; its message names the remedy."""

    exit_status = 2


class QuantityError(CwndlabError, ValueError):
    """A value such as "20 Mbps/s" that is not a rate, time, size or share."""


class StudyError(CwndlabError):
    """A study contains an error; the message names the place and the remedy."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Join `problems`, each of which names its place, the error and the remedy."""
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class LinkError(CwndlabError):
    """A link cannot be found or read."""


class TraceError(CwndlabError):
    """A trace file is missing, or is not a trace."""


class AlgorithmError(CwndlabError):
    """An algorithm's file is missing, or there is no compiler for it."""


class BrokenAlgorithmError(AlgorithmError):
    """An algorithm does not compile, or breaks a rule of the contract; its runs fail."""


class KernelError(CwndlabError):
    """The running kernel does not support the request, or does not allow it for this user."""


class ScenarioRefusedError(CwndlabError, ValueError):
    """A scenario that the simulator refuses to run."""

    def __init__(self, path: str, message: str) -> None:
        """Store the place in the scenario, such as `flows[0].sender.stack`, and the problem."""
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class UnknownNameError(CwndlabError, ValueError):
    """A name of an algorithm, stack, link or study that does not exist."""

    def __init__(self, name: str, known: Iterable[str], command: str, *, kind: str) -> None:
        """Suggest similar names, and the command that lists them all."""
        near = nearest(name, known)
        hint = f"; did you mean {near}?" if near else ""
        super().__init__(f'unknown {kind} "{name}"{hint} ({command})')
        self.name = name


class MeasurementError(CwndlabError):
    """A measured file, or a folder of them, that cannot be understood."""


class ResultsError(CwndlabError):
    """A folder that contains no results, or whose results are damaged."""


class DamagedResultsError(ResultsError):
    """Files of results are missing, or their content has changed."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        """Make one error for all damaged files, which have a common remedy."""
        many = f" and {plural(len(names) - 1, 'other file')}" if len(names) > 1 else ""
        super().__init__(
            f"{folder / names[0]}{many}: damaged, or changed by another program; run the study "
            f"again to compute the lost runs"
        )
        self.names = tuple(names)


class NewerResultsError(ResultsError):
    """Results that a later version of cwndlab has written."""


class ResultsInUseError(ResultsError):
    """Results that another process is writing."""


class DiskFullError(ResultsError):
    """The disk has no space for the next run; earlier runs are safe."""


class CampaignEndedError(CwndlabError):
    """A campaign on a real network ended before all runs were made; finished runs are safe."""

    exit_status = 1


class CoreMissingError(CwndlabError):
    """The compiled part of cwndlab is missing."""


class KernelRunError(CwndlabError):
    """A run is not possible on the kernel of this machine."""


class ClusterError(CwndlabError):
    """A cluster cannot be reached, or its workers cannot do the work."""


class RunsFailedError(CwndlabError):
    """Some runs of a study failed; the others are finished."""

    exit_status = 1


class InterruptedStudyError(CwndlabError):
    """The user stopped a study; finished runs are safe."""

    exit_status = 130


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` most similar to `name`, or None if no name is similar."""
    by_lower_case = {word.lower(): word for word in known}
    matches = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.6)
    return by_lower_case[matches[0]] if matches else None


def plural(count: int, noun: str) -> str:
    """Return `count` with the noun, as in "1 run" and "1,280 runs"."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith(("try", "udy")) else f"{noun}s"
    return f"{count:,} {noun}"


def read_failure(path: Path, error: OSError) -> str:
    """Return why a file could not be read, as the operating system reports it."""
    return f"{path}: {_reason(error)}"


def file_failure(error: OSError) -> str:
    """Return which file could not be read or written, the reason, and a remedy if known."""
    remedy = _FILE_REMEDIES.get(error.errno or 0, "")
    return f"{f'{error.filename}: ' if error.filename else ''}{_reason(error)}{remedy}"


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


_NO_ROOM = "; free some space on that disk"
_NOT_ALLOWED = "; choose another path, or change the permissions"
_FILE_REMEDIES = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.EROFS: _NOT_ALLOWED,
    errno.EEXIST: "; choose another path",
    errno.ENOTDIR: "; choose another path",
}
