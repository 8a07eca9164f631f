"""Convert the client's and the server's records of a transfer to result tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.imports.measurement import Measurement, mbit_s
from cwndlab.imports.series import Series
from cwndlab.measure.flags import DEFAULT_OUTAGE_S, Flag, flag_frame, flags_of
from cwndlab.results import tcp_info
from cwndlab.results.tables import encode_result, to_parquet
from cwndlab.results.tcp_info_table import state_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.measure.machine.surroundings import Surroundings
    from cwndlab.measure.wire.transfer import Transfer
    from cwndlab.schema.scenario import Scenario, ScenarioFlow

_NS_PER_S = 10**9
_PROXY = "a proxy"
_COMPLETE = ("sized", "windowed_file", "request_response", "http", "sftp")


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Result tables of a measured run, and facts about the measurement for the history file."""

    files: dict[str, bytes]
    facts: dict[str, Any]
    is_attributable: bool
    flags: tuple[Flag, ...] = ()


def measured(
    key: str,
    scenario: Scenario,
    transfer: Transfer,
    names: Mapping[int, str],
    around: Surroundings | None = None,
    outage_s: float = DEFAULT_OUTAGE_S,
) -> MeasuredRun:
    """Return the tables of a measured run.

    Args:
        key: key of the run.
        scenario: requested scenario.
        transfer: records of the client and of the server.
        names: for each flow number, the name of the flow's algorithm in the study.
        around: records of the interface and the radio during the run.
        outage_s: minimum duration without acknowledgements that counts as an outage.
    """
    flags = [] if around is None else around.flags(transfer.began_ns)
    measurement = Measurement([], began_unix_s=transfer.began_ns / _NS_PER_S)
    offset_ns = transfer.clock.offset_ns if transfer.clock else 0
    states: list[pl.DataFrame] = []
    is_attributable = True
    for flow in scenario.flows:
        near, far = transfer.near[flow.id], transfer.far[flow.id]
        far = far | {"at_ns": [at_ns - offset_ns for at_ns in far["at_ns"]]}
        far["began_ns"] -= offset_ns
        if far["ended_ns"]:
            far["ended_ns"] -= offset_ns
        sender, receiver = (far, near) if flow.direction == "forward" else (near, far)
        ran = _PROXY if transfer.is_through_proxy else sender["algorithm"]
        is_attributable &= ran == names[flow.id]
        measurement.flows.append(
            _flow(scenario, flow, transfer, sender, receiver)
            | {"algorithm": names[flow.id], "sent_by": ran}
        )
        rows = _rows(sender, transfer.began_ns)
        if rows:
            series = Series.of(rows)
            every = max(1, round((scenario.record.sample_interval_ns or 0) / 1e7))
            if scenario.record.sample_interval_ns:
                measurement.samples.append(series.at(slice(None, None, every)).samples(flow.id))
            if scenario.record.events:
                measurement.events += series.events(flow.id)
            flags += flags_of(flow.id, series, outage_s)
        for end, result in (("sender", sender), ("receiver", receiver)):
            states.append(_state(key, flow.id, end, result, transfer.began_ns))
    files = encode_result(key, measurement.tables())
    files["tcp_info.parquet"] = to_parquet(pl.concat(states, how="diagonal"))
    files["probes.parquet"] = to_parquet(_probes(key, transfer, offset_ns))
    files["flags.parquet"] = to_parquet(flag_frame(key, flags))
    if around is not None:
        radio = around.radio_frame(key, transfer.began_ns)
        if radio.height:
            files["radio.parquet"] = to_parquet(radio)
    return MeasuredRun(files, _facts(transfer), is_attributable, tuple(flags))


def _flow(
    scenario: Scenario,
    flow: ScenarioFlow,
    transfer: Transfer,
    sender: Mapping[str, Any],
    receiver: Mapping[str, Any],
) -> dict[str, Any]:
    warm_up_s = scenario.warm_up_ns / _NS_PER_S
    rows = _rows(sender, transfer.began_ns)
    row: dict[str, Any] = {"flow": flow.id, "direction": flow.direction}
    if rows:
        row |= Series.of(rows).flow(warm_up_s)
        last = {name: values[-1] for name, values in sender["info"].items() if values}
        for column, name in (
            ("busy_s", "busy_time_us"),
            ("rwnd_limited_s", "rwnd_limited_us"),
            ("sndbuf_limited_s", "sndbuf_limited_us"),
        ):
            if name in last:
                row[column] = last[name] / 1e6
    start_ns: int = _first_to_act(flow, sender, receiver)["began_ns"]
    ended_ns = receiver["ended_ns"] or start_ns + scenario.duration_ns
    end_ns = min(ended_ns, start_ns + scenario.duration_ns)
    begin_ns = start_ns + scenario.warm_up_ns
    row |= {
        "receiver_algorithm": receiver["algorithm"],
        "stack": f"Linux {sender['kernel']}",
        "receiver_stack": f"Linux {receiver['kernel']}",
        "application": flow.application.kind,
        "start_s": (start_ns - transfer.began_ns) / _NS_PER_S,
        "end_s": (end_ns - transfer.began_ns) / _NS_PER_S,
        "window_s": (end_ns - begin_ns) / _NS_PER_S if end_ns > begin_ns else None,
        "delivered_bytes": receiver["moved_bytes"],
        "goodput_mbit_s": _goodput(receiver, start_ns, begin_ns, end_ns),
    }
    is_complete = flow.application.kind in _COMPLETE and _is_whole(flow, receiver)
    if is_complete:
        row["completion_ms"] = (ended_ns - start_ns) / 1e6
    return row


