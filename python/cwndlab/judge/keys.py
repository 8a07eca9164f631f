"""Find the keys of a network description whose values are uncertain, and their ranges.

A preset can define ranges for its assumed values. If a link has no preset with ranges, its
ranges are those in `data/ranges.toml`. For all links, this file also contains ranges for the
duration of a run, for TCP stacks and for queueing disciplines of the hosts.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from cwndlab.errors import LinkError, UnknownNameError
from cwndlab.judge.figures import Figures, Unit, read_number
from cwndlab.resolve import resolve_link
from cwndlab.resolve.path import expand_link
from cwndlab.resolve.presets import load_preset
from cwndlab.schema.base import Model
from cwndlab.schema.problems import FieldError, field_errors
from cwndlab.schema.ranges import Basis, Choice, Range
from cwndlab.text.toml import TomlSource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from cwndlab.schema.link import Link
    from cwndlab.schema.path import PathPart

_FILE = Path(__file__).parents[1] / "data" / "ranges.toml"
_ALSO_GIVEN: Mapping[str, tuple[str, ...]] = {
    "core_delay": ("link.server",),
    "wire_delay": ("link.server",),
    "coverage": ("link.cell.user.downlink", "link.cell.user.uplink"),
    "speed": ("link.cell.user.fading.doppler",),
}
"""Maps a key of a link to the paths of the keys whose values it determines."""
_DIGITS = 3  # significant digits of a drawn value
_NO_RANGES_OF_ITS_OWN = ("name", "preset", "period")


class Relative(Basis):
    """A range whose bounds are given as multiples of the value that the link defines."""

    low_times: float
    high_times: float


class RangesFile(Model):
    """Content of `data/ranges.toml`: ranges of uncertain values.

    `any_link` is used for links whose preset defines no ranges, `ends` for hosts and run duration.
    """

    any_link: dict[str, Range | Relative]
    ends: dict[str, Range]


@dataclass(frozen=True, slots=True)
class Target:
    """A study key that changes with an uncertain value, and its present value in the link."""

    path: str
    unit: Unit
    count: int | None = None  # in the smallest unit; None if the link has no value here


@dataclass(frozen=True, slots=True)
class Key:
    """An uncertain value: a number from `low` to `high` in `unit`, or one of several choices."""

    name: str
    basis: str
    """The source of the range, or the word "invented" and a reason if there is no source."""
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    is_log: bool = False
    is_whole: bool = False
    choices: tuple[Choice, ...] = ()
    targets: tuple[Target, ...] = ()

    def value_at(self, share: float) -> float | str:
        """Return the value at a fraction (0 to 1) of the range, on its linear or log scale."""
        if self.choices:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)].name
        if self.is_whole and not self.is_log:
            return min(float(int(self.low + share * (self.high - self.low + 1))), self.high)
        if self.is_log:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        value = float(f"{value:.{_DIGITS}g}")
        return float(round(value)) if self.is_whole else value

    def values(self, value: float | str) -> dict[str, Any]:
        """Return the study keys that set this uncertain value to `value`, and each key's value."""
        if isinstance(value, str):
            return dict(next(choice.set for choice in self.choices if choice.name == value))
        first = self.targets[0]
        count = round(value * first.unit.smallest)
        return {first.path: first.unit.text(count)} | {
            target.path: target.unit.text(self._along(target, count, first.count))
            for target in self.targets[1:]
        }

    def _along(self, target: Target, count: int, usual: int | None) -> int:
        """Return the new value of `target` after the first target has changed to `count`.

        The targets are study keys that change together. `usual` is the value of the first target in
        the link. If the scale of the range is logarithmic, the ratio of the two targets stays as it
        is in the link. If the scale is linear, their difference stays as it is in the link. If the
        link lacks one of the two values, or `usual` is 0, the result is `count`.
        """
        if not usual or target.count is None:
            return count
        if self.is_log:
            return max(1, round(target.count * count / usual))
        return target.count + count - usual


