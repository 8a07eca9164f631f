"""Hooks of MkDocs: add the generated pages, and replace links to files outside `docs/`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from reference.pages import PAGES  # noqa: E402  the hook is a file, of no package

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_LINK = re.compile(r"\[([^\]\[]*)\]\(((?:\.\./)+[^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files outside `docs/`, which the site does not contain, by their paths."""
    del files
    here = Path(config.docs_dir, page.file.src_uri).parent

    def shown(match: re.Match[str]) -> str:
        target = (here / match[2].partition("#")[0]).resolve()
        if target.is_relative_to(config.docs_dir):
            return match[0]
        if not target.exists():
            msg = f"{page.file.src_uri}: no file {match[2]}"
            raise PluginError(msg)
        path = f"`{target.relative_to(ROOT)}`"
        return path if match[1].strip("`") in str(path) else f"{match[1]} ({path})"

    return _LINK.sub(shown, markdown)
