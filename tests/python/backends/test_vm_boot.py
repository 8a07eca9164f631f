"""Stock kernels in virtual machines, compared briefly with the simulator.

The kernels are those that `cwndlab kernel add` has put into the folder CWNDLAB_TEST_KERNELS, which
is used as XDG_CACHE_HOME; without this variable, the kernels of the user. Once a kernel has been
booted, a test takes 10 s of one processor.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from polars.testing import assert_frame_equal

from cwndlab.api.study import Study
from cwndlab.backends import VirtualMachines
from cwndlab.backends.vm.machine import obstacles_to_machines
from cwndlab.backends.vm.packages import kernels
from cwndlab.validation import Agreement, validate

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.backends.vm.packages import StockKernel


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> list[StockKernel]:
    """Return the kernels, oldest first."""
    if obstacles := obstacles_to_machines():
        pytest.skip("; ".join(what for what, _ in obstacles))
    if folder := os.environ.get("CWNDLAB_TEST_KERNELS"):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
    if not (found := kernels()):
        pytest.skip("no stock kernel has been added; run: cwndlab kernel add 6.1")
    return found


def test_a_stock_kernel_gives_the_same_results_twice(
    tmp_path: Path, stock: list[StockKernel]
) -> None:
    study = Study(
        id="vm",
        link="rate=10 Mbit/s,delay=20 ms,queue=50 packets",
        algorithm="cubic",
        duration="3 s",
        warm_up="0 s",
    ).with_captures()
    where = VirtualMachines(stock[0], jobs=1)
    one, two = (study.run(tmp_path / name, backend=where) for name in ("one", "two"))
    flows = one.flows()
    # In some runs, QEMU counts a few nanoseconds differently.
    assert_frame_equal(flows, two.flows(), rel_tol=1e-6)
    captures = [next((tmp_path / name).glob("files/*/capture.pcap")) for name in ("one", "two")]
    assert captures[0].stat().st_size == captures[1].stat().st_size > 100_000
    assert flows["goodput_mbit_s"][0] == pytest.approx(9.3, abs=0.4)
    entry = one.history[-1]
    assert entry["kernel"] == stock[0].release
    assert 0 < entry["emulator"]["cpu_pct"] < 30
    assert entry["emulator"]["invalid"] is None


def test_the_simulator_agrees_with_a_stock_kernel_that_loads_our_algorithm(
    tmp_path: Path, stock: list[StockKernel]
) -> None:
    # Vegas is excluded: its slow start ends at 79 packets in the kernel and at 76 here, because a
    # different ACK is not delayed, and Vegas then reduces its window by a packet per round trip.
    kernel = stock[-1]
    major, minor, *_ = kernel.release.split(".")
    study = Study(
        id="short",
        link="rate=10 Mbit/s,delay=20 ms,queue=50 packets",
        algorithm=["cubic", "ours:cubic"],
        duration="4 s",
        warm_up="0 s",
        stack=f"linux-{major}.{minor}",
    )
    done = validate(study, tmp_path, where=VirtualMachines(kernel))
    assert [each.verdict for each in done.judgements] == [Agreement.AGREES] * 2
    for each in done.judgements:
        # The bounds of `make fidelity`.
        assert abs(each.pairs["goodput_mbit_s"].difference) < 0.01
        assert abs(each.pairs["rtt_p50_ms"].difference) < 0.03
        assert abs(each.pairs["cwnd_mean_pkts"].difference) < 0.03
    loaded = [
        entry["ours_in_kernel"] for entry in done.measured.history if "ours_in_kernel" in entry
    ]
    assert [list(names) for names in loaded] == [["ours:cubic"]]
