"""Write the first sections: the decision, a plot of throughput against delay, and a table."""

from cwndlab.judge.decision import ZONE, Decision
from cwndlab.judge.sentences import certainty, headline, sentences
from cwndlab.report.context import Setting
from cwndlab.report.page import render
from cwndlab.report.rounding import rounded
from cwndlab.report.section import Content, SettingSection
from cwndlab.results.columns import quantity
from cwndlab.stats import Interval, pareto_front
from cwndlab.tables import comparison_table, to_csv, to_latex, to_markdown
from cwndlab.text.wording import percent

THROUGHPUT = "goodput_mbit_s"
DELAY = "rtt_p50_ms"


def _answer(setting: Setting) -> Content:
    return Content(render("answer.html", **said(setting.decision)))


def said(decision: Decision) -> dict[str, object]:
    """Return the values, by name, that the template `answer.html` needs to show a decision."""
    return {
        "decision": decision,
        "headline": headline(decision),
        "sentences": sentences(decision),
        "certainty": certainty(decision) if decision.best and not decision.is_alone else (),
        "zone": percent(ZONE),
    }


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
    table = comparison_table(setting.comparison)
    return Content(
        render(
            "table.html",
            table=table,
            setting=setting,
            texts={
                "Markdown": to_markdown(table),
                "CSV": to_csv(table),
                "LaTeX": to_latex(table),
            },
        )
    )


def _bounds(interval: Interval) -> list[float | None]:
    return [rounded(interval.estimate), rounded(interval.low), rounded(interval.high)]


def _axis(column: str) -> dict[str, str]:
    about = quantity(column)
    return {"title": about.title, "unit": about.unit}


ANSWER = SettingSection("answer", "The answer", _answer)
TRADE_OFF = SettingSection("trade-off", "Throughput against delay", _trade_off)
TABLE = SettingSection("numbers", "The numbers", _table)
