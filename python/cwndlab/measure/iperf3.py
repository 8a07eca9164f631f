"""Measure transfers to and from a host that runs only `iperf3 --server`.

Each run is one test of the iperf3 client. Its output is read as in `cwndlab import`. The option
`--congestion` of iperf3 sets the algorithm of both client and server. Therefore, cwndlab uses the
option only if the study sets the sender's algorithm; an algorithm that is set for the receiver
alone is ignored. Probes, the receiver's TCP state and applications that iperf3 does not offer are
not available.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.errors import MeasurementError, StudyError
from cwndlab.imports.iperf3 import read_iperf3
from cwndlab.measure.tables import MeasuredRun
from cwndlab.measure.wire.address import ServerUnreachableError, host_and_port
from cwndlab.measure.wire.client import TransferFailedError
from cwndlab.measure.wire.flow import AlgorithmMissingError, missing_algorithm
from cwndlab.results.tables import encode_result
from cwndlab.schema import application as apps
from cwndlab.schema.live import LivePath
from cwndlab.study.keys import rekeyed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cwndlab.imports.measurement import Measurement
    from cwndlab.schema.scenario import Scenario, ScenarioFlow
    from cwndlab.study.matrix import Matrix
    from cwndlab.study.runs import Run

DEFAULT_PORT = 5201
_PROGRAM = "iperf3"
_CONNECT_S = 10
_PATIENCE_S = 60  # beyond the duration: for emptying queues and exchanging results
_NS_PER_S = 10**9
_SHORTEST_INTERVAL_S, _LONGEST_INTERVAL_S = 0.1, 60.0


def runs_via(matrix: Matrix) -> Matrix:
    """Give the runs new keys, so that their results remain separate from `cwndlab serve`'s."""
    return rekeyed(matrix, _PROGRAM)


