"""Every parser of the Python package as a function of bytes; no input may make it fail.

A target passes the bytes to its parser as a user or a peer would, and accepts only the errors that
the parser documents. `test_fuzz.py` runs each target for a second, `make fuzz` for the requested
time. The seeds are in `fuzz/corpus/NAME`, next to those of the Rust targets.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import cwndlab as cw
from cwndlab.errors import CwndlabError, MeasurementError, QuantityError, ResultsError, StudyError
from cwndlab.imports.folder import read_file
from cwndlab.imports.iperf3 import read_iperf3
from cwndlab.imports.pattern import NamePattern, label
from cwndlab.imports.socket_statistics import read_socket_statistics
from cwndlab.imports.table import read_table
from cwndlab.measure.machine.radio import RadioLog, read_iw, read_modem
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.trains import TrainReceiver
from cwndlab.papers.claims import parse_claims
from cwndlab.papers.expression import Expression
from cwndlab.resolve.traces import Told, read_packet_trains, read_trace
from cwndlab.results.manifest import COPY, MANIFEST, located, read_manifest
from cwndlab.results.tables import encode_result
from cwndlab.text import quantity
from cwndlab.text.linkspec import parse_spec, short_spec
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from cwndlab.imports.measurement import Measurement

LONGEST_BYTES = 4_000
_CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"

# One file per process, in a folder without traces or algorithms to which the file could refer.
_FOLDER = Path(tempfile.mkdtemp(prefix="cwndlab-fuzz-"))
atexit.register(shutil.rmtree, _FOLDER)
_FILE = _FOLDER / f"{os.getpid()}.toml"

_QUANTITIES: tuple[tuple[Callable[[object], int], Callable[[int], str]], ...] = (
    (quantity.parse_rate, quantity.format_rate),
    (quantity.parse_duration, quantity.format_duration),
    (quantity.parse_size, quantity.format_size),
    (quantity.parse_share, quantity.format_share),
    (quantity.parse_decibel, quantity.format_decibel),
    (quantity.parse_power, quantity.format_power),
    (quantity.parse_length, quantity.format_length),
    (quantity.parse_frequency, quantity.format_frequency),
)


_MOST_RUNS = 1_000  # larger studies are not expanded
# A fuzzer must not select files of this machine; "Mbit/s" does not name a file.
_HAS_A_TRACE = re.compile(rb"\b(trace|log)\b")
_NAMES_A_FILE = re.compile(rb"trace|log|~|(?<!bit)(?<!B)/")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def quantities(data: bytes) -> None:
    """A quantity that was read, written and read again is the same."""
    text = _text(data)
    for parse, write in _QUANTITIES:
        with contextlib.suppress(QuantityError):
            value = parse(text)
            assert parse(write(value)) == value
    with contextlib.suppress(QuantityError):
        limit = quantity.parse_queue(text)
        assert quantity.parse_queue(str(limit)) == limit


def link_text(data: bytes) -> None:
    """A line is a link that can run, or is refused."""
    text = _text(data)
    if ":" in text.partition(",")[0]:  # a fuzzer must not select files of this machine
        with contextlib.suppress(QuantityError):
            parse_spec(text)
        short_spec(text)
        return
    with contextlib.suppress(StudyError):
        assert cw.Study(link=text, algorithm="reno").cells


def toml(data: bytes) -> None:
    """Each key of a valid TOML document has a line in the file."""
    text = _text(data)
    with contextlib.suppress(StudyError):
        source = TomlSource("fuzz.toml", text)
        for key in source.document:
            assert 1 <= source.lines[key,] <= text.count("\n") + 1
        for place in source.lines:
            assert source.problem(place, "wrong")


def study_file(data: bytes) -> None:
    """A file is a study that can run and that is read back as the same study, or is refused."""
    if _NAMES_A_FILE.search(data):
        return
    _FILE.write_bytes(data)
    with contextlib.suppress(StudyError):
        study = cw.Study.load(_FILE)
        if len(study.cells) * study.repetitions < _MOST_RUNS:
            assert len(study.matrix.runs) == len(study.cells) * study.repetitions
        _FILE.write_text(study.to_toml(), encoding="utf-8")
        assert len(cw.Study.load(_FILE).cells) == len(study.cells)


def preset_file(data: bytes) -> None:
    """A file is a link, or is refused."""
    if _HAS_A_TRACE.search(data):
        return
    _FILE.write_bytes(data)
    with contextlib.suppress(StudyError):
        assert cw.Study(link=str(_FILE), algorithm="reno").cells


def trace(data: bytes) -> None:
    """Bytes are a trace in some format, or are refused."""
    _FILE.write_bytes(data)
    for told in (Told(), Told(column="2", unit="kbit/s", time_column="1", time_unit="ms")):
        with contextlib.suppress(CwndlabError):
            assert read_trace(_FILE, told).info["duration_s"] > 0
    with contextlib.suppress(CwndlabError):
        assert read_packet_trains(_FILE).info["duration_s"] > 0


def _import_with(read: Callable[[io.BytesIO, float], Measurement]) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        with contextlib.suppress(MeasurementError):
            measurement = read(io.BytesIO(data), 0.5)
            measurement.check()
            encode_result("0", measurement.tables())

    return target


def capture(data: bytes) -> None:
    """A file is a measurement, or is refused; most inputs are read as captures."""
    _FILE.write_bytes(data)
    with contextlib.suppress(MeasurementError):
        measurement, _ = read_file(_FILE, 0.5)
        encode_result("0", measurement.tables())


def name_pattern(data: bytes) -> None:
    """The first line is a pattern, the second line the name of a file."""
    pattern, _, name = _text(data[:120]).partition("\n")
    with contextlib.suppress(MeasurementError):
        for value in (NamePattern.parse(pattern).match(name) or {}).values():
            assert isinstance(label(value), str | int | float)


def radio(data: bytes) -> None:
    """Output of programs about a modem or a Wi-Fi card, and tables of readings."""
    text = _text(data)
    read_iw(text)
    read_iw(f"Connected to 00:11:22:33:44:55 (on wlan0)\n{text}")
    read_modem(text, text, text, text)
    _FILE.write_bytes(data)
    with contextlib.suppress(MeasurementError):
        RadioLog(_FILE).rows(0, 1e12)


def live_protocol(data: bytes) -> None:
    """Lines and datagrams of a peer, signed or unsigned."""
    for read in (
        protocol.read_greeting,
        protocol.Signer(b"key", protocol.CLIENT).check,
        protocol.read_hello,
        protocol.read_attach,
        protocol.read_request,
        protocol.read_answer,
    ):
        with contextlib.suppress(protocol.ProtocolError):
            read(data)
    protocol.read_probe(data, b"key", protocol.CLIENT)
    request = protocol.Trains(
        direction="forward",
        series=0,
        packets=1,
        first_payload_bytes=64,
        payload_bytes=64,
        packet_bytes=92,
        gaps_ns=[10**9],
    )
    receiver = TrainReceiver(b"key", b"12345678", request)
    assert not receiver.take(data, ("127.0.0.1", 1), 0, protocol.CLIENT)


def claim_expression(data: bytes) -> None:
    """A text is an expression with a single value, or is refused."""
    with contextlib.suppress(ValueError):
        expression = Expression(_text(data), ("reno", "cubic", "bic"), {"n": 2, "v": "reno"})
        assert Expression(str(expression), ("reno", "cubic", "bic")).names == expression.names
        values = {name: np.array([1.0, 0.0, np.nan]) for name in expression.names}
        assert np.shape(expression.evaluate(values)) in ((), (3,))


def claims(data: bytes) -> None:
    """A document contains claims, or is refused."""
    with contextlib.suppress(CwndlabError):
        parse_claims(TomlSource("fuzz.toml", _text(data)), "fuzz")


def manifest(data: bytes) -> None:
    """A manifest is read, or reported as damaged."""
    for name in (MANIFEST, COPY):
        path = located(_FOLDER, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    with contextlib.suppress(ResultsError):
        assert read_manifest(_FOLDER)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "quantities": quantities,
    "link_text": link_text,
    "toml": toml,
    "study_file": study_file,
    "preset_file": preset_file,
    "trace": trace,
    "import_iperf3": _import_with(read_iperf3),
    "import_socket_statistics": _import_with(read_socket_statistics),
    "import_table": _import_with(read_table),
    "import_capture": capture,
    "name_pattern": name_pattern,
    "radio": radio,
    "live_protocol": live_protocol,
    "claim_expression": claim_expression,
    "claims": claims,
    "manifest": manifest,
}


def seeds_of(name: str) -> list[bytes]:
    """Return the initial inputs of a target: valid files, and inputs that failed in the past."""
    return [path.read_bytes() for path in sorted((_CORPUS / name).iterdir())]


_FRAGMENTS = (
    b"",
    b"0",
    b"-1",
    b"9" * 30,
    b"1e300",
    b"nan",
    b"inf",
    b"null",
    b"[" * 60,
    b"{",
    b"}",
    b'"',
    b"\\",
    b"\r",
    b"\n",
    b"\0",
    b",",
    b".",
    b"=",
    b":",
    b"\xff\xfe",
    "\N{GREEK SMALL LETTER MU}".encode(),
    "\N{ARABIC-INDIC DIGIT TWO}".encode(),
    "\N{RIGHT-TO-LEFT OVERRIDE}".encode(),
)


def mutated(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return a seed with a few changes: flipped bits, or pieces removed, repeated or inserted."""
    data = bytearray(draw.choice(seeds)[:LONGEST_BYTES])
    for _ in range(draw.randint(1, 6)):
        at = draw.randint(0, len(data))
        end = min(len(data), at + draw.choice((1, 1, 2, 8, 40)))
        match draw.randrange(5):
            case 0 if data:
                data[at - 1] ^= 1 << draw.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end]
            case 3:
                other = draw.choice(seeds)
                begin = draw.randint(0, len(other))
                data[at:end] = other[begin : begin + draw.randint(0, 60)]
            case _:
                data[at:end] = draw.choice(_FRAGMENTS)
    return bytes(data)
