"""Tables: the same numbers in every format, significant digits, and escaped text."""

import csv
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from cwndlab.cli.screens.comparison import terminal_table
from cwndlab.judge.comparison import ResultsLike, cell_factors, compare
from cwndlab.stats import Interval
from cwndlab.tables import (
    comparison_table,
    format_bounds,
    format_difference,
    format_estimate,
    format_number,
    join_words,
    table_frame,
    to_csv,
    to_latex,
    to_markdown,
    to_xlsx,
    write_tables,
)
from made_up import comparison_of


@pytest.mark.parametrize(
    ("value", "text"),
    [(31.23, "31.2"), (0.00473, "0.00473"), (9.996, "10.0"), (1234567, "1,230,000"), (0, "0"),
     (float("nan"), "-"), (-0.00012, "-0.000120"), (99.96, "100")],
)  # fmt: skip
def test_numbers_have_three_significant_digits_and_no_exponent(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("estimate", "half", "text"),
    [
        (31.234, 0.32, "31.2 ±0.3"),
        (31.234, 0.149, "31.23 ±0.15"),
        (42.8942, 0.0193, "42.89 ±0.02"),
        (0.99999, 0.000001, "1"),
        (5123.4, 240.0, "5,100 ±200"),
        (0.372, 0.008, "0.372 ±0.008"),
    ],
)
def test_uncertainty_decides_the_digits(estimate: float, half: float, text: str) -> None:
    interval = Interval(estimate, estimate - half, estimate + half, 20)
    shown = format_estimate(interval)
    assert shown == text or (text == "1" and float(shown) == 1)


def test_one_run_and_equal_runs_get_words_instead_of_bounds() -> None:
    assert format_bounds(Interval(3.0, None, None, 1)) == "one run"
    assert format_bounds(Interval(3.0, 3.0, 3.0, 8)) == "the same in all 8 runs"
    assert format_bounds(Interval(31.2, 30.91, 31.52, 8)) == "30.91 to 31.52"
    assert format_estimate(Interval(3.14159, None, None, 1)) == "3.14"
    assert format_estimate(Interval(2.13, -8.0, 12.0, 2)) == "2.1 ±10", "wide, and still a value"
    assert format_estimate(Interval(4.0, None, None, 1)) == "4"


@pytest.mark.parametrize(
    ("relative", "text"),
    [(-0.02, "-2 %"), (0.003, "+0.3 %"), (0.0, "0 %"), (0.58, "+58 %"), (2.1, "3.1 times"),
     (-0.0951, "-10 %")],
)  # fmt: skip
def test_differences_read_as_per_cent_or_times(relative: float, text: str) -> None:
    assert format_difference(relative) == text


def test_words_are_joined_as_in_a_sentence() -> None:
    assert join_words([]) == ""
    assert join_words(["a"]) == "a"
    assert join_words(["a", "b", "c"]) == "a, b and c"
    assert join_words(["a", "b"], "or") == "a or b"


def test_cells_carry_the_difference_to_the_best(results: ResultsLike) -> None:
    table = comparison_table(compare(results)[0])
    cells = {row.contestant: row.cells[0] for row in table.rows}
    assert cells["cubic"].text == "31.77 ±0.15"
    assert cells["vegas"].text.endswith("(-10 %)")
    rtts = {row.contestant: row.cells[1] for row in table.rows}
    assert rtts["vegas"].text.endswith("(best)")
    assert [c.column for c in table.columns][:2] == ["goodput_mbit_s", "rtt_p50_ms"]


def test_best_is_who_leads_by_more_than_the_smallest_effect(results: ResultsLike) -> None:
    """If two are within 5 % of each other, neither is the best, although one leads."""
    comparison = compare(results)[0]
    for at, column in enumerate(["goodput_mbit_s", "rtt_p50_ms"]):
        cells = {row.contestant: row.cells[at] for row in comparison_table(comparison).rows}
        means = {name: cell.interval.estimate for name, cell in cells.items() if cell.interval}
        leader = next(name for name, cell in cells.items() if cell.is_leader)
        nearest = min(abs(mean / means[leader] - 1) for name, mean in means.items()
                      if name != leader)  # fmt: skip
        assert cells[leader].is_best == (nearest >= comparison.smallest_effect), column
        assert sum(cell.is_best for cell in cells.values()) == cells[leader].is_best


