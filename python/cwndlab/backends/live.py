"""Execute runs on a real network, over several days and places if the study requires it."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from cwndlab.errors import CampaignEndedError, CwndlabError, StudyError, plural
from cwndlab.measure.beside import DatagramsBeside
from cwndlab.measure.flags import DEFAULT_OUTAGE_S
from cwndlab.measure.iperf3 import Iperf3, runs_via
from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.radio import sources_of
from cwndlab.measure.machine.surroundings import Surroundings
from cwndlab.measure.preflight import ProxyError, Sender, look
from cwndlab.measure.schedule import Period, in_turn, next_run, path_of
from cwndlab.measure.tables import MeasuredRun, measured
from cwndlab.measure.wire.address import Address, ServerUnreachableError
from cwndlab.measure.wire.client import Session, TransferFailedError, waiting_for
from cwndlab.measure.wire.exchange import LibraryMissingError
from cwndlab.measure.wire.flow import AlgorithmMissingError
from cwndlab.measure.wire.protocol import ProtocolError
from cwndlab.results.blocks import DONE, SET_ASIDE
from cwndlab.results.tables import split_files, to_parquet
from cwndlab.run.executor import Batch, Note, Outcome
from cwndlab.schema.application import Datagrams, Video, Web
from cwndlab.schema.live import LivePath

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from cwndlab.measure.machine.radio import RadioLog, RadioSource
    from cwndlab.measure.wire.early_end import EndsEarly
    from cwndlab.results.blocks import Entry
    from cwndlab.run.executor import Task
    from cwndlab.schema.scenario import ScenarioFlow
    from cwndlab.study.matrix import Matrix
    from cwndlab.study.runs import Run

_ONLY_SIMULATED = (Web, Video, Datagrams)
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class RealNetwork:
    """The backend that measures a real network between this machine and a server."""

    address: Address | Iperf3
    """Address of a server that runs `cwndlab serve`, or of an iperf3 server."""
    place: str | None = None
    """Name of the place where this machine is; None is allowed if the study lists only one
    place."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Notes that are stored with each run, such as `weather` with the value `rain`."""
    patience_s: float = 600
    """Maximum time in seconds for which cwndlab keeps trying to reach an unreachable server."""
    is_waiting: bool = True
    """If true, wait while the study allows no run at this time of day; if false, end instead."""
    is_proxy_accepted: bool = False
    """If true, measure even if a proxy splits the path, although comparisons are then
    meaningless."""
    outage_s: float = DEFAULT_OUTAGE_S
    """An interval without data counts as an outage if it lasts at least this number of seconds."""
    retries: int = 0
    """Maximum number of times that a run is repeated because an outage disturbed it."""
    radio_log: RadioLog | None = None
    """A CSV log of radio measurements, which another program writes during the runs."""
    now: Callable[[], datetime] = datetime.now
    ends_early: Callable[[], EndsEarly] | None = None
    """Function that is called before each attempt of a run. It returns a second function, which
    decides during the attempt whether the flows end early. If `ends_early` is None, no flow ends
    early."""

    @property
    def name(self) -> str:
        """Name of the backend."""
        return "live"

    def keyed(self, matrix: Matrix) -> Matrix:
        """Check the runs; return each with the key (identifier) under which its results are stored.

        If the server is an iperf3 server, the runs get new keys. Their results are then stored
        separately from results that were measured with `cwndlab serve`.

        Raises:
            StudyError: the study has a simulated link, a run cannot be measured, `place` is not
                a place of the study, or `place` is None and the study lists several places.
        """
        if not all(isinstance(cell.resolved.scenario.path, LivePath) for cell in matrix.cells):
            msg = (
                "this study has a simulated link; to measure a real network, load the study with "
                "is_live=True"
            )
            raise StudyError([msg])
        if isinstance(self.address, Iperf3):
            matrix = runs_via(matrix)
            self.address.check(matrix.runs)
        self._place_of(matrix)
        for run in matrix.runs:
            _refuse_impossible(run)
        return matrix

    def executor(self, matrix: Matrix, history: Callable[[], list[Entry]], /) -> LiveExecutor:
        """Return the executor that measures the runs one by one."""
        here = replace(self, place=self._place_of(matrix))
        return LiveExecutor(here, in_turn(matrix.runs), history())

    def _place_of(self, matrix: Matrix) -> str:
        places = list(dict.fromkeys(path_of(run).place for run in matrix.runs))
        if self.place is None and len(places) == 1:
            return places[0]
        if self.place not in places:
            wrong = "" if self.place is None else f"there is no place {self.place}; "
            known = ", ".join(places)
            msg = f"{wrong}the study has the places {known}; select one with --place"
            raise StudyError([msg])
        return self.place


