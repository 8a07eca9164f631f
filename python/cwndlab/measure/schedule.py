"""Schedule the runs of a study on a real network, by place and by time of day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from cwndlab.schema.live import LivePath

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence

    from cwndlab.study.runs import Run

_SATURDAY = 5
_DAYS_AHEAD = 8


@dataclass(frozen=True, slots=True)
class Period:
    """A daily period on certain weekdays.

    If its end time is before its start time, it spans midnight.
    """

    begin: time
    end: time
    days: str = "all"

    @classmethod
    def of(cls, path: LivePath) -> Period:
        """Return the period that a study names, or the whole day if the study names no period."""
        if path.period is None:
            return cls(time.min, time.max, path.days)
        begin, _, end = path.period.partition("-")
        return cls(time.fromisoformat(begin), time.fromisoformat(end), path.days)

    def day_of(self, now: datetime) -> date | None:
        """Return the day on which the period that contains `now` began.

        Return None if no period contains `now`.
        """
        for day in (now.date(), now.date() - timedelta(days=1)):
            begin, end = self.on(day)
            if self._is_day(day) and begin <= now < end:
                return day
        return None

    def on(self, day: date) -> tuple[datetime, datetime]:
        """Return the start and the end of the period that begins on a given day."""
        begin, end = datetime.combine(day, self.begin), datetime.combine(day, self.end)
        return begin, end if end > begin else end + timedelta(days=1)

    def next_begin(self, now: datetime) -> datetime:
        """Return the next time after `now` at which the period begins."""
        days = (now.date() + timedelta(days=ahead) for ahead in range(_DAYS_AHEAD))
        return next(begin for day in days if self._is_day(day) and (begin := self.on(day)[0]) > now)

    def _is_day(self, day: date) -> bool:
        is_weekend = day.weekday() >= _SATURDAY
        return self.days == "all" or is_weekend == (self.days == "weekend")


def path_of(run: Run) -> LivePath:
    """Return the real network, with place and period, that the scenario of a run describes."""
    path = run.scenario.path
    if not isinstance(path, LivePath):
        msg = "only studies on a real network can be scheduled"
        raise TypeError(msg)
    return path


def in_turn(runs: Iterable[Run]) -> list[Run]:
    """Return all runs, one repetition after another; the algorithms take turns in going first.

    A network changes within minutes. Therefore, each repetition measures the compared algorithms
    (or variants of one algorithm) directly after each other, and their order rotates from
    repetition to repetition.
    """
    cycles: dict[int, list[Run]] = {}
    for run in runs:
        cycles.setdefault(run.repetition, []).append(run)
    ordered = []
    for cycle, members in sorted(cycles.items()):
        groups: dict[tuple[tuple[str, object], ...], list[Run]] = {}
        for run in members:
            groups.setdefault(_without_contestant(run.labels), []).append(run)
        for group in groups.values():
            turn = cycle % len(group)
            ordered += group[turn:] + group[:turn]
    return ordered


def _without_contestant(labels: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple((k, v) for k, v in labels.items() if k not in ("algorithm", "variant"))


@dataclass(frozen=True, slots=True)
class Next:
    """The run that may begin now, or the time at which the next run may begin.

    Both are None if no run is left at this place.
    """

    run: Run | None = None
    at: datetime | None = None


def next_run(
    missing: Sequence[Run], place: str, now: datetime, done_on: Counter[tuple[int, date]]
) -> Next:
    """Return the run that may begin at this place now, or the time of the next run.

    Args:
        missing: runs that are not finished, in order.
        place: name of the place of this computer.
        now: time by the clock of this computer.
        done_on: number of finished runs for each cell (combination of factor levels) and day. A
            run belongs to the day on which its period began.
    """
    waits = []
    for run in missing:
        path = path_of(run)
        if path.place != place:
            continue
        period = Period.of(path)
        day = period.day_of(now)
        is_free = path.at_most is None or day is None or done_on[run.cell, day] < path.at_most
        if day is not None and is_free:
            return Next(run=run)
        waits.append(period.next_begin(now))
    return Next(at=min(waits)) if waits else Next()