def keys_of(
    link: Link, folder: Path, given: Collection[str] = ()
) -> tuple[tuple[Key, ...], Figures]:
    """Return the uncertain keys of a study of a link, and all numbers in the link's description.

    A key is uncertain if its value is only assumed. Some of the uncertain keys describe the hosts
    or the run instead of the link.

    Args:
        link: the link in the form used in study files. If the link itself sets the value of a key,
            this value is known, not assumed. There is one exception: without a preset that defines
            ranges, queue sizes and loss rates count as assumed (see `_keys_of_any`).
        folder: folder to which relative file paths refer.
        given: further study keys (paths) whose values are known, such as `duration` or `stack`.

    Raises:
        FieldError: the preset does not exist, or its keys contradict the keys of the link.
        LinkError: a range of the preset is not valid; the message names the preset and the range.
    """
    try:
        preset = load_preset(link.preset, folder) if link.preset else None
    except (LinkError, UnknownNameError) as error:
        raise FieldError(("link", "preset"), str(error)) from None
    figures = Figures(*expand_link(link, folder))
    common = _read_file()
    known = {*given, *_paths_given(link)}
    found: list[Key] = []
    if preset is not None and preset.ranges:
        for name, span in preset.ranges.items():
            if not any(_overlap(path, other) for path in span.all_paths for other in known):
                found.append(key_of(name, span, figures, link.preset or ""))
    else:
        path = resolve_link(link, folder).path
        found += _keys_of_any(common.any_link, figures, path, known, given)
    for name, span in common.ends.items():
        if not any(_overlap(path, other) for path in span.all_paths for other in known):
            found.append(key_of(name, span, figures, _FILE.name))
    return tuple(found), figures


def _paths_given(link: Link) -> Iterator[str]:
    """Yield the paths of all keys that a link sets, directly or by a short key such as `speed`."""
    for path in _leaves(link.table, "link"):
        yield path
        yield from _ALSO_GIVEN.get(path.rpartition(".")[2], ())


def _leaves(value: object, path: str) -> Iterator[str]:
    names = value.keys() if isinstance(value, dict) else ()
    for name in sorted(names):
        if name not in _NO_RANGES_OF_ITS_OWN:
            yield from _leaves(value[name], f"{path}.{name}")  # type: ignore[index]  # as above
    if not names and path != "link":
        yield path


