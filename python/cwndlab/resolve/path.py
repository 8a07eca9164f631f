"""The path of a scenario: both directions, with what a study leaves unsaid filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError
from cwndlab.resolve.presets import expand_preset
from cwndlab.resolve.queues import (
    FULL_PACKET_BYTES,
    default_packets,
    mean_rate_bits_per_sec,
    packets_of_bdp,
)
from cwndlab.resolve.traces import Told, Trace, read_folder, read_trace
from cwndlab.schema import link as human
from cwndlab.schema import scenario as si
from cwndlab.schema.cell import CellPath
from cwndlab.schema.problems import FieldError
from cwndlab.schema.wifi import WifiPath
from cwndlab.schema.written import to_si
from cwndlab.text.quantity import MAX_PACKETS, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cwndlab.schema.base import Model
    from cwndlab.text.quantity import QueueLimit
    from cwndlab.text.toml import KeyPath

MAHIMAHI_FRAMING_BYTES = 4  # the packet-information header of its TUN device
AQM_QUEUE_PACKETS = 1000  # the limit of Linux's codel qdisc; the AQM is to decide, not the limit
FQ_CODEL_QUEUE_PACKETS = 10_240  # RFC 8290 section 5.2.3


@dataclass(slots=True)
class TraceReader:
    """Reads the traces that a study names, and remembers which they were."""

    folder: Path
    traces: dict[str, Trace] = field(default_factory=dict)

    def read(self, key: KeyPath, wire: human.LinkStage) -> Trace:
        """The trace that the stage at `key` names; of a folder, that of its direction."""
        try:
            path = self._path(wire)
            if path.is_dir():
                trace = read_folder(path)[_DIRECTION_OF_TABLE[str(key[0])]].trace
            else:
                told = Told(wire.column, wire.unit, wire.time_column, wire.time_unit)
                trace = read_trace(path, told)
        except CwndlabError as error:
            raise FieldError((*key, "trace"), str(error)) from None
        self.traces[trace.content_name] = trace
        return trace

    def delays_ns(self, link: human.Link) -> Mapping[str, int | None]:
        """The delays `down` and `up` that a link's folder holds; none if it is no folder."""
        if link.trace is None or not self._path(link).is_dir():
            return {}
        try:
            directions = read_folder(self._path(link))
        except CwndlabError as error:
            raise FieldError(("link", "trace"), str(error)) from None
        return {name: direction.delay_ns for name, direction in directions.items()}

    def _path(self, wire: human.LinkStage) -> Path:
        return self.folder / Path(wire.trace or "").expanduser()


_DIRECTION_OF_TABLE = {"link": "down", "reverse_link": "up"}


def resolve_path(
    link: human.Link | None, reverse_link: human.Link | None, traces: TraceReader
) -> tuple[si.Path, bool]:
    """Both directions, and whether the reverse one is a link with a rate and a queue.

    Raises:
        FieldError: something is missing, unknown or out of range; names the key.
    """
    if link is None:
        raise FieldError(("link",), "there is no link; add a [link] table with a rate or a trace")
    link, preset_reverse = expand_preset(link, ("link",), traces.folder)
    if link.medium is not None:
        if reverse_link is not None:
            message = f"a {link.medium[0]} is both directions; leave out the reverse link"
            raise FieldError(("reverse_link",), message)
        return _medium(*link.medium, link.server), True
    if reverse_link is None:
        reverse_link = preset_reverse
    else:
        reverse_link, _ = expand_preset(reverse_link, ("reverse_link",), traces.folder)
        if reverse_link.medium is not None:
            message = f"a {reverse_link.medium[0]} is both directions; write it as the link"
            raise FieldError(("reverse_link",), message)
    if reverse_link is not None and reverse_link.server is not None:
        message = "the server is as far away both ways; write it in the link"
        raise FieldError(("reverse_link", "server"), message)
    link, reverse_link = _with_recorded(link, reverse_link, traces)
    forward_wires = link.stage or (link,)
    reverse_wires = (reverse_link.stage or (reverse_link,)) if reverse_link else ()
    forward_delays = [wire.delay or 0 for wire in forward_wires]
    reverse_delays = [wire.delay or 0 for wire in reverse_wires]
    if all(wire.delay is None for wire in reverse_wires):
        reverse_delays = [0] * (len(reverse_wires) - 1) + [sum(forward_delays)]
    rtt_ns = sum(forward_delays) + sum(reverse_delays)
    _check_takes_time((*forward_wires, *reverse_wires), rtt_ns + (link.server or 0))
    forward = tuple(
        _stage(wire, delay_ns, rtt_ns, _key("link", link, n), traces)
        for n, (wire, delay_ns) in enumerate(zip(forward_wires, forward_delays, strict=True))
    )
    if reverse_link is None:
        reverse: tuple[si.Stage, ...] = (si.Stage(delay_ns=reverse_delays[0]),)
    else:
        reverse = tuple(
            _stage(wire, delay_ns, rtt_ns, _key("reverse_link", reverse_link, n), traces)
            for n, (wire, delay_ns) in enumerate(zip(reverse_wires, reverse_delays, strict=True))
        )
    if link.server is not None:  # it stands before the first wire down and after the last one up
        forward = (_farther(forward[0], link.server), *forward[1:])
        reverse = (*reverse[:-1], _farther(reverse[-1], link.server))
    return si.WirePath(forward=forward, reverse=reverse), reverse_link is not None


