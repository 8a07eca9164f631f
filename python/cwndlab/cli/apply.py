"""`cwndlab advise --apply`: load the winner into this machine's kernel."""

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
    """Load the winner into the kernel if the user agrees; change nothing else.

    Differences between this machine and the simulated host are printed first.

    Raises:
        ResultsError: there is no winner.
    """
    from cwndlab.kernel.capabilities import this_kernel  # noqa: PLC0415  Linux only

    winner = decision.first
    if winner is None:
        msg = "nothing was measured; load the algorithm you want: cwndlab algorithm load NAME --pin"
        raise ResultsError(msg)
    if decision.host is not None:
        for each in differences(decision.host):
            say(f"  ! {each.setting} is {each.here} here; the answer assumes {each.simulated}")
    if winner in this_kernel().available:
        say(f"  {winner} is already in this kernel; there is nothing to load.")
        _say_how_to_choose(winner)
        return
    from cwndlab.kernel.loading import require_loading  # noqa: PLC0415  Linux only

    require_loading(winner)
    question = f"Load {winner} into this kernel? The machine's default does not change."
    if not click.confirm(question, err=True):
        say("  nothing was changed")
        return
    from cwndlab.kernel.helper import KernelHelper  # noqa: PLC0415  Linux only
    from cwndlab.kernel.loading import load  # noqa: PLC0415  Linux only

    with KernelHelper() as helper:
        program = load(helper, winner, Path(), stays=True)
    say(f"  {winner} is loaded as {program.name}")
    _say_how_to_choose(program.name)
    say(f"  to undo it:    {command_line('cwndlab', 'algorithm', 'unload', winner)}")


def _say_how_to_choose(name: str) -> None:
    """Print how connections can use the algorithm; the machine's default is not changed."""
    say(
        f"  for a route:   ip route change default via GATEWAY dev DEVICE congctl {name}",
        f"  for a program: the socket option TCP_CONGESTION, as in iperf3 -C {name}",
    )