def test_two_that_share_the_lead_are_both_not_the_best() -> None:
    lost = {"bbr": [0.0] * 6, "vegas": [0.0] * 6, "reno": [1.0, 2.0, 1.5, 1.2, 1.1, 1.4]}
    comparison = comparison_of({name: {"timeouts": runs} for name, runs in lost.items()})
    table = comparison_table(comparison, ["timeouts"])
    assert [row.cells[0].is_best for row in table.rows] == [False] * 3
    alone = comparison_of({name: {"timeouts": lost[name]} for name in ("bbr", "reno")})
    assert comparison_table(alone, ["timeouts"]).rows[0].cells[0].is_best


def test_what_was_not_measured_has_no_column_and_equal_values_no_best(results: ResultsLike) -> None:
    table = comparison_table(compare(results)[0], ["completion_ms", "timeouts"])
    assert [c.column for c in table.columns] == ["timeouts"]
    assert all(not row.cells[0].is_best and row.cells[0].beside == "" for row in table.rows)


def test_fairness_is_shown_when_there_are_several_flows(two_flows_two_rates: ResultsLike) -> None:
    table = comparison_table(compare(two_flows_two_rates)[0])
    assert "jain_index" in [c.column for c in table.columns]
    assert table.title == "rate 8 Mbit/s"


def test_csv_holds_numbers_with_units_in_the_heads(results: ResultsLike) -> None:
    table = comparison_table(compare(results)[0])
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [row["algorithm"] for row in rows] == ["cubic", "bbr", "westwood", "vegas"]
    for row in rows:
        low, mean = float(row["goodput_mbit_s_low"]), float(row["goodput_mbit_s"])
        assert low < mean < float(row["goodput_mbit_s_high"])
        assert row["goodput_mbit_s_runs"] == "20"
    assert float(rows[0]["goodput_mbit_s_to_best_pct"]) == 0


def test_markdown_has_one_line_a_row_and_escapes_bars(results: ResultsLike) -> None:
    lines = to_markdown(comparison_table(compare(results)[0])).splitlines()
    assert len({line.count("|") for line in lines[:6]}) == 1
    assert "Goodput (Mbit/s)" in lines[0]
    assert "(best)" in lines[5], "vegas has the shortest round trip by far"


def test_latex_escapes_and_marks_the_best(results: ResultsLike) -> None:
    text = to_latex(comparison_table(compare(results)[0], title="a_b & 5 %"))
    assert r"a\_b \& 5 \%" in text
    assert r"31.77 $\pm$0.15 &" in text, "within 5 % of another: not the best"
    assert r"$\pm$0.02} (best)" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert not re.search(r"(?<!\\)[%&](?![^\n]*\\\\)", text)


def test_workbook_is_the_same_bytes_every_time_and_holds_numbers(
    results: ResultsLike, tmp_path: Path
) -> None:
    table = comparison_table(compare(results)[0])
    assert to_xlsx(table) == to_xlsx(table)
    with zipfile.ZipFile(io.BytesIO(to_xlsx(table))) as workbook:
        numbers = workbook.read("xl/worksheets/sheet2.xml").decode()
    mean = table_frame(table)["goodput_mbit_s"][0]
    assert any(abs(float(v) - mean) < 1e-9 for v in re.findall(r"<v>([\d.eE+-]+)</v>", numbers))
    paths = write_tables(table, tmp_path, "comparison")
    assert [path.suffix for path in paths] == [".csv", ".xlsx", ".md", ".tex"]
    with pytest.raises(ValueError, match="formats are csv, xlsx, md, tex"):
        write_tables(table, tmp_path, "comparison", ["docx"])


def test_terminal_shows_the_table(results: ResultsLike) -> None:
    comparison = compare(results)[0]
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(terminal_table(comparison))
    text = console.export_text()
    assert re.search(r"vegas +28.61 ±0.15 \(-10 %\) +42.89 ±0.02 \(44.1\) best", text)


class Changed:
    """Results with changed flows."""

    def __init__(
        self, results: ResultsLike, change: Callable[[pl.DataFrame], pl.DataFrame]
    ) -> None:
        self.factors = results.factors
        self._results = results
        self._change = change

    def runs(self) -> pl.DataFrame:
        return self._results.runs()

    def flows(self) -> pl.DataFrame:
        return self._change(self._results.flows())