def _with_recorded(
    link: human.Link, reverse_link: human.Link | None, traces: TraceReader
) -> tuple[human.Link, human.Link | None]:
    """A folder of recordings gives the reverse direction and the delays that nothing else does."""
    delays_ns = traces.delays_ns(link)
    if not delays_ns:
        return link, reverse_link
    if reverse_link is None:
        reverse_link = human.Link.model_construct(trace=link.trace, delay=delays_ns["up"])
    if link.delay is None:
        link = link.model_copy(update={"delay": delays_ns["down"]})
    return link, reverse_link


def _medium(key: str, written: Model, server_ns: int | None) -> si.Path:
    if key == "wifi":
        wifi = to_si(written, WifiPath, ("link", key))
        changes = {} if server_ns is None else {"wire_delay_ns": server_ns}
        return wifi.model_copy(update=changes)
    cell = to_si(written, CellPath, ("link", key))
    if server_ns is None:
        return cell
    downlink, uplink = (
        way.model_copy(update={"core_delay_ns": server_ns}) for way in (cell.downlink, cell.uplink)
    )
    return cell.model_copy(update={"downlink": downlink, "uplink": uplink})


def _check_takes_time(wires: Iterable[human.LinkStage], propagation_ns: int) -> None:
    """Refuse a path in which packets spend no time at all."""
    times = ((wire.rate, wire.trace, wire.jitter) for wire in wires)
    if propagation_ns or any(each is not None for wire in times for each in wire):
        return
    message = (
        "this link has neither a rate nor a delay: packets would take no time and the run would "
        "not end; give it a rate, a trace or a delay"
    )
    raise FieldError(("link",), message)


def _farther(stage: si.Stage, server_ns: int) -> si.Stage:
    """The stage with the server's delay added, also to the delays of its schedule."""
    steps = tuple(
        step
        if step.delay_ns is None
        else step.model_copy(update={"delay_ns": step.delay_ns + server_ns})
        for step in stage.schedule
    )
    changes = {"delay_ns": stage.delay_ns + server_ns, "schedule": steps}
    return stage.model_copy(update=changes)


def _key(table: str, link: human.Link, stage: int) -> KeyPath:
    return (table, "stage", stage) if link.stage else (table,)


def _stage(
    wire: human.LinkStage, delay_ns: int, rtt_ns: int, key: KeyPath, traces: TraceReader
) -> si.Stage:
    rate: si.Rate = si.UnlimitedRate()
    rate_bits_per_sec = wire.rate
    framing_bytes = wire.framing or 0
    if wire.trace is not None:
        trace = traces.read(key, wire)
        rate_bits_per_sec = mean_rate_bits_per_sec(trace)
        if trace.kind == "mahimahi":
            rate = si.MahimahiRate(path=trace.content_name)
            framing_bytes = MAHIMAHI_FRAMING_BYTES if wire.framing is None else wire.framing
        else:
            rate = si.LogRate(path=trace.content_name, hold=wire.hold)
    elif wire.rate is not None and wire.burst is not None:
        if wire.burst < (packet_bytes := FULL_PACKET_BYTES + framing_bytes):
            message = f"a packet of {packet_bytes} bytes would never pass; write at least that"
            raise FieldError((*key, "burst"), message)
        rate = si.TokenBucketRate(bits_per_sec=wire.rate, burst_bytes=wire.burst)
    elif wire.rate is not None:
        rate = si.FixedRate(bits_per_sec=wire.rate)
    return si.Stage(
        rate=rate,
        queue=_queue(wire, rate_bits_per_sec, rtt_ns, framing_bytes, key),
        delay_ns=delay_ns,
        jitter=_jitter(wire.jitter),
        police=_police(wire.police, framing_bytes, key),
        loss=_loss(wire.loss),
        framing_bytes=framing_bytes,
        outages=tuple(
            si.Outage(start_ns=outage.start, stop_ns=outage.stop, kind=outage.kind)
            for outage in wire.outages
        ),
        schedule=tuple(
            si.Step(
                at_ns=step.at,
                bits_per_sec=step.rate,
                delay_ns=step.delay,
                loss=_loss(step.loss),
            )
            for step in wire.schedule
        ),
        transition=wire.transition,
    )