def _refuse_impossible(run: Run) -> None:
    for flow in run.scenario.flows:
        if isinstance(flow.application, _ONLY_SIMULATED):
            msg = (
                f"an application of the kind {flow.application.kind} cannot be measured on a real "
                "network; use request_response, http, sftp or sized"
            )
            raise StudyError([msg])
        if flow.sender.parameters or flow.sender.stack_overrides:
            msg = (
                f"{flow.sender.algorithm}: a kernel cannot set parameters or stack settings for "
                "individual connections; to measure the study, omit [parameters] and "
                "[stack_overrides]"
            )
            raise StudyError([msg])


class LiveExecutor:
    """An executor that measures one run at a time on a real network.

    Before each run, it selects the next run that the study's schedule allows at this place and
    time. An interrupted run is repeated later, unless the server stays unreachable for too long.
    If no run is allowed at this time of day, it waits, unless `is_waiting` is false. Runs at other
    places are not measured.
    """

    def __init__(self, live: RealNetwork, runs: Sequence[Run], history: Iterable[Entry]) -> None:
        """Create an executor that measures those runs whose place is `live.place`.

        Args:
            live: the network to measure, with the settings of the measurement.
            runs: all runs of the study, in the order of measurement.
            history: records of earlier attempts.
        """
        self._live = live
        self._runs = runs
        self._lost_since_s: float | None = None
        self._wait_s = _FIRST_WAIT_S
        self._has_looked = False
        self._sources: list[RadioSource] = []
        entries = list(history)
        self._done_on = _count_days(entries, runs)
        self._set_aside = Counter(e["run"] for e in entries if e["status"] == SET_ASIDE)

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch | Note]:
        """Measure, one by one, the runs that are still missing at the place of this machine.

        A place is a location that the study names, such as `home`.

        Raises:
            CampaignEndedError: the server was unreachable for too long, or one of the two machines
                lacks an algorithm.
            ProxyError: a proxy splits the path, so comparisons would be meaningless.
        """
        keys = {task.key for task in tasks}
        missing = {run.key: run for run in self._runs if run.key in keys}
        while missing:
            place = self._live.place or ""
            chosen = next_run(list(missing.values()), place, self._live.now(), self._done_on)
            if chosen.run is not None:
                for found in self._measure(chosen.run):
                    if isinstance(found, Batch) and found.outcomes[0].is_final:
                        del missing[chosen.run.key]
                    yield found
            elif chosen.at is not None and self._live.is_waiting:
                yield Note(f"the next measuring period begins {chosen.at:%A %d %B, %H:%M}")
                self._sleep_until(chosen.at)
            else:
                count = plural(len(missing), "run")
                yield Note(f"{count} still to be measured at other places or times of day")
                return

    def _sleep_until(self, at: datetime) -> None:
        while (left_s := (at - self._live.now()).total_seconds()) > 0:
            time.sleep(min(left_s, 60))  # somebody may set the clock meanwhile

    def _measure(self, run: Run) -> Iterator[Batch | Note]:
        """Attempt to measure one run, and yield its outcome."""
        path = path_of(run)
        began, began_s = self._live.now(), time.time()
        try:
            if not self._has_looked:
                yield from self._look()
            found = yield from self._transfer(run, path)
        except (AlgorithmMissingError, LibraryMissingError) as error:
            raise CampaignEndedError(str(error)) from None
        except (TransferFailedError, ServerUnreachableError, ProtocolError) as error:
            if isinstance(error, ProtocolError) and not self._has_looked:
                raise  # the token is wrong; after the first run, the server was killed instead
            yield self._batch(run, began_s, None, str(error))
            self._be_patient(error)
            return
        self._lost_since_s, self._wait_s = None, _FIRST_WAIT_S
        yield self._batch(run, began_s, found)
        day = Period.of(path).day_of(began)
        if day is not None:
            self._done_on[run.cell, day] += 1
        time.sleep(path.pause_ns / 1e9)

    def _batch(
        self, run: Run, began_s: float, found: MeasuredRun | None, error: str | None = None
    ) -> Batch:
        """Return the outcome of one attempted run as a batch of results."""
        address = self._live.address
        notes: dict[str, Any] = {
            "server": f"{address.host}:{address.port}",
            "labels": dict(self._live.labels),
        }
        is_final, remark = error is None, ""
        tables, files = split_files(run.key, {} if found is None else found.files)
        if found is not None:
            notes["live"] = found.facts
            if not found.is_attributable:
                notes["is_attributable"] = False
            if found.flags:
                notes["flags"] = [flag.what for flag in found.flags]
            remark = "; ".join(f"{flag.kind}: {flag.what}" for flag in found.flags)
            has_outage = any(flag.is_outage for flag in found.flags)
            if has_outage and self._set_aside[run.key] < self._live.retries:
                self._set_aside[run.key] += 1
                is_final = False
                notes["attempt"] = self._set_aside[run.key]
        outcome = Outcome(
            run.key, error, began_s, time.time() - began_s, notes, remark, is_final=is_final
        )
        return Batch((outcome,), socket.gethostname(), tables, files)

    def _look(self) -> Iterator[Note]:
        """Check both hosts and the path before the first run, and store the findings.

        Raises:
            ProxyError: a proxy splits the path, so comparisons would be meaningless.
        """
        here = [run for run in self._runs if path_of(run).place == self._live.place]
        address = self._live.address
        if isinstance(address, Iperf3):
            return  # an iperf3 server reports nothing about its machine
        with Session(address) as session:
            yield from (Note(waiting_for(ahead)) for ahead in session.turn())
            found = look(session, senders_of(here))
        content = json.dumps(found.record(), indent=2).encode() + b"\n"
        name = f"preflight/{found.facts['at'].replace(':', '-')}.json"
        yield Note("\n".join(found.lines(with_notes=False)), {name: content})
        if found.is_through_proxy and not self._live.is_proxy_accepted:
            msg = (
                "nothing was measured, because a proxy splits the path; to measure anyway, "
                "add --through-proxy (the results then do not show the effect of the "
                "algorithm)"
            )
            raise ProxyError(msg)
        self._has_looked = True
        interface = found.facts["client"]["path"]["interface"]
        self._sources = sources_of(interface and interface["name"])

    def _transfer(self, run: Run, path: LivePath) -> Generator[Note, None, MeasuredRun]:
        scenario = run.scenario
        address = self._live.address
        if isinstance(address, Iperf3):
            flow = scenario.flows[0]
            near, far = _algorithms(flow, path)
            return address.measure(run, far if flow.direction == "forward" else near)
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(Session(address))
            yield from (Note(waiting_for(ahead)) for ahead in session.turn())
            around = stack.enter_context(
                Surroundings(session.peer, self._sources, self._live.radio_log)
            )
            beside = None
            if path.udp_bits_per_sec is not None:
                directions = sorted({flow.direction for flow in scenario.flows})
                beside = DatagramsBeside(
                    address, session.id, path.udp_bits_per_sec, scenario.duration_ns, directions
                )
                stack.enter_context(beside)
            began_ns = now_ns()
            try:
                transfer = session.transfer(
                    scenario.flows,
                    scenario.duration_ns,
                    [_algorithms(flow, path) for flow in scenario.flows],
                    self._live.ends_early and self._live.ends_early(),
                )
            except TransferFailedError as error:
                disturbed_by = "; ".join(flag.what for flag in around.flags(began_ns))
                if not disturbed_by:
                    raise
                msg = f"{error} ({disturbed_by})"
                raise TransferFailedError(msg) from None
        names = {flow.id: flow.sender.algorithm for flow in scenario.flows}
        found = measured(run.key, scenario, transfer, names, around, self._live.outage_s)
        if beside is not None:
            found.files["datagrams.parquet"] = to_parquet(beside.frame(run.key))
        return found

    def _be_patient(self, error: CwndlabError) -> None:
        """Pause before the next attempt to reach the server; pauses get longer up to a maximum.

        Raises:
            CampaignEndedError: the server was unreachable for too long.
        """
        now_s = time.monotonic()
        self._lost_since_s = self._lost_since_s or now_s
        if now_s - self._lost_since_s > self._live.patience_s:
            raise CampaignEndedError(str(error))
        time.sleep(self._wait_s)
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)


