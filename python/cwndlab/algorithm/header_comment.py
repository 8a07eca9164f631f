"""Read the comment that describes an algorithm at the top of its C file."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_STAR = re.compile(r"^[ \t]*\*[ \t]?", re.MULTILINE)
_PAPERS = re.compile(r"^Papers?:[ \t]*(.*?)(?:\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)
_LICENCE_TAG = re.compile(r"^\s*SPDX-License-Identifier:.*$", re.MULTILINE)


def header_comment(source: str) -> str:
    """Return the first comment that contains more than a licence tag; empty if there is none."""
    for match in _COMMENT.finditer(source):
        text = _LICENCE_TAG.sub("", _STAR.sub("", match[1])).strip("\n").rstrip()
        if text.strip():
            return text
    return ""


def papers(source: str) -> str:
    """Return the text after "Papers:" in the header comment as one line; empty if there is none."""
    found = _PAPERS.search(header_comment(source))
    return " ".join(found[1].split()) if found else ""
