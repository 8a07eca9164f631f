"""Define the messages between client and server (see `docs/reference/protocol.md`).

The control connection uses TLS 1.3. The server first sends a nonce. Every later line begins with an
HMAC-SHA256, which is computed over the sending side (client or server), the line's number and the
line's content. The key of the HMAC is derived from the token, the server's certificate and the
server's nonce. After the client's first line, the key also depends on the client's nonce. An
attacker between client and server has a different certificate, so lines that the attacker forwards
are refused.

A data connection is plain TCP, because the measurements concern plain TCP. Its first line is signed
with a key for one flow, which only the client and the server of the control connection can derive.

Each line is parsed into a model that refuses unknown keys and values out of range.
"""

from __future__ import annotations

import hmac
import re
import secrets
import struct
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from cwndlab.errors import CwndlabError
from cwndlab.schema.application import Application, Bulk
from cwndlab.schema.base import Model, canonical_json
from cwndlab.text.untrusted import read_json

DEFAULT_PORT = 5209
VERSION = 3
NONCE_BYTES = 16
TICKET_BYTES = 16
MAX_REQUEST_BYTES = 8192
MAX_ANSWER_BYTES = 64 << 20
GREETING = re.compile(rb"cwndlab (\d+) ([0-9a-f]{32})\n")
MAX_GREETING_BYTES = 64

CLIENT, SERVER = b"c", b"s"
_MAC_DIGITS = 64
_PROBE = struct.Struct("!8sIQQQ")  # session, number, sent, received, answered; times in ns
_PROBE_MAC_BYTES = 16
PROBE_BYTES = _PROBE.size + _PROBE_MAC_BYTES
_NS_PER_S = 10**9
_LABEL = {CLIENT: b"client", SERVER: b"server"}

AlgorithmName = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,15}$")]
SessionId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
FlowNumber = Annotated[int, Field(ge=0, lt=1024)]
TrainGap = Annotated[int, Field(ge=1_000_000, le=5_000_000_000)]


class ProtocolError(CwndlabError):
    """A message is invalid, its sender does not know the token, or the peer has disconnected."""


class Hello(Model):
    """First message of a control connection: a request for a new session."""

    do: Literal["hello"] = "hello"
    version: Literal[3] = 3
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    beside: SessionId | None = None
    """Another session of the same client. While that session has the turn to measure, the new
    session may measure, too. None: the new session waits for its own turn."""


class Attach(Model):
    """Request to use this connection for the data of a flow that the client announced before.

    The signature uses the key of the session and the ticket of the flow. The request is valid only
    once.
    """

    do: Literal["attach"] = "attach"
    session: SessionId
    flow: FlowNumber


class TakeTurn(Model):
    """Request for the turn to measure; the turn lasts until the session ends.

    The answer contains `ahead`, the number of clients that come first. If this number is not 0,
    the server delays its answer by some seconds, and the client then sends the request again.
    """

    do: Literal["turn"] = "turn"


class Prepare(Model):
    """Announcement of a flow; the server's answer contains a `ticket` for the data connection."""

    do: Literal["prepare"] = "prepare"
    flow: FlowNumber
    direction: Literal["forward", "reverse"]
    """`forward` if the server sends, `reverse` if the client sends."""
    algorithm: AlgorithmName | None
    """Congestion control that the server uses for the flow; None means the default of the server's
    computer."""
    application: Application = Bulk()
    duration_ns: Annotated[int, Field(gt=0)]


class Start(Model):
    """Request to start all prepared flows."""

    do: Literal["start"] = "start"


class Finish(Model):
    """Request to end all flows; the answer contains the server's records of the flows."""

    do: Literal["finish"] = "finish"


class Progress(Model):
    """Request for some TCP_INFO fields of every flow whose sender is the server."""

    do: Literal["progress"] = "progress"


class DatagramTest(Model):
    """Request to count datagrams that are sent to or from the server at a fixed rate."""

    do: Literal["datagrams"] = "datagrams"
    direction: Literal["forward", "reverse"]
    bits_per_sec: Annotated[int, Field(gt=0)]
    payload_bytes: Annotated[int, Field(ge=64, le=65_000)]
    duration_ns: Annotated[int, Field(gt=0)]


