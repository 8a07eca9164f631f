"""The examples of README and docs/ are run: commands, studies, Python and algorithms."""

import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from reference.pages import PAGES as GENERATED_PAGES

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCE_NAME = re.compile(r"/\*\n \* (\w+):")
LINK = re.compile(r"\]\(([^)#]+)\)")
GENERATED = {(ROOT / "docs" / path).resolve() for path in GENERATED_PAGES}

pytestmark = pytest.mark.usefixtures("own_cache")


def blocks(*languages: str) -> Iterator[object]:
    """Every code block in one of these languages, as a parameter of a test."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text[: match.start()].count("\n") + 1
            if match[1] in languages:
                yield pytest.param(match[2], id=f"{page.relative_to(ROOT)}:{line}")


def algorithms() -> dict[str, str]:
    """Every C file of the documentation, under the name that its comment begins with."""
    found = {}
    for page in PAGES:
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            name = SOURCE_NAME.match(text)
            if language == "c" and name:
                found[f"{name[1]}.c"] = text
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that looks like a clone to a reader who wrote the algorithms that one reads of."""
    for name in ("studies", "algorithms", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name, text in algorithms().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"


def cwndlab() -> str:
    return str(Path(sysconfig.get_path("scripts")) / "cwndlab")


@pytest.mark.parametrize("text", list(blocks("console")))
def test_commands_of_the_documentation_work(text: str, clone: Path) -> None:
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    assert commands, "a console block shows commands after `$ `"
    for command in commands:
        program, *arguments = shlex.split(command, comments=True)
        assert program == "cwndlab", f"only our own program is run here, not {program}"
        run(clone, cwndlab(), *arguments)


@pytest.mark.parametrize("text", list(blocks("toml")))
def test_studies_of_the_documentation_are_valid(text: str, clone: Path) -> None:
    (clone / "study.toml").write_text(text, encoding="utf-8")
    run(clone, cwndlab(), "run", "study.toml", "--dry-run")


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_of_the_documentation_works(text: str, clone: Path) -> None:
    run(clone, sys.executable, "-c", f"import matplotlib; matplotlib.use('Agg')\n{text}")


@pytest.mark.parametrize("name", algorithms())
def test_algorithms_of_the_documentation_pass_their_check(name: str, clone: Path) -> None:
    run(clone, cwndlab(), "algorithm", "check", f"./{name}")


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
