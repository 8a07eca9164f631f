"""Create the flows of a scenario, with their senders, receivers and applications."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cwndlab import core
from cwndlab.errors import CwndlabError
from cwndlab.resolve.hosts import resolve_host
from cwndlab.resolve.reno_variants import changes_of
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from cwndlab.schema import study as plan
from cwndlab.schema.direction import Direction, WireDirection
from cwndlab.schema.live import LivePath
from cwndlab.schema.problems import FieldError
from cwndlab.schema.sftp_clients import sftp_clients
from cwndlab.schema.written import to_si

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.resolve.algorithms import AlgorithmReader
    from cwndlab.schema.live import AlgorithmOn
    from cwndlab.text.toml import KeyPath

Machine = Literal["user", "server"]
DEFAULT_ALGORITHM = "cubic"  # the default of Linux since 2.6.19


def resolve_flows(
    study: plan.StudyModel, algorithms: AlgorithmReader
) -> tuple[tuple[si.ScenarioFlow, ...], tuple[int, ...]]:
    """Return all flows of a study, and the largest random start delay of each flow.

    Raises:
        FieldError: a value is missing, unknown or out of range; the message names the key.
    """
    if study.flow and study.flows is not None:
        message = 'the study has [[flow]] tables; instead of "flows", set "count" in each table'
        raise FieldError(("flows",), message)
    tables = _parameter_tables(study, algorithms)
    written = study.flow or (plan.Flow(count=study.flows or 1),)
    ends = _Ends(study, algorithms, tables)
    flows: list[si.ScenarioFlow] = []
    jitter: list[int] = []
    for n, flow in enumerate(written):
        key: KeyPath = ("flow", n) if study.flow else ()
        user = flow.user or study.user
        for nth in range(1, flow.count + 1):
            flows.append(_flow(ends, flow, len(flows), nth if user == "each" else user, key))
            jitter.append(_start_jitter_ns(study, flow))
    return tuple(flows), tuple(jitter)


def _start_jitter_ns(study: plan.StudyModel, flow: plan.Flow) -> int:
    return study.start_jitter if flow.start_jitter is None else flow.start_jitter


@dataclass(frozen=True, slots=True)
class _Named:
    """An algorithm that runs at one end of a flow, with its name in the study."""

    algorithm: core.Algorithm
    name: str
    key: KeyPath
    parameters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Creates senders and receivers of flows; keys that a flow lacks come from the study."""

    study: plan.StudyModel
    algorithms: AlgorithmReader
    tables: Mapping[str, Mapping[str, int]]  # parameters of the study, by algorithm

    def of(self, flow: plan.Flow, direction: WireDirection, key: KeyPath) -> tuple[si.End, si.End]:
        """Return the sender and the receiver of a flow."""
        name = flow.algorithm or self.study.algorithm
        if name is None:
            message = (
                'no algorithm is given; write, for example, algorithm = "cubic" '
                "(cwndlab algorithm list shows all names)"
            )
            raise FieldError(("algorithm",), message)
        place: KeyPath = (*(key if flow.algorithm else ()), "algorithm")
        given = _Named(self.algorithms.find(name, place), name, place, flow.parameters)
        self._check(given.algorithm, flow.parameters, (*key, "parameters"))
        machines = _machines(direction)
        runs = [given, given]
        if (untouched := self._untouched) is not None:
            default = self.algorithms.find(DEFAULT_ALGORITHM, place)
            runs[machines.index(untouched)] = _Named(default, DEFAULT_ALGORITHM, place)
        if flow.receiver_algorithm:
            name, place = flow.receiver_algorithm, (*key, "receiver_algorithm")
            runs[1] = _Named(self.algorithms.find(name, place), name, place)
        stacks = [self._stack(flow, machine, key) for machine in machines]
        if flow.receiver_stack:
            stacks[1] = _stack(flow.receiver_stack, (*key, "receiver_stack"))
        sender, receiver = (
            self._end(flow, run, stack) for run, stack in zip(runs, stacks, strict=True)
        )
        return sender, receiver

    @property
    def _untouched(self) -> Machine | None:
        """The machine that keeps its default algorithm because of `live.algorithm_on`, or None."""
        if self.study.live is None or self.study.link is None:
            return None
        others: dict[AlgorithmOn, Machine] = {"client": "server", "server": "user"}
        return others.get(to_si(self.study.live, LivePath, ("live",)).algorithm_on)

    def _stack(self, flow: plan.Flow, machine: Machine, key: KeyPath) -> core.Stack:
        own: str | None = getattr(self.study, f"{machine}_stack")
        if flow.stack:
            return _stack(flow.stack, (*key, "stack"))
        if own:
            return _stack(own, (f"{machine}_stack",))
        return _stack(self.study.stack, ("stack",))

    def _check(
        self, algorithm: core.Algorithm, parameters: Mapping[str, int], key: KeyPath
    ) -> None:
        if not self.algorithms.problem(algorithm):
            _check_parameters(algorithm, parameters, key)

    def _end(self, flow: plan.Flow, run: _Named, stack: core.Stack) -> si.End:
        # Parameters of the flow override parameters of the study, which override the defaults of
        # the kernel release.
        name = run.algorithm.name.removeprefix(core.OURS)
        shipped: Mapping[str, int] = stack.values.get("algorithms", {}).get(name, {})
        recovery = _recovery(run.name, stack, run.key)
        return si.End(
            stack=stack.name,
            algorithm=run.algorithm.name,
            parameters={**shipped, **self.tables.get(run.algorithm.name, {}), **run.parameters},
            stack_overrides={**self.study.stack_overrides, **flow.stack_overrides, **recovery},
        )


