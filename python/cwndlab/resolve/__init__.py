"""Convert a study to a complete scenario, in which all quantities are whole numbers.

The compiled core fills in the defaults of links; this package fills in all other defaults. The
delay of a link applies to both directions unless `[reverse_link]` sets another delay. The default
queue of a wired link holds 1 BDP, but at least 10 packets (the initial window of RFC 6928). For a
trace, the queue holds 1 BDP at the mean rate, but at least 250 packets. On a link with a Mahimahi
trace, each packet has 4 bytes of framing.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from cwndlab.resolve.algorithms import AlgorithmReader
from cwndlab.resolve.flows import resolve_flows
from cwndlab.resolve.path import LinkFiles, resolve_path
from cwndlab.resolve.unknown_names import unknown_names
from cwndlab.schema import scenario as si
from cwndlab.schema.live import LivePath
from cwndlab.schema.problems import DocumentError, FieldError, plain_message
from cwndlab.schema.written import to_si

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cwndlab.resolve.algorithms import FileAlgorithm
    from cwndlab.resolve.traces import Trace
    from cwndlab.schema.link import Link
    from cwndlab.schema.path import PathPart
    from cwndlab.schema.study import StudyModel

__all__ = ["Resolved", "ResolvedLink", "resolve", "resolve_link"]

CAPTURE_FILE = "capture.pcap"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Scenario of a study, with its traces and algorithms. Its seed is 0; each run sets its own."""

    scenario: si.Scenario
    traces: Mapping[str, Trace]
    algorithms: Mapping[str, FileAlgorithm]  # algorithms in files, by name
    start_jitter_ns: tuple[int, ...]  # maximum random start delay of each flow
    begin_within_ns: int = 0
    server_ns: int = 0  # one-way delay between the link and the server


def resolve(study: StudyModel, folder: Path, references: Mapping[str, str]) -> Resolved:
    """Return the scenario of a study that has no factors.

    Args:
        study: the study.
        folder: the folder to which paths of traces and algorithms are relative.
        references: maps names of algorithms to the files to which the study refers.

    Raises:
        DocumentError: a value is missing, unknown or out of range; the error lists all
            unknown names.
    """
    try:
        with _naming_bounds():
            return _resolve(study, folder, references)
    except FieldError as error:
        others = unknown_names(study, AlgorithmReader(folder, references))
        problems = {each.key: each for each in (*others, error)}
        raise DocumentError(list(problems.values())) from None


def _resolve(study: StudyModel, folder: Path, references: Mapping[str, str]) -> Resolved:
    if study.duration == 0:
        raise FieldError(("duration",), "a run of 0 s contains no packets; write a longer time")
    files = LinkFiles(folder)
    if study.link is None and study.live is not None:
        path: PathPart | LivePath = to_si(study.live, LivePath, ("live",))
        has_reverse_link, server_ns = True, 0
    else:
        path, has_reverse_link, server_ns = resolve_path(study.link, study.reverse_link, files)
    algorithms = AlgorithmReader(folder, references)
    flows, jitter = resolve_flows(study, algorithms)
    if not has_reverse_link and any(flow.direction == "reverse" for flow in flows):
        message = (
            "uplink data need the rate and queue of the uplink: write a [reverse_link] into the "
            "file of the study or of the link, or choose a preset that has both directions "
            "(cwndlab compare also has the option --reverse-link)"
        )
        raise FieldError(("direction",), message)
    if path.kind in ("wire", "chain"):
        _check_devices_on_wire(flows)
    if study.warm_up >= study.duration:
        raise FieldError(("warm_up",), "the warm-up must be shorter than the duration")
    if study.begin_within and study.live is not None:
        raise FieldError(
            ("begin_within",), "runs on a real network cannot use begin_within; remove it"
        )
    scenario = si.Scenario(
        seed=0,
        duration_ns=study.duration,
        warm_up_ns=study.warm_up,
        path=path,
        flows=flows,
        before=_before(study, algorithms),
        record=si.ScenarioRecord(
            sample_interval_ns=study.record.samples or None,
            events=study.record.events,
            ack_trace=study.record.ack_trace,
            pcap=CAPTURE_FILE if study.record.pcap else None,
        ),
    )
    return Resolved(scenario, files.traces, algorithms.files, jitter, study.begin_within, server_ns)


@contextlib.contextmanager
def _naming_bounds() -> Iterator[None]:
    """Convert validation errors of the scenario to errors that name the invalid value."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise FieldError((), f"{place}: {plain_message(first)}") from None


def _before(
    study: StudyModel, algorithms: AlgorithmReader
) -> tuple[tuple[si.ScenarioFlow, ...], ...]:
    """Return the flows of the runs that precede a measured run, one run for each other algorithm.

    The first runs use the algorithms that `rotation` lists after the measured algorithm. The next
    runs use the algorithms that `rotation` lists before the measured algorithm.
    """
    turns = study.rotation
    if not turns:
        return ()
    for n, name in enumerate(turns):
        algorithms.find(name, ("rotation", n))
        if name in turns[:n]:
            raise FieldError(
                ("rotation", n), (f"{name} appears twice in the rotation; remove one of the two")
            )
    if study.algorithm is None:
        message = 'a study with a "rotation" must also set "algorithm"'
        raise FieldError(("rotation",), message)
    if study.algorithm not in turns:
        message = (
            f"the rotation does not contain {study.algorithm}; add this algorithm, or remove the "
            "rotation"
        )
        raise FieldError(("rotation",), message)
    own = turns.index(study.algorithm)
    others = (*turns[own + 1 :], *turns[:own])
    studies = (study.model_copy(update={"algorithm": name}) for name in others)
    return tuple(resolve_flows(each, algorithms)[0] for each in studies)


def _check_devices_on_wire(flows: tuple[si.ScenarioFlow, ...]) -> None:
    for flow in flows:
        ends = [flow.sender, flow.receiver]
        if flow.direction == "forward":
            ends.reverse()
        for place, end in zip(("user_host", "server_host"), ends, strict=True):
            if end.host is not None and end.host.bits_per_sec is None:
                raise FieldError(
                    (place,),
                    (
                        "a network device in front of a wire needs a rate; only a device in front "
                        "of a cell or a Wi-Fi channel may omit the rate, because the radio then "
                        "determines when the device sends"
                    ),
                )


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A network path that was created from a link alone, without a study."""

    path: PathPart
    traces: Mapping[str, Trace]
    server_ns: int = 0  # one-way delay between the link and the server

    @property
    def contents(self) -> dict[str, bytes]:
        """Maps the name of each trace that the network path uses to the content of the trace."""
        return {name: trace.content for name, trace in self.traces.items()}

    def scenario(self, duration_ns: int, seed: int = 1) -> si.Scenario:
        """Return a scenario with one Reno flow on the link, for tests of the link itself."""
        end = si.End(stack="linux-6.1", algorithm="reno")
        flow = si.ScenarioFlow(id=0, sender=end, receiver=end)
        return si.Scenario(seed=seed, duration_ns=duration_ns, path=self.path, flows=(flow,))


def resolve_link(link: Link, folder: Path) -> ResolvedLink:
    """Convert `link` to a network path, with the reverse link of its preset, if any.

    Raises:
        FieldError: a value is missing, unknown or out of range; the message names the key.
    """
    files = LinkFiles(folder)
    with _naming_bounds():
        path, _, server_ns = resolve_path(link, None, files)
    return ResolvedLink(path, files.traces, server_ns)
