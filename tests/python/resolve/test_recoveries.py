"""Tahoe, NewReno and SACK: reno with one method of loss recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import cwndlab as cw
from cwndlab.errors import CwndlabError

if TYPE_CHECKING:
    from pathlib import Path

LINK = "rate=10 Mbit/s,delay=50 ms,queue=200 packets,loss=0.1 %"
LINK_OF_OVERFLOWS = "rate=10 Mbit/s,delay=50 ms,queue=80 packets"


def goodput(folder: Path, link: str, stack: str, *algorithms: str) -> dict[str, float]:
    """Return the goodput by the name in the study, over three repetitions."""
    study = cw.Study(
        link=link,
        stack=stack,
        duration="60 s",
        repetitions=3,
        factors={"algorithm": list(algorithms)},
    )
    runs = study.run(folder / stack).runs()
    assert runs["algorithm"].unique().sort().to_list() == sorted(algorithms)
    means = runs.group_by("algorithm").agg(pl.col("goodput_mbit_s").mean())
    return dict(zip(means["algorithm"], means["goodput_mbit_s"], strict=True))


def test_starting_over_at_every_loss_is_slower(tmp_path: Path) -> None:
    found = goodput(tmp_path, LINK, "textbook", "tahoe", "newreno", "sack")
    assert found["tahoe"] < 0.95 * min(found["newreno"], found["sack"])


def test_one_hole_a_round_trip_is_slower_after_an_overflow(tmp_path: Path) -> None:
    found = goodput(tmp_path, LINK_OF_OVERFLOWS, "textbook", "newreno", "sack")
    assert found["newreno"] < 0.97 * found["sack"]


def test_linux_is_newreno_without_sack_and_sack_by_default(tmp_path: Path) -> None:
    found = goodput(tmp_path, LINK, "linux-6.1", "reno", "newreno", "sack")
    assert found["sack"] == found["reno"] != found["newreno"]


def test_names_become_reno_and_a_setting_and_share_their_seeds() -> None:
    study = cw.Study(
        link=LINK, stack="textbook", factors={"algorithm": ["cubic", "tahoe", "newreno", "sack"]}
    )
    cells = {cell.labels["algorithm"]: cell.resolved.scenario for cell in study.cells}
    for name in ("tahoe", "newreno", "sack"):
        for end in (cells[name].flows[0].sender, cells[name].flows[0].receiver):
            assert end.algorithm == "reno"
            assert end.stack_overrides == {"recovery": name}
    assert len({run.seed for run in study.matrix.runs}) == 1


@pytest.mark.parametrize("stack", ["linux-6.1", "linux-2.6.24"])
def test_linux_cannot_be_tahoe(stack: str) -> None:
    with pytest.raises(CwndlabError, match=f'stack {stack} does not support tahoe; .* "textbook"'):
        cw.Study(link=LINK, stack=stack, algorithm="tahoe").cells  # noqa: B018  resolves
