"""Values of options on their way from the shell: empty paths, `~`, quantities without a unit."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from cwndlab import cli, open_results
from cwndlab.cli.group import SECTIONS
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import UnknownNameError
from cwndlab.judge.ledger import read_ledger
from cwndlab.text.files import user_path
from patience import PATIENCE_S
from program import LINK, PROGRAM, run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Run = Callable[..., tuple[int, str, str]]

_STUDY = f"""[study]
id = "s"
duration = "1 s"
repetitions = 2
start_jitter = "100 ms"
[link]
{LINK.replace("=", ' = "').replace(",", '"' + chr(10))}"
[factors]
algorithm = ["reno", "cubic"]
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in an empty folder; return its status, output and errors."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(_STUDY)
    return run_here(capsys)


def _commands(group: click.Group, names: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*names, name))
        else:
            yield " ".join((*names, name)), command


def test_every_path_of_every_command_refuses_to_be_empty() -> None:
    assert sum(map(len, SECTIONS.values())) > 20
    assert isinstance(cli.app, click.Group)
    found = [
        (name, param)
        for name, command in _commands(cli.app, ())
        for param in command.params
        if isinstance(param.type, click.Path)
    ]
    assert len(found) > 30
    wrong = [f"{name} {param.name}" for name, param in found if type(param.type) is not UserPath]
    assert not wrong


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "s.toml", "--results", ""),
        ("run", ""),
        ("report", ""),
        ("compare", "--link", LINK, "--algorithm", "reno", "--results", ""),
    ],
)
def test_empty_path_does_not_name_the_current_folder(run: Run, arguments: tuple[str, ...]) -> None:
    status, _, errors = run(*arguments)
    assert status == 2
    assert "the path is empty" in errors
    assert [path.name for path in Path().iterdir()] == ["s.toml"]


def test_tilde_in_an_option_names_the_home_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert run("run", "s.toml", "--results=~/mine")[0] == 0
    assert not Path("~").exists()
    assert open_results("~/mine").path == home / "mine"
    assert open_results("~/mine").runs().height == 4


def test_folder_named_tilde_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/x") == tmp_path / "x"
    assert user_path("./~/x") == Path("./~/x")


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--duration", ("link", "export", LINK, "--out", "x", "--duration", "5")),
        ("--duration", ("link", "show", LINK, "--plot", "--duration", "")),
        ("--rate", ("plan", "s.toml", "--rate", "20")),
        ("--effect", ("plan", "s.toml", "--effect", "5")),
        ("--effect", ("plan", "s.toml", "--effect", "0 %")),
        ("--budget", ("advise", "--link", LINK, "--budget", "5")),
        ("--duration", ("watch", "--duration", "-1 s")),
        ("--warm-up", ("import", ".", "--pattern", "{}", "--warm-up", "1")),
        ("--wash-out", ("trial", "register", "s", "--wash-out", "1")),
        ("--silence", ("serve", "--silence", "10")),
    ],
)
def test_invalid_quantity_is_refused_with_the_name_of_its_option(
    run: Run, option: str, arguments: tuple[str, ...]
) -> None:
    status, _, errors = run(*arguments)
    assert status == 2
    assert option in errors
    assert "write for example" in errors


def test_user_of_a_link_without_users_is_refused(run: Run) -> None:
    status, _, errors = run("link", "export", LINK, "--out", "x", "--user", "2")
    assert status == 2
    assert "no user 2" in errors
    assert not Path("x").exists()


def test_plan_names_the_reason_why_no_repetitions_suffice(run: Run) -> None:
    run("run", "s.toml")
    status, out, _ = run("plan", "s.toml", "--pilot", "results/s", "--effect", "0.00001 %")
    assert status == 0
    words = " ".join(out.split())
    assert "more than 10,000 repetitions are needed" in words
    assert "must contain at least two repetitions" not in words


def test_report_of_a_user_without_a_home_folder_needs_no_ledger() -> None:
    assert read_ledger(Path("/dev/null/.local/state/cwndlab/ledger.jsonl")) == []


def test_file_that_is_not_a_ledger_is_refused_with_a_remedy(run: Run) -> None:
    Path("x.jsonl").write_text('{"a": 1}\n')
    status, _, errors = run("ledger", "x.jsonl")
    assert status == 2
    assert "line 1" in errors
    assert "'prediction' is missing); choose a file" in errors


def test_long_unknown_name_is_shortened() -> None:
    error = UnknownNameError("a" * 10_000, ["b"], "cwndlab link list", kind="link")
    assert len(str(error)) < 200


def test_picture_does_not_need_the_backend_of_a_notebook(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "link", "show", LINK, "--plot", "--duration", "1 s"],
        cwd=tmp_path,
        env={"MPLBACKEND": "module://missing.backend_inline", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link.svg").exists()
