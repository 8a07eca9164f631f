"""Papers with tables on the simulator: every judged cell, and further findings."""

from __future__ import annotations

import textwrap
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.errors import CwndlabError
from cwndlab.papers import PaperPlot, PaperTable, load_paper, paper_studies, read_plot, read_table
from cwndlab.papers.facts import parse_paper
from cwndlab.papers.tables import paper_values
from cwndlab.report import write_report
from cwndlab.text.toml import TomlSource
from made_up import toml

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.papers.tables import PaperCell

WITH_TABLES = ("hsdpa-2010", "nr-5g-vaasa-2023")
TABLES = [(study, table) for study in WITH_TABLES for table in load_paper(study).tables]


@cache
def flows_of(study: str, folder: Path) -> pl.DataFrame:
    return cw.Study.load(paper_studies()[study], is_quick=True).run(folder / study).flows()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.mark.parametrize(
    ("study", "table"), TABLES, ids=[f"{study}: {table.name}" for study, table in TABLES]
)
def test_every_judged_cell_holds(study: str, table: PaperTable, folder: Path) -> None:
    cells = read_table(table, flows_of(study, folder))
    assert all(cell.ours is not None for cell in cells)
    assert [cell for cell in cells if cell.holds is False] == []


def test_one_link_serves_every_cell_of_the_hsdpa_paper() -> None:
    study = cw.Study.load(paper_studies()["hsdpa-2010"])
    cells = [each for each in study.cells if each.labels["transfer"] != "180 s, spaced drops"]
    assert len(study.cells) - len(cells) == 16, "an experiment beside the paper's"
    assert len({str(each.resolved.scenario.path) for each in cells}) == 1
    overrides = [
        flow.sender.stack_overrides for each in study.cells for flow in each.resolved.scenario.flows
    ]
    assert not any(overrides)


def test_bic_and_cubic_pay_with_delay_on_the_downlink(folder: Path) -> None:
    downlink = flows_of("hsdpa-2010", folder).filter(
        pl.col("direction") == "forward", pl.col("transfer") == "180 s"
    )
    for count in (1, 2, 3, 4):
        own = downlink.filter(pl.col("flows") == count)
        rtt_ms = dict(own.group_by("algorithm").agg(pl.col("rtt_mean_ms").mean()).iter_rows())
        assert min(rtt_ms["bic"], rtt_ms["cubic"]) > 1.03 * max(rtt_ms["reno"], rtt_ms["westwood"])
        assert rtt_ms["westwood"] == min(rtt_ms.values())


def test_drops_one_at_a_time_spare_bic_and_cubic_retransmissions(folder: Path) -> None:
    # An experiment beyond the paper's cells: fewer retransmissions, while goodput and round-trip
    # times stay within their bounds.
    flows = flows_of("hsdpa-2010", folder)
    tables = {each.name: each for each in load_paper("hsdpa-2010").tables}

    def spaced(name: str) -> list[PaperCell]:
        return read_table(
            tables[name].model_copy(update={"where": {"transfer": "180 s, spaced drops"}}), flows
        )

    assert all(cell.holds for name in ("Table I", "Table V") for cell in spaced(name))
    pairs = zip(read_table(tables["Table III"], flows), spaced("Table III"), strict=True)
    aggressive = [pair for pair in pairs if pair[0].column in ("bic", "cubic")]
    ratios = [(one.ours or 0) / (usual.ours or 0) for usual, one in aggressive]
    assert len(ratios) == 8
    assert max(ratios) < 1
    assert sum(ratios) / 8 < 0.7


def test_pacing_lifts_cubic_above_the_short_queue_of_the_callbox(folder: Path) -> None:
    # This prediction distinguishes a short queue from random loss, on which pacing has no effect.
    flows = flows_of("nr-5g-vaasa-2023", folder)
    downlink = flows.filter(pl.col("direction") == "forward", part="as measured")
    means = downlink.group_by("variant").agg(pl.col("goodput_mbit_s").mean())
    goodput = dict(means.iter_rows())
    assert goodput["cubic, paced"] > 1.5 * goodput["cubic"]


