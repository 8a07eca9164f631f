"""A stock kernel that boots: once, beside what it costs, where QEMU and a kernel are there.

The kernel is one of those that `cwndlab kernel add` has put into the folder CWNDLAB_TEST_KERNELS,
which is used as XDG_CACHE_HOME.
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

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = os.environ.get("CWNDLAB_TEST_KERNELS", "")


def test_a_stock_kernel_gives_the_same_results_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not FOLDER:
        pytest.skip("CWNDLAB_TEST_KERNELS names no folder of kernels")
    if obstacles := obstacles_to_machines():
        pytest.skip("; ".join(what for what, _ in obstacles))
    monkeypatch.setenv("XDG_CACHE_HOME", FOLDER)
    if not (found := kernels()):
        pytest.skip("no kernel in CWNDLAB_TEST_KERNELS; cwndlab kernel add 6.1 puts one there")
    study = Study(
        id="vm",
        link="rate=10 Mbit/s,delay=20 ms,queue=50 packets",
        algorithm="cubic",
        duration="3 s",
        warm_up="0 s",
    ).with_captures()
    where = VirtualMachines(found[0], jobs=1)
    one, two = (study.run(tmp_path / name, backend=where) for name in ("one", "two"))
    flows = one.flows()
    # In some runs of QEMU a few nanoseconds are counted otherwise.
    assert_frame_equal(flows, two.flows(), rel_tol=1e-6)
    captures = [next((tmp_path / name).glob("files/*/capture.pcap")) for name in ("one", "two")]
    assert captures[0].stat().st_size == captures[1].stat().st_size > 100_000
    assert flows["goodput_mbit_s"][0] == pytest.approx(9.3, abs=0.4)
    entry = one.history[-1]
    assert entry["kernel"] == found[0].release
    assert 0 < entry["emulator"]["cpu_pct"] < 30
    assert entry["emulator"]["invalid"] is None
