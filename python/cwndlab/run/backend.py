"""The interface between a campaign and a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.results.blocks import Entry
    from cwndlab.run.executor import Executor
    from cwndlab.study.matrix import Matrix


class Backend(Protocol):
    """A backend. All backends take the same scenarios and write the same tables."""

    @property
    def name(self) -> str:
        """Name of the backend in the history of a results folder."""

    def keyed(self, matrix: Matrix) -> Matrix:
        """Return the runs with the keys of their results on this backend.

        Raises:
            StudyError: the study cannot be run on this backend.
        """

    def executor(self, matrix: Matrix, history: Callable[[], list[Entry]], /) -> Executor:
        """Return the executor of the runs.

        Args:
            matrix: all runs, as `keyed` returned them.
            history: returns the earlier attempts.

        Raises:
            CwndlabError: there is no executor; the message says what is missing.
        """
