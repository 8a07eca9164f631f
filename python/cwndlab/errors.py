"""Define errors that users can fix; each message states what the user can do next.

The command line prints the message without a traceback, and ends with the error's exit status.
"""

from __future__ import annotations

import difflib
import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


_MOST_SHOWN = 100  # characters of a name in a message


class CwndlabError(Exception):
    """An error that the user can fix; its message names the remedy."""

    exit_status = 2

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message and the attributes, not the constructor's arguments.

        These arguments differ between the subclasses.
        """
        return _unpickled, (type(self), self.args, vars(self))


def _unpickled(
    kind: type[CwndlabError], args: tuple[object, ...], attributes: dict[str, object]
) -> CwndlabError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


class QuantityError(CwndlabError, ValueError):
    """A string, such as "20 Mbps/s", is not a valid rate, time, size or share."""


class ArgumentError(CwndlabError, ValueError):
    """A function of this library does not accept the value of one of its arguments."""

    def __init__(self, value: object, name: str, remedy: str) -> None:
        """Create a message with the argument's name, the refused value, and the remedy."""
        super().__init__(f"{name} = {value!r}: {remedy}")
        self.remedy = remedy


class StudyError(CwndlabError):
    """A study is invalid or unsuitable; the message states all problems and their places."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Create the error from `problems`, which contains one message for each problem."""
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class LinkError(CwndlabError):
    """A link is missing or invalid, or does not support the requested operation."""


class TraceError(CwndlabError):
    """A trace file is missing, or does not contain a trace."""


class AlgorithmError(CwndlabError):
    """An algorithm cannot be used or created; for example, its file or a compiler is missing."""


class BrokenAlgorithmError(AlgorithmError):
    """An algorithm does not compile, fails while it runs, or violates a rule of its interface."""


class KernelError(CwndlabError):
    """An operation on the running kernel, such as loading an algorithm, fails or needs root."""


class ScenarioRefusedError(CwndlabError, ValueError):
    """The simulator refuses to run an invalid scenario."""

    def __init__(self, path: str, message: str) -> None:
        """Store the place of the error, such as `flows[0].sender.stack`, and the error message."""
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class UnknownNameError(CwndlabError, ValueError):
    """The given name, for example of an algorithm, a link or a column, is unknown."""

    def __init__(self, name: str, known: Iterable[str], command: str, *, kind: str) -> None:
        """Create a message with the most similar name in `known`, and with `command`.

        `command` is either a command that prints the known names, such as `cwndlab link list`, or a
        list of these names, such as `backends: sim, kernel`.
        """
        text = str(name)  # a notebook may pass any value
        near = nearest(text, known)
        hint = f"; did you mean {near}?" if near else ""
        shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
        super().__init__(f'unknown {kind} "{shown}"{hint} ({command})')
        self.name = name


class MeasurementError(CwndlabError):
    """cwndlab cannot interpret a measurement file, or a folder of such files."""


class ResultsError(CwndlabError):
    """A folder does not contain results, or its results are damaged."""


class DamagedResultsError(ResultsError):
    """Files of results are missing, or their content has changed."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        """Create one error about all damaged files of a folder."""
        many = f" and {plural(len(names) - 1, 'other file')}" if len(names) > 1 else ""
        found = (
            "the files are damaged or were changed"
            if many
            else "the file is damaged or was changed"
        )
        super().__init__(
            f"{folder / names[0]}{many}: {found} by another program; run the study again to "
            "compute the lost runs"
        )
        self.names = tuple(names)


class NewerResultsError(ResultsError):
    """A later version of cwndlab wrote these results, which this version cannot read."""


class ResultsInUseError(ResultsError):
    """Another process is writing to the folder of results."""


class DiskFullError(ResultsError):
    """The disk has no space for the next run; finished runs are already stored."""


class CampaignEndedError(CwndlabError):
    """A live measurement ended before all runs were finished; finished runs are stored."""

    exit_status = 1


class CoreMissingError(CwndlabError):
    """The compiled module `cwndlab._core` is missing."""


class KernelRunError(CwndlabError):
    """A study cannot run on a kernel; for example, an algorithm or a program is missing."""


class ClusterError(CwndlabError):
    """A Dask cluster cannot be reached, or its workers cannot compute runs."""


class RunsFailedError(CwndlabError):
    """Some runs of a study failed; all other runs are finished."""

    exit_status = 1


class InterruptedStudyError(CwndlabError):
    """The user stopped a study; finished runs are stored."""

    exit_status = 130


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` that is most similar to `name`, or None if none is similar."""
    by_lower_case = {word.lower(): word for word in known}
    matches = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.6)
    return by_lower_case[matches[0]] if matches else None


def plural(count: int, noun: str) -> str:
    """Return `count` and a noun in the singular or plural, such as "1 run" or "1,280 runs"."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith(("try", "udy")) else f"{noun}s"
    return f"{count:,} {noun}"


def read_failure(path: Path, error: OSError) -> str:
    """Return a message with the reason why the operating system could not read a file."""
    remedy = "; give the path to a file" if error.errno == errno.EISDIR else ""
    return f"{path}: {_reason(error)}{remedy}"


def file_failure(error: OSError, path: Path | None = None) -> str:
    """Return a message that names a file, why it cannot be used, and the remedy, if known.

    `path` is used if the error itself names no file, for example when a disk is full.
    """
    place = error.filename or path
    remedy = _FILE_REMEDIES.get(error.errno or 0, "")
    return f"{f'{place}: ' if place else ''}{_reason(error)}{remedy}"


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
