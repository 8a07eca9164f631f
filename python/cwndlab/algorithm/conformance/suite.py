"""Run the test cases that draft-ietf-ccwg-bbr defines for BBR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.algorithm.conformance import bbr_probing as probing
from cwndlab.algorithm.conformance import bbr_startup as startup
from cwndlab.algorithm.conformance import bbr_undo as undo
from cwndlab.algorithm.conformance.bench import Bench, NotReachedError, check_phases
from cwndlab.algorithm.conformance.case import Case, CaseCheck, CaseOutcome
from cwndlab.algorithm.conformance.case_runs import KernelRuns, SimulatedRuns, VmRuns
from cwndlab.errors import AlgorithmError, RunsFailedError
from cwndlab.resolve.algorithms import algorithm_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cwndlab.algorithm.conformance.case_runs import CaseRuns
    from cwndlab.backends.vm.packages import StockKernel

SOURCE = 'draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases"'

BBR_CASES = (
    Case(1, "Exiting STARTUP on Bandwidth Plateau", startup.startup_plateau),
    Case(2, "Exiting STARTUP on Loss When Application-Limited", startup.startup_loss),
    Case(3, "Exiting DRAIN Based on Inflight", startup.drain_inflight),
    Case(4, "Exiting DRAIN Based on Time", startup.drain_time),
    Case(5, "Exiting PROBE_UP on Bandwidth Plateau", probing.up_plateau),
    Case(6, "Exiting PROBE_UP on Loss When Application-Limited", probing.up_loss),
    Case(
        7,
        "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        probing.limited_without_loss,
    ),
    Case(8, "Exiting PROBE_DOWN on Inflight", probing.down_inflight),
    Case(9, "Exiting PROBE_DOWN After Max Time", probing.down_time),
    Case(10, "Entering and Exiting PROBE_RTT", startup.probe_rtt),
    Case(11, "Skipping PROBE_RTT Due to Application-Limited Sending", startup.probe_rtt_skipped),
    Case(
        12,
        "Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
        startup.aggregation_in_startup,
    ),
    Case(
        13,
        "Achieving Expected Cruise Bandwidth on a Link With Aggregation",
        startup.aggregation_in_cruise,
    ),
    Case(14, "Correctly Managing Sub-Packet BDPs", startup.small_bdp),
    Case(
        15, "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached", probing.faster_link
    ),
    Case(
        16, "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down", probing.slower_link
    ),
    Case(17, "Handling Token Bucket Policers", probing.policer),
    Case(18, "Handling Spurious Fast Recovery", undo.spurious_recovery),
    Case(19, "Handling Spurious RTO Recovery", undo.spurious_timeout),
    Case(20, "Entering and Exiting PROBE_RTT During STARTUP", startup.probe_rtt_in_startup),
    Case(
        21, "Handling Loss During PROBE_UP After inflight_longterm is Set", probing.loss_above_bound
    ),
    Case(
        22,
        "Handling Application-Limited Sending During PROBE_REFILL",
        probing.limited_in_refill,
    ),
)


def run_cases(
    algorithm: str,
    numbers: Sequence[int] = (),
    *,
    on_kernel: bool = False,
    guest: StockKernel | None = None,
) -> Iterator[CaseOutcome]:
    """Run the test cases with the given numbers, or all test cases if no number is given.

    The cases run in the simulator by default. With `on_kernel`, they run on this machine's kernel;
    with `guest`, they run on the stock kernel `guest` in a virtual machine. If an event does not
    happen in the required phase, the case is repeated with another seed: up to five times on this
    machine's kernel, up to twice in a virtual machine, and never in the simulator.

    Raises:
        KernelRunError: this machine cannot run studies on its kernel; or the virtual machine
            cannot be booted, or cannot load the algorithm.
        KernelError: the algorithm cannot be loaded into this machine's kernel.
        UnknownNameError: the algorithm does not exist.
        AlgorithmError: the algorithm cannot be used, it does not report the phases that the test
            cases need, or a test case does not exist.
    """
    unknown = sorted(set(numbers) - {case.number for case in BBR_CASES})
    if unknown:
        msg = f"test case {unknown[0]} does not exist; choose a number from 1 to {len(BBR_CASES)}"
        raise AlgorithmError(msg)
    phases = algorithm_of(algorithm, Path()).phases
    check_phases(phases, startup.PHASES, algorithm)
    with _place(algorithm, on_kernel=on_kernel, guest=guest) as runs:
        for case in BBR_CASES:
            if not numbers or case.number in numbers:
                yield _outcome(case, algorithm, phases, runs)


def _place(
    algorithm: str, *, on_kernel: bool, guest: StockKernel | None
) -> SimulatedRuns | KernelRuns:
    if guest is not None:
        return VmRuns(algorithm, guest)
    return KernelRuns(algorithm) if on_kernel else SimulatedRuns()


def _outcome(case: Case, algorithm: str, phases: tuple[str, ...], runs: CaseRuns) -> CaseOutcome:
    for attempt in range(1, runs.attempts + 1):
        bench = Bench(algorithm, phases, runs, seed=attempt)
        checks: list[CaseCheck] = []
        try:
            checks.extend(case.checks(bench))
        except NotReachedError as missing:
            if attempt < runs.attempts:
                continue
            checks.append(
                CaseCheck(
                    "all required events happen",
                    holds=False,
                    found=str(missing),
                )
            )
        except RunsFailedError as failure:
            checks.append(CaseCheck("the run finishes", holds=False, found=str(failure)))
        break
    trace = bench.last.trace() if bench.last is not None else ""
    return CaseOutcome(case, tuple(checks), trace)
