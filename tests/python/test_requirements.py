"""What each stage of the set-up installs: the demo waits for no package of the tests."""

import pytest

import requirements

PROJECT = {
    "build-system": {"requires": ["builder"]},
    "project": {"dependencies": ["library"], "optional-dependencies": {"dev": ["tester"]}},
}


@pytest.mark.parametrize(
    ("stage", "wanted"),
    [
        ("build", ["builder"]),
        ("run", ["builder", "library"]),
        ("all", ["builder", "library", "tester"]),
    ],
)
def test_each_stage_adds_to_the_one_before(stage: str, wanted: list[str]) -> None:
    assert requirements.requirements(PROJECT, stage) == wanted