def _overlap(one: str, other: str) -> bool:
    """Return whether two paths name the same key, or one names a table that contains the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def key_of(name: str, span: Range, figures: Figures, place: str) -> Key:
    """Return the uncertain key that a range describes.

    `place` is the preset or file of the range, for error messages.

    Raises:
        LinkError: the range has neither choices nor two bounds, or its bounds are not two numbers
            in ascending order with the same unit.
    """
    if span.choices:
        return Key(name, span.basis, choices=span.choices)
    if span.low is None or span.high is None:
        msg = f"{place}: ranges.{name} needs either `choices`, or both `low` and `high`"
        raise LinkError(msg)
    try:
        (low, unit), (high, same) = read_number(span.low), read_number(span.high)
    except ValueError as error:
        msg = f"{place}: ranges.{name}: {error}"
        raise LinkError(msg) from None
    if unit != same or not low < high or (span.scale == "log" and low <= 0):
        order = "0 < low < high" if span.scale == "log" else "low < high"
        msg = f"{place}: ranges.{name}: give `low` and `high` in the same unit, with {order}"
        raise LinkError(msg)
    return Key(
        name,
        span.basis,
        unit=unit.name or span.unit,
        low=low,
        high=high,
        is_log=span.scale == "log",
        is_whole=not unit.name or unit.name == "packets",
        targets=tuple(Target(path, unit, figures.count(path)) for path in span.paths),
    )


def _keys_of_any(
    common: Mapping[str, Range | Relative],
    figures: Figures,
    path: PathPart,
    known: set[str],
    given: Collection[str],
) -> Iterator[Key]:
    """Yield ranges of delay, queues and loss for a link whose preset defines no ranges.

    The delay has no range if its key is in `known`, which contains the keys that the link sets. A
    queue size or a loss rate has no range if its key is in `given`, which does not contain these
    keys. A queue size or a loss rate that the link sets is therefore treated as an estimate.
    """
    for name, span in common.items():
        if isinstance(span, Range):
            if not any(_overlap(one, other) for one in span.paths for other in known):
                yield key_of(name, span, figures, _FILE.name)
            continue
        is_queue = name == "queue"
        targets = tuple(_queues(figures, path) if is_queue else _losses(figures))
        is_given = any(_overlap(each.path, other) for each in targets for other in given)
        if targets and not is_given:
            yield _relative(name, span, targets)


def _relative(name: str, span: Relative, targets: tuple[Target, ...]) -> Key:
    first = targets[0]
    usual = (first.count or 0) / first.unit.smallest
    is_whole = first.unit.name in ("", "packets")
    low, high = span.low_times * usual, span.high_times * usual
    return Key(
        name,
        span.basis,
        unit=first.unit.name or "packets",
        low=max(1.0, float(round(low))) if is_whole else low,
        high=max(2.0, float(round(high))) if is_whole else high,
        is_log=True,
        is_whole=is_whole,
        targets=targets,
    )


def _queues(figures: Figures, path: PathPart) -> Iterator[Target]:
    """Yield, for each queue of the link, the study key that sets its size, and the size.

    Queues of a wired uplink are omitted. A queue of a wired downlink is omitted if it is not
    drop-tail and the link does not set its size.
    """
    if path.kind in ("wire", "chain"):
        for where, stage in _forward_wires(figures, path):
            is_default = figures.value(f"{where}.queue") is None
            is_drop_tail = stage.queue.kind == "drop_tail"
            if is_default and not is_drop_tail:
                continue  # the queueing discipline determines this queue, not its limit
            packets, size_bytes = stage.queue.packets, stage.queue.bytes
            if packets:
                yield Target(f"{where}.queue", Unit.named("packets"), packets)
            elif size_bytes:
                yield Target(f"{where}.queue", Unit.named("kB"), size_bytes)
    elif figures.medium is not None:
        ways = ("downlink.", "uplink.") if figures.medium == "cell" else ("",)
        for way, queue in itertools.product(ways, ("queue", "queue_packets")):
            where = f"link.{figures.medium}.{way}{queue}"
            if count := figures.count(where):
                yield Target(where, Unit.named("kB" if queue == "queue" else ""), count)


def _forward_wires(figures: Figures, path: PathPart) -> Iterator[tuple[str, PathPart]]:
    """Yield each wired link of the downlink, with the path of its keys in the study."""
    if path.kind == "wire":
        yield from zip(_wires(figures), path.forward, strict=True)
        return
    stages = figures.table.get("stage") or ()
    wheres = [f"link.stage.{n}" for n in range(len(stages))] or ["link.wire"]
    for where, part in zip(wheres, path.links, strict=False):
        if part.kind == "wire":
            yield where, part.forward[0]


def _losses(figures: Figures) -> Iterator[Target]:
    for path in _wires(figures):
        if count := figures.count(f"{path}.loss"):
            yield Target(f"{path}.loss", Unit.named("%"), count)


def _wires(figures: Figures) -> list[str]:
    if figures.medium is not None:
        return []
    stages = figures.table.get("stage") or ()
    return [f"link.stage.{n}" for n in range(len(stages))] or ["link"]


@functools.cache
def _read_file() -> RangesFile:
    source = TomlSource.read(_FILE)
    try:
        return RangesFile.model_validate(source.document)
    except ValidationError as error:
        problems = field_errors(error, RangesFile, source.document)
        raise LinkError("\n".join(source.problem(p.key, p.message) for p in problems)) from None
