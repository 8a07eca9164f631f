"""Define the interface of backends, which execute the runs of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.results.blocks import Entry
    from cwndlab.run.executor import Executor
    from cwndlab.study.matrix import Matrix


@runtime_checkable
class Backend(Protocol):
    """A way to execute runs, such as the simulator; all backends use the same file formats."""

    @property
    def name(self) -> str:
        """Name of the backend, as it is stored in the history of a results folder."""

    def keyed(self, matrix: Matrix) -> Matrix:
        """Return a study's runs, each with the key under which this backend stores its results.

        Raises:
            StudyError: the study cannot be run on this backend.
        """

    def executor(self, matrix: Matrix, history: Callable[[], list[Entry]], /) -> Executor:
        """Return the executor that computes the runs of a study.

        Args:
            matrix: all runs, as returned by `keyed`.
            history: function that returns the records of earlier attempts.

        Raises:
            CwndlabError: this machine lacks something that the backend needs; the message names
                the missing part.
        """
