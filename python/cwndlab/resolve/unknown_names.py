"""Find all unknown names in a study, so that one error message can list them all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.errors import CwndlabError
from cwndlab.resolve.hosts import resolve_host
from cwndlab.schema import study as plan
from cwndlab.schema.problems import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cwndlab.resolve.algorithms import AlgorithmReader
    from cwndlab.text.toml import KeyPath

_MACHINES = ("user", "server")


def unknown_names(study: plan.StudyModel, algorithms: AlgorithmReader) -> list[FieldError]:
    """Return an error for each unknown name of an algorithm, stack or host in a study."""
    problems: dict[KeyPath, FieldError] = {}
    for key, find in _names(study, algorithms):
        try:
            find()
        except FieldError as error:
            problems.setdefault(error.key, error)
        except CwndlabError as error:
            problems.setdefault(key, FieldError(key, str(error)))
    return list(problems.values())


def _names(
    study: plan.StudyModel, algorithms: AlgorithmReader
) -> Iterator[tuple[KeyPath, Callable[[], object]]]:
    for n, flow in enumerate(study.flow or (plan.Flow(),)):
        for end in ("", "receiver_"):
            for kind, find in (("algorithm", algorithms.find), ("stack", _stack)):
                own = getattr(flow, f"{end}{kind}")
                name = own or (None if end else getattr(study, kind))
                key: KeyPath = ("flow", n, f"{end}{kind}") if own else (kind,)
                if name:
                    yield key, partial(find, name, key)
        for machine in _MACHINES:
            for kind, find_own in (("stack", _stack), ("host", resolve_host)):
                place = f"{machine}_{kind}"
                own = getattr(flow, place, None)
                written = own or getattr(study, place)
                key = ("flow", n, place) if own else (place,)
                if written:
                    yield key, partial(find_own, written, key)


def _stack(name: str, _: KeyPath) -> core.Stack:
    return core.stack(name)