def _machines(direction: WireDirection) -> tuple[Machine, Machine]:
    """Return the machines (`user` or `server`) of the sender and of the receiver."""
    return ("user", "server") if direction == "reverse" else ("server", "user")


def _flow(ends: _Ends, flow: plan.Flow, flow_id: int, user: int, key: KeyPath) -> si.ScenarioFlow:
    study = ends.study
    latest_start_ns = flow.start + _start_jitter_ns(study, flow)
    if latest_start_ns >= study.duration:
        raise FieldError(
            (*key, "start"),
            "the flow must start before the end of the run (start + start_jitter < duration)",
        )
    if flow.stop is not None and flow.stop <= latest_start_ns:
        raise FieldError((*key, "stop"), "the flow stops before it starts")
    if flow.bytes is not None and flow.application is not None:
        raise FieldError(
            (*key, "bytes"),
            '"application" already defines the flow\'s data; remove "bytes" or "application"',
        )
    direction = Direction.of(flow.direction or study.direction).wire
    ends_of_flow = ends.of(flow, direction, key)
    sender, receiver = _with_hosts(ends_of_flow, study, flow, direction, key)
    return si.ScenarioFlow(
        id=flow_id,
        direction=direction,
        user=user,
        start_ns=flow.start,
        stop_ns=flow.stop,
        application=_application(study, flow, direction, key),
        sender=sender,
        receiver=receiver,
        access_delay_ns=flow.access_delay,
    )


def _with_hosts(
    ends: tuple[si.End, si.End],
    study: plan.StudyModel,
    flow: plan.Flow,
    direction: WireDirection,
    key: KeyPath,
) -> tuple[si.End, si.End]:
    """Return the sender and the receiver with the network devices of their machines."""
    places = [f"{machine}_host" for machine in _machines(direction)]
    found = []
    for end, place in zip(ends, places, strict=True):
        own = getattr(flow, place)
        written = own or getattr(study, place)
        host = resolve_host(written, (*(key if own else ()), place))
        found.append(end.model_copy(update={"host": host}) if host else end)
    sender, receiver = found
    return sender, receiver


def _recovery(name: str, stack: core.Stack, key: KeyPath) -> Mapping[str, str | bool]:
    try:
        return changes_of(name, stack)
    except CwndlabError as error:
        raise FieldError(key, str(error)) from None


def _stack(name: str, key: KeyPath) -> core.Stack:
    try:
        return core.stack(name)
    except CwndlabError as error:
        raise FieldError(key, str(error)) from None


def _parameter_tables(
    study: plan.StudyModel, algorithms: AlgorithmReader
) -> dict[str, dict[str, int]]:
    """Return the `[parameters]` tables of the study, with aliases replaced by algorithm names."""
    tables: dict[str, dict[str, int]] = {}
    for name, table in study.parameters.items():
        algorithm = algorithms.find_by_name(name, ("parameters", name))
        if not algorithms.problem(algorithm):
            _check_parameters(algorithm, table, ("parameters", name))
        tables[algorithm.name] = tables.get(algorithm.name, {}) | table
    return tables


def _check_parameters(
    algorithm: core.Algorithm, parameters: Mapping[str, int], key: KeyPath
) -> None:
    known = {parameter.name: parameter for parameter in algorithm.parameters}
    for name, value in parameters.items():
        if name not in known:
            names = ", ".join(known) or "none"
            message = f"{algorithm.name} has no such parameter; its parameters are {names}"
            raise FieldError((*key, name), message)
        low, high = known[name].min, known[name].max
        if not low <= value <= high:
            message = f"{algorithm.name} accepts {low:,} to {high:,} {known[name].unit}".rstrip()
            raise FieldError((*key, name), message)


def _application(
    study: plan.StudyModel, flow: plan.Flow, direction: WireDirection, key: KeyPath
) -> apps.Application:
    if flow.bytes is not None:
        return apps.Sized(bytes=flow.bytes)
    application: Any = flow.application or study.application
    place: KeyPath = (*(key if flow.application else ()), "application")
    model: Any = apps.APPLICATIONS[application.kind]
    inferred: dict[str, object] = {}
    if "is_upload" in model.model_fields:  # the user is the client; data from the user are uploads
        inferred["is_upload"] = direction == "reverse"
    if model is apps.Sftp:
        inferred |= _client(application.client, (*place, "client"))
    found: apps.Application = to_si(application, model, place, **inferred)
    return found


def _client(name: str, key: KeyPath) -> dict[str, int]:
    """Return an SFTP client's request size, and its maximum number of unanswered requests."""
    client = sftp_clients().get(name)
    if client is None:
        raise FieldError(
            key, f"there is no such SFTP client; the known clients are {', '.join(sftp_clients())}"
        )
    return {"request_bytes": client.request_bytes, "outstanding": client.outstanding}