class Saturate(Model):
    """Request to fill the link with datagrams and to count the bytes that arrive."""

    do: Literal["saturate"] = "saturate"
    direction: Literal["forward", "reverse"]
    most_bits_per_sec: Annotated[int, Field(gt=0)]
    payload_bytes: Annotated[int, Field(ge=64, le=1472)]
    packet_bytes: Annotated[int, Field(ge=92, le=1500)]
    """Size in bytes of a datagram with its UDP and IP headers."""
    duration_ns: Annotated[int, Field(gt=0)]


class Trains(Model):
    """Request to send short packet trains to or from the server, and to record their arrivals."""

    do: Literal["trains"] = "trains"
    direction: Literal["forward", "reverse"]
    series: Annotated[int, Field(ge=0, lt=65_536)]
    """Serial number of the request. Each packet contains this number, so that late packets of
    earlier requests are recognised."""
    packets: Annotated[int, Field(ge=1, le=64)]
    """Number of packets of each train."""
    first_payload_bytes: Annotated[int, Field(ge=64, le=1472)]
    """Size in bytes of the first packet of each train, without UDP and IP headers."""
    payload_bytes: Annotated[int, Field(ge=64, le=1472)]
    """Size in bytes of a train's second and later packets, without UDP and IP headers."""
    packet_bytes: Annotated[int, Field(ge=92, le=1500)]
    """Size in bytes of a train's second and later packets, with UDP and IP headers."""
    gaps_ns: Annotated[list[TrainGap], Field(min_length=1, max_length=400)]
    """For each train, the time in ns from its beginning to the beginning of the next train."""

    @property
    def duration_ns(self) -> int:
        """Time in ns for all trains, including the idle time after the last one."""
        return sum(self.gaps_ns)

    @property
    def bits_per_sec(self) -> int:
        """Rate in bits per second: bits of one train, divided by the shortest time in `gaps_ns`."""
        return self.packets * self.packet_bytes * 8 * _NS_PER_S // min(self.gaps_ns)


class Describe(Model):
    """Request for facts about the server, and for its view of the control connection."""

    do: Literal["describe"] = "describe"


AnyRequest = (
    TakeTurn | Prepare | Start | Progress | Finish | DatagramTest | Saturate | Trains | Describe
)
Request = Annotated[AnyRequest, Field(discriminator="do")]
_REQUEST: TypeAdapter[AnyRequest] = TypeAdapter(Request)


def new_token() -> str:
    """Return a new random token."""
    return secrets.token_hex(32)


def greeting(nonce: bytes) -> bytes:
    """Return the first line that a server sends; the line contains a nonce."""
    return b"cwndlab %d %s\n" % (VERSION, nonce.hex().encode())


def read_greeting(line: bytes) -> bytes:
    """Return the nonce from the first line that a server sent.

    Raises:
        ProtocolError: another program or another version of the server answers.
    """
    match = GREETING.fullmatch(line)
    if match is None:
        msg = "the server is not `cwndlab serve`; check host and port"
        raise ProtocolError(msg)
    if int(match[1]) != VERSION:
        msg = (
            f"the server uses protocol version {int(match[1])}, not {VERSION}; update the older "
            "program"
        )
        raise ProtocolError(msg)
    return bytes.fromhex(match[2].decode())


def opening_key(token: str, binding: bytes, server_nonce: bytes) -> bytes:
    """Return the key that signs a client's first line.

    `binding` is the SHA-256 of the server's certificate.
    """
    return hmac.digest(token.encode(), b"cwndlab opening" + binding + server_nonce, "sha256")


