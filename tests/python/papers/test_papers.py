"""Papers: phases found in windows with known phases; computed readings and causes."""

import itertools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab import core, papers, report
from cwndlab.errors import CwndlabError, UnknownNameError
from cwndlab.papers import paper_studies
from cwndlab.papers.facts import PaperNumber, parse_paper
from cwndlab.papers.reading import WindowSeries
from cwndlab.report.sections.paper import (
    SettingChange,
    SettingEffect,
    changes,
    finding,
    paper_sections,
    readings,
)
from cwndlab.text.toml import TomlSource

Floats = npt.NDArray[np.float64]


def reno(
    peak: float, period_s: float, *, first: float = 100.0, until_s: float = 50.0
) -> tuple[Floats, Floats]:
    """Return a window: slow start to `first` at 1.2 s, a cut at 1.3 s, then a saw-tooth."""
    times = np.round(np.arange(1, int(until_s * 100)) * 0.01, 2)
    phase = ((times - 1.3) % period_s) / period_s
    windows = np.where(times < 1.3, np.minimum(first, first * times / 1.2), peak / 2 * (1 + phase))
    return times, np.floor(windows)


def inflating(peak: float, period_s: float) -> tuple[Floats, Floats]:
    """Return a window with Reno's recovery: half, inflated by duplicate ACKs, half again."""
    times = np.round(np.arange(1, 4000) * 0.01, 2)
    phase = times % period_s
    windows = peak / 2 * (1 + (phase - 0.25) / (period_s - 0.25))
    is_recovery = (phase < 0.25) & (times > period_s)
    windows = np.where(is_recovery, peak / 2 + peak * phase / 0.25, windows)
    return times, windows


def test_saw_tooth_has_its_peaks_floors_and_period() -> None:
    episodes = papers.find_episodes(*reno(53, 13.9))
    starts = [episode.start_s for episode in episodes]
    assert starts == pytest.approx([1.3, 15.2, 29.1, 43.0], abs=0.011)
    assert episodes[0].peak_pkts == 100
    assert episodes[0].peak_s == pytest.approx(1.2, abs=0.02)
    regular = papers.sawtooth(episodes, after_s=2)
    assert regular is not None
    assert regular.period_s == pytest.approx(13.9, abs=0.01)
    assert regular.variation < 0.01
    assert regular.peak_pkts == pytest.approx(52.5, abs=0.5)
    assert regular.floor_pkts == pytest.approx(26)
    assert regular.inflated_pkts is None


def test_inflation_belongs_to_the_recovery_and_is_no_peak() -> None:
    episodes = papers.find_episodes(*inflating(54, 5.4))
    assert len(episodes) == 7
    for episode in episodes:
        assert episode.peak_pkts == pytest.approx(54, abs=0.5)
        assert episode.floor_pkts == pytest.approx(27, abs=0.5)
        assert episode.inflated_pkts == pytest.approx(81, abs=3)
        assert episode.end_s - episode.start_s == pytest.approx(0.25, abs=0.02)
    assert np.diff([episode.start_s for episode in episodes]) == pytest.approx(5.4, abs=0.011)


def test_failed_recovery_and_timeout_are_one_episode_that_ends_in_slow_start() -> None:
    times = np.array([0.4, 0.49, 0.52, 0.6, 0.75, 0.7501, 1.01, 1.1, 1.2, 1.26, 1.5, 2.0])
    windows = np.array([80.0, 100, 50, 70, 102, 50, 1, 6, 14, 25, 25.5, 27])
    (episode,) = papers.find_episodes(times, windows)
    assert (episode.peak_pkts, episode.floor_pkts, episode.inflated_pkts) == (100, 1, 102)
    assert (episode.start_s, episode.end_s) == (0.52, 1.01)
    assert episode.has_timeout
    assert papers.slow_start_end(times, windows, 1.01, stop_s=2.0) == (1.26, 25)


def test_noise_and_gentle_falls_are_no_losses() -> None:
    rng = np.random.default_rng(1)
    times = np.arange(0, 50, 0.01)
    assert papers.find_episodes(times, 40 + rng.uniform(-3, 3, times.size)) == []
    assert papers.find_episodes(times, np.full(times.size, 8.0)) == []
    assert papers.find_episodes([], []) == []