def _queue(
    wire: human.LinkStage,
    rate_bits_per_sec: int | None,
    rtt_ns: int,
    framing_bytes: int,
    key: KeyPath,
) -> si.Queue:
    packets, limit_bytes = _queue_limit(wire, rate_bits_per_sec, rtt_ns, framing_bytes, key)
    match wire.aqm:
        case human.DropTail():
            return si.DropTailQueue(packets=packets, bytes=limit_bytes)
        case human.Codel() as codel:
            return si.CodelQueue(
                target_ns=codel.target,
                interval_ns=codel.interval,
                ecn=codel.ecn,
                packets=packets,
                bytes=limit_bytes,
            )
        case human.FqCodel() as fq_codel:
            return si.FqCodelQueue(
                queues=fq_codel.queues,
                quantum_bytes=fq_codel.quantum,
                target_ns=fq_codel.target,
                interval_ns=fq_codel.interval,
                ecn=fq_codel.ecn,
                packets=packets,
                bytes=limit_bytes,
            )
        case human.Pie() as pie:
            return si.PieQueue(
                target_ns=pie.target,
                burst_ns=pie.burst,
                ecn=pie.ecn,
                packets=packets,
                bytes=limit_bytes,
            )
        case human.Red() as red:
            if packets is not None:
                limit_bytes = packets * (FULL_PACKET_BYTES + framing_bytes)
            return si.RedQueue(
                min_bytes=red.min,
                max_bytes=red.max,
                limit_bytes=limit_bytes,
                max_probability_ppb=red.max_probability,
                weight_shift=red.weight_shift,
                idle_packet_ns=red.idle_packet,
                ecn=red.ecn,
                gentle=red.gentle,
                hard_drop=red.hard_drop,
            )
        case human.StepMarking() as step:
            mark = _packets_and_bytes(step.mark, (*key, "aqm", "mark"))
            return si.StepQueue(
                mark_packets=mark[0], mark_bytes=mark[1], packets=packets, bytes=limit_bytes
            )


def _queue_limit(
    wire: human.LinkStage,
    rate_bits_per_sec: int | None,
    rtt_ns: int,
    framing_bytes: int,
    key: KeyPath,
) -> tuple[int | None, int | None]:
    """Packets and bytes; at most one of the two is limited."""
    limit = wire.queue
    if limit is not None and limit.unit == "milli_bdp":
        if rate_bits_per_sec is None:
            message = "a link without a rate has no BDP; write packets or bytes"
            raise FieldError((*key, "queue"), message)
        packets = packets_of_bdp(rate_bits_per_sec, rtt_ns, framing_bytes, limit.count)
        return _bounded(max(packets, 1), (*key, "queue")), None
    if limit is not None:
        return _packets_and_bytes(limit, (*key, "queue"))
    if rate_bits_per_sec is None:
        return None, None
    if not isinstance(wire.aqm, human.DropTail):
        has_flow_queues = isinstance(wire.aqm, human.FqCodel)
        return FQ_CODEL_QUEUE_PACKETS if has_flow_queues else AQM_QUEUE_PACKETS, None
    is_trace = wire.trace is not None
    packets = default_packets(rate_bits_per_sec, rtt_ns, framing_bytes, is_trace=is_trace)
    return _bounded(packets, (*key, "trace" if is_trace else "rate")), None


def _bounded(bdp_in_packets: int, key: KeyPath) -> int:
    if bdp_in_packets > MAX_PACKETS:
        message = f"a queue of {bdp_in_packets:,} packets; the largest is {MAX_PACKETS:,} packets"
        raise FieldError(key, f'{message}, or "{UNLIMITED}"')
    return bdp_in_packets


def _packets_and_bytes(limit: QueueLimit, key: KeyPath) -> tuple[int | None, int | None]:
    match limit.unit:
        case "packets":
            return limit.count, None
        case "bytes":
            return None, limit.count
        case "unlimited":
            return None, None
        case "milli_bdp":
            raise FieldError(key, "write packets or bytes")


def _police(police: human.Police | None, framing_bytes: int, key: KeyPath) -> si.PoliceRate | None:
    if police is None:
        return None
    if police.burst < (packet_bytes := FULL_PACKET_BYTES + framing_bytes):
        message = f"a packet of {packet_bytes} bytes would never pass; write at least that"
        raise FieldError((*key, "police", "burst"), message)
    return si.PoliceRate(bits_per_sec=police.rate, burst_bytes=police.burst)


def _loss(loss: human.Loss | None) -> si.Loss | None:
    match loss:
        case human.IidLoss():
            return si.IidLoss(ppb=loss.share)
        case human.GilbertElliottLoss():
            return si.GilbertElliottLoss(
                p_ppb=loss.p, r_ppb=loss.r, loss_good_ppb=loss.good, loss_bad_ppb=loss.bad
            )
        case None:
            return None


def _jitter(jitter: human.Jitter | None) -> si.Jitter | None:
    match jitter:
        case human.UniformJitter():
            return si.UniformJitter(max_ns=jitter.most)
        case human.NormalJitter():
            return si.NormalJitter(sigma_ns=jitter.sigma)
        case human.ExponentialJitter():
            return si.ExponentialJitter(mean_ns=jitter.mean)
        case None:
            return None
