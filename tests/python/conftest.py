"""Fixtures that tests share: a stand-in for the compiled core, and studies to run on it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import fake_core as stand_in
import user_code
from cwndlab import core
from cwndlab.resolve import traces
from synthetic import one_run, results, two_flows_two_rates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

# Random examples are the same in every run, and no example fails for being slow. To search for
# others, run `pytest --hypothesis-profile=search`.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _UNTIMED, derandomize=True, database=None)
settings.register_profile("search", _UNTIMED, max_examples=2_000)
settings.load_profile("same")

# Tests that load algorithms, create namespaces or measure in real time run one at a time.
_ON_THIS_MACHINE = (
    "algorithm/test_conform_kernel.py",
    "backends/test_kernel_studies.py",
    "backends/test_live",
    "backends/test_rootless.py",
    "backends/test_testbed.py",
    "cli/test_interruption.py",
    "cli/test_shell.py",
    "kernel",
    "measure",
)
# Files whose tests share something that takes long to make.
_TOGETHER = ("backends/test_vm", "papers")
_HERE = Path(__file__).parent

_CACHES = (
    core.module,
    core.algorithms,
    core.stacks,
    traces._read_trace,  # noqa: SLF001  to be emptied
    traces._read_folder,  # noqa: SLF001  as above
)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long tests first, and keep exclusive tests in one process (`make test-python`).

    Those fail if something else keeps the machine busy. As with runs on the kernel, there are up
    to three attempts; the summary lists every test that was repeated.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        path = item.path.relative_to(_HERE).as_posix()
        if path.startswith(_ON_THIS_MACHINE):
            item.add_marker(pytest.mark.xdist_group("this machine"))
            item.add_marker(pytest.mark.flaky(reruns=2))
        elif path.startswith(_TOGETHER):
            item.add_marker(pytest.mark.xdist_group(path))


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Replace the compiled core with the stand-in."""
    for cache in _CACHES:
        cache.cache_clear()
    monkeypatch.setitem(sys.modules, "cwndlab._core", stand_in)
    yield stand_in
    for cache in _CACHES:
        cache.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def known_servers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep servers of tests out of the user's list of known servers, and out of later tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty cache of compiled algorithms instead of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """Create modules in folders like those of a kernel."""
    return user_code.kernel_in(tmp_path)


__all__ = ["one_run", "results", "two_flows_two_rates"]
