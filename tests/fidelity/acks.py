"""The window ACK by ACK: ours beside the reference's per-ACK trace."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

AGREEMENT_PERCENT = 99.0
INFINITE_SSTHRESH = 2147483647


@dataclass(frozen=True)
class Ack:
    """The state in which an ACK found the sender."""

    t_s: float
    snd_una: int
    snd_nxt: int
    cwnd: int
    ssthresh: int
    snd_wnd: int
    srtt_us: int

    def line(self) -> str:
        """One line of a listing."""
        ssthresh = "inf" if self.ssthresh == INFINITE_SSTHRESH else str(self.ssthresh)
        return (
            f"{self.t_s:10.6f} {self.snd_una:9} {self.snd_nxt:9} {self.cwnd:5} {ssthresh:>5} "
            f"{self.snd_wnd:8} {self.srtt_us:7}"
        )


HEADER = "       t_s   snd_una   snd_nxt  cwnd  ssth  snd_wnd srtt_us"


@dataclass(frozen=True)
class Reference:
    """A reference trace: all its ACKs, and how many of them are before each loss."""

    acks: list[Ack]
    losses: list[int]


def read_reference(path: Path) -> Reference:
    """Read a per-ACK trace. A loss is a retransmission after which ssthresh is another."""
    acks: list[Ack] = []
    losses: list[int] = []
    retransmitted = False
    ssthresh_of_loss: int | None = None
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            if row["event"] != "ack":
                retransmitted = True
                continue
            ack = Ack(
                float(row["t_s"]),
                int(row["snd_una_rel"]),
                int(row["snd_nxt_rel"]),
                int(row["snd_cwnd"]),
                int(row["ssthresh"]),
                int(row["snd_wnd"]),
                int(row["srtt_us"]),
            )
            if retransmitted and ack.ssthresh != ssthresh_of_loss:
                losses.append(len(acks))
                ssthresh_of_loss = ack.ssthresh
            retransmitted = False
            acks.append(ack)
    return Reference(acks, losses)


def ours(result: dict[str, Any], flow: int = 0) -> list[Ack]:
    """The ACKs of a run."""
    columns = result["acks"]
    chosen = columns["flow"] == flow
    names = ("t_s", "snd_una", "snd_nxt", "cwnd_pkts", "ssthresh_pkts", "snd_wnd_bytes", "srtt_ms")
    rows = zip(*(columns[name][chosen].tolist() for name in names), strict=True)
    return [
        Ack(
            t_s,
            snd_una,
            snd_nxt,
            cwnd,
            INFINITE_SSTHRESH if ssthresh != ssthresh else int(ssthresh),  # noqa: PLR0124  NaN
            snd_wnd,
            0 if srtt_ms != srtt_ms else round(srtt_ms * 1000),  # noqa: PLR0124  NaN
        )
        for t_s, snd_una, snd_nxt, cwnd, ssthresh, snd_wnd, srtt_ms in rows
    ]


@dataclass(frozen=True)
class Comparison:
    """Two traces up to the reference's second loss."""

    compared: int
    equal: int
    first_difference: int | None

    @property
    def percent(self) -> float:
        """How many ACKs found the same window."""
        return 100 * self.equal / self.compared if self.compared else 0.0


def compare(reference: Reference, own: list[Ack]) -> Comparison:
    """Compare ACK by ACK, where both acknowledge the same and found the same sent.

    An ACK of the reference is compared with the one of ours that found the same `snd_una`, and
    among those (duplicate ACKs) with the one of the same rank, so that one ACK more or less does
    not shift all that follow.
    """
    end = reference.losses[1] if len(reference.losses) > 1 else len(reference.acks)
    by_key = dict(_ranked(own))
    equal = 0
    first = None
    for index, (key, ack) in enumerate(_ranked(reference.acks[:end])):
        twin = by_key.get(key)
        if twin is not None and twin.cwnd == ack.cwnd:
            equal += 1
        elif first is None:
            first = index
    return Comparison(end, equal, first)


def _ranked(acks: list[Ack]) -> list[tuple[tuple[int, int], Ack]]:
    ranked = []
    rank = 0
    for index, ack in enumerate(acks):
        rank = rank + 1 if index and acks[index - 1].snd_una == ack.snd_una else 0
        ranked.append(((ack.snd_una, rank), ack))
    return ranked


def side_by_side(reference: Reference, own: list[Ack], first: int, count: int) -> str:
    """A listing of both traces from one ACK on; a star where the windows differ."""
    lines = [f"{'ACK':>6} | {'Linux':<{len(HEADER)}} | ours", f"{'':6} | {HEADER} | {HEADER}"]
    for index in range(max(first, 0), first + count):
        left = reference.acks[index] if index < len(reference.acks) else None
        right = own[index] if index < len(own) else None
        if left is None and right is None:
            break
        differs = left is None or right is None or left.cwnd != right.cwnd
        lines.append(
            f"{index:6} | {left.line() if left else '':<{len(HEADER)}} | "
            f"{right.line() if right else ''}{' *' if differs else ''}"
        )
    return "\n".join(lines)
