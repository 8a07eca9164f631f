"""Import tables: logs of Web100 and its successors, and CSV files with a heading line.

The heading line may use the names of Web100's variables (RFC 4898) and of cwndlab's columns. The
separator may be a comma, a semicolon, a tab or spaces.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import IO

from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import SMOOTHED, Measurement, finite
from cwndlab.imports.series import COUNTERS, GAUGES
from cwndlab.imports.spool import Spool
from cwndlab.text.untrusted import csv_fields


@dataclass(frozen=True, slots=True)
class _Variable:
    column: str
    factor: float = 1.0
    is_per_mss: bool = False
    """True if the value in bytes must be divided by the segment size (MSS) to obtain packets."""


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
_SAMPLED = (
    "The mean and the median round-trip time are computed from the column rtt_ms; the 95th and "
    "99th percentiles are left out because the table may lack the largest RTTs between its lines."
)
_DATA = {"acked_bytes", "sent_bytes", "goodput_mbit_s", "throughput_mbit_s"}
_NOTHING = {"", "-", "nan", "NaN", "null", "NULL", "None"}
_LONGEST_QUOTED = 40
_MSS = "curmss"
_USUAL_MSS_BYTES = 1448.0
_UNLIMITED_BYTES = 2.0**31 - 1


def is_table(head: bytes) -> bool:
    """Return whether `head` begins with a heading line with two or more known column names."""
    lines = io.StringIO(head.decode("utf-8", "replace"), newline=None)
    return len(_Heading.read(lines.readline()).known) > 1


def read_table(file: IO[bytes], warm_up_s: float) -> Measurement:
    """Read a table with samples of one flow, line by line.

    Raises:
        MeasurementError: the column with the times or the column with the data is missing; the
            time is missing in a line; a value is not a number; or the table contains fewer than
            two samples.
    """
    # Lines may end as on any operating system.
    lines = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=None)
    heading = _Heading.read(lines.readline())
    if "t_s" not in {variable.column for variable in heading.known.values()}:
        msg = f"no time column among {', '.join(heading.names[:8])}; call the column t_s or time"
        raise MeasurementError(msg)
    log = Spool().log()
    try:
        for number, line in enumerate(lines, start=2):
            if line.strip() and not line.startswith("#"):
                log.add(heading.row(line, number))
    finally:
        lines.detach()  # the caller closes the file
    if log.count < 2:  # noqa: PLR2004  a rate needs two samples
        msg = "the table contains fewer than two samples"
        raise MeasurementError(msg)
    if not log.names & _DATA:
        msg = (
            "no column with the amount or the rate of data; call it acked_bytes, goodput_mbit_s or "
            "ThruBytesAcked"
        )
        raise MeasurementError(msg)
    series = log.series()
    flow = {"flow": 0} | series.flow(warm_up_s)
    notes = []
    if flow.get("rtt_p50_ms") is not None:
        notes = [SMOOTHED if flow.get("srtt_mean_ms") is not None else _SAMPLED]
    began = log.begin_s
    return Measurement(
        [flow],
        series=[(0, series)],
        began_unix_s=began if began > 1e8 else None,  # noqa: PLR2004  else times since the begin
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class _Heading:
    """Heading line of a table."""

    names: list[str]
    separator: str
    known: dict[int, _Variable]
    """Variables of the columns that have known names. The keys are the positions of these columns,
    counted from 0. Only these columns and the column at `mss_at` are read."""
    mss_at: int | None = None

    @classmethod
    def read(cls, line: str) -> _Heading:
        line = line.lstrip("\ufeff#").strip()
        separator = next((each for each in (",", ";", "\t") if each in line), " ")
        try:
            names = [name.strip().strip('"') for name in _split(line, separator)]
        except ValueError:
            names = []
        known = {}
        for at, name in enumerate(names):
            plain = re.sub(r"[ \-.]", "_", name.lower())
            variable = _KNOWN.get(plain) or _KNOWN.get(plain.replace("_", ""))
            if variable is not None:
                known[at] = variable
        mss_at = next((at for at, name in enumerate(names) if name.lower() == _MSS), None)
        return cls(names, separator, known, mss_at)

    def row(self, line: str, number: int) -> dict[str, float | None]:
        """Return the values of the known columns in a line.

        Raises:
            MeasurementError: a value is not a number, or the time is missing.
        """
        try:
            values = _split(line, self.separator)
            return self._known(values)
        except ValueError as error:
            msg = f"line {number}: {error}"
            raise MeasurementError(msg) from None

    def _known(self, values: list[str]) -> dict[str, float | None]:
        mss = _number(values, self.mss_at) if self.mss_at is not None else None
        mss_bytes = mss or _USUAL_MSS_BYTES
        row: dict[str, float | None] = {}
        for at, variable in self.known.items():
            value = _number(values, at)
            if value is not None and variable.is_per_mss:
                value = value / mss_bytes if value < _UNLIMITED_BYTES else None
            row[variable.column] = None if value is None else value * variable.factor
        if row.get("t_s") is None:
            msg = "the time is missing"
            raise ValueError(msg)
        return row


def _split(line: str, separator: str) -> list[str]:
    """Split a line into its fields, without a CSV parser if there are no quotation marks."""
    if separator == " ":
        return line.split()
    return csv_fields(line, separator) if '"' in line else line.split(separator)


def _number(values: list[str], at: int) -> float | None:
    """Return the number in a field; None if the field is empty or missing.

    Raises:
        ValueError: the field is not a number.
    """
    text = values[at].strip() if at < len(values) else ""
    if text in _NOTHING:
        return None
    value = finite(text)
    if value is None:
        short = text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}..."
        msg = f"{short!r} is not a number"
        raise ValueError(msg)
    return value