def session_key(token: str, binding: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    """Return the key that signs a control connection's lines after the client's first line."""
    content = b"cwndlab session" + binding + server_nonce + client_nonce
    return hmac.digest(token.encode(), content, "sha256")


def data_key(session_key: bytes, ticket: bytes) -> bytes:
    """Return the key that signs the first line of the data connection to which `ticket` belongs."""
    return hmac.digest(session_key, b"cwndlab data" + ticket, "sha256")


def flow_secret(key: bytes, flow: int) -> bytes:
    """Derive the secret from which client and server derive the SFTP credentials of a flow."""
    return hmac.digest(key, b"cwndlab flow %d" % flow, "sha256")


@dataclass(slots=True)
class Signer:
    """Signs and numbers the lines of one side, and checks the lines of the opposite side."""

    key: bytes
    side: bytes
    sent: int = 0
    received: int = 0

    def sign(self, message: Model | dict[str, Any]) -> bytes:
        """Sign a message, and return it as the next line that this side sends."""
        content = message.model_dump(mode="json") if isinstance(message, Model) else message
        body = canonical_json(content).encode()
        line = _mac(self.key, self.side, self.sent, body) + b" " + body + b"\n"
        self.sent += 1
        return line

    def check(self, line: bytes) -> bytes:
        """Check the signature of the opposite side's next line, and return its content.

        Raises:
            ProtocolError: the signature is not valid for this line.
        """
        mac, body = line[:_MAC_DIGITS], line[_MAC_DIGITS + 1 :].rstrip(b"\n")
        other = SERVER if self.side == CLIENT else CLIENT
        if not hmac.compare_digest(mac, _mac(self.key, other, self.received, body)):
            msg = "wrong token; use the same --token file for the server and the client"
            raise ProtocolError(msg)
        self.received += 1
        return body


def read_hello(body: bytes) -> Hello:
    """Parse the first request of a control connection.

    Raises:
        ProtocolError: the line is not a valid request.
    """
    try:
        return Hello.model_validate_json(body)
    except ValidationError as error:
        raise _refused(error) from None


def read_attach(line: bytes) -> Attach:
    """Parse the first line of a data connection, without checking its signature.

    Raises:
        ProtocolError: the line is not a valid request.
    """
    try:
        return Attach.model_validate_json(line[_MAC_DIGITS + 1 :])
    except ValidationError as error:
        raise _refused(error) from None


def read_request(body: bytes) -> AnyRequest:
    """Parse a request that a client sends in a session."""
    try:
        return _REQUEST.validate_json(body)
    except ValidationError as error:
        raise _refused(error) from None


def read_answer(body: bytes) -> dict[str, Any]:
    """Parse an answer that the server sends."""
    try:
        answer = read_json(body)
    except ValueError as error:
        msg = f"invalid answer: {error}"
        raise ProtocolError(msg) from None
    if not isinstance(answer, dict):
        msg = "the answer is not a JSON object"
        raise ProtocolError(msg)
    return answer


def _refused(error: ValidationError) -> ProtocolError:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return ProtocolError(f"invalid request: {place}: {first['msg'].lower()}")


def _mac(key: bytes, side: bytes, number: int, body: bytes) -> bytes:
    content = b"%s %d " % (_LABEL[side], number) + body
    return hmac.digest(key, content, "sha256").hex().encode()


@dataclass(frozen=True, slots=True)
class ProbeDatagram:
    """A datagram that measures the round-trip time; its answer has the same length."""

    session: bytes
    number: int
    sent_ns: int
    received_ns: int = 0
    answered_ns: int = 0
    key: bytes = field(default=b"", repr=False, compare=False)

    def encode(self, side: bytes) -> bytes:
        """Return the probe as a datagram that `side` (client or server) has signed."""
        times = (self.sent_ns, self.received_ns, self.answered_ns)
        body = _PROBE.pack(self.session, self.number, *times)
        return body + hmac.digest(self.key, side + body, "sha256")[:_PROBE_MAC_BYTES]


def read_probe(datagram: bytes, key: bytes, side: bytes) -> ProbeDatagram | None:
    """Parse a datagram; return None unless it is a probe signed by `side` (client or server)."""
    if len(datagram) != PROBE_BYTES:
        return None
    body, mac = datagram[: _PROBE.size], datagram[_PROBE.size :]
    if not hmac.compare_digest(mac, hmac.digest(key, side + body, "sha256")[:_PROBE_MAC_BYTES]):
        return None
    session, number, sent_ns, received_ns, answered_ns = _PROBE.unpack(body)
    return ProbeDatagram(session, number, sent_ns, received_ns, answered_ns, key)
