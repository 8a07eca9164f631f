"""The flows of a scenario: which ends they have, and what their applications do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.errors import CwndlabError
from cwndlab.hosts import resolve_host
from cwndlab.recoveries import changes_of
from cwndlab.schema import scenario as si
from cwndlab.schema import study as plan
from cwndlab.schema.problems import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.algorithms import AlgorithmReader
    from cwndlab.toml_source import KeyPath

_WIRE_DIRECTIONS: dict[plan.Direction, si.WireDirection] = {
    "forward": "forward",
    "downlink": "forward",
    "reverse": "reverse",
    "uplink": "reverse",
}


def resolve_flows(
    study: plan.StudyModel, algorithms: AlgorithmReader
) -> tuple[tuple[si.ScenarioFlow, ...], tuple[int, ...]]:
    """All flows, and by how much the start of each may be later.

    Raises:
        FieldError: something is missing, unknown or out of range; names the key.
    """
    if study.flow and study.flows is not None:
        message = '[[flow]] tables say which flows there are; give them a "count" instead'
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
            jitter.append(flow.start_jitter)
    return tuple(flows), tuple(jitter)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Makes the ends of flows: what a flow does not say itself stands at the study's own key."""

    study: plan.StudyModel
    algorithms: AlgorithmReader
    tables: Mapping[str, Mapping[str, int]]  # parameters of the study, by algorithm

    def of(self, flow: plan.Flow, key: KeyPath) -> tuple[si.End, si.End]:
        """The sender and the receiver."""
        name = flow.algorithm or self.study.algorithm
        if name is None:
            message = 'no algorithm; write for example algorithm = "cubic" (cwndlab algorithm list)'
            raise FieldError(("algorithm",), message)
        place: KeyPath = (*(key if flow.algorithm else ()), "algorithm")
        algorithm = self.algorithms.find(name, place)
        stack = _stack(flow.stack or self.study.stack, (*(key if flow.stack else ()), "stack"))
        self._check(algorithm, flow.parameters, (*key, "parameters"))
        recovery = _recovery(name, stack, place)
        sender = receiver = self._end(flow, algorithm, stack, flow.parameters, recovery)
        if flow.receiver_algorithm or flow.receiver_stack:
            parameters = flow.parameters
            if flow.receiver_algorithm:
                name, place = flow.receiver_algorithm, (*key, "receiver_algorithm")
                algorithm = self.algorithms.find(name, place)
                parameters = {}
            if flow.receiver_stack:
                stack = _stack(flow.receiver_stack, (*key, "receiver_stack"))
            recovery = _recovery(name, stack, place)
            receiver = self._end(flow, algorithm, stack, parameters, recovery)
        return sender, receiver

    def _check(
        self, algorithm: core.Algorithm, parameters: Mapping[str, int], key: KeyPath
    ) -> None:
        if not self.algorithms.problem(algorithm):
            _check_parameters(algorithm, parameters, key)

    def _end(
        self,
        flow: plan.Flow,
        algorithm: core.Algorithm,
        stack: core.Stack,
        parameters: Mapping[str, int],
        recovery: Mapping[str, str | bool],
    ) -> si.End:
        # What the release shipped, changed by what the study says of the algorithm, then of the
        # flow.
        name = algorithm.name.removeprefix(core.OURS)
        shipped: Mapping[str, int] = stack.values.get("algorithms", {}).get(name, {})
        return si.End(
            stack=stack.name,
            algorithm=algorithm.name,
            parameters={**shipped, **self.tables.get(algorithm.name, {}), **parameters},
            stack_overrides={**self.study.stack_overrides, **flow.stack_overrides, **recovery},
        )


def _flow(ends: _Ends, flow: plan.Flow, flow_id: int, user: int, key: KeyPath) -> si.ScenarioFlow:
    study = ends.study
    if flow.start + flow.start_jitter >= study.duration:
        raise FieldError((*key, "start"), "the flow starts after the end of the run")
    if flow.stop is not None and flow.stop <= flow.start + flow.start_jitter:
        raise FieldError((*key, "stop"), "the flow stops before it starts")
    if flow.bytes is not None and flow.application is not None:
        raise FieldError((*key, "bytes"), '"application" says already what the flow sends')
    direction = _WIRE_DIRECTIONS[flow.direction or study.direction]
    sender, receiver = _with_hosts(ends.of(flow, key), study, flow, direction, key)
    return si.ScenarioFlow(
        id=flow_id,
        direction=direction,
        user=user,
        start_ns=flow.start,
        stop_ns=flow.stop,
        application=_application(flow.application or study.application)
        if flow.bytes is None
        else si.Sized(bytes=flow.bytes),
        sender=sender,
        receiver=receiver,
        access_delay_ns=flow.access_delay,
    )


def _with_hosts(
    ends: tuple[si.End, si.End],
    study: plan.StudyModel,
    flow: plan.Flow,
    direction: si.WireDirection,
    key: KeyPath,
) -> tuple[si.End, si.End]:
    """The sender and the receiver with the devices of their machines."""
    places = ["server_host", "user_host"]  # of the sender and the receiver
    if direction == "reverse":
        places.reverse()
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
    """[parameters.NAME] by the algorithm's own name."""
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
            names = ", ".join(known) or "it has none"
            message = f"{algorithm.name} has no such parameter; known: {names}"
            raise FieldError((*key, name), message)
        low, high = known[name].min, known[name].max
        if not low <= value <= high:
            message = f"{algorithm.name} takes {low:,} to {high:,} {known[name].unit}".rstrip()
            raise FieldError((*key, name), message)


def _application(application: plan.Application) -> si.Application:
    match application:
        case plan.Bulk():
            return si.Bulk()
        case plan.Sized():
            return si.Sized(bytes=application.bytes)
        case plan.OnOff():
            return si.OnOff(
                on_ns=application.on,
                off_ns=application.off,
                distribution=application.distribution,
            )
        case plan.RequestResponse():
            return si.RequestResponse(
                request_bytes=application.request,
                response_bytes=application.response,
                think_ns=application.think,
                count=application.count,
            )
        case plan.Paced():
            return si.Paced(bits_per_sec=application.rate, write_bytes=application.write)
        case plan.WindowedFile():
            return si.WindowedFile(
                request_bytes=application.request,
                outstanding=application.outstanding,
                total_bytes=application.total,
            )
