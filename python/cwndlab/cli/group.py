"""List of all commands, in sections; a command's code is loaded only when the command is called."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cwndlab.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command, with the module that defines it and the first sentence of its help."""

    module: str
    name: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        command: click.Command = getattr(importlib.import_module(self.module), self.name)
        return command


SECTIONS: Mapping[str, Mapping[str, CommandEntry]] = {
    "Answers": {
        "compare": CommandEntry(
            "cwndlab.cli.compare",
            "compare_command",
            "Compare algorithms on a link, each under the same conditions.",
        ),
        "advise": CommandEntry(
            "cwndlab.cli.advise",
            "advise_command",
            "Recommend a congestion control for a network.",
        ),
        "play": CommandEntry(
            "cwndlab.cli.play",
            "play_command",
            "Open the simulator in a browser, with sliders and live charts.",
        ),
    },
    "Studies": {
        "run": CommandEntry(
            "cwndlab.cli.studies",
            "run_command",
            "Run STUDY. Finished runs are stored, so you can stop and resume.",
        ),
        "open": CommandEntry(
            "cwndlab.cli.open_results",
            "open_command",
            "Show finished and running studies from RESULTS in a browser.",
        ),
        "report": CommandEntry(
            "cwndlab.cli.studies",
            "report_command",
            "Write the report on RESULTS and print the report's path.",
        ),
        "pack": CommandEntry(
            "cwndlab.cli.packing",
            "pack_command",
            "Pack RESULTS into one archive that other people can check.",
        ),
        "import": CommandEntry(
            "cwndlab.cli.importing",
            "import_command",
            "Import the measurements in FOLDER as results.",
        ),
        "papers": CommandEntry(
            "cwndlab.cli.papers",
            "papers_command",
            "List the published studies that `reproduce` repeats.",
        ),
        "reproduce": CommandEntry(
            "cwndlab.cli.reproduce",
            "reproduce_command",
            "Repeat a published study and judge its claims.",
        ),
    },
    "Measurements on real networks": {
        "plan": CommandEntry(
            "cwndlab.cli.plan",
            "plan_command",
            "Estimate the runs, hours and gigabytes that a live measurement of STUDY needs.",
        ),
        "serve": CommandEntry(
            "cwndlab.cli.serve",
            "serve_command",
            "Run the measurement server. Clients need the server's token.",
        ),
        "preflight": CommandEntry(
            "cwndlab.cli.live",
            "preflight_command",
            "Check both hosts and the path between them before a live measurement.",
        ),
        "live": CommandEntry(
            "cwndlab.cli.live",
            "live_command",
            "Run STUDY over the network between this machine and a server.",
        ),
        "trial": CommandEntry(
            "cwndlab.cli.trial",
            "trial_command",
            "Test a recommendation safely on a real network, and judge the recommendation.",
        ),
        "ledger": CommandEntry(
            "cwndlab.cli.ledger",
            "ledger_command",
            "Show how often the predictions recorded in a ledger came true on real networks.",
        ),
        "watch": CommandEntry(
            "cwndlab.cli.watch",
            "watch_command",
            "Plot throughput, RTT and cwnd of this machine's transfers.",
        ),
    },
    "Linux kernels": {
        "shell": CommandEntry(
            "cwndlab.cli.shell",
            "shell_command",
            "Run COMMAND, such as a browser or a shell, behind an emulated link.",
        ),
        "validate": CommandEntry(
            "cwndlab.cli.validate",
            "validate_command",
            "Compare the simulator with a Linux kernel.",
        ),
        "kernel": CommandEntry(
            "cwndlab.cli.kernel",
            "kernel_group",
            "Manage stock Linux kernels for virtual machines.",
        ),
        "doctor": CommandEntry(
            "cwndlab.cli.doctor",
            "doctor_command",
            "Check which features work on this machine, and print how to enable missing features.",
        ),
    },
    "Algorithms, links and other parts of a study": {
        "algorithm": CommandEntry(
            "cwndlab.cli.algorithm",
            "algorithm_group",
            "List, show, check and load congestion control algorithms.",
        ),
        "conform": CommandEntry(
            "cwndlab.cli.conform",
            "conform_command",
            "Run BBR's test cases on ALGORITHM: bbr3, or a file such as ./my_bbr.c.",
        ),
        "link": CommandEntry(
            "cwndlab.cli.link",
            "link_group",
            "List, show, export, record and fit links.",
        ),
        "host": CommandEntry(
            "cwndlab.cli.profiles",
            "host_group",
            "List host presets, which describe a computer's network device and its queue.",
        ),
        "stack": CommandEntry(
            "cwndlab.cli.profiles",
            "stack_group",
            "List stack profiles, each of which describes a release of a TCP stack.",
        ),
        "schema": CommandEntry(
            "cwndlab.cli.profiles",
            "schema_command",
            "Print the JSON Schema of study files, or of files for `advise --users`.",
        ),
    },
}


class SectionedGroup(click.Group):
    """A click group that lists the commands of `SECTIONS` without importing their modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the sections."""
        del ctx
        return [name for section in SECTIONS.values() for name in section]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name.

        An option that accepts only one value may be given only once.

        Raises:
            UsageError: no command has this name, or an option that accepts only one value is given
                several times.
        """
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = nearest(args[0], self.list_commands(ctx))
            hint = f"; did you mean {near}?" if near else ""
            msg = f'unknown command "{args[0]}"{hint} (cwndlab --help)'
            raise click.UsageError(msg, ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeated(click.Context(command, ctx, name), rest)
        return name, command, rest

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command; return None if there is no such command."""
        del ctx
        for section in SECTIONS.values():
            if cmd_name in section:
                return section[cmd_name].load()
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and help of the commands, each section under its heading."""
        del ctx
        for heading, section in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, entry.summary) for name, entry in section.items()])


def _refuse_repeated(context: click.Context, args: list[str]) -> None:
    """Refuse an option that accepts only one value but is given several times.

    Click would use the last value and ignore the others.
    """
    command = context.command
    try:
        _, rest, given = command.make_parser(context).parse_args(list(args))
    except click.UsageError:
        return  # the command itself reports the error
    once = [each for each in given if isinstance(each, click.Option) and _has_one_value(each)]
    for option in once:
        if once.count(option) > 1:
            is_list = option.metavar == "NAMES"
            remedy = "separate several names by commas" if is_list else "give this option only once"
            msg = f"{option.opts[0]} is given twice; {remedy}"
            raise click.UsageError(msg, context)
    if isinstance(command, click.Group) and rest:
        part = command.get_command(context, rest[0])
        if part is not None:
            _refuse_repeated(click.Context(part, context, rest[0]), rest[1:])


def _has_one_value(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)
