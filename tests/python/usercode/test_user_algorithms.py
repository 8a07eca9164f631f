"""Algorithms in files: compiled, run in a separate process, and refused with an explanation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import cwndlab as cw
import user_code
from cwndlab.errors import AlgorithmError, RunsFailedError, StudyError
from cwndlab.usercode.compiler import shared_object
from cwndlab.usercode.processes import WorkerProcess, explain
from cwndlab.usercode.program import is_file_reference, name_of, read_program
from cwndlab.usercode.worker import DescribeProgram
from program import LINK, run
from user_code import mine

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("own_cache"),
]


def compared(folder: Path, algorithms: str, *more: str, status: int = 0) -> tuple[str, str]:
    arguments = ("--link", LINK, "--algorithm", algorithms, "--duration", "5 s", *more)
    return run(folder, "compare", *arguments, "--results", "r", status=status)


def failures(folder: Path) -> dict[str, str]:
    """Return the recorded error of each failed run, by algorithm."""
    noted = [json.loads(path.read_text()) for path in (folder / "r" / "failed").iterdir()]
    return {each["scenario"]["flows"][0]["sender"]["algorithm"]: each["error"] for each in noted}


def test_a_file_is_an_algorithm_like_any_other(tmp_path: Path) -> None:
    """A new implementation of Reno gives the same bytes as Reno."""
    mine(tmp_path)
    out, _ = compared(tmp_path, "reno,./mine.c", "--format", "json")
    assert [row["algorithm"] for row in json.loads(out)["rows"]] == ["reno", "mine"]
    flows = cw.open_results(tmp_path / "r").flows().drop("run", "algorithm", "receiver_algorithm")
    flows = flows.drop(pl.selectors.starts_with("factor_"))
    assert flows.row(0) == flows.row(1)


def test_the_ending_of_a_file_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(user_code.GOOD, encoding="utf-8")
    (tmp_path / "mine2.C").write_text(user_code.GOOD, encoding="utf-8")  # C++ for a compiler
    out, _ = compared(tmp_path, "./mine.txt,./mine2.C", "--format", "json")
    assert len(json.loads(out)["rows"]) == 2


def test_the_name_of_a_file_is_not_an_option_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "-mine.c").write_text(user_code.GOOD, encoding="utf-8")
    out, _ = compared(tmp_path, "./-mine.c", "--format", "json")
    assert [row["algorithm"] for row in json.loads(out)["rows"]] == ["-mine"]


def test_a_worker_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """A received study may be in a folder with a `polars.py`."""
    for name in ("polars", "numpy", "cwndlab"):
        (tmp_path / f"{name}.py").write_text(f"open('imported-{name}', 'w').close()\n")
    mine(tmp_path)
    compared(tmp_path, "reno,./mine.c")
    assert not list(tmp_path.glob("imported-*"))


def test_results_of_a_file_that_changed_are_never_overwritten(tmp_path: Path) -> None:
    """Other files, algorithms or links use another folder, or are added to the existing results."""
    arguments = ("--link", LINK, "--duration", "5 s", "--algorithm")
    mine(tmp_path)
    run(tmp_path, "compare", *arguments, "./mine.c,cubic")
    (first,) = (tmp_path / "results").iterdir()
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    mine(tmp_path, user_code.GOOD.replace("512, 1, 1023", "900, 1, 1023"))
    run(tmp_path, "compare", *arguments, "./mine.c,cubic")
    run(tmp_path, "compare", *arguments, "./mine.c", "--flows", "2")
    _, err = run(tmp_path, "compare", *arguments, "./mine.c", "--results", str(first), status=2)
    assert err.endswith(
        " contains results of a different algorithm named mine; choose another folder\n"
    )
    assert {path: path.read_bytes() for path in before} == before
    second = first.with_name(f"{first.name}-2")
    assert len(list((tmp_path / "results").iterdir())) == 3
    old, new = (cw.open_results(each).flows(algorithm="mine") for each in (first, second))
    assert old["rtt_mean_ms"].to_list() != new["rtt_mean_ms"].to_list()
    run(tmp_path, "compare", *arguments, "./mine.c,reno")
    both = cw.open_results(second)
    assert both.study.factors["algorithm"] == ["mine", "cubic", "reno"]
    assert both.flows(algorithm="mine").equals(new)


@pytest.mark.long
@pytest.mark.parametrize(
    "mistakes",
    [user_code.UNUSABLE, user_code.MALICIOUS, user_code.BREAKING],
    ids=["unusable", "malicious", "breaking"],
)
def test_mistakes_fail_their_own_runs_only(
    tmp_path: Path, mistakes: tuple[user_code.Mistake, ...]
) -> None:
    """A campaign with every mistake: all other runs finish, and each error names its place."""
    for mistake in mistakes:
        mine(tmp_path, mistake.source, f"{mistake.name}.c")
    mine(tmp_path)
    names = ",".join(f"./{mistake.name}.c" for mistake in mistakes)
    _, err = compared(tmp_path, f"reno,{names},./mine.c", "--jobs", "2", status=1)
    total = len(mistakes) + 2
    assert f"{len(mistakes)} of {total} runs failed, 2 of {total} runs are stored" in err
    assert cw.open_results(tmp_path / "r").runs()["algorithm"].to_list() == ["reno", "mine"]
    told = failures(tmp_path)
    for mistake in mistakes:
        # On a busy machine, ten seconds pass before a second of computation.
        text = told[mistake.name].replace("ten seconds", "one second of computation")
        assert mistake.told in text, text
    assert not (tmp_path / "written").exists()


def test_the_documentation_quotes_what_one_is_told() -> None:
    """Its table of mistakes is the same as in these tests."""
    page = Path(__file__).parents[3] / "docs/how-to/own-algorithm.md"
    table = page.read_text(encoding="utf-8").partition("| error message |")[2]
    quoted = re.findall(r"^\| [^|]+ \| `([^`]+)` \|$", table, re.MULTILINE)
    told = [mistake.told for mistake in user_code.MISTAKES]
    assert len(quoted) == 9
    for message in quoted:
        assert any(message in each for each in told), message


def test_a_line_is_known_of_a_loop_without_end(tmp_path: Path) -> None:
    """The message names the user's file, although the same text was compiled elsewhere before."""
    endless = next(each for each in user_code.BREAKING if each.name == "endless")
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        mine(folder, endless.source, "endless.c")
        compared(folder, "./endless.c", status=1)
        told = failures(folder)["endless"]
        place = re.match(r"endless\.c:(\d+): cong_avoid has not returned", told)
        assert place, told
        assert user_code.HERE <= int(place[1]) <= user_code.HERE + 2


