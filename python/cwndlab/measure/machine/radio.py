"""Read the radio's technology, cell, band and signal once a second during a run.

ModemManager (`mmcli`) and `iw` are used if they are installed. The log of another program, for
example on a phone or a scanner, can also be used; each reading belongs to the run during which it
was made. Values that a source does not report are empty.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.errors import MeasurementError, read_failure
from cwndlab.text.untrusted import csv_rows, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TEXTS = ("source", "technology", "band", "cell", "operator")
NUMBERS = (
    "quality_pct",
    "rssi_dbm",
    "rsrp_dbm",
    "rsrq_db",
    "snr_db",
    "phy_rate_mbit_s",
)
COLUMNS = (*TEXTS, *NUMBERS)

RadioReading = dict[str, str | float | None]

_PROGRAM_S = 3.0
_UNKNOWN = ("", "--", "-", "n/a", "unknown")
_LEAST_DB = -1_000.0  # drivers report lower values for "none"

# Downlink EARFCN of the bands in use: 3GPP TS 36.101 table 5.7.3-1.
_LTE_BANDS = (
    (1, 0, 599),
    (2, 600, 1199),
    (3, 1200, 1949),
    (4, 1950, 2399),
    (5, 2400, 2649),
    (7, 2750, 3449),
    (8, 3450, 3799),
    (12, 5010, 5179),
    (13, 5180, 5279),
    (17, 5730, 5849),
    (18, 5850, 5999),
    (19, 6000, 6149),
    (20, 6150, 6449),
    (25, 8040, 8689),
    (26, 8690, 9039),
    (28, 9210, 9659),
    (32, 9920, 10359),
    (34, 36200, 36349),
    (38, 37750, 38249),
    (39, 38250, 38649),
    (40, 38650, 39649),
    (41, 39650, 41589),
    (42, 41590, 43589),
    (43, 43590, 45589),
    (66, 66436, 67335),
    (71, 68586, 68935),
)
# NR-ARFCN to frequency: 3GPP TS 38.104 section 5.4.2.1.
_NR_HIGH, _NR_HIGH_MHZ, _NR_LOW_STEP_MHZ, _NR_HIGH_STEP_MHZ = 600_000, 3_000.0, 0.005, 0.015


class RadioSource(Protocol):
    """A modem or a Wi-Fi card whose current radio state a program reports."""

    def read(self) -> RadioReading | None:
        """Return the current state of the radio; None if the state is not available."""


def sources_of(interface: str | None) -> list[RadioSource]:
    """Return the modem or Wi-Fi card of an interface, if a program reports its radio state."""
    found: list[RadioSource] = []
    if interface is None:
        return found
    if shutil.which("mmcli") is not None:
        modem = _modem_of(interface)
        if modem is not None:
            found.append(Modem(modem))
    if shutil.which("iw") is not None and WirelessCard(interface).read() is not None:
        found.append(WirelessCard(interface))
    return found


class Modem:
    """A modem that ModemManager controls."""

    def __init__(self, path: str) -> None:
        """Use the modem at a D-Bus path, and ask it to measure its signal once a second."""
        self._path = path
        # Without this setting, a modem may measure its signal only rarely.
        _output("mmcli", "-m", path, "--signal-setup=1")

    def read(self) -> RadioReading | None:
        """Return the radio's state from ModemManager, which reports cells since version 1.20."""
        state = _output("mmcli", "-J", "-m", self._path)
        signal = _output("mmcli", "-J", "-m", self._path, "--signal-get")
        cells = _output("mmcli", "-J", "-m", self._path, "--get-cell-info")
        place = _output("mmcli", "-J", "-m", self._path, "--location-get")
        return read_modem(state, signal, cells, place)