def test_a_table_whose_values_do_not_fill_it_is_refused() -> None:
    text = """
        [paper]
        title = "t"
        authors = "a"
        method = "m"
        conclusion = "c"
        [[table]]
        name = "Table I"
        title = "t"
        metric = "rtt_mean_ms"
        unit = "ms"
        direction = "downlink"
        column_factor = "algorithm"
        columns = ["reno", "cubic"]
        values = [[1]]
    """
    with pytest.raises(
        CwndlabError, match=r"x\.toml:7: table\[0\](?s:.)*the number of values does not match"
    ):
        parse_paper(TomlSource("x.toml", textwrap.dedent(text)), "x")


def test_a_flow_of_the_other_direction_does_not_count() -> None:
    table = parse_paper(
        toml(
            {
                "paper": {"title": "t", "authors": "a", "method": "m", "conclusion": "c"},
                "table": [
                    {
                        "name": "n",
                        "title": "t",
                        "metric": "rtt_mean_ms",
                        "unit": "ms",
                        "direction": "uplink",
                        "column_factor": "algorithm",
                        "columns": ["reno", "cubic"],
                        "within": 0.1,
                        "values": [[[10, 20], 30]],
                    }
                ],
            }
        ),
        "x",
    ).tables[0]
    flows = pl.DataFrame(
        {
            "direction": ["reverse", "forward", "reverse", "forward"],
            "algorithm": ["reno", "reno", "reno", "cubic"],
            "rtt_mean_ms": [21.0, 900.0, 22.0, 30.0],
        }
    )
    reno, cubic = read_table(table, flows)
    assert (reno.ours, reno.holds) == (21.5, True)
    assert reno.away == pytest.approx(0.075)
    assert (cubic.ours, cubic.holds) == (None, False)


def test_a_plot_shows_flows_runs_or_totals_panel_by_panel() -> None:
    flows = pl.DataFrame(
        {
            "run": ["a", "a", "b", "b", "c"],
            "algorithm": ["reno", "reno", "reno", "reno", "cubic"],
            "flows": [2, 2, 2, 2, 1],
            "direction": ["forward"] * 5,
            "goodput_mbit_s": [1.0, 3.0, 2.0, 4.0, 9.0],
        }
    )
    plot = PaperPlot(
        name="Fig. 1",
        title="t",
        kind="cdf",
        metric="goodput_mbit_s",
        direction="downlink",
        panel_factor="flows",
        panels=("1", "2"),
        where={"far": "x"},
    )

    def shown(plot: PaperPlot) -> list[dict[str, list[float]]]:
        panels = read_plot(plot, flows, "algorithm", ["reno", "cubic"])
        return [{name: own.tolist() for name, own in panel.items()} for panel in panels]

    assert shown(plot) == [
        {"reno": [], "cubic": [9.0]},
        {"reno": [1.0, 3.0, 2.0, 4.0], "cubic": []},
    ]
    assert shown(plot.model_copy(update={"total": True}))[1]["reno"] == [4.0, 6.0]
    assert shown(plot.model_copy(update={"kind": "bars"}))[1]["reno"] == [2.0, 3.0]


def test_every_plot_of_a_paper_is_drawn(folder: Path) -> None:
    flows_of("hsdpa-2010", folder)
    page = write_report(cw.open_results(folder / "hsdpa-2010"), folder / "report", formats=("svg",))
    text = page.read_text("utf-8")
    plots = load_paper("hsdpa-2010").plots
    assert len(plots) == 13
    for at, plot in enumerate(plots):
        assert f"{plot.name}: {plot.title}" in text
        charts = [f'data-chart="paper-plot-{at}-{number}"' for number in range(4)]
        assert all(chart in text for chart in charts)
    files = {path.stem for path in (folder / "report" / "figures").glob("*.svg")}
    assert len({name for name in files if name.startswith("hsdpa-2010-fig")}) == len(plots)


