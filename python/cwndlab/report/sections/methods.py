"""Write the section on the effects of transfer method (such as SFTP) and algorithm on goodput."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cwndlab.judge.comparison import contestant_factor
from cwndlab.judge.methods import MethodTable, Transfers, method_tables
from cwndlab.report.context import Context, Setting
from cwndlab.report.page import render, typeset
from cwndlab.report.section import Content, PageSection
from cwndlab.stats import Difference
from cwndlab.tables import format_bounds, format_difference, format_estimate, format_reach


class _Shown(NamedTuple):
    """Texts of a table cell: the value, a second line below the value, and a tooltip."""

    value: str
    beside: str = ""
    tip: str = ""


_NOTHING = _Shown("-")


def _methods(context: Context) -> Content | None:
    settings = [
        Transfers(setting.comparison, _scenarios(setting))
        for setting in context.settings
        if not setting.comparison.is_contest
    ]
    tables = [
        {
            "table": table,
            "says": _sentences(table),
            "rows": [(method, _row(table, method)) for method in table.methods],
            "of_algorithms": _effects(table.algorithms, table.of_algorithms),
        }
        for table in method_tables(settings)
    ]
    return Content(render("methods.html", tables=tables)) if tables else None


def _scenarios(setting: Setting) -> dict[str, Mapping[str, Any]]:
    """Map the name of each compared algorithm in the study to the scenario of its runs."""
    factor = contestant_factor(setting.context.results)
    if any(factor not in each.labels for each in setting.set_ups):  # the factor does not vary
        names = map(setting.comparison.named, setting.comparison.contestants)
        return dict.fromkeys(names, setting.set_ups[0].scenario)
    return {str(each.labels[factor]): each.scenario for each in setting.set_ups}


def _row(table: MethodTable, method: str) -> list[_Shown]:
    """Return a transfer method's table row: its goodput with each algorithm, then its effect."""
    cells = []
    for name in table.algorithms:
        goodput = table.goodput.get((method, name))
        if goodput is None:
            cells.append(_NOTHING)
            continue
        own = table.own.get((method, name))
        is_peculiar = (method, name) in table.peculiar
        beside = f"interaction {_change(own)}" if own is not None and is_peculiar else ""
        cells.append(_Shown(format_estimate(goodput), beside, format_bounds(goodput)))
    return [*cells, *_effects((method,), table.of_methods, table.methods[0])]


def _effects(
    names: tuple[str, ...], effects: Mapping[str, Difference], first: str | None = None
) -> list[_Shown]:
    """Return table cells with the effect of each method or algorithm, relative to the first one."""
    first = first or next((name for name in names if effects and name not in effects), None)
    return [
        _Shown(_change(effects[name]), _reach(effects[name]))
        if name in effects
        else _Shown("reference" if name == first else "-")
        for name in names
    ]


def _sentences(table: MethodTable) -> list[str]:
    """Return sentences on the effects of transfer method and algorithm, and their interaction."""
    says = [_most("method", table.of_methods, table.methods[0])]
    if table.of_algorithms:
        first = next(name for name in table.algorithms if name not in table.of_algorithms)
        says.append(_most("algorithm", table.of_algorithms, first))
    if table.peculiar:
        pair = max(table.peculiar, key=lambda each: abs(table.own[each].relative.estimate))
        method, name = pair
        own = f"{_change(table.own[pair])} ({_reach(table.own[pair])})"
        says.append(
            f"Method and algorithm interact: the goodput of {name} with {method} differs by {own} "
            "from the goodput that their separate effects predict."
        )
    elif table.own:
        says.append("These runs show no clear interaction between transfer method and algorithm.")
    return says


def _most(what: str, effects: Mapping[str, Difference], first: str) -> str:
    """Return a sentence on the largest clear effect of a method or of an algorithm on goodput."""
    sure = [name for name, each in effects.items() if each.direction and not each.is_negligible]
    if not sure:
        return f"No {what} differs clearly from {first}."
    name = max(sure, key=lambda each: abs(effects[each].relative.estimate))
    change = f"{_change(effects[name])} ({_reach(effects[name])})"
    return f"The {what} with the largest effect is {name}: goodput {change} compared with {first}."


def _change(difference: Difference) -> str:
    return typeset(format_difference(difference.relative.estimate))


def _reach(difference: Difference) -> str:
    return typeset(format_reach(difference.relative))


METHODS = PageSection(
    "methods", "Effects of transfer method (such as SFTP) and algorithm on goodput", _methods
)
