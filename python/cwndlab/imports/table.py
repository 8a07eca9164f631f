"""Logs as tables: those of Web100 and its successors, and plain CSV with a line of names.

Names of Web100's variables (RFC 4898) and those of our own columns are known. The separator may be
a comma, a semicolon, a tab or spaces.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass

from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import SMOOTHED, Measurement
from cwndlab.imports.series import COUNTERS, GAUGES, Series


@dataclass(frozen=True, slots=True)
class _Variable:
    column: str
    factor: float = 1.0
    is_per_mss: bool = False
    """Counted in bytes, but wanted in segments."""


_OURS = {name: _Variable(name) for name in (*COUNTERS, *GAUGES, "t_s")}
_KNOWN = _OURS | {
    "time": _Variable("t_s"),
    "time_s": _Variable("t_s"),
    "timestamp": _Variable("t_s"),
    "seconds": _Variable("t_s"),
    "time_ms": _Variable("t_s", 1e-3),
    "duration": _Variable("t_s", 1e-6),
    "delivered_bytes": _Variable("acked_bytes"),
    "thrubytesacked": _Variable("acked_bytes"),
    "thruoctetsacked": _Variable("acked_bytes"),
    "hcthruoctetsacked": _Variable("acked_bytes"),
    "hcthrubytesacked": _Variable("acked_bytes"),
    "databytesout": _Variable("sent_bytes"),
    "hcdatabytesout": _Variable("sent_bytes"),
    "hcdataoctetsout": _Variable("sent_bytes"),
    "datasegsout": _Variable("sent_pkts"),
    "datapktsout": _Variable("sent_pkts"),
    "pktsretrans": _Variable("retransmitted_pkts"),
    "segsretrans": _Variable("retransmitted_pkts"),
    "curcwnd": _Variable("cwnd_pkts", is_per_mss=True),
    "curssthresh": _Variable("ssthresh_pkts", is_per_mss=True),
    "smoothedrtt": _Variable("srtt_ms"),
    "samplertt": _Variable("rtt_ms"),
    "minrtt": _Variable("min_rtt_ms"),
    "cwnd": _Variable("cwnd_pkts"),
    "ssthresh": _Variable("ssthresh_pkts"),
    "srtt": _Variable("srtt_ms"),
    "rtt": _Variable("rtt_ms"),
}
_MSS = "curmss"
_USUAL_MSS_BYTES = 1448.0
_UNLIMITED_BYTES = 2.0**31 - 1


def is_table(head: bytes) -> bool:
    """Whether a file begins with a line of names that are known."""
    lines = head.decode("utf-8", "replace").splitlines()
    return bool(lines) and len(_columns(lines[0])[0]) > 1


def read_table(content: bytes, warm_up_s: float) -> Measurement:
    """Read a log of one flow.

    Raises:
        MeasurementError: it has no column of times or of data, or a line that has no numbers.
    """
    lines = content.decode("utf-8", "replace").splitlines()
    columns, names, separator = _columns(lines[0]) if lines else ({}, [], ",")
    if "t_s" not in {variable.column for variable in columns.values()}:
        msg = f"has no column of times among {', '.join(names[:8])}; name one t_s or time"
        raise MeasurementError(msg)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() and not line.startswith("#"):
            rows.append(_row(columns, names, _split(line, separator), number))
    if len(rows) < 2:  # noqa: PLR2004  a rate is between two samples
        msg = "has fewer than two samples"
        raise MeasurementError(msg)
    known = {name for row in rows for name in row}
    if not known & {"acked_bytes", "sent_bytes", "goodput_mbit_s", "throughput_mbit_s"}:
        msg = "has no column of data; name one acked_bytes, goodput_mbit_s or ThruBytesAcked"
        raise MeasurementError(msg)
    series = Series.of(rows)
    flow = {"flow": 0} | series.flow(warm_up_s)
    notes = [SMOOTHED] if flow.get("rtt_p50_ms") is not None else []
    began = float(series.t_s[0])
    return Measurement(
        [flow],
        series.samples(0),
        series.events(0),
        began_unix_s=began if began > 1e8 else None,  # noqa: PLR2004  not since the begin
        notes=notes,
    )


def _columns(head: str) -> tuple[dict[int, _Variable], list[str], str]:
    """The known columns by their place, all names, and what separates them."""
    head = head.lstrip("#").strip()
    separator = next((each for each in (",", ";", "\t") if each in head), " ")
    names = [name.strip().strip('"') for name in _split(head, separator)]
    known = {}
    for at, name in enumerate(names):
        plain = re.sub(r"[ \-.]", "_", name.lower())
        if (variable := _KNOWN.get(plain) or _KNOWN.get(plain.replace("_", ""))) is not None:
            known[at] = variable
    return known, names, separator


def _split(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return next(csv.reader([line], delimiter=separator), [])


def _row(
    columns: dict[int, _Variable], names: list[str], values: list[str], number: int
) -> dict[str, float | None]:
    mss_bytes = _USUAL_MSS_BYTES
    for at, name in enumerate(names):
        if name.lower() == _MSS and at < len(values) and (found := _float(values[at], number)):
            mss_bytes = found
    row: dict[str, float | None] = {}
    for at, variable in columns.items():
        value = _float(values[at], number) if at < len(values) else None
        if value is not None and variable.is_per_mss:
            value = value / mss_bytes if value < _UNLIMITED_BYTES else None
        row[variable.column] = None if value is None else value * variable.factor
    if row.get("t_s") is None:
        msg = f"line {number}: has no time"
        raise MeasurementError(msg)
    return row


def _float(text: str, number: int) -> float | None:
    text = text.strip()
    if text in ("", "-", "nan", "NaN", "null", "NULL", "None"):
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        msg = f"line {number}: {text!r} is no number"
        raise MeasurementError(msg)
    return value