class WirelessCard:
    """A Wi-Fi card, whose state `iw` reports."""

    def __init__(self, interface: str) -> None:
        """Create an object for the card that has this network interface."""
        self._interface = interface

    def read(self) -> RadioReading | None:
        """Return the card's state that `iw` reports; None if the card is not connected."""
        return read_iw(_output("iw", "dev", self._interface, "link"))


def read_modem(
    state: str, signal: str = "", cells: str = "", place: str = ""
) -> RadioReading | None:
    """Parse what `mmcli` prints about a modem, its signal, cells and location; None if empty."""
    modem = _json(state)
    if not modem:
        return None
    generic, network = _inner(modem, "generic"), _inner(modem, "3gpp")
    technologies = [str(name) for name in generic.get("access-technologies") or []]
    row: RadioReading = {
        "source": "modem",
        "technology": "+".join(technologies) or None,
        "operator": _text(network.get("operator-name")),
        "quality_pct": _number(_inner(generic, "signal-quality").get("value")),
    }
    row |= _signal(_inner(_json(signal), "signal"), technologies)
    where = _inner(_inner(_json(place), "location"), "3gpp")
    row["cell"] = _text(where.get("cid"))
    return row | _serving_cell(_json(cells))


def read_iw(text: str) -> RadioReading | None:
    """Parse the output of `iw dev NAME link`; return None if the card is not connected."""
    cell = re.match(r"Connected to ([0-9a-f:]{17})", text)
    if cell is None:
        return None
    facts = dict(re.findall(r"^\s+([\w ]+): (.+)$", text, re.MULTILINE))
    rates = f"{facts.get('rx bitrate', '')} {facts.get('tx bitrate', '')}"
    frequency = _number(_first(facts.get("freq")))
    return {
        "source": "iw",
        "technology": _wifi_technology(rates, frequency),
        "band": None if frequency is None else f"{frequency:.0f} MHz",
        "cell": cell[1],
        "operator": _text(facts.get("SSID")),
        "rssi_dbm": _number(_first(facts.get("signal"))),
        "phy_rate_mbit_s": _number(_first(facts.get("rx bitrate"))),
    }


class RadioLog:
    """A CSV log that another program writes: a line of column names, then one line per reading."""

    def __init__(self, path: Path) -> None:
        """Use the log at a path; the log is read again for each run, because it may have grown."""
        self._path = path
        self.rows(0, 0)

    def rows(self, begin_unix_s: float, end_unix_s: float) -> list[tuple[float, RadioReading]]:
        """Return the readings in a time interval, preceded by the last reading before the interval.

        Raises:
            MeasurementError: the file cannot be read, or contains no times.
        """
        try:
            with self._path.open(encoding="utf-8", newline=None) as file:
                rows = csv_rows(file)
                _, heading = next(rows, (0, []))
                readings = [
                    self._reading(dict(zip(heading, row, strict=False))) for _, row in rows if row
                ]
        except OSError as error:
            raise MeasurementError(read_failure(self._path, error)) from None
        except (ValueError, KeyError, OverflowError):
            msg = (
                f"{self._path}: the log needs a column `time` (seconds since 1970, or "
                f"2026-05-01T12:00:00), and at least one of these: {', '.join(COLUMNS[1:])}"
            )
            raise MeasurementError(msg) from None
        readings.sort(key=lambda reading: reading[0])
        before = [reading for reading in readings if reading[0] < begin_unix_s][-1:]
        within = [reading for reading in readings if begin_unix_s <= reading[0] <= end_unix_s]
        return [(begin_unix_s, row) for _, row in before] + within

    @staticmethod
    def _reading(line: Mapping[str, str]) -> tuple[float, RadioReading]:
        row: RadioReading = {name: _text(line.get(name)) for name in TEXTS}
        row |= {name: _number(line.get(name)) for name in NUMBERS}
        return _unix_s(line["time"]), row | {"source": "log"}


