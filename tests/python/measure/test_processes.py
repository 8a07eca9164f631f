"""Tests that measure this machine run one at a time, even if several processes run tests."""

from __future__ import annotations

import pytest


def test_what_measures_this_machine_stays_in_one_process(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("all tests run in one process, or without groups")
    assert request.node.nodeid.endswith("@this machine"), "pytest and pytest-xdist do not fit"
