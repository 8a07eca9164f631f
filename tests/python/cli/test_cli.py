from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from cwndlab import cli
from cwndlab.api.results import open_results
from cwndlab.cli import doctor, studies
from cwndlab.cli.group import SECTIONS
from cwndlab.cli.options import Where
from cwndlab.errors import RunsFailedError, plural
from cwndlab.kernel import loading
from cwndlab.kernel.capabilities import Kernel, Obstacle
from cwndlab.papers import paper_ids
from cwndlab.run.executor import available_cores
from finished import finished
from patience import PATIENCE_S, is_soon
from program import run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("fake_core")

STUDY = """\
[study]
id = "mine"
title = "My study"
duration = "10 s"
repetitions = 4

[link]
rate = "10 Mbit/s"
delay = "20 ms"

[factors]
algorithm = ["reno", "cubic"]
link.delay = ["10 ms", "20 ms"]

[quick]
repetitions = 1
factors.algorithm = ["reno"]
"""
LINK = "rate=10 Mbit/s,delay=20 ms"
PROGRAM = (
    "import fake_core; fake_core.install(); from cwndlab.cli import main; main()",
    {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
)


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder that holds mine.toml; its status, output and errors."""
    monkeypatch.chdir(tmp_path)
    available = tmp_path / "available"  # instead of this machine's algorithms
    available.write_text("reno cubic\n")
    monkeypatch.setattr("cwndlab.kernel.capabilities._AVAILABLE", available)
    Path("mine.toml").write_text(STUDY)
    return run_here(capsys)


def test_run_makes_results_and_says_where(run: Callable[..., tuple[int, str, str]]) -> None:
    status, out, err = run("run", "mine.toml")
    assert (status, err) == (0, "")
    assert "My study: 16 runs in results/mine" in out
    assert "delay 10 ms" in out
    assert out.rstrip().endswith("cwndlab report results/mine writes a report")
    assert len(finished(Path("results/mine"))) == 16


def test_a_printed_command_can_be_copied_if_a_folder_begins_with_a_dash(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    _, out, _ = run("run", "mine.toml", "--results", "-mine")
    assert out.rstrip().endswith("cwndlab report ./-mine writes a report")


def test_run_prints_one_record_a_run_for_programs(run: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = run("run", "mine.toml", "--format", "json", "--results", "r", "--jobs", "1")
    rows = json.loads(out)
    assert (status, len(rows)) == (0, 16)
    assert {"run", "algorithm", "delay", "goodput_mbit_s", "jain_index"} <= rows[0].keys()
    status, out, _ = run("run", "mine.toml", "--format", "csv", "--results", "r")
    assert len(list(csv.DictReader(io.StringIO(out)))) == 16


def test_a_dry_run_shows_what_the_study_resolved_to_and_runs_nothing(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    status, out, _ = run("run", "mine.toml", "--dry-run")
    assert status == 0
    assert out == (
        "My study\n"
        "  16 runs: 4 combinations x 4 repetitions\n"
        "  duration 10 s, warm-up 0 s\n"
        "  seed 1\n"
        "  results: results/mine\n"
        "  algorithm: reno, cubic\n"
        "  delay: 10 ms, 20 ms\n"
        "\n"
        "  reno/10 ms, cubic/10 ms:\n"
        "    forward.0  10 Mbit/s, delay 10 ms, queue 17 packets (by default, 1 BDP)\n"
        "    reverse.0  unlimited rate, delay 10 ms, queue unlimited\n"
        "  reno/20 ms, cubic/20 ms:\n"
        "    forward.0  10 Mbit/s, delay 20 ms, queue 34 packets (by default, 1 BDP)\n"
        "    reverse.0  unlimited rate, delay 20 ms, queue unlimited\n"
        "\n"
        "  reno/10 ms, reno/20 ms:\n"
        "    1 flow: reno on linux-6.1, bulk, forward, from 0 s\n"
        "  cubic/10 ms, cubic/20 ms:\n"
        "    1 flow: cubic on linux-6.1, bulk, forward, from 0 s\n"
        "\n"
        f"  about a second on {plural(available_cores(), 'core')}, 56 kB of results\n"
    )
    assert not Path("results").exists()
    _, out, _ = run("run", "mine.toml", "--dry-run", "--quick", "--format", "csv")
    assert [row["delay"] for row in csv.DictReader(io.StringIO(out))] == ["10 ms", "20 ms"]


def test_compare_answers_in_a_table_with_uncertainty(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    arguments = ("compare", "--link", LINK, "--algorithm", "reno, cubic", "--repeat", "8")
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    assert f"{LINK} · downlink · 1 flow · 60 s · 8 paired repetitions" in out
    assert "goodput Mbit/s" in out
    assert "±" in out
    _, again, _ = run(*arguments)
    assert again == out, "the second time it is read from the results"
    assert len(list(Path("results").iterdir())) == 1


def test_compare_says_one_run_where_there_is_one(run: Callable[..., tuple[int, str, str]]) -> None:
    _, out, _ = run("compare", "--link", LINK, "--algorithm", "reno,cubic")
    assert "· one run ·" in out
    assert "±" not in out


def test_compare_gives_numbers_with_their_bounds_to_programs(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    options = ("--flows", "2", "--duration", "5 s", "--repeat", "8", "--stack", "ns-2-packet")
    more = ("--reverse-link", "rate=1 Mbit/s", "--direction", "uplink", "--bytes", "1 MB")
    status, out, _ = run(
        "compare", "--link", LINK, "--algorithm", "reno,cubic", *options, *more, "--format", "json"
    )
    document = json.loads(out)
    rows = document["rows"]
    assert (status, [row["algorithm"] for row in rows]) == (0, ["reno", "cubic"])
    for row in rows:
        low, high = row["goodput_mbit_s_low"], row["goodput_mbit_s_high"]
        assert low < row["goodput_mbit_s"] < high


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("compare", "--link", LINK, "--algorithm", "reno,westwod"),
            'unknown algorithm "westwod"; did you mean westwood? (cwndlab algorithm list)\n',
        ),
        (
            ("compare", "--link", "rate=20 Mbps/s", "--algorithm", "reno"),
            (
                'link = "rate=20 Mbps/s"\n'
                '  rate: not a rate; write for example "20 Mbit/s", "2.5 MB/s"\n'
            ),
        ),
        (
            ("compare", "--link", LINK, "--algorithm", "reno", "--stack", "linux-6.2"),
            'unknown stack "linux-6.2"; did you mean linux-6.1? (cwndlab stack list)\n',
        ),
        (
            ("compare", "--link", "trace:none.down", "--algorithm", "reno"),
            'link = "trace:none.down"\n  trace: none.down: no such file or directory\n',
        ),
        (("run", "none.toml"), "none.toml: no such file or directory\n"),
        (
            ("report", "nothing"),
            "nothing: there is no such folder; `cwndlab run STUDY` creates results\n",
        ),
        (
            ("report", "/dev/null"),
            "/dev/null: is not a folder; `cwndlab run STUDY` creates results\n",
        ),
        (
            ("kernel", "add", "/etc/passwd"),
            "/etc/passwd is neither a version such as 6.1 nor a file *.deb\n",
        ),
        (
            ("algorithm", "show", "renno"),
            'unknown algorithm "renno"; did you mean reno? (cwndlab algorithm list)\n',
        ),
        (
            ("link", "show", "losy"),
            'unknown link "losy"; did you mean lossy? (cwndlab link list)\n',
        ),
        (
            ("stack", "show", "linux"),
            'unknown stack "linux"; did you mean linux-6.1? (cwndlab stack list)\n',
        ),
    ],
)
def test_a_mistake_is_one_message_and_status_2(
    run: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...], error: str
) -> None:
    assert run(*arguments) == (2, "", error)


def test_usage_mistakes_have_status_2_as_well(run: Callable[..., tuple[int, str, str]]) -> None:
    assert run("run")[0] == 2
    assert run("walk")[0] == 2
    assert "No such option" in run("compare", "--lnk", "x")[2]


@pytest.mark.parametrize("name", [*SECTIONS["Answers"], *SECTIONS["Studies"], "trial", "kernel"])
def test_a_misspelled_command_is_answered_with_the_right_one(
    run: Callable[..., tuple[int, str, str]], name: str
) -> None:
    misspelled = f"{name[:-2]}{name[-1]}{name[-2]}"
    status, out, err = run(misspelled)
    assert (status, out) == (2, "")
    assert f'unknown command "{misspelled}"; did you mean {name}? (cwndlab --help)' in err


def test_a_misspelled_option_of_shell_is_no_program(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    status, _, err = run("shell", "--link", "lte-typical", "--seeed", "3", "true")
    assert status == 2
    assert 'unknown option "--seeed"; did you mean --seed?' in err


@pytest.mark.parametrize(
    ("budget", "error"),
    [("-1 s", "--budget': not a time"), ("0 s", "--budget: 0 s leaves no time to simulate")],
)
def test_a_budget_is_a_time(
    run: Callable[..., tuple[int, str, str]], budget: str, error: str
) -> None:
    status, _, errors = run("advise", "--link", LINK, "--budget", budget)
    assert status == 2
    assert error in errors


def test_more_of_a_comparison_adds_to_what_is_there(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    run("compare", "--link", LINK, "--algorithm", "reno,cubic", "--repeat", "3")
    run("compare", "--link", LINK, "--algorithm", "reno,highspeed", "--repeat", "4")
    (folder,) = Path("results").iterdir()
    results = open_results(folder)
    assert len(finished(folder)) == results.runs().height == 3 * 4
    assert set(finished(folder).values()) == {1}
    assert results.factors == ("algorithm",)
    assert results.study.factors["algorithm"] == ["reno", "cubic", "highspeed"]


def test_an_algorithm_that_failed_fails_no_later_comparison(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    assert run("compare", "--link", LINK, "--algorithm", "reno,fails")[0] == 1
    assert run("compare", "--link", LINK, "--algorithm", "reno,cubic")[0] == 0
    assert run("compare", "--link", LINK, "--algorithm", "reno,fails")[0] == 1
    (folder,) = Path("results").iterdir()
    assert open_results(folder).study.factors["algorithm"] == ["reno", "cubic", "fails"]


def test_the_short_version_of_a_study_has_results_of_its_own(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    _, out, _ = run("run", "mine.toml", "--quick")
    assert "2 runs in results/mine-quick" in out
    assert not Path("results/mine").exists()


def test_a_study_without_a_short_version_says_so(run: Callable[..., tuple[int, str, str]]) -> None:
    Path("whole.toml").write_text(STUDY.partition("[quick]")[0])
    status, _, errors = run("run", "whole.toml", "--quick")
    assert status == 0
    assert "whole.toml has no [quick] table, so the whole study runs" in errors


def test_a_list_where_one_value_stands_belongs_to_the_factors(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    Path("list.toml").write_text(STUDY.replace("repetitions = 4", 'algorithm = ["reno", "bic"]'))
    status, _, errors = run("run", "list.toml")
    assert status == 2
    assert "must be a single value; to vary it, move the list to [factors]" in errors


def test_a_plan_is_said_in_the_units_that_people_use(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    study = STUDY.replace('link.delay = ["10 ms", "20 ms"]', "")
    Path("short.toml").write_text(study)
    _, out, errors = run("plan", "short.toml", "--rate", "10 Mbit/s")
    assert (out[:15], errors) == ("8 runs, 2 min, ", "")
    Path("long.toml").write_text(study.replace("10 s", "3600 s"))
    assert run("plan", "long.toml", "--rate", "1 Gbit/s")[1].startswith("8 runs, 8.0 h, ")


def test_the_report_opens_in_a_browser(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def launch(page: str) -> int:
        opened.append(page)
        return 0

    monkeypatch.setattr(click, "launch", launch)
    monkeypatch.setattr(studies, "reported", lambda *_, **__: Path("report/report.html"))
    monkeypatch.setattr(studies, "open_results", lambda _: None)
    assert run("report", "results/mine", "--open")[0] == 0
    assert opened == [Path("report/report.html").resolve().as_uri()]


def test_failed_runs_leave_json_that_programs_can_read(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    Path("mine.toml").write_text(STUDY.replace('"cubic"]', '"fails"]'))
    status, out, _ = run("run", "mine.toml", "--format", "json")
    assert (status, len(json.loads(out))) == (1, 8)


def test_failed_runs_end_with_status_1_after_the_results_of_the_others(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    Path("mine.toml").write_text(STUDY.replace('"cubic"]', '"cubic", "fails"]'))
    status, out, err = run("run", "mine.toml")
    assert status == 1
    assert "My study: 16 runs" in out
    assert err == (
        "8 of 24 runs failed, 16 of 24 runs are stored; results/mine/failed contains the reasons; "
        "the first failure: the window of flow 0 became 0\n"
    )


def test_results_without_a_finished_run_are_refused_with_the_place_of_the_reasons(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    Path("mine.toml").write_text(re.sub(r"algorithm = \[.*\]", 'algorithm = ["fails"]', STUDY))
    status, out, _ = run("run", "mine.toml")
    assert status == 1
    assert "cwndlab report" not in out
    for arguments in (("report",), ("pack",), ("advise", "--results")):
        status, _, err = run(*arguments, "results/mine")
        assert (status, err) == (
            2,
            "results/mine: no run has a result; results/mine/failed contains the reasons\n",
        )


def test_results_of_a_newer_version_are_refused(run: Callable[..., tuple[int, str, str]]) -> None:
    run("run", "mine.toml")
    for name in ("manifest.json", ".manifest.json"):
        manifest = Path("results/mine") / name
        manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 9'))
    for arguments in (("run", "mine.toml"), ("report", "results/mine")):
        status, _, err = run(*arguments)
        assert status == 2
        assert err.startswith(
            "results/mine: written by a newer version of cwndlab (manifest.json has format 9; "
            "this version reads format 2)"
        )


def test_inventories_are_tables_json_and_csv(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Independent of this machine's kernel and of the algorithms that other tests load into it.
    kernel = Kernel("6.12", frozenset({"reno", "cubic"}), frozenset(), frozenset())
    monkeypatch.setattr(loading, "this_kernel", lambda: kernel)
    for kind in ("algorithm", "link", "stack"):
        _, table, _ = run(kind, "list")
        names = {row["name"] for row in json.loads(run(kind, "list", "--format", "json")[1])}
        rows = csv.DictReader(io.StringIO(run(kind, "list", "--format", "csv")[1]))
        assert names == {row["name"] for row in rows}
        assert all(name in table for name in names)


def test_algorithm_show_tells_parameters_with_units(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    _, out, _ = run("algorithm", "show", "cubic")
    assert "[parameters.cubic], beta = ..." in out
    entry = json.loads(run("algorithm", "show", "cubic", "--format", "json")[1])
    assert entry["parameters"] == [
        {"parameter": "beta", "default": 717, "min": 1, "max": 1023, "unit": "1/1024", "doc": "cut"}
    ]
    assert "also hstcp" in run("algorithm", "show", "hstcp")[1]
    assert "no parameters" in run("algorithm", "show", "reno")[1]


def test_link_show_spells_out_what_a_line_means(run: Callable[..., tuple[int, str, str]]) -> None:
    Path("x.down").write_text("1\n2\n")
    _, out, _ = run("link", "show", "trace:x.down,delay=20 ms")
    assert "x.down, delay 20 ms, queue 250 packets (by default, 75 BDP), framing 4 bytes" in out
    assert "x.down: Mahimahi trace: 2 delivery opportunities, 1.000 Mbit/s on average" in out
    rows = json.loads(run("link", "show", "lossy", "--format", "json")[1])
    assert [row["link"] for row in rows] == ["forward.0", "reverse.0"]
    assert rows[0]["loss_ppb"] == 10_000_000


def test_doctor_looks_at_everything(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    no_core_no_loading = [Obstacle("a stand-in of the core", "the core")]
    monkeypatch.setattr(doctor, "obstacles", lambda: no_core_no_loading)
    status, out, _ = run("doctor", "--format", "json")
    states = {row["check"]: row["state"] for row in json.loads(out)}
    assert status == 0
    assert states["simulator"] == states["disk"] == "ok"


def test_papers_lists_what_can_be_reproduced(run: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = run("papers", "--format", "json")
    rows = {row["id"]: row for row in json.loads(out)}
    assert status == 0
    assert rows["lte-ns2-2011"]["reproduced"] == "5 figures, 27 numbers, 5 claims"
    assert {row["state"] for row in rows.values()} == {"not run"}
    assert all(row["title"] for row in rows.values())


def test_reproduce_all_reproduces_every_paper(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []
    failure = RunsFailedError("two runs failed")

    def reproduce(*given: object, is_quick: bool) -> None:
        asked.append((*given, is_quick))
        if given[0] == "hsdpa-2010":
            raise failure  # the other papers are reproduced nevertheless

    monkeypatch.setattr("cwndlab.cli.reproduce._reproduce", reproduce)
    status, _, err = run("reproduce", "all", "--quick", "--results", "r")
    assert [each[0] for each in asked] == paper_ids()
    assert asked[0] == ("hsdpa-2010", Path("r/hsdpa-2010"), Where("sim"), True)
    assert status == RunsFailedError.exit_status
    assert "two runs failed" in err


def test_reproduce_knows_its_studies(run: Callable[..., tuple[int, str, str]]) -> None:
    """A study of the same name in the working directory is not the paper's study."""
    Path("studies").mkdir()
    Path("studies/hsdpa-2011.toml").write_text(STUDY)
    status, _, err = run("reproduce", "hsdpa-2011")
    assert status == 2
    assert err.startswith('unknown study "hsdpa-2011"; did you mean hsdpa-2010? (known: hsdpa-2010')


def test_the_version_is_that_of_the_core(run: Callable[..., tuple[int, str, str]]) -> None:
    assert run("--version") == (0, "cwndlab 0.0.0-fake\n", "")


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield every command, including groups, as users type it."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name)


@pytest.mark.parametrize("command", list(commands(cli.app)), ids=" ".join)
def test_every_command_explains_itself(
    command: tuple[str, ...],
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run(*command, "--help")
    assert status == 0
    assert "\\b" not in out, "click's mark, which is no text"
    assert max(map(len, out.splitlines())) <= 80
    listed = re.split(r"\nCommands:\n", out)[1:]
    assert not any(line.endswith("...") for text in listed for line in text.splitlines())


@pytest.mark.parametrize("command", list(commands(cli.app)), ids=" ".join)
def test_every_option_says_what_it_is(command: tuple[str, ...]) -> None:
    found: click.Command = cli.app
    for name in command:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None
        found = inner
    for option in found.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.metavar or option.type.name != "text", option.name


def test_ctrl_c_says_what_is_safe_and_ends_with_status_130(tmp_path: Path) -> None:
    program, environment = PROGRAM
    study = STUDY.replace('"reno", "cubic"', '"slow"').replace("= 4", "= 200")
    (tmp_path / "mine.toml").write_text(study)
    process = subprocess.Popen(
        [sys.executable, "-c", program, "run", "mine.toml"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    folder = tmp_path / "results" / "mine"
    assert is_soon(lambda: len(finished(folder)) >= 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    safe = len(finished(folder))
    again = "run `cwndlab run mine.toml` to continue"
    assert safe > 1
    assert err == f"stopped; {safe} of 400 runs are stored; {again}\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    program, environment = PROGRAM
    (tmp_path / "mine.toml").write_text(STUDY.replace("= 4", "= 3000"))
    process = subprocess.Popen(
        [sys.executable, "-c", program, "run", "mine.toml", "--dry-run", "--format", "csv"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(PATIENCE_S)


@pytest.mark.parametrize(
    ("arguments", "redirection", "status"),
    [
        ("algorithm list", ">&-", 0),
        ("algorithm list", ">&- 2>&- <&-", 0),
        ("algorithm list | true", "", 0),
        ("run none.toml", "2>&-", 2),
        ("run none.toml", "2>/dev/full", 2),
        ("run", "2>/dev/full", 2),
        ("algorithm list", ">/dev/full", 2),
    ],
)
def test_streams_that_take_no_output_change_no_exit_status(
    tmp_path: Path, arguments: str, redirection: str, status: int
) -> None:
    program, environment = PROGRAM
    command, _, reader = arguments.partition(" | ")
    pipe = reader and f" | {reader}"
    line = f'"$0" -c "$1" {command} {redirection}{pipe}; exit ${{PIPESTATUS[0]}}'
    asked = subprocess.run(
        ["/bin/bash", "-c", line, sys.executable, program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == status, asked.stderr
    assert "Traceback" not in asked.stderr


@pytest.mark.parametrize("output_format", ["table", "csv", "json"])
def test_a_pipe_without_a_reader_is_no_error_in_any_format(
    tmp_path: Path, output_format: str
) -> None:
    """`cwndlab ... | head -1` ends with status 0, in whichever way the closed pipe is detected."""
    program, environment = PROGRAM
    reading, writing = os.pipe()
    os.close(reading)
    asked = subprocess.run(
        [sys.executable, "-c", program, "algorithm", "list", "--format", output_format],
        cwd=tmp_path,
        env=environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (asked.returncode, asked.stderr) == (0, "")


def test_without_the_compiled_part_it_says_how_to_get_it(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['cwndlab._core'] = None; from cwndlab.cli import main; main()"
    )
    asked = subprocess.run(
        [sys.executable, "-c", program, "algorithm", "list"],
        cwd=tmp_path,
        env=PROGRAM[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    assert asked.stderr.startswith("cwndlab lacks its compiled part")
    assert asked.stderr.endswith("in a clone of cwndlab, run: make setup\n")


def test_errors_break_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.run(["compare", "--link", "no-such-preset", "--algorithm", "reno"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["compare", "--link", "lossy", "--link", "nr-typical", "--algorithm", "cubic"],
            "--link is given twice; give this option only once",
        ),
        (
            ["compare", "--link", "lossy", "--algorithm", "cubic", "--algorithm", "reno"],
            "--algorithm is given twice; separate several names by commas",
        ),
        (
            ["link", "list", "--format", "json", "--format", "csv"],
            "--format is given twice; give this option only once",
        ),
    ],
)
def test_an_option_with_one_value_is_not_given_twice(
    arguments: list[str], message: str, run: Callable[..., tuple[int, str, str]]
) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_advice_on_results_refuses_a_baseline_that_they_lack(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    run("run", "mine.toml")
    status, _, err = run("advise", "--results", "results/mine", "--baseline", "vegas")
    assert status == 2
    assert "--baseline vegas: these results contain only reno" in err
