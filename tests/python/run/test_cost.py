"""The cost of a study is known before it runs, and endless studies are refused."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

import pytest

import cwndlab as cw
from cwndlab.api.running import run_study
from cwndlab.errors import StudyError
from cwndlab.run.cost import cost_of
from cwndlab.run.progress import Silent

if TYPE_CHECKING:
    from pathlib import Path


def test_an_absurd_size_is_refused_with_the_reason(tmp_path: Path) -> None:
    study = cw.Study(
        link="rate=100 Gbit/s,delay=10 ms", algorithm="cubic", flows=10_000, duration="1000000 s"
    )
    with pytest.raises(StudyError, match=r"would need about \d+ days on one core, .* TB") as caught:
        study.run(tmp_path / "s")
    assert caught.value.exit_status == 2
    assert not (tmp_path / "s").exists()


def test_a_long_study_says_what_it_takes_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stopping(Silent):
        def __enter__(self) -> Self:
            raise KeyboardInterrupt

    study = cw.Study(
        link="rate=1 Gbit/s,delay=10 ms", algorithm="cubic", duration="3600 s", title="Long"
    )
    with pytest.raises(cw.errors.InterruptedStudyError):
        run_study(study, tmp_path / "s", jobs=2, report=lambda *_: Stopping())
    assert capsys.readouterr().err.startswith("Long: about ")


@pytest.mark.parametrize(
    ("link", "flows", "duration"),
    [
        ("rate=100 Mbit/s,delay=20 ms", 1, "60 s"),
        ("rate=10 Mbit/s,delay=20 ms", 200, "30 s"),
        ("lossy", 1, "300 s"),
        ("wifi-typical", 1, "30 s"),
        ("lte-typical", 1, "30 s"),
    ],
)
def test_the_estimate_is_good_for_an_order_of_magnitude(
    tmp_path: Path, link: str, flows: int, duration: str
) -> None:
    study = cw.Study(link=link, algorithm="cubic", flows=flows, duration=duration)
    cost = cost_of(study.cells, 1)
    began_s = time.process_time()
    results = run_study(study, tmp_path / "s", jobs=1, report=lambda *_: Silent())
    took_s = time.process_time() - began_s
    assert cost.cpu_s / 10 < took_s < max(10 * cost.cpu_s, 1.0)
    size = sum(path.stat().st_size for path in results.path.rglob("*") if path.is_file())
    assert size < max(10 * cost.size_bytes, 1e6)
