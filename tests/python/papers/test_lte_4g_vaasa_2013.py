"""The thesis lte-4g-vaasa-2013 on the simulator: tables, effects of the host, and claims."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.papers import (
    ClaimTrial,
    ClaimVerdict,
    TableTrial,
    TrialEffect,
    judge_paper,
    load_paper,
    paper_studies,
    read_table,
    try_paper,
)
from cwndlab.resolve.path import expand_link
from cwndlab.resolve.presets import load_preset
from cwndlab.schema.link import Link

STUDY = paper_studies()["lte-4g-vaasa-2013"]
PAPER = load_paper("lte-4g-vaasa-2013")
LINUX = ("cubic", "reno", "vegas", "westwood")
PLACES = ("ahventie", "olympia", "vamk")
TABLES = {table.name: table for table in PAPER.tables}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cw.Results:
    return cw.Study.load(STUDY, is_quick=True).run(tmp_path_factory.mktemp("thesis"))


@pytest.fixture(scope="module")
def flows(results: cw.Results) -> pl.DataFrame:
    return results.flows()


def rate(flows: pl.DataFrame, **levels: str) -> float:
    """Return the mean goodput of the runs with these levels, in Mbit/s."""
    own = flows.filter(**levels)["goodput_mbit_s"]
    assert len(own) > 0, levels
    return float(mean(own.to_list()))


def test_downloads_are_within_a_tenth(flows: pl.DataFrame) -> None:
    cells = read_table(TABLES["Table 8"], flows)
    assert [cell for cell in cells if not cell.holds] == []
    by_period = [cell for cell in read_table(TABLES["Table 6"], flows) if cell.row == "forenoon"]
    assert len(by_period) == 3
    assert all(cell.holds for cell in by_period)


def test_a_variant_of_the_client_is_nothing_to_a_download(flows: pl.DataFrame) -> None:
    down = flows.filter(part="as measured", transfer="web download")
    assert set(down["algorithm"]) == {"cubic"}, "what the server sends with"
    of_linux = down.filter(pl.col("variant") != "winsock")
    per_cell = of_linux.group_by("place", "period", "repetition").agg(
        pl.col("goodput_mbit_s").n_unique().alias("rates"), pl.len()
    )
    assert set(per_cell["len"]) == {4}
    assert set(per_cell["rates"]) == {1}, "the very same for all four"
    on_server = flows.filter(part="server")
    assert set(on_server["algorithm"]) == {"reno", "vegas", "westwood"}
    per_cell = on_server.group_by("place", "repetition").agg(pl.col("goodput_mbit_s").n_unique())
    assert set(per_cell["goodput_mbit_s"]) == {3}


@pytest.mark.parametrize("place", PLACES)
def test_a_queue_of_three_packets_holds_every_upload_of_linux(
    flows: pl.DataFrame, place: str
) -> None:
    held = [
        rate(flows, part="as measured", place=place, direction="reverse", variant=v) for v in LINUX
    ]
    assert all(1.1 < each < 2.0 for each in held), held
    assert 1.4 < mean(held) < 1.8, "the thesis: 1.60 to 1.72 at two places"
    own = flows.filter(
        pl.col("variant") != "winsock", part="as measured", place=place, direction="reverse"
    )
    assert mean(own["retransmitted_pkts"].to_list()) < 1, "what is refused is not lost"
    free = [rate(flows, part="queue", place=place, variant=v) for v in LINUX]
    windows = rate(flows, part="as measured", place=place, variant="winsock", direction="reverse")
    assert all(one > 3 * other for one, other in zip(free, held, strict=True))
    assert windows < 1.5 * mean(free), "without the queue Linux has what the radio has"


def test_one_line_serves_all_uploads_if_the_terminal_program_sends_a_block_at_a_time(
    flows: pl.DataFrame,
) -> None:
    """The note's claim on the thesis's uploads, which are 1.60 to 1.72 and 4.4 to 5.3 Mbit/s."""
    line = "serial line of 24 kB, 3 packets"
    own = flows.filter(part="one line")
    for place in ("ahventie", "olympia"):
        held = [rate(own, place=place, modem=line, variant=v) for v in LINUX]
        free = [rate(own, place=place, modem="serial line, 1000 packets", variant=v) for v in LINUX]
        assert max(held) < 1.01 * min(held), "as in the thesis: whatever the variant"
        assert held == pytest.approx(free, rel=0.01), "and whatever the queue"
        assert 1.5 < mean(held) < 2.0
    in_parts = {v: rate(own, transfer="web upload", variant=v) for v in LINUX}
    at_once = {v: rate(own, transfer="web upload at once", variant=v) for v in LINUX}
    for web in (in_parts, at_once):
        vegas = web.pop("vegas")
        assert all(4 < each < 7 for each in web.values()), web
        assert vegas < 0.8 * mean(web.values()), "the slowest, as in the thesis"
    assert max(in_parts.values()) < 1.25 * min(in_parts.values())


def test_the_web_is_faster_than_a_client_with_four_requests(flows: pl.DataFrame) -> None:
    own = {
        transfer: rate(flows, variant="winsock", place="ahventie", transfer=transfer)
        for transfer in ("web upload", "WinSCP", "FileZilla")
    }
    assert own["web upload"] > 1.1 * own["WinSCP"]
    assert own["FileZilla"] > 1.1 * own["WinSCP"]
    for cell in read_table(TABLES["Table 11"], flows):
        assert cell.away is not None
        assert abs(cell.away) < 0.3, cell


def test_the_cable_is_no_host_at_all(flows: pl.DataFrame) -> None:
    wired = [rate(flows, part="wired", variant=variant) for variant in ("cubic", "winsock")]
    assert min(wired) > 50, "either is far from what it has over the modem"


def test_claims_are_decided_by_who_sent(results: cw.Results) -> None:
    judged = {each.claim.id: each for each in judge_paper("lte-4g-vaasa-2013", results)}
    of_the_server = ("westwood-bad-network", "vegas-over-cubic-downlink", "winsock-downlink")
    for claim in of_the_server:
        assert judged[claim].verdict is ClaimVerdict.NOT_ATTRIBUTABLE
        assert judged[claim].theirs is ClaimVerdict.HOLDS, "by its own numbers"
    findings = judged["westwood-bad-network"].findings
    shown = [each for each in findings if each.part.is_beside]
    assert [each.verdict for each in shown] == [ClaimVerdict.UNDECIDED] * 2, "ours: the server's"
    assert all(each.ours and each.ours.estimate < 1 for each in shown)
    others = [each for name, each in judged.items() if name not in of_the_server]
    assert not any(each.verdict is ClaimVerdict.NOT_ATTRIBUTABLE for each in others)
    theirs = {name: each.theirs for name, each in judged.items()}
    assert theirs["good-vs-bad"] is theirs["vegas-uplink"] is ClaimVerdict.HOLDS
    assert theirs["web-over-terminal"] is theirs["winsock-wired"] is ClaimVerdict.HOLDS
    assert [name for name, each in judged.items() if each.is_half_known] == [
        "winsock-uplink",
        "vegas-uplink",
    ]


def test_experiments_tell_what_the_thesis_saw_of_vegas(
    results: cw.Results, flows: pl.DataFrame
) -> None:
    def share_of_vegas(part: str) -> float:
        up = {"part": part, "place": "vamk", "direction": "reverse"}
        others = [rate(flows, variant=v, **up) for v in LINUX if v != "vegas"]
        return rate(flows, variant="vegas", **up) / mean(others)

    assert share_of_vegas("as measured") > 0.85
    assert share_of_vegas("load, queue") < 0.5, "0.48 of theirs: what comes down misleads it"
    judged = judge_paper("lte-4g-vaasa-2013", results)
    trials = try_paper(PAPER, results, judged)
    (nearer,) = [each for each in trials if each.effect is TrialEffect.PART]
    assert isinstance(nearer, TableTrial)
    assert nearer.experiment.levels == {"part": "15 packets"}
    assert nearer.after < nearer.before / 2, "theirs held more than three packets at VAMK"
    assert {each.effect for each in trials if isinstance(each, ClaimTrial)} == {TrialEffect.OPEN}


def test_one_host_profile_serves_all_of_linux_and_one_windows() -> None:
    study = cw.Study.load(STUDY)
    hosts: dict[bool, set[str]] = {True: set(), False: set()}
    for cell in study.cells:
        if cell.labels["part"] not in ("as measured", "server", "methods"):
            continue
        (flow,) = cell.resolved.scenario.flows
        user = flow.sender if flow.direction == "reverse" else flow.receiver
        assert user.host is not None
        hosts[cell.labels["variant"] == "winsock"].add(user.host.model_dump_json())
        assert not user.stack_overrides
    assert [len(each) for each in hosts.values()] == [1, 1]


def test_no_published_number_is_given_to_the_study() -> None:
    links = [Link.read(f"lte-4g-vaasa-2013-{place}") for place in PLACES]
    figures = [expand_link(link, Path())[1] for link in links]
    given = STUDY.read_text("utf-8") + json.dumps(figures)
    for table in PAPER.tables:
        for low, _ in (value for row in table.values for value in row):
            assert not re.search(rf"(?<![0-9.]){re.escape(f'{low:.4g}')}(?![0-9])", given), low
    # All places have the same periods, which therefore cannot be fitted to a single cell.
    assert len({str(load_preset(str(link.preset), Path()).period) for link in links}) == 1