def _first_to_act(
    flow: ScenarioFlow, sender: Mapping[str, Any], receiver: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the record of the host that acts first: the requesting host, or else the sender."""
    match flow.application.kind:
        case "request_response":
            return receiver
        case "http" | "sftp":  # the user requests data or announces an upload
            return receiver if flow.direction == "forward" else sender
        case _:
            return sender


def _is_whole(flow: ScenarioFlow, receiver: Mapping[str, Any]) -> bool:
    """Return whether the receiver read the complete transfer; False if it has no fixed size."""
    application: Any = flow.application
    match application.kind:
        case "sized" | "http" | "sftp":
            wanted = application.bytes
        case "windowed_file":
            wanted = application.total_bytes
        case _:
            rounds = application.count
            wanted = None if rounds is None else rounds * application.response_bytes
    return wanted is not None and receiver["moved_bytes"] >= wanted


def _goodput(
    receiver: Mapping[str, Any], start_ns: int, begin_ns: int, end_ns: int
) -> float | None:
    """Return the mean goodput in Mbit/s from `begin_ns` to `end_ns`; None if it is unknown."""
    if end_ns <= begin_ns or not receiver["at_ns"]:
        return None
    # Sampling times vary with the thread; the times of the first and last byte are exact.
    ended_ns = receiver["ended_ns"] or math.inf
    samples = zip(receiver["at_ns"], receiver["application_bytes"], strict=True)
    points = [(start_ns, 0), *(each for each in samples if start_ns < each[0] < ended_ns)]
    if receiver["ended_ns"]:
        points.append((ended_ns, receiver["moved_bytes"]))
    read = np.interp([begin_ns, end_ns], *np.array(points).T)
    return mbit_s(float(read[1] - read[0]), (end_ns - begin_ns) / _NS_PER_S)


def _rows(end: Mapping[str, Any], began_ns: int) -> list[dict[str, float | None]]:
    columns: Mapping[str, list[int]] = end["info"]
    rows = []
    for at, at_ns in enumerate(end["at_ns"]):
        info = {name: values[at] for name, values in columns.items()}
        rows.append(tcp_info.series_row((at_ns - began_ns) / _NS_PER_S, info))
    return rows


def _state(key: str, flow: int, end: str, result: Mapping[str, Any], began_ns: int) -> pl.DataFrame:
    """Return the TCP state of a flow's sender or receiver over time, as the kernel reported it."""
    t_s = (np.asarray(result["at_ns"], dtype=np.int64) - began_ns) / _NS_PER_S
    told = {"application_bytes": result["application_bytes"], **result["info"]}
    return state_frame(key, flow, end, t_s, told)


def _probes(key: str, transfer: Transfer, offset_ns: int) -> pl.DataFrame:
    """Return the RTT and the one-way delays of each probe that was sent during the transfer."""
    probes = transfer.probes
    there = [probe.received_there_ns - offset_ns - probe.sent_ns for probe in probes]
    back = [probe.received_ns - (probe.answered_there_ns - offset_ns) for probe in probes]
    return pl.DataFrame(
        {
            "run": pl.Series([key] * len(probes), dtype=pl.String),
            "t_s": [(probe.sent_ns - transfer.began_ns) / _NS_PER_S for probe in probes],
            "rtt_ms": [probe.rtt_ns / 1e6 for probe in probes],
            "uplink_delay_ms": [delay / 1e6 for delay in there],
            "downlink_delay_ms": [delay / 1e6 for delay in back],
        },
        schema_overrides=dict.fromkeys(
            ("t_s", "rtt_ms", "uplink_delay_ms", "downlink_delay_ms"), pl.Float64
        ),
    )


def _facts(transfer: Transfer) -> dict[str, Any]:
    rtts_ms = [probe.rtt_ns / 1e6 for probe in transfer.probes]
    facts: dict[str, Any] = {
        "server_kernel": transfer.server["kernel"],
        "server_default_algorithm": transfer.server["default_algorithm"],
        "probes_sent": transfer.probes_sent,
        "probes_answered": len(rtts_ms),
    }
    if rtts_ms:
        facts["ping_under_load_p50_ms"] = round(float(np.median(rtts_ms)), 3)
        facts["ping_under_load_max_ms"] = round(max(rtts_ms), 3)
    if transfer.is_through_proxy:
        facts["is_through_proxy"] = True
    if transfer.is_cut_short:
        facts["is_cut_short"] = True
    if transfer.clock is not None:
        facts["clock_offset_ms"] = round(transfer.clock.offset_ns / 1e6, 3)
        facts["clock_uncertainty_ms"] = round(transfer.clock.uncertainty_ns / 1e6, 3)
    for end, results in (("client", transfer.near), ("server", transfer.far)):
        if ours := {r["algorithm"]: r["kernel_name"] for r in results.values() if r["kernel_name"]}:
            facts[f"ours_at_{end}"] = ours
        mtus = [result["info"]["pmtu"][-1] for result in results.values() if result["at_ns"]]
        if mtus:
            facts[f"path_mtu_of_{end}_bytes"] = min(mtus)
    return facts
