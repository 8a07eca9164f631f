"""A campaign: the runs of a study on a real network, over days, places and broken connections."""

from __future__ import annotations

import contextlib
import json
import platform
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.errors import CwndlabError, InterruptedStudyError, StudyError, plural
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
from cwndlab.measure.wire.client import Session, TransferFailedError
from cwndlab.measure.wire.exchange import LibraryMissingError
from cwndlab.measure.wire.flow import AlgorithmMissingError
from cwndlab.measure.wire.protocol import ProtocolError
from cwndlab.results.tables import to_parquet
from cwndlab.results.writer import Writer
from cwndlab.run.campaign import keep_study
from cwndlab.schema.scenario import Datagrams, Video, Web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from cwndlab.measure.machine.radio import RadioLog, RadioSource
    from cwndlab.schema.scenario import LivePath, ScenarioFlow
    from cwndlab.study.definition import StudyDefinition
    from cwndlab.study.runs import Run

_ONLY_SIMULATED = (Web, Video, Datagrams)
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 30.0


class CampaignEndedError(CwndlabError):
    """A campaign gave up for now; what was measured is safe."""

    exit_status = 1


@dataclass(frozen=True, slots=True)
class Campaign:
    """Where and how a study is measured."""

    address: Address | Iperf3
    """Of `cwndlab serve`, or of a plain server of iperf3."""
    place: str | None
    """None where the study has one place."""
    labels: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = 600
    """How long a server may be out of reach."""
    is_waiting: bool = True
    """Whether to wait for the next period of the day."""
    is_proxy_accepted: bool = False
    """Whether to measure although a proxy makes every comparison void."""
    outage_s: float = DEFAULT_OUTAGE_S
    """How long nothing must arrive to be called an outage."""
    retries: int = 0
    """How often a run that an outage hit is measured again."""
    radio_log: RadioLog | None = None
    """What another program notes of the radio."""


def run_campaign(
    study: StudyDefinition,
    folder: Path,
    campaign: Campaign,
    tell: Callable[[str], None],
    now: Callable[[], datetime] = datetime.now,
) -> None:
    """Measure what `folder` lacks of `study` and this place can give.

    Raises:
        CampaignEndedError: the server was out of reach for too long, or an end lacks an algorithm.
        InterruptedStudyError: the user stopped it.
    """
    matrix = study.matrix
    if isinstance(campaign.address, Iperf3):
        matrix = runs_via(matrix)
        campaign.address.check(matrix.runs)
    runs = in_turn(matrix.runs)
    place = _place(runs, campaign)
    for run in runs:
        _refuse_impossible(run)
    with Writer(folder, study.id) as writer:
        keep_study(study, matrix, writer)
        loop = _Loop(campaign, place, runs, writer, tell, now)
        try:
            loop.run()
        except KeyboardInterrupt:
            message = f"stopped; {loop.safe()}, the same again goes on from here"
            raise InterruptedStudyError(message) from None
        finally:
            writer.finish()


def _place(runs: list[Run], campaign: Campaign) -> str:
    places = list(dict.fromkeys(path_of(run).place for run in runs))
    if campaign.place is None and len(places) == 1:
        return places[0]
    if campaign.place not in places:
        msg = f"the study is measured at {', '.join(places)}; say where this is with --place"
        raise StudyError([msg])
    return campaign.place


def _refuse_impossible(run: Run) -> None:
    for flow in run.scenario.flows:
        if isinstance(flow.application, _ONLY_SIMULATED):
            msg = (
                f"an application of the kind {flow.application.kind} is not measured on real "
                "networks; use request_response, http, sftp or sized"
            )
            raise StudyError([msg])
        if flow.sender.parameters or flow.sender.stack_overrides:
            msg = (
                f"{flow.sender.algorithm}: a kernel's algorithm has no parameters of a connection; "
                "leave [parameters] and [stack_overrides] out to measure the study"
            )
            raise StudyError([msg])


