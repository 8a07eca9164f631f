"""`cwndlab advise --apply`: load the recommended algorithm into this machine's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.cli.output import command_line, say
from cwndlab.errors import ResultsError
from cwndlab.judge.simulated_host import differences

if TYPE_CHECKING:
    from cwndlab.judge.decision import Decision


def apply_winner(decision: Decision) -> None:
    """Load the recommended algorithm into the kernel, if the user agrees.

    First print how this machine's settings differ from the settings of the simulated host.

    Raises:
        ResultsError: the decision recommends no algorithm.
    """
    from cwndlab.kernel.capabilities import this_kernel  # noqa: PLC0415  Linux only

    winner = decision.first
    if winner is None:
        msg = (
            "the results do not suffice to recommend an algorithm; to load one of your choice, "
            "run: cwndlab algorithm load NAME --pin"
        )
        raise ResultsError(msg)
    if decision.host is not None:
        for each in differences(decision.host):
            say(
                f"  ! {each.setting} is {each.here} on this machine; the recommendation assumes "
                f"{each.simulated}"
            )
    if winner in this_kernel().available:
        say(f"  {winner} is already available in this kernel and need not be loaded.")
        _say_how_to_choose(winner)
        return
    from cwndlab.kernel.loading import require_loading  # noqa: PLC0415  Linux only

    require_loading(winner)
    question = f"Load {winner} into this kernel? The machine's default algorithm does not change."
    if not click.confirm(question, err=True):
        say("  no algorithm was loaded into the kernel")
        return
    from cwndlab.kernel.helper import KernelHelper  # noqa: PLC0415  Linux only
    from cwndlab.kernel.loading import load  # noqa: PLC0415  Linux only

    with KernelHelper() as helper:
        program = load(helper, winner, Path(), stays=True)
    say(f"  {winner} is loaded as {program.name}")
    _say_how_to_choose(program.name)
    say(f"  to unload it:  {command_line('cwndlab', 'algorithm', 'unload', winner)}")


def _say_how_to_choose(name: str) -> None:
    """Print how to make a route or a program use an algorithm that is not the default."""
    say(
        f"  for a route:   ip route change default via GATEWAY dev DEVICE congctl {name}",
        f"  for a program: the socket option TCP_CONGESTION, as in iperf3 -C {name}",
    )
