"""Figures show what the data say; equal input gives equal files."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import cwndlab as cw
from cwndlab import figures
from cwndlab.api.plots import Plottable as SampledResults
from cwndlab.api.plots import Plotter
from cwndlab.figures.labels import LONGEST_NAME, Box, free_places, short_names, spread
from cwndlab.figures.standings import plot_throughput_delay
from cwndlab.figures.style import style_of
from cwndlab.judge.comparison import compare
from cwndlab.report import write_report


def representative(results: SampledResults) -> tuple[pl.DataFrame, pl.DataFrame]:
    comparison = compare(results)[0]
    runs = [comparison.representative_run(name) for name in comparison.contestants]
    chosen = pl.col("run").is_in([run for run in runs if run is not None])
    return results.samples().filter(chosen), results.events().filter(chosen)


def test_every_axis_has_a_unit(results: SampledResults) -> None:
    samples, events = representative(results)
    figure = figures.over_time_figure(samples, events=events)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == [
        "Throughput (Mbit/s)", "RTT (ms)", "Congestion window (packets)", "Queue (packets)"
    ]  # fmt: skip
    assert figure.axes[-1].get_xlabel().startswith("Time (s)")


def test_lines_have_the_algorithms_colours_and_names_beside_them(results: SampledResults) -> None:
    samples, _ = representative(results)
    figure, axes = figures.new_figure()
    figures.plot_over_time(axes[0], samples, "cwnd_pkts")
    colours = {line.get_label(): line.get_color() for line in axes[0].get_lines()}
    assert colours["cubic"] == style_of("cubic").colour
    assert {text.get_text() for text in axes[0].texts} == {"cubic", "bbr", "westwood", "vegas"}
    assert isinstance(figure, Figure)


def test_losses_are_marked_where_they_happened(results: SampledResults) -> None:
    samples, events = representative(results)
    _, axes = figures.new_figure()
    figures.plot_over_time(axes[0], samples, "rtt_ms", events=events)
    strokes = [line for line in axes[0].get_lines() if line.get_marker() == "|"]
    drawn = sorted(float(x) for line in strokes for x in np.asarray(line.get_xdata()))
    assert drawn == sorted(events["t_s"].to_list())
    assert len(drawn) > 10


@pytest.mark.filterwarnings("error")
def test_events_without_a_loss_leave_the_layout_as_it_is(results: SampledResults) -> None:
    samples = results.samples()
    events = results.events().with_columns(event=pl.lit("established"))
    bare = figures.over_time_figure(samples)
    marked = figures.over_time_figure(samples, events=events)
    for figure in (bare, marked):
        figure.canvas.draw()
    heights = [[axes.get_window_extent().height for axes in each.axes] for each in (bare, marked)]
    assert heights[0] == pytest.approx(heights[1], rel=0.05)


@pytest.mark.parametrize(
    ("event", "is_loss"),
    [
        ("recovery", True),
        ("timeout", True),
        ("loss", False),  # the state after a timeout
        ("open", False),
        ("tail_loss_probe", False),
        ("queue_overflow", False),
        ("undo", False),
    ],
)
def test_only_losses_count_as_losses(event: str, is_loss: bool) -> None:  # noqa: FBT001
    assert figures.is_loss(event) is is_loss


def test_means_are_crosses_in_box_plots_and_few_values_get_no_box(results: SampledResults) -> None:
    comparison = compare(results)[0]
    values = {name: comparison.finite(name, "goodput_mbit_s") for name in comparison.contestants}
    _, axes = figures.new_figure()
    figures.plot_box(axes[0], values, "goodput_mbit_s")
    crosses = [line for line in axes[0].get_lines() if line.get_marker() == "x"]
    means = sorted(float(np.asarray(line.get_ydata())[0]) for line in crosses)
    assert means == pytest.approx(sorted(float(own.mean()) for own in values.values()))
    _, few = figures.new_figure()
    figures.plot_box(few[0], {"cubic": [1.0, 2.0, 3.0]}, "goodput_mbit_s")
    assert not few[0].patches


def test_bars_reach_the_interval(results: SampledResults) -> None:
    comparison = compare(results)[0]
    _, axes = figures.new_figure()
    figures.plot_bars(axes[0], comparison, "goodput_mbit_s")
    heights = [patch.get_height() for patch in axes[0].patches]  # type: ignore[attr-defined]
    expected = [comparison.finite(n, "goodput_mbit_s").mean() for n in comparison.contestants]
    assert heights == pytest.approx(expected)
    assert axes[0].get_ylim()[0] == 0


def test_small_differences_are_not_enlarged_in_throughput_against_delay(
    results: SampledResults,
) -> None:
    _, axes = figures.new_figure()
    plot_throughput_delay(axes[0], compare(results)[0])
    low, high = axes[0].get_ylim()
    assert (high - low) / high >= 0.2  # so that 5 % is at most a quarter of the height
    assert any("within 5 % of the best" in text.get_text() for text in axes[0].texts)


@pytest.mark.filterwarnings("error")
def test_a_mark_beyond_the_data_is_inside_the_axes(results: SampledResults, tmp_path: Path) -> None:
    samples, _ = representative(results)
    most = samples["inflight_pkts"].to_numpy().max()
    figure = figures.operating_point_figure(samples, bdp_pkts=9 * most, queue_pkts=90 * most)
    assert all(panel.get_xlim()[1] > 99 * most for panel in figure.axes)
    figures.save_figure(figure, tmp_path, "far", ("svg",))
    assert all(panel.get_position().height > 0.2 for panel in figure.axes)


def test_operating_point_marks_bdp_and_queue(results: SampledResults) -> None:
    samples, _ = representative(results)
    figure = figures.operating_point_figure(samples, bdp_pkts=107, queue_pkts=213)
    verticals = [
        float(np.asarray(line.get_xdata())[0])
        for line in figure.axes[0].get_lines()
        if len(np.asarray(line.get_xdata())) == 2
    ]
    assert verticals == [107, 320]
    assert {text.get_text() for text in figure.axes[0].texts} == {"BDP", "BDP + queue"}


def test_zooms_show_their_stretch_and_the_papers_label() -> None:
    times = np.linspace(0, 50, 5001)
    lines = {"cubic": (times, 40 + 10 * np.sin(times)), "reno": (times, np.full(5001, 30.0))}
    figure = figures.overlay_figure(
        lines, zooms=[figures.Zoom("Start", 0, 2), figures.Zoom("Period", 10, 20)],
        paper_label="kbytes (as the paper labels it)",
    )  # fmt: skip
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 50), (0, 2), (10, 20)]
    twins = [child for axes in figure.axes for child in axes.child_axes]
    assert {twin.get_ylabel() for twin in twins} == {"kbytes (as the paper labels it)"}


@pytest.mark.parametrize("extension", ["svg", "pdf", "png"])
def test_equal_figures_are_equal_files(
    extension: str, results: SampledResults, tmp_path: Path
) -> None:
    samples, events = representative(results)
    written = []
    for folder in ("one", "two"):
        figure = figures.window_figure(samples.sort("run", "t_s"), events=events.sort("t_s"))
        written += figures.save_figure(figure, tmp_path / folder, "window", [extension])
    first, second = (path.read_bytes() for path in written)
    assert first == second
    assert len(first) > 5000


def test_unknown_formats_are_named(tmp_path: Path) -> None:
    figure, _ = figures.new_figure()
    with pytest.raises(ValueError, match='"gif"; formats are svg, pdf, png'):
        figures.save_figure(figure, tmp_path, "x", ["gif"])


@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=2000),
    st.integers(20, 300),
)
def test_decimation_keeps_extremes_and_order(values: list[float], most: int) -> None:
    times = np.arange(len(values), dtype=np.float64)
    kept_times, kept = figures.decimate(times, values, most)
    assert len(kept) <= max(most, 4) + 4
    assert (np.diff(kept_times) > 0).all()
    assert kept.min() == min(values)
    assert kept.max() == max(values)
    assert (kept_times[0], kept_times[-1]) == (times[0], times[-1])


def test_decimation_keeps_gaps() -> None:
    values = np.where(np.arange(10_000) < 4000, np.nan, 7.0)
    times, kept = figures.decimate(np.arange(10_000), values, 200)
    assert times[np.isfinite(kept)][0] == 4000


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9))
def test_labels_are_moved_apart_and_stay_inside(places: list[float]) -> None:
    moved = spread(places, 10.0, 0.0, 100.0)
    ordered = sorted(moved)
    assert all(b - a >= 10 - 1e-6 for a, b in itertools.pairwise(ordered))
    assert min(moved) >= -1e-6
    assert max(moved) <= 100 + 1e-6
    for at, place in enumerate(places):
        for other, elsewhere in enumerate(places):
            if place < elsewhere:
                assert moved[at] < moved[other]


def test_labels_that_do_not_touch_stay_where_they_are() -> None:
    assert spread([10.0, 50.0, 90.0], 10.0, 0.0, 100.0) == [10.0, 50.0, 90.0]


def test_plotter_draws_in_a_notebook_and_says_what_it_lacks(results: SampledResults) -> None:
    plot = Plotter(results)
    axes = plot.cwnd(algorithm="cubic")
    assert next(line.get_label() for line in axes.get_lines()) == "cubic"
    assert plot.throughput_delay().get_ylabel() == "Goodput (Mbit/s)"
    assert plot.box("rtt_mean_ms").get_ylabel() == "RTT, mean (ms)"
    assert len(plot.timeline().axes) == 4
    with pytest.raises(ValueError, match='no factor "algo"'):
        plot.cwnd(algo="cubic")
    with pytest.raises(ValueError, match="no run has"):
        plot.cwnd(algorithm="dctcp")


def test_plotter_asks_which_setting_is_meant(two_flows_two_rates: SampledResults) -> None:
    plot = Plotter(two_flows_two_rates)
    with pytest.raises(ValueError, match="select one: rate 8 Mbit/s; rate 32"):
        plot.cwnd()
    axes = plot.cwnd(rate="8 Mbit/s", algorithm="reno")
    assert len([line for line in axes.get_lines() if line.get_marker() != "|"]) == 2


@pytest.mark.filterwarnings("error")
def test_every_name_of_25_algorithms_is_readable(tmp_path: Path) -> None:
    names = [f"algorithm-{number}" for number in range(25)]
    samples = pl.DataFrame(
        {
            "algorithm": [name for name in names for _ in range(9)],
            "t_s": [0.1 * n for _ in names for n in range(9)],
            "throughput_mbit_s": [5.0 for _ in names for _ in range(9)],
            "rtt_ms": [50.0 + n for _ in names for n in range(9)],
            "inflight_pkts": [10.0 + n for _ in names for n in range(9)],
        }
    )
    figure = figures.over_time_figure(samples)
    figures.save_figure(figure, tmp_path, "over-time", ("svg",))
    for axes in figure.axes:
        heights = sorted(text.xy[1] for text in axes.texts if isinstance(text, Annotation))
        assert len(heights) == 25
        assert heights[0] > -0.02
        assert heights[-1] < 1.02
    figure = figures.operating_point_figure(samples)
    figures.save_figure(figure, tmp_path, "operating-point", ("svg",))
    assert all(axes.get_window_extent().height > 100 for axes in figure.axes)


def test_names_of_points_cover_neither_each_other_nor_points() -> None:
    room = Box(0, 0, 400, 260)
    heap = [Box(190 + 1.5 * n, 200, 8, 8) for n in range(12)]
    markers = [*heap, *(Box(20 + 25 * n, 60 + n, 8, 8) for n in range(13))]
    places = free_places(markers, [45.0] * len(markers), room)
    for n, place in enumerate(places):
        assert room.holds(place)
        assert not any(place.meets(other) for other in places[:n])
        assert not any(place.meets(marker) for marker in markers if marker is not markers[n])


def test_a_name_with_room_stands_at_the_upper_right_of_its_point() -> None:
    marker = Box(100, 100, 8, 8)
    (place,) = free_places([marker], [30.0], Box(0, 0, 400, 260))
    assert 0 < place.x - marker.x - marker.width < 10
    assert 0 < place.y - marker.y < 10
    (beyond,) = free_places([marker], [30.0], Box(0, 0, 10, 10))  # no place is free
    assert beyond == place


def test_long_names_keep_their_ends_and_stay_distinct() -> None:
    names = ["cubic", "x" * 60, "x" * 30 + "y" * 10 + "x" * 30, "x" * 60 + "z"]
    short = short_names([*names, names[1]])
    assert short["cubic"] == "cubic"
    assert all(len(text) <= LONGEST_NAME + len(" (2)") for text in short.values())
    assert len(set(short.values())) == len(names)
    assert short[names[1]].startswith("xxx")
    assert short[names[3]].endswith("xz")


def test_figures_of_variants_with_long_names_have_room_for_their_panels(tmp_path: Path) -> None:
    """Matplotlib warns if labels leave no room for the panels."""
    end = "with a name that explains each of its settings, and so has a hundred characters"
    variants = [
        {"name": f"{name.upper()} {end}", "algorithm": name} for name in ("cubic", "bbr", "vegas")
    ]
    study = cw.Study(
        link="lossy", duration="10 s", repetitions=3, factors={"variant": variants}, id="long"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(study.run(tmp_path / "results"), tmp_path / "report")