def test_a_study_that_is_not_there_or_cannot_be_compiled_here_is_refused(tmp_path: Path) -> None:
    _, err = compared(tmp_path, "reno,./absent.c", status=2)
    assert err == 'algorithm[1] = "./absent.c"\n  absent.c: no such file\n'
    (tmp_path / "folder.c").mkdir()
    assert "folder.c: is not a file" in compared(tmp_path, "./folder.c", status=2)[1]
    assert "(give the path to a C file, such as" in compared(tmp_path, "./mine", status=2)[1]
    assert "tcp_x.c: no such file" in compared(tmp_path, "linux:net/ipv4/tcp_x.c", status=2)[1]
    assert not (tmp_path / "r").exists()


def test_without_a_compiler_one_is_told_what_to_install(tmp_path: Path) -> None:
    mine(tmp_path)
    program = "import sys; from cwndlab.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "algorithm", "check", "./mine.c"]
    environment = {**os.environ, "PATH": str(tmp_path), "CC": "no-such-compiler"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("no C compiler is installed; install gcc or clang")


def test_a_process_without_standard_input_compiles_too(tmp_path: Path) -> None:
    """The compiler's rights are in a descriptor, which would get number 0 and be replaced."""
    program = (
        "import os, sys; from pathlib import Path; "
        "from cwndlab.usercode.compiler import shared_object; "
        "from cwndlab.usercode.program import read_program; os.close(0); "
        "shared_object(read_program(sys.argv[1], Path()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(mine(tmp_path))],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr


def test_parameters_are_set_per_run_and_varied(tmp_path: Path) -> None:
    mine(tmp_path)
    (tmp_path / "s.toml").write_text(
        f'[study]\nid = "s"\nduration = "5 s"\nlink = "{LINK}"\nalgorithm = "./mine.c"\n'
        "[parameters.mine]\nkept = 300\n[factors]\n"
        '"algorithm.parameters.kept" = [512, 900]\n'
    )
    run(tmp_path, "run", "s.toml", "--trust")
    results = cw.open_results(tmp_path / "results" / "s")
    assert results.runs()["kept"].to_list() == [512, 900]
    windows = results.flows()["cwnd_mean_pkts"].to_list()
    assert windows[0] < windows[1]


@pytest.mark.parametrize("algorithm", ["./mine.c", "cubic"])
@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            '[factors]\n"algorithm.parameters.{known}" = [5, 0]\n',
            's.toml:7: factors."algorithm.parameters.{known}"[1] = 0\n  {name} accepts 1 to 1,023',
        ),
        (
            "[factors]\nparameters.{name}.{known} = [5, 5000]\n",
            "s.toml:7: factors.parameters.{name}.{known}[1] = 5000\n  {name} accepts 1 to 1,023",
        ),
        (
            "[parameters.{name}]\nnope = 1\n",
            "s.toml:7: parameters.{name}.nope = 1\n  {name} has no such parameter; its ",
        ),
        (
            "[[flow]]\nparameters = {{ {known} = 1024 }}\n",
            "s.toml:7: flow[0].parameters.{known} = 1024\n  {name} accepts 1 to 1,023",
        ),
        (
            '[[flow]]\n[factors]\n"flow.0.algorithm.parameters.{known}" = [1, 2000]\n',
            's.toml:8: factors."flow.0.algorithm.parameters.{known}"[1] = 2000\n  {name} accepts',
        ),
        (
            '[parameters."./other.c"]\nnope = 1\n',
            's.toml:6: parameters."./other.c"\n  other.c: no such file',
        ),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_told_with_its_place(
    tmp_path: Path, algorithm: str, written: str, message: str
) -> None:
    mine(tmp_path)
    words = {"name": "mine" if "/" in algorithm else algorithm}
    words["known"] = "kept" if "/" in algorithm else "beta"
    head = f'[study]\nid = "s"\nduration = "5 s"\nlink = "{LINK}"\nalgorithm = "{algorithm}"\n'
    (tmp_path / "s.toml").write_text(head + written.format(**words))
    _, err = run(tmp_path, "run", "s.toml", "--trust", status=2)
    assert err.startswith(message.format(**words)), err


def test_a_parameter_path_needs_an_algorithm(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the study sets no common algorithm"):
        cw.Study(
            link=LINK,
            flow=[{"algorithm": "cubic"}],
            factors={"algorithm.parameters.beta": [1, 2]},
        )
    assert not any(tmp_path.iterdir())


def test_results_keep_the_file_and_know_its_content(tmp_path: Path) -> None:
    """The results need no other file; other text gives other runs, another path does not."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "helper.h").write_text("#define HELPED 1\n")
    source = user_code.GOOD.replace('#include "cc.h"', '#include "cc.h"\n#include "helper.h"')
    mine(tmp_path / "in", source)
    document = {"link": LINK, "duration": "2 s", "id": "s"}
    study = cw.Study(algorithm=[str(tmp_path / "in" / "mine.c")], **document)  # type: ignore[arg-type]
    results = study.run(tmp_path / "r")
    shutil.rmtree(tmp_path / "in")
    copied = tmp_path / "r" / "algorithms" / "mine"
    assert sorted(path.name for path in copied.iterdir()) == ["helper.h", "mine.c"]
    again = cw.Study.load(tmp_path / "r" / "study.toml")
    keys = [run.key for run in again.matrix.runs]
    assert keys == results.runs()["run"].to_list()
    mine(copied, source.replace(">> 10", ">> 11"))
    changed = cw.Study.load(tmp_path / "r" / "study.toml")
    assert [run.key for run in changed.matrix.runs] != keys
    assert [run.seed for run in changed.matrix.runs] == [run.seed for run in again.matrix.runs]


def test_a_report_names_a_users_algorithm(tmp_path: Path) -> None:
    mine(tmp_path)
    compared(tmp_path, "reno,./mine.c")
    page = Path(run(tmp_path, "report", "r")[0].strip())
    assert "mine" in (tmp_path / page).read_text(encoding="utf-8")


def test_two_files_of_one_name_are_told_apart_or_refused(tmp_path: Path) -> None:
    for folder, text in (("a", user_code.GOOD), ("b", user_code.GOOD.replace("512", "700"))):
        (tmp_path / folder).mkdir()
        mine(tmp_path / folder, text)
    flows = [{"algorithm": str(tmp_path / folder / "mine.c")} for folder in ("a", "b")]
    with pytest.raises(
        StudyError, match="two different algorithm files have the name mine; rename one"
    ):
        cw.Study(link=LINK, flow=flows)


def test_a_file_called_like_a_built_in_one_keeps_its_ending(tmp_path: Path) -> None:
    assert name_of("./cubic.c", {"cubic"}) == "cubic.c"
    assert name_of("x/my_cc.c", {"cubic"}) == "my_cc"
    assert name_of("linux:k/net/ipv4/tcp_cubic.c", {"cubic"}) == "linux:cubic"
    mine(tmp_path, name="reno.c")
    out, _ = compared(tmp_path, "reno,./reno.c", "--format", "json")
    assert [row["algorithm"] for row in json.loads(out)["rows"]] == ["reno", "reno.c"]


@pytest.mark.parametrize(
    ("name", "is_file"),
    [("cubic", False), ("westwood+", False), ("my.c", True), ("./my", True), ("linux:x", True)],
)
def test_names_and_files_are_told_apart(name: str, is_file: bool) -> None:  # noqa: FBT001  a case
    assert is_file_reference(name) is is_file


def test_a_flow_may_end_at_another_algorithm(tmp_path: Path) -> None:
    path = mine(tmp_path)
    flow = [{"algorithm": "cubic", "receiver_algorithm": str(path)}]
    flows = cw.Study(link=LINK, flow=flow, duration="2 s").run(tmp_path / "r").flows()
    assert flows["receiver_algorithm"].to_list() == ["mine"]


# ---- source files of a kernel


def test_a_module_runs_unmodified_with_its_companion(tmp_path: Path, kernel: Path) -> None:
    """The module is Reno, and its parameter has an effect, although only its init reads it."""
    program = read_program(f"linux:{kernel / 'tcp_mod.c'}", Path())
    assert [Path(unit.file).name for unit in program.units] == [
        "tcp_halves.c",
        "tcp_mod.c",
        "module.c",
        "guard.c",
    ]
    with WorkerProcess() as process:
        entry = process.ask(DescribeProgram(str(shared_object(program)), program.file))
    assert (entry["name"], entry["description"]) == ("mod", "Reno as a module")
    assert entry["hooks"] == ["ssthresh", "cong_avoid", "undo_cwnd", "init"]
    (kept,) = entry["parameters"]
    assert (kept["name"], kept["default"], kept["max"]) == ("kept", 512, 2**31 - 1)
    assert kept["doc"] == "what a loss leaves, in 1/1024"
    reference = "linux:kernel/net/ipv4/tcp_mod.c"
    (tmp_path / "s.toml").write_text(
        f'[study]\nid = "s"\nduration = "5 s"\nlink = "{LINK}"\n[factors.variant]\n'.replace(
            "[factors.variant]\n", "[factors]\nvariant = [\n"
        )
        + '{ name = "reno", algorithm = "reno" },\n'
        + f'{{ name = "mod", algorithm = "{reference}" }},\n'
        + f'{{ name = "more", algorithm = "{reference}", "algorithm.parameters.kept" = 900 }},\n]\n'
    )
    run(tmp_path, "run", "s.toml", "--trust")
    runs = cw.open_results(tmp_path / "results" / "s").flows()
    goodput = dict(zip(runs["variant"], runs["cwnd_mean_pkts"], strict=True))
    assert goodput["mod"] == goodput["reno"]
    assert goodput["more"] > goodput["mod"]


def test_both_forms_of_cong_control_are_understood(tmp_path: Path, kernel: Path) -> None:
    compared(tmp_path, f"linux:{kernel / 'tcp_newer.c'}")
    flows = cw.open_results(tmp_path / "r").flows()
    assert flows["cwnd_max_pkts"].to_list() == [20]


def test_a_module_that_breaks_a_rule_is_told_like_any_other(tmp_path: Path, kernel: Path) -> None:
    path = kernel / "tcp_mod.c"
    path.write_text(path.read_text().replace("ca->calls = 0;", "ca->calls = 7 / ca->calls;"))
    compared(tmp_path, f"linux:{path}", status=1)
    told = failures(tmp_path)["linux:mod"]
    assert re.search(r"tcp_mod\.c:\d+: init divides by zero", told), told


# ---- the parts


def test_a_programs_hash_is_of_its_text(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        mine(tmp_path / name)
    here, there = (read_program(str(tmp_path / name / "mine.c"), Path()) for name in ("a", "b"))
    assert here.sha256 == there.sha256
    mine(tmp_path / "b", user_code.GOOD.replace("512", "513"))
    assert read_program(str(tmp_path / "b" / "mine.c"), Path()).sha256 != here.sha256


def test_a_damaged_cache_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = mine(tmp_path)
    read_program(str(path), Path())
    header = next((tmp_path / "cache").rglob("cc.h"))
    header.write_text("damaged")
    assert read_program(str(path), Path()).units
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(AlgorithmError, match="set XDG_CACHE_HOME to another folder"):
        read_program(str(path), Path())


def test_a_guards_line_is_explained() -> None:
    line = "cwndlab-guard\tmy.c\tssthresh\tdivides by zero\tmy.c\t12\t\t\t"
    assert explain(line) == "my.c:12: ssthresh divides by zero"
    line = "cwndlab-guard\tmy.c\tinit\taborted\t\t\t/no/such/library.so\t0x10\ta window of 3"
    assert explain(line) == "my.c: init aborted\n  a window of 3"


def test_a_process_is_started_again_after_its_end(tmp_path: Path) -> None:
    path = mine(tmp_path)
    program = read_program(str(path), Path())
    request = DescribeProgram(str(shared_object(program)), program.file)
    with WorkerProcess() as process:
        assert process.ask(request)["name"] == "mine"
        process.close()
        assert process.ask(request)["name"] == "mine"


def test_the_api_runs_files_too(tmp_path: Path) -> None:
    zero = next(each for each in user_code.BREAKING if each.name == "zero")
    path = mine(tmp_path, zero.source, "zero.c")
    study = cw.Study(link=LINK, algorithm=["reno", str(path)], duration="2 s")
    with pytest.raises(RunsFailedError, match="set the congestion window to 0 packets"):
        study.run(tmp_path / "r")
    assert cw.open_results(tmp_path / "r").runs()["algorithm"].to_list() == ["reno"]


def test_nothing_of_a_checkout_is_needed(tmp_path: Path, kernel: Path) -> None:
    """All compiled files belong to the user or the system, or were written by the package."""
    checkout = Path(__file__).resolve().parents[3]
    for reference in (str(mine(tmp_path)), f"linux:{kernel / 'tcp_mod.c'}"):
        program = read_program(reference, Path())
        included = {
            Path(name)
            for unit in program.units
            for name in re.findall(r'^# \d+ "([^"<]+)"', unit.text, re.MULTILINE)
        }
        assert any(path.name == "cc.h" for path in included)
        assert not [path for path in included if path.resolve().is_relative_to(checkout)]


def test_an_error_names_the_one_of_two_algorithms_that_made_it(tmp_path: Path) -> None:
    broken = next(each for each in user_code.BREAKING if each.name == "division")
    paths = mine(tmp_path), mine(tmp_path, broken.source, "division.c")
    study = cw.Study(link=LINK, flow=[{"algorithm": str(path)} for path in paths], duration="2 s")
    with pytest.raises(RunsFailedError, match=r"/division\.c:\d+: cong_avoid divides by zero"):
        study.run(tmp_path / "r")


def test_the_package_carries_what_algorithms_are_compiled_with() -> None:
    from cwndlab import core  # noqa: PLC0415  the real one, whatever ran before

    names = set(core.module().contract_files())
    assert {"include/cc.h", "include/cc_tcp.h", "port/native.h", "port/guard.c"} <= names
    assert {"linux/cc_linux.h", "linux/ops.h", "linux/module.c"} <= names
    assert (Path(cw.__file__).parent / "data" / "skeleton.c").is_file()


# ---- received code


def test_code_that_came_with_a_study_is_compiled_once_the_user_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    received = tmp_path / "received"
    received.mkdir()
    mine(received)
    study = received / "s.toml"
    study.write_text(
        '[study]\nid = "s"\nduration = "2 s"\nalgorithm = "./mine.c"\n[link]\npreset = "lossy"\n',
        encoding="utf-8",
    )
    for command in ("run", "plan", "validate"):
        _, err = run(received, command, "s.toml", status=2)
        assert err.startswith("s.toml compiles and runs 1 C file: ./mine.c\n  read the code;")
    assert not (tmp_path / "cache").exists(), "nothing was compiled"
    run(received, "run", "s.toml", "--trust")
    run(received, "run", "s.toml")
    study.replace(tmp_path / "s.toml")
    mine(tmp_path)
    run(tmp_path, "run", "s.toml", status=2)


def test_code_that_came_with_results_is_compiled_once_the_user_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mine(tmp_path)
    compare = ("compare", "--link", "lossy", "--duration", "1 s", "--repeat", "1")
    run(tmp_path, *compare, "--algorithm", "./mine.c", "--results", "own")
    run(tmp_path, *compare, "--algorithm", "reno", "--results", "own")
    (tmp_path / "own").rename(tmp_path / "received")
    received = (*compare, "--algorithm", "reno", "--results", "received")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another user"))
    _, err = run(tmp_path, *received, status=2)
    assert "compiles and runs 1 C file" in err
    assert not (tmp_path / "another user").exists(), "nothing was compiled"
    run(tmp_path, *received, "--trust")
