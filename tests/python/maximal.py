"""Scenarios in which every possible key has a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from cwndlab.schema.host import Host
from cwndlab.schema.live import LivePath
from cwndlab.schema.path import PathPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_APPLICATIONS: tuple[apps.Application, ...] = (
    apps.Bulk(),
    apps.Sized(bytes=1),
    apps.OnOff(on_ns=1, off_ns=2, distribution="pareto"),
    apps.RequestResponse(request_bytes=1, response_bytes=2, think_ns=3, count=4),
    apps.Paced(bits_per_sec=1, write_bytes=2, bulk_for_ns=3),
    apps.Probe(bulk_for_ns=1, pause_ns=2, bits_per_sec=3, doubling_ns=4),
    apps.WindowedFile(request_bytes=1, outstanding=2, total_bytes=3),
    apps.Http(bytes=1, chunk_bytes=2, is_upload=True),
    apps.Sftp(bytes=1, request_bytes=2, outstanding=3, is_upload=False),
    apps.Web(document_bytes=1, objects=2, object_bytes=3, parse_ns=4, think_ns=5, count=6),
    apps.Video(rungs_bits_per_sec=(1, 2), chunk_ns=3, buffer_ns=30),
    apps.Datagrams(bytes=1, interval_ns=2),
)


_OF_RATES = (
    "rate",
    "burst",
    "trace",
    "column",
    "unit",
    "time_column",
    "time_unit",
    "light_trace",
    "light_after",
    "busy_delay",
    "light_first",
    "hold",
)


def written_links() -> Iterator[dict[str, Any]]:
    """Yield links in which every key of the core's schema is written, with every kind of table."""
    definitions = core.link_definitions()
    for n in range(28):
        wire = _filled(definitions, {"$ref": "#/$defs/LinkStage"}, n)
        wire["queue"] = ("100 packets", "100 kB")[n // 7 % 2]  # with all seven disciplines
        of_rate = {"rate": wire["rate"], "burst": "64 kB"}
        wire["police"]["burst"] = "64 kB"
        for outage in wire["outages"]:
            outage["stop"] = "2 h"
        if wire["aqm"]["kind"] not in {"drop_tail", "codel", "fq_codel", "dualpi2"}:
            del wire["ack_filter"]
        if wire["transition"] == "keep":
            del wire["reorder"]
        for key in _OF_RATES:
            del wire[key]
        yield {**wire, "rate": of_rate["rate"]}
        yield {"stage": [{**wire, **of_rate}, {**wire, "rate": of_rate["rate"]}]}
        yield {"cell": _filled(definitions, {"$ref": "#/$defs/CellPath"}, n)}
        channel = _filled(definitions, {"$ref": "#/$defs/WifiPath"}, n)
        yield {"wifi": channel}
        yield {"wire": {**wire, "rate": of_rate["rate"], "reverse": of_rate}, "wifi": channel}


def _filled(definitions: Mapping[str, Any], schema: Mapping[str, Any], n: int) -> Any:  # noqa: ANN401  JSON
    """Return a value that fits a schema; `n` selects one of several kinds."""
    if "$ref" in schema:
        properties = definitions[schema["$ref"].rpartition("/")[2]]["properties"]
        return {key: _filled(definitions, about, n + m) for m, (key, about) in _each(properties)}
    if "anyOf" in schema:
        tables = [kind for kind in schema["anyOf"] if "$ref" in kind] or schema["anyOf"][1:]
        return _filled(definitions, tables[n % len(tables)], n // len(tables))
    if schema.get("type") == "array":
        return [_filled(definitions, schema["items"], n + m) for m in range(2)]
    return _filled_value(schema, n)


def _filled_value(schema: Mapping[str, Any], n: int) -> str | int | bool:
    choices = schema.get("enum") or [schema.get("const")]
    if choices[0] is not None:
        return str(choices[n % len(choices)])
    if schema["type"] != "string":
        least: int = schema.get("minimum", 1)
        return schema["type"] == "boolean" or max(1, least)
    examples = schema.get("examples", ["a text"])
    return str(examples[(n + n // 6) % len(examples)] if "unlimited" in examples else examples[0])


def _each(properties: Mapping[str, Any]) -> Iterator[tuple[int, tuple[str, Any]]]:
    """Yield the keys; a short key is not written together with the key that it abbreviates."""
    return enumerate(
        (key, about) for key, about in properties.items() if "short for" not in about["description"]
    )


def live_paths() -> tuple[LivePath, ...]:
    """Return the path of a real network, which the simulator refuses."""
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


def maximal_scenario() -> si.Scenario:
    """Return a scenario with every kind of table and every key."""
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
            separate_buffers=True,
            one_processor=True,
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
        path=PathPart(kind="wire", forward=[], reverse=[]),
        flows=flows,
        before=(flows[:1], flows[1:]),
        record=si.ScenarioRecord(
            sample_interval_ns=10**8, events=True, ack_trace=True, pcap="capture.pcap"
        ),
        jiffies_phase_ns=1,
    )