def test_fall_spread_over_samples_is_one_cut() -> None:
    windows = [40.0, 50, 60, 52, 45, 38, 31, 31, 32, 33]
    (episode,) = papers.find_episodes(np.arange(10) * 0.01, windows)
    assert (episode.peak_pkts, episode.floor_pkts, episode.inflated_pkts) == (60, 31, None)


def test_gradual_fall_with_pauses_is_one_cut() -> None:
    # Rate halving: one packet less every 24 ms, sampled every 10 ms.
    times = np.round(np.arange(0, 4, 0.01), 2)
    fallen = np.clip(np.floor((times - 1.0) / 0.024), 0, 25)
    windows = np.where(times < 1, 50.0, 50 - fallen) + np.maximum(0, np.floor(times - 1.8))
    (episode,) = papers.find_episodes(times, windows)
    assert episode.start_s == pytest.approx(1.03, abs=0.011)
    assert (episode.peak_pkts, episode.floor_pkts) == (50, 25)
    assert episode.inflated_pkts is None


@given(
    st.integers(20, 200),
    st.floats(2, 20),
    st.floats(0.3, 0.75),
    st.sampled_from([0.005, 0.01, 0.1]),
)
def test_any_saw_tooth_is_measured_within_its_sampling(
    peak: int, period_s: float, kept: float, step_s: float
) -> None:
    times = np.arange(0, 8 * period_s, step_s)
    windows = peak * (kept + (1 - kept) * ((times % period_s) / period_s))
    regular = papers.sawtooth(papers.find_episodes(times, windows))
    assert regular is not None
    assert regular.period_s == pytest.approx(period_s, abs=2 * step_s)
    growth = peak * (1 - kept) / period_s * step_s
    assert regular.peak_pkts == pytest.approx(peak, abs=growth + 1e-6)
    assert regular.floor_pkts == pytest.approx(kept * peak, abs=growth + 1e-6)


def test_first_reached_and_value_at_read_a_step_function() -> None:
    times, windows = [0.1, 0.2, 0.3], [10.0, float("nan"), 30.0]
    assert papers.first_reached(times, windows, 20) == 0.3
    assert papers.first_reached(times, windows, 31) is None
    assert papers.value_at(times, windows, 0.25) == 10
    assert papers.value_at(times, windows, 0.05) is None
    with pytest.raises(ValueError, match="2 points in time but 1 values"):
        papers.find_episodes([1, 2], [1])


def test_every_check_of_every_paper_is_of_a_known_measure_and_variant() -> None:
    assert "lte-ns2-2011" in papers.paper_ids()
    for paper_id in papers.paper_ids():
        paper = papers.load_paper(paper_id)
        series = WindowSeries(*reno(53, 13.9))
        for check in paper.checks:
            assert check.unit in {"s", "packets"}
            papers.read_check(check, series, paper)
    assert papers.find_paper("my-own-study") is None
    with pytest.raises(UnknownNameError, match='unknown paper "lte"'):
        papers.load_paper("lte")


def test_variants_of_the_paper_are_those_of_its_study() -> None:
    study = paper_studies()["lte-ns2-2011"]
    levels = tomllib.loads(study.read_text("utf-8"))["factors"]["variant"]
    names = {level["name"] for level in levels}
    paper = papers.load_paper("lte-ns2-2011")
    wanted = {check.variant for check in paper.checks}
    wanted |= {name for figure in paper.figures for name in figure.variants}
    assert wanted <= names


@pytest.mark.parametrize(
    ("ours", "unit", "low", "high", "difference", "holds"),
    [
        (1.30, "s", 1.22, 1.25, 0.04, True),
        (1.23, "s", 1.22, 1.25, 0.0, True),
        (1.15, "s", 1.22, 1.25, -0.0574, False),
        (52.0, "packets", 53, 53, -1.0, True),
        (55.5, "packets", 53, 53, 2.5, False),
    ],
)
def test_reading_is_relative_for_times_and_in_packets_for_windows(
    ours: float, unit: str, low: float, high: float, difference: float, *, holds: bool
) -> None:
    paper = papers.load_paper("lte-ns2-2011")
    measure = "first reached" if unit == "s" else "largest"
    check = number(measure, unit, (low, high), 10)
    series = WindowSeries(np.array([0.0, ours]), np.array([1.0, ours if unit == "packets" else 10]))
    reading = papers.read_check(check, series, paper)
    assert reading.difference == pytest.approx(difference, abs=1e-3)
    assert reading.holds is holds


