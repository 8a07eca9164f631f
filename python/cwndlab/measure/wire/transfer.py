"""Represent the client's and the server's records of a transfer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cwndlab.measure.wire.probes import Clock, ProbeResult


@dataclass(slots=True)
class Transfer:
    """Records of all flows of a run, from the client (`near`) and the server (`far`)."""

    near: dict[int, dict[str, Any]]
    far: dict[int, dict[str, Any]]
    probes: list[ProbeResult]
    probes_sent: int
    clock: Clock | None
    began_ns: int
    server: dict[str, Any]
    is_through_proxy: bool = False
    is_cut_short: bool = False
    """True if the caller's function `ends_early` ended the transfer before its planned duration."""
