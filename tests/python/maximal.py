"""A scenario in which every key that there is has a value."""

from __future__ import annotations

import types
import typing
from typing import Any

from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from cwndlab.schema.base import Model
from cwndlab.schema.cell import CellPath
from cwndlab.schema.host import Host
from cwndlab.schema.live import LivePath
from cwndlab.schema.wifi import WifiPath

_QUEUES: tuple[si.Queue, ...] = (
    si.DropTailQueue(packets=50, bytes=75_000),
    si.CodelQueue(target_ns=1, interval_ns=2, ecn=True, packets=3, bytes=4),
    si.FqCodelQueue(
        queues=1, quantum_bytes=2, target_ns=3, interval_ns=4, ecn=True, packets=5, bytes=6
    ),
    si.PieQueue(target_ns=1, burst_ns=2, ecn=True, packets=3, bytes=4),
    si.RedQueue(
        min_bytes=1,
        max_bytes=3,
        limit_bytes=4,
        max_probability_ppb=5,
        weight_shift=6,
        idle_packet_ns=7,
        ecn=True,
        gentle=True,
        hard_drop=True,
    ),
    si.StepQueue(mark_packets=1, mark_bytes=2, packets=3, bytes=4),
)
_RATES: tuple[si.Rate, ...] = (
    si.FixedRate(bits_per_sec=10_000_000),
    si.TokenBucketRate(bits_per_sec=10_000_000, burst_bytes=15_000),
    si.MahimahiRate(path="sha256:0"),
    si.LogRate(path="sha256:1", hold=False),
)
_LOSSES: tuple[si.Loss, ...] = (
    si.IidLoss(ppb=1),
    si.GilbertElliottLoss(p_ppb=1, r_ppb=2, loss_good_ppb=3, loss_bad_ppb=4),
)
_JITTERS: tuple[si.Jitter, ...] = (
    si.UniformJitter(max_ns=1),
    si.NormalJitter(sigma_ns=2),
    si.ExponentialJitter(mean_ns=3),
    si.WifiJitter(mean_ns=4),
)
_REORDERS: tuple[si.Reorder, ...] = (
    si.LateReorder(ppb=1, delay_ns=2, gap=3),
    si.EarlyReorder(ppb=1, gap=2),
    si.JitterReorder(),
)
_APPLICATIONS: tuple[apps.Application, ...] = (
    apps.Bulk(),
    apps.Sized(bytes=1),
    apps.OnOff(on_ns=1, off_ns=2, distribution="pareto"),
    apps.RequestResponse(request_bytes=1, response_bytes=2, think_ns=3, count=4),
    apps.Paced(bits_per_sec=1, write_bytes=2),
    apps.WindowedFile(request_bytes=1, outstanding=2, total_bytes=3),
    apps.Http(bytes=1, chunk_bytes=2, is_upload=True),
    apps.Sftp(bytes=1, request_bytes=2, outstanding=3, is_upload=False),
    apps.Web(document_bytes=1, objects=2, object_bytes=3, parse_ns=4, think_ns=5, count=6),
    apps.Video(rungs_bits_per_sec=(1, 2), chunk_ns=3, buffer_ns=30),
    apps.Datagrams(bytes=1, interval_ns=2),
)


def media() -> tuple[si.Path, ...]:
    """Cells and Wi-Fi channels of every kind, and a chain; they need not make sense."""
    kinds = 12  # three radios, and four pairs of directions
    media = tuple(_filled(model, n) for model in (CellPath, WifiPath) for n in range(kinds))
    wire = si.WirePath(forward=(si.Stage(),), reverse=())
    return (*media, si.ChainPath(links=(wire, media[0], media[-1])))


def live_paths() -> tuple[LivePath, ...]:
    """A real network; the simulator does not take it."""
    path = LivePath(
        place="here",
        period="06:00-07:30",
        days="working",
        at_most=1,
        pause_ns=2,
        algorithm_on="client",
        udp_bits_per_sec=3,
    )
    return (path,)


def _filled(annotation: Any, n: int) -> Any:  # noqa: ANN401  types
    """A value of a type, of its kinds the one with this number."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _filled(arguments[0], n)
    if origin in (typing.Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not types.NoneType]
        return _filled(kinds[n % len(kinds)], n // len(kinds) + n % len(kinds))
    if origin is tuple:
        return (_filled(arguments[0], n), _filled(arguments[0], n + 1))
    if origin is typing.Literal:
        return arguments[n % len(arguments)]
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation(
            **{
                name: _filled(field.annotation, n)
                for name, field in annotation.model_fields.items()
            }
        )
    plain = {str: f"text {n}", bool: True}
    return plain.get(annotation, 1 + n)


def maximal_scenario() -> si.Scenario:
    """Every kind of everything, every key given."""
    stages = tuple(
        si.Stage(
            rate=_RATES[n % len(_RATES)],
            queue=_QUEUES[n % len(_QUEUES)],
            delay_ns=1 + n,
            jitter=_JITTERS[n % len(_JITTERS)],
            loss=_LOSSES[n % len(_LOSSES)],
            police=si.PoliceRate(bits_per_sec=5_000_000 + n, burst_bytes=30_000),
            framing_bytes=14,
            outages=(si.Outage(start_ns=1, stop_ns=2, kind="hold"),),
            schedule=()
            if _RATES[n % len(_RATES)].kind in ("mahimahi", "log")
            else (si.Step(at_ns=1, bits_per_sec=2, delay_ns=3, loss=_LOSSES[1]),),
            ack_filter="aggressive" if n % 2 else "conservative",
            reorder=_REORDERS[n % len(_REORDERS)] if n % len(_RATES) else None,
            transition="keep" if n % len(_RATES) == 0 else "retime",
        )
        for n in range(len(_QUEUES))
    )
    sender = si.End(
        stack="linux-6.1",
        algorithm="cubic",
        parameters={"beta": 512},
        stack_overrides={"initial_cwnd_pkts": 4},
        host=Host(
            queue_packets=3,
            qdisc="fq",
            buffer_bytes=4_500,
            bits_per_sec=12_000_000,
            gso_packets=44,
            orphans=True,
            gro_ns=50_000,
            receive_bits_per_sec=24_000_000,
            packet_ns=700,
            wake_ns=15_000,
            read_ns=3_000,
            receive_packet_ns=2_000,
            receive_buffer_bytes=64_000,
        ),
    )
    flows = tuple(
        si.ScenarioFlow(
            id=n,
            direction="reverse" if n % 2 else "forward",
            user=1 + n,
            start_ns=n,
            stop_ns=10 + n,
            application=application,
            sender=sender,
            receiver=sender.model_copy(update={"algorithm": "reno", "parameters": {}}),
            access_delay_ns=5,
        )
        for n, application in enumerate(_APPLICATIONS)
    )
    return si.Scenario(
        seed=2**53 - 1,
        duration_ns=10**9,
        warm_up_ns=1000,
        path=si.WirePath(forward=stages, reverse=stages),
        flows=flows,
        before=(flows[:1], flows[1:]),
        record=si.ScenarioRecord(
            sample_interval_ns=10**8, events=True, ack_trace=True, pcap="capture.pcap"
        ),
        jiffies_phase_ns=1,
    )
