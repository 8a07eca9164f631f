"""The site requests nothing from other hosts, and its search works in pages opened from disk."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_pages_ask_no_host_for_anything(site: Path) -> None:
    asked = re.compile(
        r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>"""
    )
    for page in site.glob("**/*.html"):
        assert not asked.findall(page.read_text(encoding="utf-8")), page.name
    for style in site.glob("**/*.css"):
        assert "url(http" not in style.read_text(encoding="utf-8"), style.name


@pytest.mark.skipif(
    BROWSER is None, reason="the search runs as JavaScript, for which there is no Chromium here"
)
def test_search_works_in_a_page_opened_from_disk(site: Path, tmp_path: Path) -> None:
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    page = f"{(site / 'index.html').as_uri()}?q=bufferbloat"
    command = [BROWSER, *options, f"--user-data-dir={tmp_path}", "--dump-dom", page]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert re.search(r"\d+ matching documents", shown)


def test_the_changelog_begins_with_this_version() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    releases = [heading.split(",")[0] for heading in headings if heading[0].isdigit()]
    with (ROOT / "Cargo.toml").open("rb") as file:
        workspace = tomllib.load(file)["workspace"]
    assert releases[0] == workspace["package"]["version"]
