"""The examples in README and docs/ are run: commands, studies, Python and algorithms."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import examples
from cwndlab.cli import app
from reference.pages import PAGES as GENERATED_PAGES

ROOT = Path(__file__).parents[2]
PAGES = examples.pages()
LINK = re.compile(r"\]\(([^)#]+)\)")
GENERATED = {(ROOT / "docs" / path).resolve() for path in GENERATED_PAGES}

pytestmark = pytest.mark.usefixtures("own_cache")


def blocks(*languages: str) -> Iterator[object]:
    """Yield every code block in one of these languages, as a parameter of a test."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in examples.BLOCK.finditer(text):
            line = text[: match.start()].count("\n") + 1
            if match[1] in languages:
                yield pytest.param(match[2], id=f"{page.relative_to(ROOT)}:{line}")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Create a folder like a reader's clone, with the algorithms that the pages define."""
    examples.furnish(tmp_path)
    return tmp_path


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```console\n" in page.read_text(encoding="utf-8")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_commands_of_the_documentation_print_what_it_shows(page: Path, clone: Path) -> None:
    for step in examples.steps(page.read_text(encoding="utf-8")):
        output = examples.printed(step, clone)
        if step.shown and not examples.is_shown(step.shown, output):
            now = "\n".join(output)
            pytest.fail(f"line {step.line}: python tools/examples.py {page} writes\n{now}")


@pytest.mark.parametrize("text", list(blocks("sh")))
def test_commands_that_need_more_than_this_machine_have_their_options(text: str) -> None:
    """Commands that need root, a server or much time are not run; their options must exist."""
    for line in text.splitlines():
        words = [word for word in shlex.split(line, comments=True) if word != "sudo"]
        if not words or words.pop(0) != "cwndlab":
            continue
        command: click.Command = app
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        ours = words[: words.index("--")] if "--" in words else words
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in ours if word.startswith("--")} <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_stands_in_a_block_that_is_looked_at(page: Path) -> None:
    language = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            language = line[3:] if language is None else None
        elif re.match(r"(\$ |sudo )?cwndlab ", line) and language is not None:
            assert language in {"console", "sh", "text"}, line


@pytest.mark.parametrize("text", list(blocks("toml")))
def test_studies_of_the_documentation_are_valid(text: str, clone: Path) -> None:
    (clone / "study.toml").write_text(text, encoding="utf-8")
    run(clone, examples.program(), "run", "study.toml", "--dry-run", "--trust")


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_of_the_documentation_works(text: str, clone: Path) -> None:
    run(clone, sys.executable, "-c", f"import matplotlib; matplotlib.use('Agg')\n{text}")


@pytest.mark.parametrize("name", examples.algorithms())
def test_algorithms_of_the_documentation_pass_their_check(name: str, clone: Path) -> None:
    run(clone, examples.program(), "algorithm", "check", f"./{name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    missing = [
        target
        for target in local
        if not (page.parent / target).exists() and (page.parent / target).resolve() not in GENERATED
    ]
    assert not missing, f"{page.name} links to {missing}"
