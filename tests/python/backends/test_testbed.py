"""Runs on the kernel: how Python uses the helper, and the helper itself if it can run here."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import fake_core as stand_in
from cwndlab.api.running import run_study
from cwndlab.api.study import Study
from cwndlab.backends import Simulator, ThisKernel
from cwndlab.backends.kernel import process, tracing
from cwndlab.backends.kernel.executor import KernelExecutor
from cwndlab.backends.kernel.names import KernelNames
from cwndlab.backends.kernel.process import RunsHelper
from cwndlab.cli import run as run_cli
from cwndlab.errors import KernelRunError, RunsFailedError
from cwndlab.kernel.capabilities import Obstacle, obstacles, this_kernel
from cwndlab.run.progress import Silent
from finished import finished
from patience import is_soon
from this_machine import needs_kernel

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results


def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    values = [list(column) for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def answers(*lines: dict[str, Any]) -> str:
    """Return a fake helper that gives these answers to any requests."""
    text = "\n".join(json.dumps(line) for line in lines)
    check = '[ "$1" = check ] && exit 0'
    return f"#!/bin/sh\n{check}\nread -r request\ncat <<'END'\n{text}\nEND\nread -r rest\n"


def ran(**report: object) -> dict[str, Any]:
    told = {"invalid": None, "ring_drops": 0, **report}
    made = stand_in.run(study().matrix.runs[0].scenario.to_json(), {})
    flows = [{**row, "goodput_mbit_s": 9.5, "timeouts": None} for row in rows(made["flows"])]
    samples = {"flow": [0], "t_s": [0.1], "cwnd_pkts": [10], "ssthresh_pkts": [None]}
    tables = {"flows": flows, "links": rows(made["links"]), "samples": samples, "events": None}
    kernel = {"began_ns": 0, "namespaces": [1, 2], "netstat": [{"TCPTimeouts": 2}, {}]}
    kernel |= {"wake_time": {"p50_us": 15.0}, "read_time": {"p50_us": 3.0}}
    return {"answer": "ran", **tables, "report": told, "kernel": kernel}


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "helper"
    monkeypatch.setattr(process, "helper_path", lambda: path)
    nothing_to_trace_with = [Obstacle("the tests have no tracepoints", "none")]
    monkeypatch.setattr(tracing, "obstacles", lambda: nothing_to_trace_with)
    return path


def write(path: Path, script: str) -> None:
    path.write_text(script, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def study(**keys: Any) -> Study:  # noqa: ANN401  keys of a study
    base = {"link": "rate=10 Mbit/s,delay=20 ms", "algorithm": "cubic", "duration": "1 s"}
    return Study(**{**base, "id": "s", **keys})


def run(made: Study, folder: Path, said: list[str] | None = None) -> Results:
    say = (lambda _: None) if said is None else said.append
    executor = KernelExecutor(say=say)
    return run_study(made, folder, backend="kernel", executor=executor, report=lambda *_: Silent())


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel backend needs Linux")


@needs_linux
@pytest.mark.usefixtures("fake_core")
def test_what_the_helper_measured_becomes_the_tables_of_the_store(
    helper: Path, tmp_path: Path
) -> None:
    waiting = {"answer": "waiting", "owner": "cwndlab run other.toml (process 7)"}
    write(helper, answers(waiting, ran(lateness={"p99_us": 40.0})))
    said: list[str] = []
    results = run(study(), tmp_path / "r", said)
    flows = results.flows()
    assert flows["goodput_mbit_s"].to_list() == [9.5]
    assert flows["timeouts"].to_list() == [None]
    assert flows.schema["timeouts"] == pl.Int64
    entry = results.history[-1]
    assert entry["backend"] == "kernel"
    assert entry["emulator"]["lateness"] == {"p99_us": 40.0}
    assert entry["netstat"] == [{"TCPTimeouts": 2}, {}]
    assert entry["not_traced"] == "the tests have no tracepoints"
    assert said == [
        "waiting for this machine's kernel, which cwndlab run other.toml (process 7) is using"
    ]


def answers_each(folder: Path) -> str:
    """Return a fake helper that records when it had the machine to itself."""
    return f"""#!/bin/sh
while read -r request; do
  case "$request" in
    *'"do": "hold"'*) echo hold >> {folder}/asked; echo '{{"answer": "done"}}';;
    *'"do": "release"'*) echo release >> {folder}/asked; echo '{{"answer": "done"}}';;
    *'"is_held": true'*) echo run >> {folder}/asked; cat <<'END'
{json.dumps(ran())}
END
  ;;
  esac
