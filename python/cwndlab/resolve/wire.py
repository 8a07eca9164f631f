"""A wire of a scenario, with what a study leaves unsaid filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.resolve.queues import (
    FULL_PACKET_BYTES,
    default_packets,
    mean_rate_bits_per_sec,
    packets_of_bdp,
)
from cwndlab.schema import scenario as si
from cwndlab.schema import stage as human
from cwndlab.schema.problems import FieldError
from cwndlab.text.quantity import MAX_PACKETS, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cwndlab.resolve.trace_reader import TraceReader
    from cwndlab.text.quantity import QueueLimit
    from cwndlab.text.toml import KeyPath

MAHIMAHI_FRAMING_BYTES = 4  # the packet-information header of its TUN device
AQM_QUEUE_PACKETS = 1000  # the limit of Linux's codel qdisc; the AQM is to decide, not the limit
FQ_CODEL_QUEUE_PACKETS = 10_240  # RFC 8290 section 5.2.3


def check_takes_time(wires: Iterable[human.LinkStage], propagation_ns: int) -> None:
    """Refuse a path in which packets spend no time at all."""
    times = ((wire.rate, wire.trace, wire.jitter) for wire in wires)
    if propagation_ns or any(each is not None for wire in times for each in wire):
        return
    message = (
        "this link has neither a rate nor a delay: packets would take no time and the run would "
        "not end; give it a rate, a trace or a delay"
    )
    raise FieldError(("link",), message)


def farther(stage: si.Stage, server_ns: int) -> si.Stage:
    """The stage with the server's delay added, also to the delays of its schedule."""
    steps = tuple(
        step
        if step.delay_ns is None
        else step.model_copy(update={"delay_ns": step.delay_ns + server_ns})
        for step in stage.schedule
    )
    changes = {"delay_ns": stage.delay_ns + server_ns, "schedule": steps}
    return stage.model_copy(update=changes)


def resolve_stage(
    wire: human.LinkStage, delay_ns: int, rtt_ns: int, key: KeyPath, traces: TraceReader
) -> si.Stage:
    """The wire that `wire` at `key` says, with this delay, on a path of this round trip.

    Raises:
        FieldError: something is out of range, or a trace cannot be read.
    """
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
        ack_filter=_ack_filter(wire, key),
        reorder=_reorder(wire, delay_ns, key),
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
        case human.WifiJitter():
            return si.WifiJitter(mean_ns=jitter.mean)
        case None:
            return None


def _ack_filter(wire: human.LinkStage, key: KeyPath) -> si.AckFilter | None:
    if wire.ack_filter is not None and isinstance(
        wire.aqm, human.Pie | human.Red | human.StepMarking
    ):
        message = f'it stands on drop_tail, codel and fq_codel, and the aqm is "{wire.aqm.kind}"'
        raise FieldError((*key, "ack_filter"), message)
    return wire.ack_filter


def _reorder(wire: human.LinkStage, delay_ns: int, key: KeyPath) -> si.Reorder | None:
    reorder = wire.reorder
    if reorder is not None and wire.transition == "keep":
        message = 'transition = "keep" decides the order itself; leave one of them out'
        raise FieldError((*key, "reorder"), message)
    match reorder:
        case human.LateReorder():
            return si.LateReorder(ppb=reorder.share, delay_ns=reorder.delay, gap=reorder.gap)
        case human.EarlyReorder():
            if not delay_ns:
                message = "without a delay nothing can be early; give the link one"
                raise FieldError((*key, "reorder"), message)
            return si.EarlyReorder(ppb=reorder.share, gap=reorder.gap)
        case human.JitterReorder():
            if wire.jitter is None:
                message = 'there is no jitter that could change the order; add one, "2 ms"'
                raise FieldError((*key, "reorder"), message)
            return si.JitterReorder()
        case None:
            return None