def test_a_plot_of_no_known_kind_is_refused() -> None:
    text = {"paper": {}, "plot": [{"name": "Fig. 1", "kind": "pie"}]}
    with pytest.raises(
        CwndlabError, match=r"plot\[0\].kind(?s:.)*must be 'cdf', 'box', 'bars' or 'lines'"
    ):
        parse_paper(toml(text), "x")


def test_a_papers_numbers_are_set_against_each_other() -> None:
    rows = {row.says: row for row in load_paper("nr-5g-vaasa-2023").plausibility}
    received = rows["bytes received by the modem compared with the downlink rates"]
    assert (received.computed, received.given) == (240.0, 244.4)
    assert received.holds
    sent = rows["bytes sent by the modem compared with the uplink rates"]
    assert sent.computed == pytest.approx(198)
    assert not sent.holds, "the counter shows a quarter of what the rates would need"


def test_a_row_of_plausibility_is_made_of_numbers() -> None:
    row = {"says": "s", "value": "2 * reno", "stated": "1", "unit": "", "within": 0.1}
    with pytest.raises(CwndlabError, match="only numbers are allowed here, not names"):
        parse_paper(toml({"paper": {}, "plausibility": [row]}), "x")


def test_calibrated_cells_are_told_from_predicted_ones(folder: Path) -> None:
    (fifth, *_) = (t for t in load_paper("hsdpa-2010").tables if t.name == "Table VI")
    cells = read_table(fifth, flows_of("hsdpa-2010", folder))
    assert [cell.row for cell in cells if cell.is_calibrated] == ["4"] * 4
    text = """
        [paper]
        [[table]]
        name = "Table I"
        title = "t"
        metric = "m"
        unit = "ms"
        direction = "uplink"
        column_factor = "algorithm"
        columns = ["reno"]
        calibrated = ["vegas"]
        values = [[1]]
    """
    with pytest.raises(CwndlabError, match="to vegas, which is not a row or column"):
        parse_paper(TomlSource("x.toml", textwrap.dedent(text)), "x")


def test_what_a_link_was_calibrated_to_is_marked_in_the_tables() -> None:
    for paper in ("hsdpa-2010", "nr-5g-vaasa-2023", "lte-4g-vaasa-2013"):
        assert any(table.calibrated for table in load_paper(paper).tables), paper
    assert not any(table.calibrated for table in load_paper("wifi-ns3-2022").tables)


def test_the_numbers_of_tables_appear_in_plots_of_the_same_metric_and_levels() -> None:
    paper = load_paper("nr-5g-vaasa-2023")
    plot = next(each for each in paper.plots if each.name == "Figures 23 to 25, downlink")
    one, five, ten = paper_values(plot, paper.tables, "variant")
    assert one == {
        "reno": (24, 36),
        "cubic": (24, 36),
        "htcp": (24, 36),
        "westwood": (24, 36),
        "bbr": (70, 110),
    }
    assert five == ten == {}  # the paper prints these only as charts
    wifi = load_paper("wifi-ns3-2022")
    numbers = paper_values(wifi.plots[0], wifi.tables, "algorithm")
    assert [set(each) for each in numbers] == [{"cubic", "westwood", "yeah", "vegas"}] * 7
    assert numbers[6]["vegas"] == (41.7012, 41.7012)


def test_the_numbers_of_a_table_are_converted_to_the_unit_of_our_column() -> None:
    table = load_paper("hsdpa-2010").tables[0]
    plot = PaperPlot(
        name="a plot",
        title="goodput",
        kind="bars",
        metric=table.metric,
        direction=table.direction,
        panel_factor="flows",
        panels=("1",),
        where={"transfer": "180 s"},
    )
    (found,) = paper_values(plot, [table], "algorithm")
    assert found["reno"] == pytest.approx((1.443, 1.443))
    other = plot.model_copy(update={"where": {"transfer": "50 kB"}})
    assert paper_values(other, [table], "algorithm") == [{}]