done
"""


@needs_linux
@pytest.mark.usefixtures("fake_core")
def test_runs_at_once_hold_the_machine_batch_by_batch(helper: Path, tmp_path: Path) -> None:
    write(helper, answers_each(tmp_path))
    made = study(repetitions=3)
    executor = KernelExecutor(at_once=2)
    results = run_study(
        made, tmp_path / "r", backend="kernel", executor=executor, report=lambda *_: Silent()
    )
    assert results.flows().height == 3
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert asked == ["hold", "run", "run", "release", "hold", "run", "release"]


@needs_linux
@pytest.mark.usefixtures("fake_core")
def test_a_run_in_which_the_machine_did_not_keep_up_is_made_again_and_never_kept(
    helper: Path, tmp_path: Path
) -> None:
    late = ran(invalid="1 % of the packets left more than 3.0 ms late")
    write(helper, answers(late, late, ran()))
    assert run(study(), tmp_path / "again").history[-1]["emulator"]["attempt"] == 3
    write(helper, answers(late, late, late))
    with pytest.raises(RunsFailedError, match=r"not valid: 1 % of .*, in 3 attempts"):
        run(study(), tmp_path / "never")
    assert not finished(tmp_path / "never")


@needs_linux
def test_what_the_helper_refuses_and_that_it_ended_is_told(helper: Path) -> None:
    write(helper, answers({"answer": "refused", "message": "it needs root: sudo"}))
    with RunsHelper() as asked, pytest.raises(KernelRunError, match="it needs root"):
        asked.ask({"do": "run"})
    write(helper, "#!/bin/sh\nexit 3\n")
    with RunsHelper() as asked, pytest.raises(KernelRunError, match=r"status 3"):
        asked.ask({"do": "run"})


@pytest.mark.usefixtures("fake_core")
def test_results_of_the_kernel_are_never_taken_for_those_of_the_simulator() -> None:
    matrix = study(algorithm=["cubic", "reno"], repetitions=2).matrix
    ours, theirs = ({run.key for run in each.runs} for each in (matrix, ThisKernel().keyed(matrix)))
    assert len(ours) == len(theirs) == 4
    assert not ours & theirs
    assert Simulator().keyed(matrix) is matrix
    assert [run.seed for run in ThisKernel().keyed(matrix).runs] == [
        run.seed for run in matrix.runs
    ]


@pytest.mark.usefixtures("fake_core")
def test_without_its_helper_the_backend_says_what_to_do(
    helper: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del helper
    monkeypatch.setattr(process, "helper_path", lambda: None)
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "--link", "rate=10 Mbit/s,delay=1 ms", "--algorithm", "cubic"]
    assert run_cli([*arguments, "--backend", "kernel"]) == 2
    assert "make setup" in capsys.readouterr().err or sys.platform != "linux"


@needs_linux
@pytest.mark.parametrize("command", [["compare", "--algorithm", "cubic"], ["validate"]])
def test_what_the_machine_lacks_is_reported_before_the_first_run(
    command: list[str],
    helper: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(helper, "#!/bin/sh\necho no network namespace: no\necho sudo cwndlab ...\nexit 1\n")
    monkeypatch.chdir(tmp_path)
    if command[0] == "compare":
        command = [*command, "--link", "lossy", "--backend", "kernel"]
    assert run_cli(command) == 2
    assert "no network namespace: no (sudo cwndlab ...)" in capsys.readouterr().err
    assert not list(tmp_path.glob("results/*/failed/*")), "no run was tried"


def test_every_obstacle_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "helper_path", lambda: None)
    found = process.obstacles_to_runs()
    assert found
    assert all(what and remedy for what, remedy in found)


# ---- the real helper


@needs_kernel
def test_both_backends_write_the_same_columns(tmp_path: Path) -> None:
    made = study(duration="1 s", algorithm=["reno", "cubic"], flows=2)
    simulated = run_study(made, tmp_path / "sim", report=lambda *_: Silent())
    measured = run_study(made, tmp_path / "kernel", backend="kernel", report=lambda *_: Silent())
    for table in ("runs", "flows", "links", "samples", "events"):
        ours, theirs = (getattr(each, table)() for each in (simulated, measured))
        assert ours.schema == theirs.schema, table
        assert theirs.height > 0, table
    assert measured.flows()["stack"].unique().to_list()[0].startswith("linux-")


@needs_kernel
@pytest.mark.skipif(bool(obstacles()), reason="algorithms cannot be loaded here")
def test_ours_is_loaded_for_its_runs_and_shared_with_whoever_holds_it(tmp_path: Path) -> None:
    scenario = study(algorithm="ours:scalable").matrix.runs[0].scenario.model_dump(mode="json")
    with KernelNames() as first, KernelNames() as second:
        [name] = first.of(scenario).values()
        assert name in this_kernel().ours
        assert second.of(scenario) == {"ours:scalable": name}
        results = run(study(algorithm="ours:scalable"), tmp_path / "r")
        assert results.flows()["algorithm"].to_list() == ["ours:scalable"]
        assert results.history[-1]["ours_in_kernel"] == {"ours:scalable": name}
        first.close()
        assert is_soon(lambda: name not in this_kernel().ours)
        assert second.of(scenario) == {"ours:scalable": name}
        assert name in this_kernel().ours, "loaded by itself now"
    assert is_soon(lambda: name not in this_kernel().ours)
