"""Write the section with the overall recommendation and the results of each network setting."""

from cwndlab.report.context import Context
from cwndlab.report.page import render
from cwndlab.report.section import Content, PageSection
from cwndlab.report.sections.answer import DELAY, THROUGHPUT, said
from cwndlab.tables import format_estimate
from cwndlab.text.wording import percent


def _overview(context: Context) -> Content | None:
    if len(context.settings) < 2:  # noqa: PLR2004  a single setting needs no overview
        return None
    answer = None if context.together is None else render("answer.html", **said(context.together))
    rows = []
    for setting in context.settings:
        comparison = setting.comparison
        cells = []
        for name in context.contestants:
            if name not in comparison.contestants:
                cells.append(("-", "", "", ""))
                continue
            up = comparison.interval(name, THROUGHPUT)
            right = comparison.interval(name, DELAY)
            mark = "chosen" if name in setting.decision.best else ""
            behind = next(
                (percent(each.loss) for each in setting.decision.entrants if each.name == name),
                "",
            )
            cells.append(
                (
                    "-" if up is None else format_estimate(up),
                    "-" if right is None else format_estimate(right),
                    mark,
                    behind,
                )
            )
        rows.append((setting, cells))
    return Content(render("overview.html", context=context, rows=rows, answer=answer))


OVERVIEW = PageSection("overview", "All settings at a glance", _overview)
