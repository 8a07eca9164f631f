"""Define uses of a network: the applications, and the measures that matter to the user.

A use contains the study keys with which a study runs the application. If throughput and delay do
not measure the quality of the application, the use also defines its own goal. The gain of such a
goal is a natural logarithm, so a difference of 0.03 is 3 %. A run in which no data arrived is not
omitted; the run gets the worst value that is possible for its duration.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.errors import UnknownNameError
from cwndlab.judge.goals import CALL, RPC, STARVED_MBIT_S, VIDEO, WEB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.judge.goals import Goal

STANDSTILL_PRICE = 4 * 2.66
"""Weight of the stall ratio (stall time / playback time) against the logarithm of the bitrate.

The weight follows from the logarithmic quality of experience of Mao, Netravali and Alizadeh, Neural
Adaptive Video Streaming with Pensieve (SIGCOMM 2017). Their measure subtracts 2.66 from a chunk's
quality for each second of stalling. A chunk is 4 s of playback, so 1 s of stalling is a stall ratio
of 1/4, and the weight of the stall ratio is 4 * 2.66.
"""

TRANSFER_WEIGHT = 0.1
"""Weight of the other flows' goodput in the gain of a call: 10 % more goodput increases the gain as
much as 1 % more call quality."""

_LONGEST_STANDSTILL = 1.0  # stall time / playback time: no user keeps watching beyond this
_FRAME_MS = 20.0  # duration of speech in a frame, before it can be sent
_DATAGRAMS = "datagrams"
_OF_CALLS = frozenset({"application", "datagram_delay_p95_ms", "datagram_loss_pct"})


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a network, such as watching video: its application, study keys and measures."""

    name: str
    title: str
    keys: Mapping[str, Any]
    """Keys and values that this use sets in the study: application, direction, duration and
    others."""
    goal: Goal | None
    """Goal by which this use is judged; None if throughput and delay measure its quality."""
    columns: tuple[str, ...]
    """Columns of the table `flows` that measure the quality of this use; the most important column
    comes first."""
    source: str
    """Published source of the sizes, rates and weights of this use."""
    beside: tuple[Mapping[str, Any], ...] = ()
    """Further flows that share the link with the flow under test."""

    def document(self, flow: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the study keys of this use; they define neither the network nor the algorithms.

        The keys in `flow`, such as the start jitter, are added to the flow under test.
        """
        tables = [dict(flow or {}), *map(dict, self.beside)]
        return {**self.keys, **({"flow": tables} if flow or self.beside else {})}


_BULK_COLUMNS = ("goodput_mbit_s", "rtt_p95_ms")
_RPC_APPLICATION = {
    "kind": "request_response",
    "request": "1.5 kB",
    "response": "1.5 kB",
    "think": "100 ms",
}

USES: Mapping[str, Use] = MappingProxyType(
    {
        use.name: use
        for use in (
            Use(
                "bulk",
                "an endless transfer",
                {"application": "bulk"},
                None,
                _BULK_COLUMNS,
                "an unlimited transfer, like that of iperf3",
            ),
            Use(
                "web",
                "web pages",
                {"application": "web", "duration": "60 s", "warm_up": "0 s"},
                WEB,
                ("response_p95_ms", "response_geometric_mean_ms", "responses"),
                "the median page on a phone: HTTP Archive, Web Almanac 2024, chapter Page Weight",
            ),
            Use(
                "video",
                "a video",
                {"application": "video", "duration": "60 s", "warm_up": "0 s"},
                VIDEO,
                ("video_bitrate_mbit_s", "video_rebuffering_pct", "video_startup_ms"),
                "encoding rates from Apple's HLS Authoring Specification; video client from Huang "
                "and others, SIGCOMM 2014; penalty for stalls from Mao and others, SIGCOMM 2017",
            ),
            Use(
                "rpc",
                "remote procedure calls",
                {"application": _RPC_APPLICATION, "duration": "60 s", "warm_up": "0 s"},
                RPC,
                ("response_p99_ms", "response_p95_ms", "response_p50_ms", "responses"),
                "the median size of a remote procedure call: Seemakhupt and others, SOSP 2023; 100 "
                "ms between two calls are assumed",
            ),
            Use(
                "upload",
                "an endless upload",
                {"application": "bulk", "direction": "uplink"},
                None,
                _BULK_COLUMNS,
                "an unlimited transfer from the user to the server, like that of iperf3",
            ),
            Use(
                "call",
                "a voice call during a transfer",
                {},
                CALL,
                ("call_delay_p95_ms", "call_loss_pct", "goodput_mbit_s"),
                "G.711 in frames of 20 ms (RFC 3551 section 4.5.14), rated by the E-model as "
                "simplified by Cole and Rosenbluth, Computer Communication Review 31 (2), 2001",
                ({"application": _DATAGRAMS},),
            ),
        )
    }
)


NOTICED = tuple(
    column
    for column in dict.fromkeys(name for use in USES.values() for name in use.columns)
    if column not in {*_BULK_COLUMNS, "responses", "response_p50_ms"}
)
"""Columns, other than goodput and RTT, whose values users notice; tables keep this order."""


def use_named(name: str) -> Use:
    """Return the use called `name`.

    Raises:
        UnknownNameError: no use has this name.
    """
    if name not in USES:
        raise UnknownNameError(name, USES, "cwndlab advise --help", kind="use")
    return USES[name]


def gains_of_uses(flows: pl.DataFrame) -> pl.DataFrame:
    """Return one column with the gain of each use, and one row for each `run` and `flow`.

    The gain is null for flows that do not belong to the use. The columns `call_delay_p95_ms` and
    `call_loss_pct` state, for a flow that shares the link with a call, the delay and loss of that
    call.
    """
    gains = {
        WEB.gain: (_page_gain(), {"responses", "response_p95_ms", "response_geometric_mean_ms"}),
        RPC.gain: (-_time("response_p99_ms").log(), {"responses", "response_p99_ms"}),
        VIDEO.gain: (_video_gain(), {"application", "video_bitrate_mbit_s"}),
        CALL.gain: (_call_gain(), _OF_CALLS),
        "call_delay_p95_ms": (_of_call(_number("datagram_delay_p95_ms")), _OF_CALLS),
        "call_loss_pct": (_of_call(_number("datagram_loss_pct")), _OF_CALLS),
    }
    columns = set(flows.columns)
    known = {name: gain for name, (gain, needed) in gains.items() if needed <= columns}
    nothing = [pl.lit(None, dtype=pl.Float64).alias(name) for name in gains if name not in known]
    return flows.select(
        "run", "flow", *(gain.alias(name) for name, gain in known.items()), *nothing
    )


def call_rating() -> pl.Expr:
    """Return the E-model's rating R of a call, from 1 to 94.2, computed from delay and loss.

    R = 94.2 - 0.024 d - 0.11 max(d - 177.3, 0) - 30 ln(1 + 15 e), where d is the delay in ms from
    mouth to ear, and e is the fraction of lost packets (Cole and Rosenbluth 2001, for G.711). Above
    80, users are satisfied; below 60, nearly all users are dissatisfied (ITU-T G.107 annex B).
    """
    delay_ms = _number("datagram_delay_p95_ms") + _FRAME_MS
    late = (delay_ms - 177.3).clip(0)
    lost = (1 + 15 * _number("datagram_loss_pct") / 100).log()
    rating = 94.2 - 0.024 * delay_ms - 0.11 * late - 30 * lost
    return rating.fill_null(1.0).clip(1.0)


def _page_gain() -> pl.Expr:
    slowest, usual = _time("response_p95_ms"), _time("response_geometric_mean_ms")
    return -(slowest.log() + usual.log()) / 2


def _time(column: str) -> pl.Expr:
    """Return an expression for a response time, or for the time waited if no response arrived.

    The expression is null for flows that send no requests.
    """
    waited_ms = 1000 * (_number("end_s") - _number("start_s"))
    return pl.when(pl.col("responses").is_not_null()).then(pl.coalesce(_number(column), waited_ms))


def _video_gain() -> pl.Expr:
    share = _number("video_rebuffering_pct") / 100
    standstill = (share / (1 - share)).fill_null(_LONGEST_STANDSTILL).clip(0, _LONGEST_STANDSTILL)
    quality = _log_rate("video_bitrate_mbit_s") - STANDSTILL_PRICE * standstill
    return pl.when(pl.col("application") == "video").then(quality)


def _call_gain() -> pl.Expr:
    """Return the gain of a flow beside a call: the call's quality plus a small term for goodput."""
    return _of_call(call_rating()).log() + TRANSFER_WEIGHT * _log_rate("goodput_mbit_s")


def _of_call(value: pl.Expr) -> pl.Expr:
    """Return, for each flow that shares its run with a call, a value of that call.

    The call's own flow gets null, because a call does not use the compared algorithms.
    """
    is_call = pl.col("application") == _DATAGRAMS
    return pl.when(~is_call).then(pl.when(is_call).then(value).max().over("run"))


def _log_rate(column: str) -> pl.Expr:
    return _number(column).fill_null(0.0).clip(STARVED_MBIT_S).log()


def _number(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64)  # a column without any value has no type
