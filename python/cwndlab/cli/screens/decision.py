"""Terminal output of a decision on the best algorithm, printed below the comparison table."""

from rich.table import Table
from rich.text import Text

from cwndlab.judge.answer import Answers
from cwndlab.judge.decision import Decision
from cwndlab.judge.sentences import certainty, headline, sentences
from cwndlab.text.wording import percent


def terminal_decision(decision: Decision) -> list[Text | Table]:
    """Return a decision's headline and explanation, and a table of how certain the decision is."""
    lines: list[Text | Table] = [Text(headline(decision), style="bold")]
    lines += [Text(sentence) for sentence in sentences(decision)]
    if decision.best and not decision.is_alone:
        lines.append(_certainty(decision))
    return lines


def _certainty(decision: Decision) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for line in certainty(decision):
        table.add_row(line.name, line.value, line.meaning)
    return table


def terminal_settings(answers: Answers) -> Table:
    """Return a table: each algorithm's loss of utility against the best, per network setting."""
    names = [each.name for each in answers.together.entrants]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("percentage worse than the best", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for answer in answers.settings:
        behind = {each.name: each for each in answer.decision.entrants}
        row = [
            Text(percent(behind[name].loss), style="bold green" if behind[name].is_good else "")
            if name in behind
            else Text("-")
            for name in names
        ]
        setting = answer.decision.setting.removeprefix("users ")
        table.add_row(Text(setting), *row)
    return table
