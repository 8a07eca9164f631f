"""Convert the web page's form for a new study to a study file, and report problems by field."""

from __future__ import annotations

import math
import re
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import CwndlabError, StudyError
from cwndlab.resolve.algorithms import references_in
from cwndlab.schema.study import TABLES
from cwndlab.study.definition import StudyDefinition
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "started"
"""Name of the folder that contains the study files made from forms, and the output of
`cwndlab run`."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_PLACE = re.compile(r".*?:(\d+): ")
_LONGEST = 4000
_MOST_CELLS = 500
_ONE_VALUED = ("link", "reverse_link", "application")


def text_of(form: Mapping[str, Any]) -> str:
    """Return the text of the study file that a form describes.

    A form contains either the keys of `[study]`, or only the key `toml` with the whole text of a
    study file. With the keys of `[study]`, two further keys are possible: `factors` maps the path
    of each varied key to a list of values, and `flow` is a list of tables.

    Raises:
        CwndlabError: a value has the wrong type or is too long; a factor has no values; a key is
            the name of a table that a form can contain only as TOML text; or a form with the key
            `toml` contains another key.
    """
    if "toml" not in form:
        return write_toml(_document(form))
    text = form["toml"]
    if not isinstance(text, str) or len(form) > 1:
        msg = "toml: must be text, and must be the only key of the form"
        raise CwndlabError(msg)
    return text


def identity_in(text: str) -> str:
    """Return the id of a study file, which is also the name of its results folder.

    Raises:
        CwndlabError: the study file contains no id that is a valid folder name.
    """
    try:
        study = tomllib.loads(text).get("study")
    except tomllib.TOMLDecodeError as error:
        msg = f"not valid TOML: {error}"
        raise CwndlabError(msg) from None
    identity = study.get("id") if isinstance(study, dict) else None
    if not isinstance(identity, str) or not _ID.fullmatch(identity) or identity == FOLDER:
        msg = (
            'id: write at most 80 letters, digits, ".", "_" and "-", and begin with a letter or a '
            f'digit; the id becomes the name of the results folder, and "{FOLDER}" is reserved'
        )
        raise CwndlabError(msg)
    return identity


def checked(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the study file that a form describes, its number of runs, and the form's problems.

    The check compiles no code, starts no run and leaves no file behind.
    """
    found: dict[str, Any] = {"toml": "", "runs": None, "problems": []}
    try:
        found["toml"] = text_of(form)
        _ = identity_in(found["toml"])
        found["runs"] = _runs_of(found["toml"])
    except CwndlabError as error:
        found["problems"] = problems_of(error)
    return found


def problems_of(error: CwndlabError) -> list[dict[str, Any]]:
    """Return the key, line and reason of each problem of a refused study.

    If the error names no key, the key is "". If the error names no line, the line is None.
    """
    if isinstance(error, StudyError):
        return [_problem(text) for text in error.problems]
    key, is_about, text = str(error).partition(": ")
    if is_about and key.isidentifier():
        return [{"key": key, "line": None, "text": text}]
    return [{"key": "", "line": None, "text": str(error)}]


def _problem(text: str) -> dict[str, Any]:
    """Split the text of a problem into key, line number and reason.

    The first line of the text usually is `FILE:LINE: KEY = VALUE`, and further lines state the
    reason. If there are no further lines, the first line states the reason.
    """
    head, _, why = text.partition("\n")
    place = _PLACE.match(head)
    key, is_key, _ = head[place.end() if place else 0 :].partition(" = ")
    return {
        "key": key.removeprefix("study.") if is_key and " " not in key else "",
        "line": int(place[1]) if place else None,
        "text": why.strip() or head[place.end() if place else 0 :],
    }


def _runs_of(text: str) -> int | None:
    """Return the number of runs of a study; None if it uses C files or has too many factor levels.

    Raises:
        CwndlabError: the study file is not valid.
    """
    document = tomllib.loads(text)
    if references_in(document):
        return None  # no compilation of C files that the user may not trust
    factors = document.get("factors")
    levels = factors.values() if isinstance(factors, dict) else ()
    if math.prod(len(each) for each in levels if isinstance(each, list)) > _MOST_CELLS:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.toml"
        file.write_text(text, encoding="utf-8")
        study = StudyDefinition.load(file)
    return len(study.cells) * study.repetitions


def _document(form: Mapping[str, Any]) -> dict[str, Any]:
    study: dict[str, Any] = {}
    factors: dict[str, Any] = _table(form.get("factors", {}))
    for key, value in form.items():
        if key in {"factors", "flow"}:
            continue
        _check_value(key, value)
        if key in TABLES and key not in _ONE_VALUED:
            msg = f"{key}: a form cannot contain this table; write the study as TOML text"
            raise CwndlabError(msg)
        if key == "algorithm" and isinstance(value, str) and "," in value:
            factors[key] = [name.strip() for name in value.split(",") if name.strip()]
        else:
            study[key] = value
    flows = form.get("flow", [])
    if not isinstance(flows, list) or not all(isinstance(each, dict) for each in flows):
        msg = "flow: must be a list of tables"
        raise CwndlabError(msg)
    for at, flow in enumerate(flows):
        for key, value in flow.items():
            _check_value(f"flow[{at}].{key}", value)
    document: dict[str, Any] = {"study": study}
    return document | ({"flow": flows} if flows else {}) | ({"factors": factors} if factors else {})


def _table(factors: object) -> dict[str, Any]:
    """Check and return the factors of a form, which map each varied key to a list of values."""
    if not isinstance(factors, dict):
        msg = "factors: must be a table that maps each factor to a list of values"
        raise CwndlabError(msg)
    for path, values in factors.items():
        if not isinstance(values, list) or not values:
            msg = f"factors.{path}: write one or more values, separated by commas"
            raise CwndlabError(msg)
        for value in values:
            _check_value(f"factors.{path}", value)
    return dict(factors)


def _check_value(key: str, value: object) -> None:
    if not isinstance(value, str | int | bool | float) or len(str(value)) > _LONGEST:
        msg = f"{key}: must be a number, true, false, or text of up to {_LONGEST} characters"
        raise CwndlabError(msg)
