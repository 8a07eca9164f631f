"""A picture of a link's capacity over time, in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt

from cwndlab.describe import read_link
from cwndlab.errors import LinkError
from cwndlab.quantity import parse_duration
from cwndlab.schema import scenario as si

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from cwndlab.core import Trace

_NS_PER_S = 1e9
_OPPORTUNITY_BYTES = 1504  # Mahimahi's packet with the header of its TUN device
_MS_PER_BIN = 100
_ENDINGS = (".svg", ".pdf", ".png")
_TITLES = {"forward": "data's direction", "reverse": "ACKs' direction"}

Curve = tuple["npt.NDArray[np.float64]", "npt.NDArray[np.float64]"]


def plot_link(spec: str, out: Path, duration: str) -> Path:
    """Draw the capacity of each direction's slowest stage; the path of the picture.

    Raises:
        LinkError: the picture cannot be of that kind, or the link has no rate to draw.
    """
    if out.suffix not in _ENDINGS:
        msg = f"{out}: a picture ends in {', '.join(_ENDINGS)}"
        raise LinkError(msg)
    duration_s = parse_duration(duration) / _NS_PER_S
    _, resolved = read_link(spec)
    curves: dict[str, Curve] = {}
    for name, stages in (("forward", resolved.path.forward), ("reverse", resolved.path.reverse)):
        found = [
            curve
            for stage in stages
            if (curve := _capacity(stage, resolved.traces, duration_s)) is not None
        ]
        if found:
            curves[name] = min(found, key=lambda curve: float(curve[1].mean()))
    if not curves:
        msg = f"{spec}: has no rate in either direction, so there is nothing to draw"
        raise LinkError(msg)
    figure, axes = plt.subplots(
        len(curves), 1, sharex=True, squeeze=False, figsize=(8, 2.6 * len(curves))
    )
    for axis, (name, (times_s, rates_mbit_s)) in zip(axes[:, 0], curves.items(), strict=True):
        axis.step(times_s, rates_mbit_s, where="post", linewidth=1)
        axis.set_ylim(bottom=0)
        axis.set_ylabel("capacity (Mbit/s)")
        axis.set_title(f"{spec}, {_TITLES[name]}", loc="left", fontsize="medium")
        axis.grid(alpha=0.3)
    axes[-1, 0].set_xlabel("time (s)")
    figure.tight_layout()
    figure.savefig(out)
    plt.close(figure)
    return out


def _capacity(stage: si.Stage, traces: Mapping[str, Trace], duration_s: float) -> Curve | None:
    """Times and rates, each of which holds until the next time."""
    match stage.rate:
        case si.FixedRate(bits_per_sec=rate) | si.TokenBucketRate(bits_per_sec=rate):
            steps = [
                (step.at_ns / _NS_PER_S, step.bits_per_sec)
                for step in stage.schedule
                if step.bits_per_sec is not None
            ]
            changes = [(0.0, rate), *sorted(steps), (duration_s, 0)]
            times_s = [min(at_s, duration_s) for at_s, _ in changes]
            rates = [rate for _, rate in changes]
            rates[-1] = rates[-2]
            return np.array(times_s), np.array(rates) / 1e6
        case si.MahimahiRate(path=name):
            return _opportunities(traces[name].content, duration_s)
        case si.LogRate(path=name):
            return _log(traces[name].content, duration_s)
        case _:
            return None


def _opportunities(content: bytes, duration_s: float) -> Curve:
    """Delivery opportunities of a trace that begins anew at its end, in bins of 100 ms."""
    stamps_ms = np.array(content.split(), dtype=np.int64)
    bins = max(int(duration_s * 1000) // _MS_PER_BIN, 1)
    laps = int(duration_s * 1000) // int(stamps_ms[-1]) + 1
    all_ms = (stamps_ms[None, :] + stamps_ms[-1] * np.arange(laps)[:, None]).ravel()
    counts = np.bincount(all_ms // _MS_PER_BIN, minlength=bins)[:bins]
    rates_mbit_s = counts * 8 * _OPPORTUNITY_BYTES / (_MS_PER_BIN * 1000)
    return np.arange(bins) * _MS_PER_BIN / 1000, rates_mbit_s


def _log(content: bytes, duration_s: float) -> Curve:
    """Rows of time and rate, up to the end of the log or of what is drawn."""
    rows = []
    for line in content.decode().splitlines():
        fields = line.split(",")
        try:
            rows.append((float(fields[0]), float(fields[1])))
        except (ValueError, IndexError):
            continue  # a header or a comment
    drawn = [row for row in rows if row[0] <= duration_s]
    times_s, rates_mbit_s = np.array(drawn).T
    return times_s - times_s[0], rates_mbit_s
