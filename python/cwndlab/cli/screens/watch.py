"""Draw the screen of `cwndlab watch`: charts of the last minute, loss marks and a flow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from cwndlab.cli.screens.braille import Canvas, round_up
from cwndlab.measure.watch import SPAN_S, Moment, Track, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")
_INTERFACE = len(_COLOURS)
_LABEL_WIDTH = 7
_LEAST_CHART = 2
_TIGHT_ROWS = 30
_LOST, _TIMEOUT = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DIAMOND}"
_DOT = "\N{BLACK CIRCLE}"


def screen(watch: Watch, width: int, height: int) -> Text:
    """Return the screen's content, truncated to the terminal's width and height."""
    tracks = watch.running(3 if height < _TIGHT_ROWS else len(_COLOURS))
    interface = watch.interface()
    # Five lines for the head, marks, times, table head and foot; a row per flow; a title per chart.
    room = height - 5 - max(1, len(tracks)) - 3
    sizes = [max(_LEAST_CHART, (room + extra) // 3) for extra in (2, 1, 0)]
    columns = max(10, width - _LABEL_WIDTH - 2)
    lines = [_head(interface, width)]
    charts: tuple[tuple[str, Callable[[Moment], float | None]], ...] = (
        ("throughput, Mbit/s", lambda moment: moment.mbit_s),
        ("round trip, ms", lambda moment: moment.rtt_ms),
        ("cwnd, packets", lambda moment: moment.cwnd_pkts),
    )
    for number, (title, value) in enumerate(charts):
        drawn, legend = list(enumerate(tracks)), ""
        if number == 0 and interface is not None:
            drawn = [(_INTERFACE, interface), *drawn]
            legend = f"; grey: all traffic on {interface.name}"
        lines += _chart(f"{title}{legend}", drawn, value, watch.now_s, columns, sizes[number])
    lines += [_marks(tracks, watch.now_s, columns), _times(columns)]
    lines += _table(tracks, watch.now_s, width)
    lines.append(Text(f"{_LOST} retransmitted  {_TIMEOUT} timeout  Ctrl-C to stop", style="dim"))
    for line in lines:
        line.truncate(width)
    return Text("\n").join(lines[:height])


def plain_line(watch: Watch) -> str:
    """Return a line: interface rates, and rate, RTT, cwnd and retransmissions of each transfer."""
    interface = watch.interface()
    parts = []
    if interface is not None and interface.moments:
        last = interface.moments[-1]
        parts.append(
            f"{interface.name}: {last.down_mbit_s:.2f} Mbit/s in, {last.up_mbit_s:.2f} out"
        )
    for track in watch.running(len(_COLOURS)):
        last = track.moments[-1]
        facts = [f"{last.mbit_s:.2f} Mbit/s"]
        facts += [] if last.rtt_ms is None else [f"{last.rtt_ms:.1f} ms"]
        facts += [] if last.cwnd_pkts is None else [f"cwnd {last.cwnd_pkts}"]
        lost = sum(moment.lost_pkts for moment in track.moments)
        parts.append(f"{track.name} {track.algorithm} {', '.join(facts)}, retransmitted {lost}")
    return " · ".join(parts)


def _head(interface: Track | None, width: int) -> Text:
    if interface is None or not interface.moments:
        return Text(
            "no statistics of the network interface; `ip link` lists the interfaces", style="dim"
        )
    last = interface.moments[-1]
    dropped = sum(moment.lost_pkts for moment in interface.moments)
    line = Text(f"{interface.name}", style="bold")
    line.append(
        f"  in {last.down_mbit_s:.2f} Mbit/s  out {last.up_mbit_s:.2f} Mbit/s"
        f"  dropped {dropped:,} packets",
        style="not bold",
    )
    span = f"the last {SPAN_S:.0f} s"
    return line.append(f"{span:>{max(0, width - len(line.plain))}}", style="not bold dim")


def _chart(
    title: str,
    drawn: Sequence[tuple[int, Track]],
    value: Callable[[Moment], float | None],
    now_s: float,
    columns: int,
    rows: int,
) -> list[Text]:
    canvas = Canvas(columns, rows)
    seen = [v for _, track in drawn for m in track.moments if (v := value(m)) is not None]
    highest = round_up(max(seen, default=0.0))
    for owner, track in drawn:
        _draw(canvas, owner, track, value, now_s, highest)
    lines = [Text(f"{'':{_LABEL_WIDTH}} {title}", style="dim")]
    for row in range(rows):
        label = f"{highest:g}" if row == 0 else "0" if row == rows - 1 else ""
        line = Text().append(f"{label:>{_LABEL_WIDTH}} ", style="dim")
        for character, owner in zip(canvas.text(row), canvas.owners(row), strict=True):
            line.append(character, style=_style(owner))
        lines.append(line)
    return lines


def _draw(
    canvas: Canvas,
    owner: int,
    track: Track,
    value: Callable[[Moment], float | None],
    now_s: float,
    highest: float,
) -> None:
    previous: tuple[int, int] | None = None
    for moment in track.moments:
        found = value(moment)
        column = _column(moment.at_s, now_s, canvas.columns)
        if found is None or column < 0:
            previous = None
            continue
        level = min(canvas.rows - 1, round(found / highest * (canvas.rows - 1)))
        if previous is None:
            canvas.draw(column, level, level, owner)
        else:
            _join(canvas, previous, (column, level), owner)
        previous = column, level


def _join(canvas: Canvas, start: tuple[int, int], end: tuple[int, int], owner: int) -> None:
    """Draw a continuous line between two dots of the chart."""
    steps = max(1, end[0] - start[0])
    last = start[1]
    for step in range(1, steps + 1):
        level = start[1] + round((end[1] - start[1]) * step / steps)
        canvas.draw(
            start[0] + step if steps > 1 else end[0], min(last, level), max(last, level), owner
        )
        last = level


def _column(at_s: float, now_s: float, columns: int) -> int:
    return columns - 1 - round((now_s - at_s) / SPAN_S * (columns - 1))


def _marks(tracks: Sequence[Track], now_s: float, columns: int) -> Text:
    """Return a line that marks retransmissions with a triangle and timeouts with a diamond."""
    cells: list[tuple[str, int]] = [(" ", -1)] * columns
    for owner, track in enumerate(tracks):
        for moment in track.moments:
            column = _column(moment.at_s, now_s, columns)
            if column < 0 or not (moment.lost_pkts or moment.timeouts):
                continue
            if moment.timeouts or cells[column][0] == " ":
                cells[column] = (_TIMEOUT if moment.timeouts else _LOST, owner)
    line = Text().append(f"{'losses':>{_LABEL_WIDTH}} ", style="dim")
    for character, owner in cells:
        line.append(character, style=_style(owner))
    return line


def _times(columns: int) -> Text:
    left, middle = f"-{SPAN_S:.0f} s", f"-{SPAN_S / 2:.0f} s"
    line = f"{left:<{columns // 2 - 2}}{middle}"
    return Text(f"{'':{_LABEL_WIDTH}} {line:<{columns - 3}}now", style="dim")


def _table(tracks: Sequence[Track], now_s: float, width: int) -> list[Text]:
    name_width = max(12, min(40, width - 62))
    head = (
        f"  {'to or from':<{name_width}} {'algorithm':<10} {'Mbit/s':>9} {'RTT ms':>8} "
        f"{'cwnd':>6} {'retransm.':>10} {'timeouts':>8}"
    )
    lines = [Text(head, style="dim")]
    for owner, track in enumerate(tracks):
        last = track.moments[-1]
        is_now = last.at_s >= now_s - 2 and track.recent_mbit_s(now_s) > 0
        arrow = "\N{UPWARDS ARROW}" if track.is_upward else "\N{DOWNWARDS ARROW}"
        rtt = "-" if last.rtt_ms is None else f"{last.rtt_ms:.1f}"
        cwnd = "-" if last.cwnd_pkts is None else f"{last.cwnd_pkts}"
        rate = f"{arrow} {last.mbit_s:.2f}" if is_now else "ended"
        line = Text(f"{_DOT} ", style=_style(owner))
        line.append(
            f"{track.name:<{name_width}.{name_width}} {track.algorithm:<10.10} {rate:>9} {rtt:>8} "
            f"{cwnd:>6} {sum(m.lost_pkts for m in track.moments):>10} "
            f"{sum(m.timeouts for m in track.moments):>8}",
            style="default",
        )
        lines.append(line)
    if not tracks:
        lines.append(Text("  no transfers yet", style="dim"))
    return lines


def _style(owner: int) -> str:
    if owner < 0:
        return "default"
    return "dim" if owner == _INTERFACE else _COLOURS[owner % len(_COLOURS)]
