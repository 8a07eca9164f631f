"""`cwndlab algorithm`: list, describe, check and load congestion control algorithms."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import click

from cwndlab import core
from cwndlab.algorithm.check import check_algorithm
from cwndlab.algorithm.page import STANDARD_LINK, parameter_rows, read_page
from cwndlab.algorithm.skeleton import write_skeleton
from cwndlab.cli.output import (
    command_line,
    console,
    format_option,
    print_rows,
    print_text,
    prose,
    say,
)
from cwndlab.cli.screens.algorithm import window_chart
from cwndlab.cli.value_types import UserPath
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.loading import kernel_states, load, require_loading, unload
from cwndlab.resolve import reno_variants
from cwndlab.usercode.program import contract_folder

STATUS_FAILED = 1


@click.group("algorithm")
def algorithm_group() -> None:
    """List, show, check and load congestion control algorithms."""


@algorithm_group.command("list")
@format_option
def algorithm_list(output_format: str) -> None:
    """List cwndlab's algorithms, and which of them this kernel has.

    The list also shows which of the other algorithms can be loaded.
    """
    states = kernel_states(list(core.algorithms()))
    known = [(e.name, list(e.aliases), e.description) for e in core.algorithms().values()]
    known += [(name, [], description) for name, description in reno_variants.DESCRIPTIONS.items()]
    print_rows(
        [
            {
                "name": name,
                "aliases": aliases,
                "kernel": states.get(name),
                "description": description,
            }
            for name, aliases, description in known
        ],
        output_format,
    )


@algorithm_group.command("show")
@click.argument("name")
@click.option(
    "--out",
    type=UserPath(dir_okay=False),
    help="Also plot the congestion window to this SVG, PDF or PNG file.",
)
@click.option(
    "--link",
    metavar="LINK",
    help="Link to simulate for the plot.  [default: 10 Mbit/s, 40 ms, a queue of 50 packets]",
)
@click.option(
    "--duration",
    metavar="TIME",
    default="30 s",
    show_default=True,
    help="Duration of the simulation that is plotted.",
)
@format_option
def algorithm_show(
    name: str, out: Path | None, link: str | None, duration: str, output_format: str
) -> None:
    """Describe algorithm NAME, and plot its window on a simulated link.

    NAME is the name of an algorithm, or a C file such as ./my_cc.c or
    linux:PATH/net/ipv4/tcp_westwood.c.
    """
    page = read_page(name, link or STANDARD_LINK, duration)
    entry = page.algorithm
    if out is not None:
        page.draw(out)
    if output_format == "json":
        print_text(json.dumps(page.facts(), indent=2, ensure_ascii=False))
        return
    parameters = parameter_rows(entry)
    if output_format == "csv":
        print_rows(parameters, output_format)
        return
    aliases = f" (also {', '.join(entry.aliases)})" if entry.aliases else ""
    say(f"{entry.name}{aliases}", prose(f"  {entry.description}"), "")
    lines = page.about.splitlines()
    # The text comes from a C comment, which is as wide as a usual terminal. In a narrow terminal,
    # print the text without an indent.
    if max(map(len, lines), default=0) + 2 > console().width:
        say(*_broken(page.about, console().width), "")
    else:
        say(*(f"  {line}".rstrip() for line in lines), "")
    if parameters:
        print_rows(parameters, output_format)
        key = parameters[0]["parameter"]
        say("", f"  to set a parameter in a study: [parameters.{entry.name}], {key} = ...", "")
    else:
        say("  no parameters", "")
    say(prose(f"  hooks: {', '.join(entry.hooks)}"))
    if page.phases:
        say(prose(f"  phases: {', '.join(page.phases)}"))
    say(f"  sha256: {entry.source_sha256}", "", f"  congestion window on {page.link}:", "")
    say(*(f"  {line}" for line in window_chart(page)))
    if out is not None:
        say("", f"  plotted to {out}")


@algorithm_group.command("new")
@click.argument("name")
def algorithm_new(name: str) -> None:
    """Write NAME.c, a C template for your own algorithm.

    Print the path of the file. The template compiles without changes.
    """
    path = write_skeleton(name, Path())
    print_text(str(path))
    say(
        f"  to check the algorithm:  {command_line('cwndlab', 'algorithm', 'check', f'./{path}')}",
        f"  for editors:  -I{contract_folder() / 'include'}",
    )


@algorithm_group.command("check")
@click.argument("name", metavar="FILE")
@format_option
def algorithm_check(name: str, output_format: str) -> int:
    """Check the algorithm in FILE, and explain failed checks.

    The checks show whether the algorithm compiles and behaves correctly. FILE is a C file, such as
    ./my_cc.c or linux:PATH/net/ipv4/tcp_westwood.c. The exit status is 1 if a check fails.
    """
    findings = []
    for finding in check_algorithm(name, Path()):
        findings.append(finding)
        if output_format == "table":
            first, *rest = finding.found.splitlines() or [""]
            say(f"{finding.state:8} {finding.check}: {first}", *(f"{'':9}{line}" for line in rest))
    if output_format != "table":
        rows = [{"check": f.check, "state": f.state, "found": f.found} for f in findings]
        print_rows(rows, output_format)
    return STATUS_FAILED if any(finding.state == "failed" for finding in findings) else 0


@algorithm_group.command("load")
@click.argument("name")
@click.option(
    "--pin", is_flag=True, help="Keep the algorithm in the kernel after this command ends."
)
def algorithm_load(name: str, *, pin: bool) -> None:
    """Load the algorithm NAME into the running kernel. This command needs root.

    NAME may also be your own C file, such as ./my_cc.c. The command prints the name under which the
    kernel knows the algorithm. The algorithm stays loaded until you stop this command; with --pin,
    it stays until `cwndlab algorithm unload` or the next boot. The command does not change the
    machine's default algorithm. If the kernel already has an algorithm called NAME, the command
    does not change that algorithm either.
    """
    require_loading(name)
    with KernelHelper() as helper:
        program = load(helper, name, Path(), stays=pin)
        print_text(program.name)
        say(
            "  to use the algorithm, set the socket option TCP_CONGESTION, or run iperf3 -C "
            f"{program.name}"
        )
        if pin:
            say(f"  to unload it: {command_line('cwndlab', 'algorithm', 'unload', name)}")
        else:
            say("  the algorithm stays loaded until you stop this command (Ctrl-C)")
            helper.wait()


@algorithm_group.command("unload")
@click.argument("name")
def algorithm_unload(name: str) -> None:
    """Unload an algorithm that was loaded with --pin. This command needs root.

    NAME is the name or the file given to `cwndlab algorithm load` (vegas, ./my_cc.c), or the name
    under which the kernel knows the algorithm.
    """
    for pin in unload(name, Path()):
        say(f"unloaded {pin.label} ({pin.name}); connections that already use it keep it")


def _broken(text: str, width: int) -> list[str]:
    """Return the lines of a comment; paragraphs wider than `width` are wrapped."""
    found: list[str] = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        is_prose = not any(line.startswith((" ", "\t")) for line in lines)
        if is_prose and max(map(len, lines), default=0) > width:
            lines = textwrap.wrap(" ".join(lines), width, break_on_hyphens=False)
        found += [*lines, ""]
    return found[:-1]
