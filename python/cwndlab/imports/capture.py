"""Import packet captures in pcap and pcapng format; the crate `capture` analyses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab import core
from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import Measurement, mbit_s, rtt_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAGICS = (
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
)
_SMALLEST_SHARE = 0.01  # of the largest flow's data; smaller flows are control traffic
_BESIDE_RECEIVER = (
    "The capture was made at the receiver of the data. It shows neither round-trip times nor "
    "timeouts, and packets that were lost on the way to the receiver are not counted."
)
_NO_HANDSHAKE = (
    "The handshake does not show at which end of the connection the capture was made; cwndlab "
    "assumes that it was made at the end that sent the data."
)


def is_capture(head: bytes) -> bool:
    """Return whether the first bytes of a file, `head`, identify a packet capture."""
    return head[:4] in _MAGICS


def read_capture(path: Path, warm_up_s: float) -> Measurement:
    """Read a capture; each direction of a connection becomes a flow if it carries enough data.

    Directions with less than 1 % of the largest flow's data are ignored as control traffic.
    """
    try:
        found = core.module().analyse_capture(path, warm_up_ns=round(warm_up_s * 1e9))
    except ValueError as error:
        msg = f"the file is not a valid capture: {error}"
        raise MeasurementError(msg) from None
    most = max((flow["delivered_bytes"] for flow in found), default=0)
    flows = [flow for flow in found if flow["delivered_bytes"] >= _SMALLEST_SHARE * most > 0]
    if not flows:
        msg = (
            "the capture contains no acknowledged TCP data that cwndlab can read; cwndlab reads "
            "captures of Ethernet, of raw IP, of loopback interfaces and of all interfaces (-i "
            "any)"
        )
        raise MeasurementError(msg)
    began_ns = min(flow["begin_ns"] for flow in flows)
    measurement = Measurement([], began_unix_s=began_ns / 1e9)
    for number, flow in enumerate(flows):
        measurement.flows.append(_flow(number, flow, began_ns))
        measurement.samples.append(_samples(number, flow, began_ns))
        measurement.events += _events(number, flow, began_ns)
    vantages = {flow["vantage"] for flow in flows}
    if "receiver" in vantages:
        measurement.notes.append(_BESIDE_RECEIVER)
    if "unknown" in vantages:
        measurement.notes.append(_NO_HANDSHAKE)
    return measurement


def _flow(number: int, flow: Mapping[str, Any], began_ns: int) -> dict[str, Any]:
    start_s = (flow["begin_ns"] - began_ns) / 1e9
    window_s = None if flow["window_ns"] is None else flow["window_ns"] / 1e9
    base_us, completion_ns = flow["rtt_base_us"], flow["completion_ns"]
    row: dict[str, Any] = {
        "flow": number,
        "start_s": start_s,
        "end_s": start_s + flow["lifetime_ns"] / 1e9,
        "window_s": window_s,
        "delivered_bytes": flow["delivered_bytes"],
        "sent_pkts": flow["sent_pkts"],
        "retransmitted_pkts": flow["retransmitted_pkts"],
        "retransmission_bursts": flow["bursts"],
        "retransmission_burst_max_pkts": flow["longest_burst_pkts"] if flow["bursts"] else None,
        "timeouts": flow["timeouts"],
        "ecn_marked_pkts": flow["ecn_marked_pkts"],
    }
    if window_s:
        row["goodput_mbit_s"] = mbit_s(flow["window_delivered_bytes"], window_s)
        row["throughput_mbit_s"] = mbit_s(flow["window_sent_bytes"], window_s)
    if completion_ns is not None:
        row["completion_ms"] = completion_ns / 1e6
    rtts_ms = np.asarray(flow["rtts_us"], dtype=np.float64) / 1e3
    return row | rtt_columns(rtts_ms, None if base_us is None else base_us / 1e3)


def _samples(number: int, flow: Mapping[str, Any], began_ns: int) -> pl.DataFrame:
    columns = {name: np.asarray(values) for name, values in flow["samples"].items()}
    at_ns = (columns["at_ns"].astype(np.uint64) - np.uint64(began_ns)).astype(np.int64)
    steps_s = np.diff(at_ns, prepend=flow["begin_ns"] - began_ns) / 1e9
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = {
            name: np.where(steps_s > 0, 8e-6 * columns[counted] / steps_s, np.nan)
            for name, counted in (
                ("goodput_mbit_s", "delivered_bytes"),
                ("throughput_mbit_s", "sent_bytes"),
            )
        }
    return pl.DataFrame(
        {
            "flow": pl.Series([number], dtype=pl.Int64).new_from_index(0, len(at_ns)),
            "t_s": at_ns / 1e9,
            **rates,
            "rtt_ms": columns["rtt_us"].astype(np.float64) / 1e3,
            "srtt_ms": columns["srtt_us"].astype(np.float64) / 1e3,
            "inflight_pkts": np.rint(columns["inflight_bytes"] / flow["mss_bytes"]),
        }
    ).fill_nan(None)


def _events(number: int, flow: Mapping[str, Any], began_ns: int) -> list[dict[str, Any]]:
    columns = flow["events"]
    return [
        {"flow": number, "t_s": (at_ns - began_ns) / 1e9, "event": event, "value": float(value)}
        for at_ns, event, value in zip(
            columns["at_ns"], columns["event"], columns["value"], strict=True
        )
    ]