def _count_days(history: Iterable[Entry], runs: Sequence[Run]) -> Counter[tuple[int, date]]:
    """Return the number of finished runs for each combination of factor levels and each day."""
    by_key = {run.key: run for run in runs}
    counts: Counter[tuple[int, date]] = Counter()
    for entry in history:
        run = by_key.get(entry["run"])
        if run is None or entry["status"] != DONE or "began" not in entry:
            continue
        began = datetime.fromisoformat(entry["began"]).astimezone().replace(tzinfo=None)
        day = Period.of(path_of(run)).day_of(began)
        if day is not None:
            counts[run.cell, day] += 1
    return counts


def senders_of(runs: Iterable[Run]) -> list[Sender]:
    """Return each combination of sending machine and algorithm in the runs of a study."""
    found: dict[Sender, None] = {}
    for run in runs:
        for flow in run.scenario.flows:
            near, far = _algorithms(flow, path_of(run))
            own = far if flow.direction == "forward" else near
            found[Sender(own, flow.direction, own is not None)] = None
    return list(found)


def _algorithms(flow: ScenarioFlow, path: LivePath) -> tuple[str | None, str | None]:
    """Return the algorithms of the client (this machine) and the server; None keeps the default."""
    sender_is_near = flow.direction == "reverse"
    named = flow.sender.algorithm
    match path.algorithm_on:
        case "sender":
            receiver = flow.receiver.algorithm
            return (named, receiver) if sender_is_near else (receiver, named)
        case "client":
            return named, None
        case "server":
            return None, named