def test_what_cannot_be_measured_does_not_hold() -> None:
    paper = papers.load_paper("lte-ns2-2011")
    flat = WindowSeries(np.arange(5.0), np.full(5, 8.0))
    reading = papers.read_check(number("period", "s", (5, 5)), flat, paper)
    assert reading.ours is None
    assert not reading.holds
    with pytest.raises(ValueError, match='unknown measure "perod"'):
        papers.read_check(number("perod", "s", (5, 5)), flat, paper)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chekc = []", "mine.toml:1: chekc\n  unknown key; did you mean check?"),
        ('[paper]\ntitle = "x"', "mine.toml:1: paper.authors\n  this key is needed here"),
        ("[[check]]\nvalue = 3\nwrong = 1", "mine.toml:3: check[0].wrong = 1\n  unknown key"),
        ("[[check]]\nvalue = 'a'", "mine.toml:2: check[0].value"),
        ('[[plot]]\ndirection = "up"', "plot[0].direction = \"up\"\n  must be 'downlink'"),
    ],
)
def test_mistakes_in_a_papers_file_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(CwndlabError, match=re.escape(message)):
        parse_paper(TomlSource("mine.toml", text), "mine")


def number(measure: str, unit: str, value: tuple[float, float], at: float = 0) -> PaperNumber:
    return PaperNumber(variant="x", says="says", measure=measure, unit=unit, value=value, at=at)


def scenario(algorithm: str, stack: str = "ns-2-packet", **overrides: object) -> dict[str, Any]:
    sender = {"algorithm": algorithm, "stack": stack, "stack_overrides": overrides}
    receiver = {"algorithm": algorithm, "stack": stack, "stack_overrides": overrides}
    return {
        "duration_ns": 50_000_000_000,
        "path": {"kind": "wire", "forward": [], "reverse": []},
        "flows": [{"sender": sender, "receiver": receiver}],
    }


def profile(_name: str) -> Mapping[str, Any]:
    return {"name": "x", "classic": {"segment_bytes": 1500, "sack_blocks": 3}, "sources": {"a": 1}}


def test_settings_are_the_profile_with_its_changes() -> None:
    settings = papers.settings_of(scenario("reno", segment_bytes=536), profile)
    assert settings["congestion control"] == "reno"
    assert settings["segment size"] == 536
    assert settings["receiver's SACK"] == 3
    assert "name" not in settings
    tuned = scenario("highspeed", segment_bytes=536)
    tuned["flows"][0]["sender"]["parameters"] = {"computed": 1}
    other = papers.settings_of(tuned, profile)
    assert other["parameter computed"] == 1
    assert [s.name for s in papers.difference_of(settings, other)] == ["congestion control"]


def test_only_pairs_that_differ_in_one_setting_are_experiments() -> None:
    variants = {
        "a": papers.settings_of(scenario("reno"), profile),
        "b": papers.settings_of(scenario("highspeed"), profile),
        "c": papers.settings_of(scenario("reno", segment_bytes=536), profile),
    }
    found = [(first, second) for first, second, _ in papers.single_changes(variants)]
    assert found == [("a", "b"), ("a", "c")]  # b and c differ in two settings


