"""The paper lte-ns2-2011 on the simulator: every number of its reading, and further findings."""

from pathlib import Path

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.cli.papers import print_claims
from cwndlab.papers import (
    ClaimVerdict,
    PaperNumber,
    judge_paper,
    load_claims,
    load_paper,
    paper_studies,
    read_check,
)
from cwndlab.papers.reading import WindowSeries
from cwndlab.report import write_report

PAPER = load_paper("lte-ns2-2011")


def samples_of(study: str, folder: Path) -> pl.DataFrame:
    return cw.Study.load(paper_studies()[study]).run(folder).samples()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cw.Results:
    return cw.Study.load(paper_studies()["lte-ns2-2011"]).run(tmp_path_factory.mktemp("paper"))


@pytest.fixture(scope="module")
def samples(results: cw.Results) -> pl.DataFrame:
    return results.samples()


def series(samples: pl.DataFrame, variant: str) -> WindowSeries:
    own = samples.filter(pl.col("variant") == variant)
    floats = {name: own[name].cast(pl.Float64).to_numpy() for name in own.columns if "pkts" in name}
    return WindowSeries(own["t_s"].to_numpy(), floats["cwnd_pkts"], floats["ssthresh_pkts"])


@pytest.mark.parametrize("check", PAPER.checks, ids=lambda check: f"{check.variant}: {check.says}")
def test_reading_holds(check: PaperNumber, samples: pl.DataFrame) -> None:
    reading = read_check(check, series(samples, check.variant), PAPER)
    assert reading.holds, f"ours {reading.ours}, the paper's {check.low} to {check.high}"


def test_claims_hold_by_settings_that_the_paper_does_not_state(results: cw.Results) -> None:
    judged = {each.claim.id: each for each in judge_paper("lte-ns2-2011", results)}
    verdicts = {name: (each.printed, each.verdict) for name, each in judged.items()}
    holds, fails, given = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.INPUT
    assert verdicts == {
        "tcp-linux-slow-start": (holds, holds),
        "fulltcp-slow-start": (fails, given),
        "hstcp-slow-start": (fails, given),
        "stated-times": (fails, fails),
        "order": (fails, given),
    }
    # FullTCP's window leads only by the inflation from duplicate ACKs, and never in bytes.
    contradicting = [each.part.is_beside for each in judged["order"].contradicting]
    assert contradicting == [True, True]


def test_nothing_in_the_study_is_drawn(samples: pl.DataFrame, tmp_path: Path) -> None:
    text = (paper_studies()["lte-ns2-2011"]).read_text("utf-8")
    (tmp_path / "other.toml").write_text(text.replace("seed = 2011", "seed = 1"), "utf-8")
    other = cw.Study.load(tmp_path / "other.toml").run(tmp_path / "results").samples()
    assert other["seed"].unique().to_list() != samples["seed"].unique().to_list()
    columns = ["variant", "t_s", "cwnd_pkts", "ssthresh_pkts"]
    assert other.select(columns).equals(samples.select(columns))


def test_printed_script_of_tcp_linux_knows_only_timeouts(samples: pl.DataFrame) -> None:
    # Measured with ns-2.35 and a plain TCPSink: timeouts at 3.456, 7.443, 23.51 and 39.26 s.
    cuts = [e.end_s for e in series(samples, "TCP-Linux as printed").episodes]
    assert cuts == pytest.approx([3.456, 7.443, 23.51, 39.26], rel=0.05)


def test_printed_script_of_hstcp_has_longer_periods(samples: pl.DataFrame) -> None:
    # Measured with ns-2.35 and no windowOption_: cuts at 1.309, 9.724, 23.35 and 36.98 s.
    cuts = [e.start_s for e in series(samples, "HSTCP as printed").episodes]
    assert cuts == pytest.approx([1.309, 9.724, 23.35, 36.98], rel=0.05)


def test_queue_decides_the_first_peak(tmp_path: Path) -> None:
    samples = samples_of("lte-ns2-2011-queue", tmp_path / "results")
    first = samples.filter(pl.col("t_s") < 1.3)
    peaks = first.group_by("queue").agg(pl.col("cwnd_pkts").max()).rows()
    expected = {20: 43, 30: 63, 38: 79, 40: 83, 50: 100}
    assert dict(peaks) == {f"{queue} packets": peak for queue, peak in expected.items()}


@pytest.mark.parametrize(("algorithm", "ssthresh"), [("reno", 50), ("cubic", 79), ("hstcp", 50)])
def test_first_threshold_of_tcp_linux(algorithm: str, ssthresh: int, tmp_path: Path) -> None:
    samples = samples_of("lte-ns2-2011-threshold", tmp_path / "results")
    name = {"hstcp": "highspeed"}.get(algorithm, algorithm)
    later = samples.filter((pl.col("algorithm") == name) & (pl.col("t_s") > 1.3))
    assert later["ssthresh_pkts"][0] == ssthresh


def test_report_and_command_show_both_verdicts_on_each_claim(
    results: cw.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = (
        "5 claims of the paper: 1 holds, 1 fails, 3 input."
        " In runs that use only settings stated in the paper: 1 holds, 4 fail."
    )
    page = write_report(results, tmp_path, formats=()).read_text("utf-8")
    assert counts in page
    for claim in load_claims("lte-ns2-2011").claims:
        assert f'data-claim="{claim.id}"' in page
    print_claims(results)
    printed = " ".join(capsys.readouterr().out.split())
    assert counts in printed
    assert "as printed as read" in printed
    assert "1 claim fails; no cause of the difference was found." in printed
