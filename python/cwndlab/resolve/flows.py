"""The flows of a scenario: which ends they have, and what their applications do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.errors import CwndlabError
from cwndlab.schema import scenario as si
from cwndlab.schema import study as plan
from cwndlab.schema.problems import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.toml_source import KeyPath

_WIRE_DIRECTIONS: dict[plan.Direction, si.WireDirection] = {
    "forward": "forward",
    "downlink": "forward",
    "reverse": "reverse",
    "uplink": "reverse",
}


def resolve_flows(study: plan.StudyModel) -> tuple[tuple[si.ScenarioFlow, ...], tuple[int, ...]]:
    """All flows, and by how much the start of each may be later.

    Raises:
        FieldError: something is missing, unknown or out of range; names the key.
    """
    if study.flow and study.flows is not None:
        message = '[[flow]] tables say which flows there are; give them a "count" instead'
        raise FieldError(("flows",), message)
    _check_parameter_tables(study)
    written = study.flow or (plan.Flow(count=study.flows or 1),)
    flows: list[si.ScenarioFlow] = []
    jitter: list[int] = []
    for n, flow in enumerate(written):
        key: KeyPath = ("flow", n) if study.flow else ()
        for _ in range(flow.count):
            flows.append(_flow(study, flow, len(flows), key))
            jitter.append(flow.start_jitter)
    return tuple(flows), tuple(jitter)


def _flow(study: plan.StudyModel, flow: plan.Flow, flow_id: int, key: KeyPath) -> si.ScenarioFlow:
    name = flow.algorithm or study.algorithm
    if name is None:
        message = 'no algorithm; write for example algorithm = "cubic" (cwndlab algorithm list)'
        raise FieldError(("algorithm",), message)
    if flow.start + flow.start_jitter >= study.duration:
        raise FieldError((*key, "start"), "the flow starts after the end of the run")
    if flow.stop is not None and flow.stop <= flow.start + flow.start_jitter:
        raise FieldError((*key, "stop"), "the flow stops before it starts")
    if flow.bytes is not None and flow.application is not None:
        raise FieldError((*key, "bytes"), '"application" says already what the flow sends')
    # What a flow does not say itself stands at the study's own key.
    algorithm = _algorithm(name, (*(key if flow.algorithm else ()), "algorithm"))
    stack = _stack(flow.stack or study.stack, (*(key if flow.stack else ()), "stack"))
    _check_parameters(algorithm, flow.parameters, (*key, "parameters"))
    sender = receiver = _end(study, flow, algorithm, stack, flow.parameters)
    if flow.receiver_algorithm or flow.receiver_stack:
        parameters = flow.parameters
        if flow.receiver_algorithm:
            algorithm = _algorithm(flow.receiver_algorithm, (*key, "receiver_algorithm"))
            parameters = {}
        if flow.receiver_stack:
            stack = _stack(flow.receiver_stack, (*key, "receiver_stack"))
        receiver = _end(study, flow, algorithm, stack, parameters)
    return si.ScenarioFlow(
        id=flow_id,
        direction=_WIRE_DIRECTIONS[flow.direction or study.direction],
        start_ns=flow.start,
        stop_ns=flow.stop,
        application=_application(flow.application or study.application)
        if flow.bytes is None
        else si.Sized(bytes=flow.bytes),
        sender=sender,
        receiver=receiver,
        access_delay_ns=flow.access_delay,
    )


def _algorithm(name: str, key: KeyPath) -> core.Algorithm:
    try:
        return core.algorithm(name)
    except CwndlabError as error:
        raise FieldError(key, str(error)) from None


def _stack(name: str, key: KeyPath) -> core.Stack:
    try:
        return core.stack(name)
    except CwndlabError as error:
        raise FieldError(key, str(error)) from None


def _end(
    study: plan.StudyModel,
    flow: plan.Flow,
    algorithm: core.Algorithm,
    stack: core.Stack,
    parameters: Mapping[str, int],
) -> si.End:
    # What the release shipped, changed by what the study says of the algorithm, then of the flow.
    shipped: Mapping[str, int] = stack.values.get("algorithms", {}).get(algorithm.name, {})
    everywhere = dict(shipped)
    for name, table in study.parameters.items():
        if core.algorithm(name) is algorithm:
            everywhere |= table
    return si.End(
        stack=stack.name,
        algorithm=algorithm.name,
        parameters={**everywhere, **parameters},
        stack_overrides=study.stack_overrides | flow.stack_overrides,
    )


def _check_parameter_tables(study: plan.StudyModel) -> None:
    for name, table in study.parameters.items():
        _check_parameters(_algorithm(name, ("parameters", name)), table, ("parameters", name))


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
