"""The first screen: the verdict in a sentence, throughput against delay, the table."""

from cwndlab.judge.verdict import DELAY, THROUGHPUT, Standing
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded
from cwndlab.report.section import Content, SettingSection
from cwndlab.results.columns import quantity
from cwndlab.stats import Interval, pareto_front
from cwndlab.tables import comparison_table, to_csv, to_latex, to_markdown


def _verdict(setting: Setting) -> Content:
    return Content(
        render(
            "verdict.html",
            setting=setting,
            verdict=setting.verdict,
            effect_pct=f"{100 * setting.comparison.smallest_effect:g}",
        )
    )


def _trade_off(setting: Setting) -> Content | None:
    comparison = setting.comparison
    both = [
        (name, up, right)
        for name in comparison.contestants
        if (up := comparison.interval(name, THROUGHPUT)) is not None
        and (right := comparison.interval(name, DELAY)) is not None
    ]
    if not both:
        return None
    front = pareto_front([up.estimate for _, up, _ in both], [x.estimate for _, _, x in both])
    chart = {
        "kind": "scatter",
        "points": [{"name": name, "y": _bounds(up), "x": _bounds(x)} for name, up, x in both],
        "front": [both[at][0] for at in front],
        "effect": comparison.smallest_effect,
        "x": _axis(DELAY),
        "y": _axis(THROUGHPUT),
    }
    name = setting.chart("tradeoff")
    html = render("tradeoff.html", setting=setting, chart=name, comparison=comparison)
    return Content(html, {name: chart})


def _table(setting: Setting) -> Content:
    comparison = setting.comparison
    table = comparison_table(comparison)
    standings = {column.column: _standings(setting, column.column) for column in table.columns}
    return Content(
        render(
            "table.html",
            table=table,
            note=table.note.replace("in parentheses the", "beneath, the"),
            standings=standings,
            setting=setting,
            texts={
                "Markdown": to_markdown(table),
                "CSV": to_csv(table),
                "LaTeX": to_latex(table),
            },
        )
    )


def _standings(setting: Setting, column: str) -> dict[str, str]:
    ranking = setting.verdict.rankings.get(column)
    if ranking is None:
        return {}
    words = {
        Standing.AS_GOOD: "as good as the best: too small a difference to care about",
        Standing.UNDECIDED: "the runs do not decide whether this differs from the best",
        Standing.WORSE: "differs from the best",
        Standing.BEST: "best",
    }
    return {name: words[standing] for name, standing in ranking.standings.items()}


def _bounds(interval: Interval) -> list[float | None]:
    return [rounded(interval.estimate), rounded(interval.low), rounded(interval.high)]


def _axis(column: str) -> dict[str, str]:
    about = quantity(column)
    return {"title": about.title, "unit": about.unit}


VERDICT = SettingSection("verdict", "The answer", _verdict)
TRADE_OFF = SettingSection("trade-off", "Throughput against delay", _trade_off)
TABLE = SettingSection("numbers", "The numbers", _table)
