"""The list of commands, in sections; the code of a command is loaded when it is called."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command: the module that defines it, and the first sentence of its help."""

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
            "Compare algorithms on a link, over the same channels.",
        ),
        "advise": CommandEntry(
            "cwndlab.cli.advise",
            "advise_command",
            "Say which congestion control to use on a network.",
        ),
        "play": CommandEntry(
            "cwndlab.cli.play",
            "play_command",
            "Open the simulator in a browser: move sliders, see curves.",
        ),
    },
    "Studies": {
        "run": CommandEntry(
            "cwndlab.cli.studies",
            "run_command",
            "Run STUDY. Finished runs are kept, so you can stop and resume.",
        ),
        "open": CommandEntry(
            "cwndlab.cli.open_results",
            "open_command",
            "Look at RESULTS in a browser: all studies, as they run.",
        ),
        "report": CommandEntry(
            "cwndlab.cli.studies",
            "report_command",
            "Write the report on RESULTS and print its path.",
        ),
        "pack": CommandEntry(
            "cwndlab.cli.packing",
            "pack_command",
            "Pack RESULTS into one archive that others can check.",
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
            "Run a published study again and decide its claims.",
        ),
    },
    "Measurements on real networks": {
        "plan": CommandEntry(
            "cwndlab.cli.plan",
            "plan_command",
            "Estimate the runs, hours and gigabytes a live campaign of STUDY needs.",
        ),
        "serve": CommandEntry(
            "cwndlab.cli.serve",
            "serve_command",
            "Run the measurement server. Clients need its token.",
        ),
        "preflight": CommandEntry(
            "cwndlab.cli.live",
            "preflight_command",
            "Check both ends and the path before a campaign.",
        ),
        "live": CommandEntry(
            "cwndlab.cli.live",
            "live_command",
            "Measure STUDY between this machine and a server.",
        ),
        "trial": CommandEntry(
            "cwndlab.cli.trial",
            "trial_command",
            "Try advice on a real network, safely, and judge it.",
        ),
        "ledger": CommandEntry(
            "cwndlab.cli.ledger",
            "ledger_command",
            "Show how often predictions came true, in this ledger and in each FILE.",
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
            "Run COMMAND behind a link: a browser, curl, a whole shell.",
        ),
        "validate": CommandEntry(
            "cwndlab.cli.validate",
            "validate_command",
            "Compare the simulator with a Linux kernel.",
        ),
        "kernel": CommandEntry(
            "cwndlab.cli.kernel",
            "kernel_group",
            "Keep stock Linux kernels for virtual machines.",
        ),
        "doctor": CommandEntry(
            "cwndlab.cli.doctor",
            "doctor_command",
            "Check what works on this machine, and how to fix the rest.",
        ),
    },
    "Parts of a study": {
        "algorithm": CommandEntry(
            "cwndlab.cli.algorithm",
            "algorithm_group",
            "Congestion control: built in, your own, or the kernel's.",
        ),
        "conform": CommandEntry(
            "cwndlab.cli.conform",
            "conform_command",
            "Run BBR's test cases on ALGORITHM: bbr3, or a file such as ./my_bbr.c.",
        ),
        "link": CommandEntry(
            "cwndlab.cli.link",
            "link_group",
            "Links: presets, traces, or keys in one line.",
        ),
        "host": CommandEntry(
            "cwndlab.cli.profiles",
            "host_group",
            "Hosts: devices and queues between sockets and link.",
        ),
        "stack": CommandEntry(
            "cwndlab.cli.profiles",
            "stack_group",
            "Stack profiles: what a release of a TCP stack does.",
        ),
        "schema": CommandEntry(
            "cwndlab.cli.profiles",
            "schema_command",
            "Print the JSON Schema of study files or files of users, for editors.",
        ),
    },
}


class SectionedGroup(click.Group):
    """The commands of `SECTIONS`; listing them does not import them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the sections."""
        del ctx
        return [name for section in SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, importing it now; None if there is no such command."""
        del ctx
        for section in SECTIONS.values():
            if cmd_name in section:
                return section[cmd_name].load()
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section of the help under each heading."""
        del ctx
        for heading, section in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, entry.summary) for name, entry in section.items()])