class _Loop:
    """Takes the next run until none is left."""

    def __init__(
        self,
        campaign: Campaign,
        place: str,
        runs: list[Run],
        writer: Writer,
        tell: Callable[[str], None],
        now: Callable[[], datetime],
    ) -> None:
        self._campaign = campaign
        self._place = place
        self._runs = runs
        self._writer = writer
        self._tell = tell
        self._now = now
        self._lost_since_s: float | None = None
        self._wait_s = _FIRST_WAIT_S
        self._done_on = self._count_days()
        self._has_looked = False
        self._sources: list[RadioSource] = []
        entries = self._writer.history()
        self._set_aside = Counter(e["run"] for e in entries if e["status"] == "set aside")

    def safe(self) -> str:
        """How much is done."""
        done = len({run.key for run in self._runs}.intersection(self._writer.committed()))
        return f"{done:,} of {plural(len(self._runs), 'run')} are safe"

    def run(self) -> None:
        while True:
            committed = set(self._writer.committed())
            missing = [run for run in self._runs if run.key not in committed]
            chosen = next_run(missing, self._place, self._now(), self._done_on)
            if chosen.run is not None:
                self._measure(chosen.run)
            elif chosen.at is not None and self._campaign.is_waiting:
                self._tell(f"{self.safe()}; the next period begins {chosen.at:%A %d %B, %H:%M}")
                self._sleep_until(chosen.at)
            else:
                elsewhere = len(missing)
                more = f"; {plural(elsewhere, 'run')} are for other places or periods"
                self._tell(f"{self.safe()}{more if elsewhere else ''}")
                return

    def _sleep_until(self, at: datetime) -> None:
        while (left_s := (at - self._now()).total_seconds()) > 0:
            time.sleep(min(left_s, 60))  # the clock may be set meanwhile

    def _measure(self, run: Run) -> None:
        path = path_of(run)
        began = self._now()
        began_s = time.time()
        try:
            if not self._has_looked:
                self._look()
            found = self._transfer(run, path)
        except (AlgorithmMissingError, LibraryMissingError) as error:
            msg = f"{error}\n  {self.safe()}; then the same again goes on from here"
            raise CampaignEndedError(msg) from None
        except (TransferFailedError, ServerUnreachableError, ProtocolError) as error:
            if isinstance(error, ProtocolError) and not self._has_looked:
                raise  # a wrong token; later it is a server that was killed as it answered
            self._note_failure(run, str(error), began_s)
            self._be_patient(error)
            return
        self._lost_since_s, self._wait_s = None, _FIRST_WAIT_S
        entry = self._entry(run, began_s) | {"live": found.facts}
        if not found.is_attributable:
            entry["is_attributable"] = False
        if found.flags:
            entry["flags"] = [flag.what for flag in found.flags]
        befell = "; ".join(f"{flag.kind}: {flag.what}" for flag in found.flags)
        labels = ", ".join(str(label) for label in run.labels.values())
        has_outage = any(flag.is_outage for flag in found.flags)
        if has_outage and self._set_aside[run.key] < self._campaign.retries:
            self._set_aside[run.key] += 1
            self._writer.set_aside(run.key, self._set_aside[run.key], found.files, entry)
            self._tell(f"set aside: {labels}: {befell}; it is measured again")
            return
        self._writer.commit(run.key, found.files, entry)
        day = Period.of(path).day_of(began)
        if day is not None:
            self._done_on[run.cell, day] += 1
        self._tell(f"{self.safe()}  {labels}{f'  ! {befell}' if befell else ''}")
        time.sleep(path.pause_ns / 1e9)

    def _look(self) -> None:
        """Look at both ends and the path before the first run; keep what is found.

        Raises:
            ProxyError: every comparison would be void.
        """
        here = [run for run in self._runs if path_of(run).place == self._place]
        address = self._campaign.address
        if isinstance(address, Iperf3):
            return  # a plain server tells nothing of its end
        found = look(address, senders_of(here))
        content = json.dumps(found.record(), indent=2).encode() + b"\n"
        name = f"preflight/{found.facts['at'].replace(':', '-')}.json"
        self._writer.replace({name: content})
        for line in found.lines(with_notes=False):
            self._tell(line)
        if found.is_through_proxy and not self._campaign.is_proxy_accepted:
            msg = "nothing was measured; --through-proxy measures all the same, and attributes none"
            raise ProxyError(msg)
        self._has_looked = True
        interface = found.facts["client"]["path"]["interface"]
        self._sources = sources_of(interface and interface["name"])

    def _transfer(self, run: Run, path: LivePath) -> MeasuredRun:
        scenario = run.scenario
        address = self._campaign.address
        if isinstance(address, Iperf3):
            flow = scenario.flows[0]
            near, far = _algorithms(flow, path)
            return address.measure(run, far if flow.direction == "forward" else near)
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(Session(address))
            around = stack.enter_context(
                Surroundings(session.peer, self._sources, self._campaign.radio_log)
            )
            beside = None
            if path.udp_bits_per_sec is not None:
                directions = sorted({flow.direction for flow in scenario.flows})
                beside = DatagramsBeside(
                    address, path.udp_bits_per_sec, scenario.duration_ns, directions
                )
                stack.enter_context(beside)
            began_ns = now_ns()
            try:
                transfer = session.transfer(
                    scenario.flows,
                    scenario.duration_ns,
                    [_algorithms(flow, path) for flow in scenario.flows],
                )
            except TransferFailedError as error:
                befell = "; ".join(flag.what for flag in around.flags(began_ns))
                if not befell:
                    raise
                msg = f"{error} ({befell})"
                raise TransferFailedError(msg) from None
        names = {flow.id: flow.sender.algorithm for flow in scenario.flows}
        found = measured(run.key, scenario, transfer, names, around, self._campaign.outage_s)
        if beside is not None:
            found.files["datagrams.parquet"] = to_parquet(beside.frame(run.key))
        return found

    def _note_failure(self, run: Run, reason: str, began_s: float) -> None:
        labels = ", ".join(str(label) for label in run.labels.values())
        self._tell(f"failed: {labels}: {reason}; it is tried again")
        content = {"error": reason, "scenario": run.scenario.model_dump(mode="json")}
        self._writer.note_failure(run.key, content, self._entry(run, began_s))

    def _be_patient(self, error: CwndlabError) -> None:
        """Wait a little longer each time, but not for ever."""
        now_s = time.monotonic()
        self._lost_since_s = self._lost_since_s or now_s
        if now_s - self._lost_since_s > self._campaign.patience_s:
            msg = f"{error}\n  {self.safe()}; then the same again goes on from here"
            raise CampaignEndedError(msg)
        time.sleep(self._wait_s)
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)

    def _entry(self, run: Run, began_s: float) -> dict[str, Any]:
        return {
            "cell": dict(run.labels),
            "repetition": run.repetition,
            "seed": run.seed,
            "began": datetime.fromtimestamp(began_s, UTC).isoformat(timespec="seconds"),
            "duration_s": round(time.time() - began_s, 3),
            "host": platform.node(),
            "kernel": platform.release(),
            "backend": "live",
            "server": f"{self._campaign.address.host}:{self._campaign.address.port}",
            "labels": dict(self._campaign.labels),
            "cwndlab": core.version(),
        }

    def _count_days(self) -> Counter[tuple[int, date]]:
        """What was done before, by cell and day."""
        by_key = {run.key: run for run in self._runs}
        counts: Counter[tuple[int, date]] = Counter()
        for entry in self._writer.history():
            run = by_key.get(entry["run"])
            if run is None or entry["status"] != "done" or "began" not in entry:
                continue
            began = datetime.fromisoformat(entry["began"]).astimezone().replace(tzinfo=None)
            day = Period.of(path_of(run)).day_of(began)
            if day is not None:
                counts[run.cell, day] += 1
        return counts


def senders_of(runs: Iterable[Run]) -> list[Sender]:
    """Which end sends what in a study's runs."""
    found: dict[Sender, None] = {}
    for run in runs:
        for flow in run.scenario.flows:
            near, far = _algorithms(flow, path_of(run))
            own = far if flow.direction == "forward" else near
            found[Sender(own, flow.direction, own is not None)] = None
    return list(found)


def _algorithms(flow: ScenarioFlow, path: LivePath) -> tuple[str | None, str | None]:
    """What is set at the near end (the client) and at the far one (the server)."""
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