class PaperResults:
    """Windows of invented senders: only the segment size matters, not the algorithm."""

    factors = ("variant",)
    path = Path("results/lte-ns2-2011")
    made: Mapping[str, tuple[Floats, Floats]] = {
        "TCP-Linux": reno(53, 13.9),
        "FullTCP": inflating(54, 5.4),
        "HSTCP": reno(53, 13.9),
    }

    def runs(self) -> pl.DataFrame:
        return pl.DataFrame({"run": list(self.made), "variant": list(self.made), "seed": 1})

    def flows(self) -> pl.DataFrame:
        return self.runs().with_columns(
            flow=0,
            direction=pl.lit("forward"),
            repetition=0,
            algorithm=pl.lit("reno"),
            goodput_mbit_s=0.97,
            rtt_mean_ms=400.0,
            rtt_p50_ms=400.0,
            timeouts=0,
        )

    def scan(self, table: str) -> pl.LazyFrame:
        assert table == "samples"
        return self.samples(run=list(self.made)).lazy()

    def samples(self, **where: object) -> pl.DataFrame:
        frames = [
            pl.DataFrame({"t_s": times, "cwnd_pkts": windows}).with_columns(
                run=pl.lit(name), flow=0, ssthresh_pkts=pl.lit(50.0)
            )
            for name, (times, windows) in self.made.items()
        ]
        runs = where["run"]
        assert isinstance(runs, list)
        return pl.concat(frames).filter(pl.col("run").is_in(runs))

    def events(self, **_where: object) -> pl.DataFrame:
        return pl.DataFrame(
            schema={"run": pl.String, "flow": pl.Int64, "t_s": pl.Float64, "event": pl.String}
        )

    def links(self, **_where: object) -> pl.DataFrame:
        return pl.DataFrame()


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> report.Context:
    class Stack:
        values = profile("")

    monkeypatch.setattr(core, "stack", lambda _name: Stack())
    scenarios = {
        "TCP-Linux": scenario("reno"),
        "FullTCP": scenario("reno", segment_bytes=536),
        "HSTCP": scenario("highspeed"),
    }
    set_ups = [report.SetUp({"variant": name}, each) for name, each in scenarios.items()]
    return report.Context(PaperResults(), report.Origin(title="A paper", set_ups=set_ups))


def test_variants_are_contestants_and_their_other_factors_make_no_settings(
    context: report.Context,
) -> None:
    assert len(context.comparisons) == 1
    assert context.comparisons[0].contestants == ("TCP-Linux", "FullTCP", "HSTCP")


def test_readings_measure_each_variants_own_window(context: report.Context) -> None:
    found = readings(papers.load_paper("lte-ns2-2011"), context)
    by_name = {(r.check.variant, r.check.says): r for r in found}
    period = by_name["TCP-Linux", "period of the saw-tooth"]
    assert period.ours == pytest.approx(13.9, abs=0.01)
    assert period.holds
    assert by_name["FullTCP", "period of the saw-tooth"].holds
    assert not by_name["HSTCP", "first peak"].holds  # our value is 100, not 80
    reached = "time at which the window reaches 100, with segments of 1460 bytes"
    assert by_name["FullTCP, 1460 bytes", reached].ours is None


def test_causes_come_out_of_the_data(context: report.Context) -> None:
    paper = papers.load_paper("lte-ns2-2011")
    found = {change.setting: change for change in changes(paper, context)}
    assert found["congestion control"].effects == ()
    texts = [effect.text for effect in found["segment size"].effects]
    assert any(text.startswith("period 13.9 to 5.4") for text in texts)
    assert found["segment size"].factor > 2
    page = report.make_page(context, paper_sections(paper))
    assert re.search(
        r"The curves differ because of segment size \(\S+ times\), not because of congestion", page
    )


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        (
            {"SACK": 2.7, "congestion control": 1.0},
            "because of SACK (2.7 times), not because of congestion control.",
        ),
        (
            {"SACK": 1.3, "congestion control": 1.07},
            "because of SACK (30 %), and hardly because of congestion control",
        ),
        (
            {"SACK": 1.3, "congestion control": 1.4},
            "because of SACK (30 %), and because of congestion control (40 %)",
        ),
        ({"SACK": 2.0}, ""),
        ({"congestion control": 2.0}, ""),
    ],
)
def test_finding_weighs_congestion_control_against_all_else(
    factors: dict[str, float], sentence: str
) -> None:
    found = [
        SettingChange(name, "a", "b", "", (SettingEffect("", factor),) if factor > 1 else ())
        for name, factor in factors.items()
    ]
    assert sentence in finding(found)
    assert bool(sentence) == bool(finding(found))


def test_papers_figures_are_in_the_page_and_as_files(
    context: report.Context, tmp_path: Path
) -> None:
    paper = papers.load_paper("lte-ns2-2011")
    path = report.write_page(context, tmp_path, sections=paper_sections(paper), formats=("svg",))
    page = path.read_text()
    for figure in paper.figures:
        assert f"{figure.name}: {figure.title}" in page
    assert paper.axis_label in page
    names = {each.stem for each in (tmp_path / "figures").iterdir()}
    assert {f"lte-ns2-2011-fig-{number}" for number in range(4, 9)} <= names
    assert all(a != b for a, b in itertools.pairwise(sorted(names)))