@dataclass(frozen=True, slots=True)
class Iperf3:
    """An unmodified iperf3 server with which this computer exchanges data."""

    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Iperf3:
        """Parse `HOST` or `HOST:PORT`; an IPv6 address before a port must be in brackets."""
        return cls(*host_and_port(text, DEFAULT_PORT))

    def check(self, runs: Iterable[Run]) -> None:
        """Check before the first run that iperf3 can execute all runs.

        Raises:
            StudyError: iperf3 cannot execute a run, or is not installed on this computer; the
                message names a remedy.
        """
        if shutil.which(_PROGRAM) is None:
            msg = f"{_PROGRAM} is not installed here; try: sudo apt-get install {_PROGRAM}"
            raise StudyError([msg])
        for run in runs:
            problem = _obstacle(run.scenario)
            if problem is not None:
                msg = f"{problem}; use `cwndlab serve` without --via {_PROGRAM}"
                raise StudyError([msg])

    def measure(self, run: Run, sender_algorithm: str | None) -> MeasuredRun:
        """Measure one run of a study with iperf3.

        Args:
            run: run to measure.
            sender_algorithm: algorithm of the sender; None keeps the default of its computer.

        Raises:
            AlgorithmMissingError: the client or the server lacks the algorithm.
            ServerUnreachableError: no iperf3 server answers.
            TransferFailedError: the test failed.
        """
        content = self._ask(run.scenario, sender_algorithm)
        try:
            measurement = _read(content)
        except MeasurementError as error:
            raise TransferFailedError(str(error)) from None
        if measurement.error is not None:
            raise self._failure(measurement.error, sender_algorithm)
        return _measured(run, measurement, content)

    def command(self, scenario: Scenario, sender_algorithm: str | None) -> list[str]:
        """Return the iperf3 command for a scenario."""
        flow = scenario.flows[0]
        omit_s = scenario.warm_up_ns // _NS_PER_S
        words = [_PROGRAM, "--client", self.host, "--port", str(self.port), "--json"]
        words += ["--get-server-output", "--connect-timeout", str(_CONNECT_S * 1000)]
        words += ["--interval", f"{_interval_s(scenario):g}"]
        if sender_algorithm is not None:
            words += ["--congestion", sender_algorithm]
        if flow.direction == "forward":
            words.append("--reverse")
        if omit_s:
            words += ["--omit", str(omit_s)]
        if len(scenario.flows) > 1:
            words += ["--parallel", str(len(scenario.flows))]
        match flow.application:
            case apps.Sized() as sized:
                return [*words, "--bytes", str(sized.bytes)]
            case apps.Paced() as paced:
                words += ["--bitrate", str(paced.bits_per_sec), "--length", str(paced.write_bytes)]
        return [*words, "--time", str(scenario.duration_ns // _NS_PER_S - omit_s)]

    def _ask(self, scenario: Scenario, sender_algorithm: str | None) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603  program and options are fixed
                self.command(scenario, sender_algorithm),
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=scenario.duration_ns / _NS_PER_S + _PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            msg = "the transfer failed: iperf3 did not finish in time; check the connection"
            raise TransferFailedError(msg) from None
        if not done.stdout.strip():
            reason = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            msg = f"iperf3 printed no result: {reason}"
            raise TransferFailedError(msg)
        return done.stdout

    def _failure(self, error: str, algorithm: str | None) -> Exception:
        if "congestion" in error.lower() and algorithm is not None:
            return AlgorithmMissingError(missing_algorithm(algorithm, "client or server"))
        if "unable to connect" in error:
            reason = error.rpartition(":")[2].strip().lower()
            msg = (
                f"{self.host} port {self.port} does not answer ({reason}); is `iperf3 --server` "
                "running there, and is the port open for TCP?"
            )
            return ServerUnreachableError(msg)
        return TransferFailedError(error)


def _obstacle(scenario: Scenario) -> str | None:
    """Return the reason why iperf3 cannot run a scenario, or None if iperf3 can run it."""
    flows, path = scenario.flows, scenario.path
    application = flows[0].application
    obstacles = (
        (
            not isinstance(application, apps.Bulk | apps.Sized | apps.Paced),
            f"iperf3 does not offer the application {application.kind}",
        ),
        (
            isinstance(application, apps.Paced) and application.bulk_for_ns > 0,
            "iperf3 cannot change from bulk data to paced data during a flow",
        ),
        (
            any(_nature(flow) != _nature(flows[0]) for flow in flows),
            "all flows of an iperf3 test need the same direction, algorithm and application",
        ),
        (
            isinstance(application, apps.Sized) and len(flows) > 1,
            (
                "iperf3 divides the requested size among the flows; it cannot send the whole size "
                "in each flow"
            ),
        ),
        (
            any(flow.start_ns or flow.stop_ns is not None for flow in flows),
            "all flows of an iperf3 test start and end together",
        ),
        (
            isinstance(path, LivePath) and path.udp_bits_per_sec is not None,
            "iperf3 cannot send datagrams during a transfer",
        ),
        (
            scenario.duration_ns % _NS_PER_S > 0 or scenario.warm_up_ns % _NS_PER_S > 0,
            "iperf3 needs whole seconds for duration and warm_up",
        ),
    )
    return next((reason for is_so, reason in obstacles if is_so), None)


def _nature(flow: ScenarioFlow) -> tuple[object, ...]:
    return flow.direction, flow.sender, flow.application


def _interval_s(scenario: Scenario) -> float:
    wanted_s = (scenario.record.sample_interval_ns or _NS_PER_S) / _NS_PER_S
    return min(max(wanted_s, _SHORTEST_INTERVAL_S), _LONGEST_INTERVAL_S)


def _read(content: bytes) -> Measurement:
    measurement = read_iperf3(io.BytesIO(content), 0)
    measurement.check()
    return measurement


def _measured(run: Run, measurement: Measurement, content: bytes) -> MeasuredRun:
    is_attributable = True
    flows = run.scenario.flows
    for row in measurement.flows:
        flow = flows[row["flow"]]
        named, ran = flow.sender.algorithm, row.get("algorithm")
        is_attributable &= ran is None or ran == named
        row["flow"], row["direction"] = flow.id, flow.direction
        row["application"] = flow.application.kind
        row["algorithm"], row["sent_by"] = named, ran
    for event in measurement.events:
        event["flow"] = flows[event["flow"]].id
    ids = pl.col("flow").replace_strict({number: flow.id for number, flow in enumerate(flows)})
    measurement.samples = [part.with_columns(ids) for part in measurement.samples]
    files = encode_result(run.key, measurement.tables()) | {"iperf3.json": content}
    facts: dict[str, Any] = {"via": json.loads(content)["start"]["version"]}
    return MeasuredRun(files, facts, is_attributable)