def test_pairs_are_aligned_by_seed_and_missing_runs_leave_gaps(results: ResultsLike) -> None:
    def partly(flows: pl.DataFrame) -> pl.DataFrame:
        lost = (pl.col("algorithm") == "bbr") & (pl.col("seed") == 9)
        return flows.filter(~lost).sample(fraction=1, shuffle=True, seed=5)

    comparison = compare(Changed(results, partly))[0]
    difference = comparison.difference("bbr", "cubic", "goodput_mbit_s")
    assert difference is not None
    assert difference.pairs == 19
    whole = compare(results)[0].difference("vegas", "cubic", "goodput_mbit_s")
    again = comparison.difference("vegas", "cubic", "goodput_mbit_s")
    assert whole is not None
    assert again is not None
    assert again.relative.estimate == pytest.approx(whole.relative.estimate)


def test_variants_with_seeds_of_their_own_are_compared_but_not_called_paired(
    results: ResultsLike,
) -> None:
    def with_own_seeds(flows: pl.DataFrame) -> pl.DataFrame:
        is_bbr = pl.col("algorithm") == "bbr"
        own = pl.when(is_bbr).then(pl.col("seed") + 1000).otherwise(pl.col("seed"))
        return flows.with_columns(own.alias("seed"))

    ours, paired = compare(Changed(results, with_own_seeds))[0], compare(results)[0]
    assert paired.is_paired
    assert not ours.is_paired
    assert ours.repetitions == paired.repetitions == 20
    assert ours.interval("bbr", "goodput_mbit_s") == paired.interval("bbr", "goodput_mbit_s")


def test_cells_are_what_the_study_varies_besides_the_algorithm(
    two_flows_two_rates: ResultsLike,
) -> None:
    comparisons = compare(two_flows_two_rates)
    assert [dict(c.cell) for c in comparisons] == [{"rate": "8 Mbit/s"}, {"rate": "32 Mbit/s"}]
    total = comparisons[1].interval("cubic", "goodput_mbit_s")
    assert total is not None
    assert total.estimate == pytest.approx(32, rel=0.05)  # both flows together


def test_what_follows_from_another_factor_makes_no_cells() -> None:
    # The stations determine the flows, and the algorithm determines the stack; `part` is separate.
    rows = [
        (algorithm, f"{algorithm}-stack", stations, stations, part)
        for algorithm in ("cubic", "vegas")
        for stations, part in ((1, "whole"), (2, "whole"), (2, "half"))
    ]

    class Given:
        factors = ("algorithm", "stack", "stations", "count", "part")

        def runs(self) -> pl.DataFrame:
            return pl.DataFrame(rows, schema=self.factors, orient="row")

        def flows(self) -> pl.DataFrame:
            return self.runs()

    assert cell_factors(Given()) == ["stations", "part"]


def test_flows_against_the_studys_direction_are_nobodys_result(results: ResultsLike) -> None:
    def with_reverse(flows: pl.DataFrame) -> pl.DataFrame:
        against = flows.with_columns(
            pl.lit("reverse").alias("direction"), (pl.col("flow") + 1).alias("flow")
        )
        return pl.concat([flows, against])

    ours, alone = compare(Changed(results, with_reverse))[0], compare(results)[0]
    assert ours.interval("cubic", "goodput_mbit_s") == alone.interval("cubic", "goodput_mbit_s")


def test_representative_run_is_one_of_the_runs(results: ResultsLike) -> None:
    run = compare(results)[0].representative_run("bbr")
    assert run is not None
    assert run.startswith("bbr-32-")


def test_what_runs_beside_the_algorithm_under_test_is_not_its_result(results: ResultsLike) -> None:
    def beside_reno(flows: pl.DataFrame) -> pl.DataFrame:
        other = flows.with_columns(
            pl.lit("reno").alias("algorithm"), (pl.col("flow") + 1).alias("flow")
        )
        return pl.concat([flows, other])

    ours, alone = compare(Changed(results, beside_reno))[0], compare(results)[0]
    assert ours.contestants == alone.contestants
    assert ours.interval("bbr", "goodput_mbit_s") == alone.interval("bbr", "goodput_mbit_s")


def test_sums_are_per_flow_where_contestants_have_unequally_many(results: ResultsLike) -> None:
    def beside_cubic(flows: pl.DataFrame) -> pl.DataFrame:
        other = flows.with_columns(
            pl.lit("cubic").alias("algorithm"), (pl.col("flow") + 1).alias("flow")
        )
        return pl.concat([flows, other])

    comparison = compare(Changed(results, beside_cubic))[0]
    assert comparison.is_per_flow
    cubic = comparison.interval("cubic", "goodput_mbit_s")
    assert cubic is not None
    assert cubic.estimate == pytest.approx(31.77, abs=0.05)
