"""Algorithms that take turns between hosts that remember earlier runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cwndlab.api.study import Study
from cwndlab.errors import StudyError
from cwndlab.study.describe import describe_study

if TYPE_CHECKING:
    from pathlib import Path

TURNS = ["reno", "westwood", "bic", "cubic"]


def study(**keys: Any) -> Study:  # noqa: ANN401  keys of a study
    base: dict[str, Any] = {
        "link": "rate=2 Mbit/s,delay=40 ms,queue=60 packets",
        "algorithm": ["westwood", "cubic"],
        "flows": 2,
        "stack": "linux-2.6.24",
        "duration": "20 s",
        "id": "turns",
    }
    return Study(**base | keys)


def test_the_others_stand_before_a_run_the_last_ones_last() -> None:
    made = study(rotation=TURNS)
    westwood, cubic = (cell.resolved.scenario for cell in made.cells)
    names = [[flow.sender.algorithm for flow in flows] for flows in westwood.before]
    assert names == [["bic"] * 2, ["cubic"] * 2, ["reno"] * 2]
    assert [flows[0].sender.algorithm for flows in cubic.before] == TURNS[:3]
    # The release's parameters and all other settings of a flow apply to the other turns, too.
    assert westwood.before[1] == cubic.flows
    assert cubic.flows[0].sender.parameters == {"beta": 819, "hystart": 0}


def test_what_hosts_remember_is_told_before_it_runs() -> None:
    told = "\n".join(describe_study(study(rotation=TURNS)))
    assert "algorithms in unmeasured runs before each measured run: bic, cubic, reno" in told
    assert "remember" not in "\n".join(describe_study(study()))


def test_the_channel_is_the_same_with_turns_and_without_and_the_result_another() -> None:
    made, alone = study(rotation=TURNS), study()
    pairs = list(zip(made.matrix.runs, alone.matrix.runs, strict=True))
    assert all(one.scenario.seed == other.scenario.seed for one, other in pairs)
    assert all(one.key != other.key for one, other in pairs)


def test_hosts_that_remember_spare_themselves_the_overshoot(tmp_path: Path) -> None:
    def retransmitted(name: str, **keys: Any) -> int:  # noqa: ANN401  keys of a study
        flows = study(flows=1, algorithm="reno", **keys).run(tmp_path / name).flows()
        assert len(flows) == 1
        return int(flows["retransmitted_pkts"][0])

    assert retransmitted("first") > 20
    assert retransmitted("after", rotation=TURNS) < 5
    # A stack that caches nothing is not affected by earlier runs.
    forgets: dict[str, Any] = {"stack_overrides": {"cached_ssthresh": False}}
    assert retransmitted("forgets", **forgets) == retransmitted("both", rotation=TURNS, **forgets)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rotation": ["westwood", "cubic", "westwood"]}, "westwood appears twice in the rotation"),
        ({"rotation": ["westwood", "cubic", "cubick"]}, "cubick.*did you mean cubic"),
        (
            {"rotation": ["cubic", "bic"]},
            "the rotation does not contain westwood; add this algorithm",
        ),
        (
            {
                "rotation": ["cubic"],
                "algorithm": None,
                "flows": None,
                "flow": [{"algorithm": "cubic"}],
            },
            'a study with a "rotation" must also set "algorithm"',
        ),
    ],
)
def test_a_rotation_that_cannot_be_is_told(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        study(**keys)