def technology_changes(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, str, str]]:
    """Return each technology change that a source reported: time in s, old and new technology."""
    last: dict[str, str] = {}
    found = []
    for row in sorted(rows, key=lambda row: row["t_s"]):
        source, now = row["source"], row.get("technology")
        if now is None:
            continue
        if last.get(source, now) != now:
            found.append((row["t_s"], last[source], now))
        last[source] = now
    return found


def _modem_of(interface: str) -> str | None:
    """Return the D-Bus path of the modem to which a network interface belongs."""
    try:
        paths = read_json(_output("mmcli", "-J", "-L") or "{}").get("modem-list", [])
    except (ValueError, AttributeError):
        return None
    for path in paths:
        ports = _inner(_json(_output("mmcli", "-J", "-m", str(path))), "generic").get("ports") or []
        if any(str(port).split(" ")[0] == interface for port in ports):
            return str(path)
    return None


def _signal(signal: Mapping[str, Any], technologies: Sequence[str]) -> RadioReading:
    """Return each signal value from the newest technology in use that reports this value."""
    order = [
        name
        for name, words in (
            ("5g", ("5gnr",)),
            ("lte", ("lte",)),
            ("umts", ("umts", "hsdpa", "hsupa", "hspa", "hspa-plus")),
            ("gsm", ("gsm", "gprs", "edge")),
        )
        if any(word in technologies for word in words)
    ]
    row: RadioReading = {}
    for name in order:
        values = _inner(signal, name)
        for column, key in (
            ("rssi_dbm", "rssi"),
            ("rsrp_dbm", "rscp" if name == "umts" else "rsrp"),
            ("rsrq_db", "ecio" if name == "umts" else "rsrq"),
            ("snr_db", "snr"),
        ):
            if row.get(column) is None:
                row[column] = _number(values.get(key))
    return row


def _serving_cell(content: Mapping[str, Any]) -> RadioReading:
    lines = _inner(content, "generic").get("cell-info") or content.get("cell-info") or []
    for line in lines:
        facts = dict(part.split(": ", 1) for part in str(line).split(", ") if ": " in part)
        if facts.get("serving") != "yes":
            continue
        cell = _text(facts.get("ci")) or _text(facts.get("physical ci"))
        found: RadioReading = {} if cell is None else {"cell": cell}
        return found | {"band": _band(facts)}
    return {}


def _band(facts: Mapping[str, str]) -> str | None:
    channel = _number(facts.get("earfcn"))
    if channel is not None:
        for band, first, last in _LTE_BANDS:
            if first <= channel <= last:
                return f"B{band}"
    channel = _number(facts.get("nrarfcn"))
    if channel is None:
        return None
    if channel < _NR_HIGH:
        return f"{channel * _NR_LOW_STEP_MHZ:.0f} MHz"
    return f"{_NR_HIGH_MHZ + (channel - _NR_HIGH) * _NR_HIGH_STEP_MHZ:.0f} MHz"


def _wifi_technology(rates: str, frequency: float | None) -> str | None:
    for mark, name in (("EHT", "be"), ("HE-", "ax"), ("VHT", "ac"), ("MCS", "n")):
        if mark in rates:
            return f"802.11{name}"
    if frequency is None:
        return None
    return "802.11a" if frequency > 5_000 else "802.11g"  # noqa: PLR2004  MHz


def _output(*command: str) -> str:
    """Return the output of a program, or "" if the program fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603  system programs with fixed names
            command, capture_output=True, check=True, timeout=_PROGRAM_S
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def _json(text: str) -> Mapping[str, Any]:
    """Return the object `modem` from the output of `mmcli`; empty if it is missing."""
    try:
        content = read_json(text)
    except ValueError:
        return {}
    return _inner(content, "modem") if isinstance(content, dict) else {}


def _inner(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = content.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    text = str(value or "").strip()
    return None if text.lower() in _UNKNOWN else text


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if _LEAST_DB < number < float("inf") else None


def _first(value: str | None) -> str | None:
    return next(iter((value or "").split()), None)


def _unix_s(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()
