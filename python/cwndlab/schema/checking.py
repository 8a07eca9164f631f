"""Read TOML files as Pydantic models; error messages name the file, line, key and remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from cwndlab.errors import CwndlabError
from cwndlab.schema.base import Model
from cwndlab.schema.problems import FieldError, field_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cwndlab.text.toml import TomlSource

Checked = TypeVar("Checked", bound=Model)


def checked(source: TomlSource, model: type[Checked]) -> Checked:
    """Check the content of a TOML file, and return the content as an instance of `model`.

    Raises:
        CwndlabError: a key is missing or unknown, or a value has the wrong type. The message names
            each such key and its line; for a missing key, the line of the table.
    """
    try:
        return model.model_validate(source.document)
    except ValidationError as error:
        raise told(source, field_errors(error, model, source.document)) from None


def told(source: TomlSource, problems: Iterable[FieldError]) -> CwndlabError:
    """Return one error that lists several problems in a file, each with its line and key."""
    sentences = [source.problem(problem.key, problem.message) for problem in problems]
    return CwndlabError("\n".join(dict.fromkeys(sentences)))
