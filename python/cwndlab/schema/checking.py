"""Reading a TOML file as a model; errors name file, line, key and remedy."""

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
    """Read a file's content.

    Raises:
        CwndlabError: a key is missing, unknown or of another type; the message names each with its
            line.
    """
    try:
        return model.model_validate(source.document)
    except ValidationError as error:
        raise told(source, field_errors(error, model, source.document)) from None


def told(source: TomlSource, problems: Iterable[FieldError]) -> CwndlabError:
    """The problems of a file, each at its place."""
    sentences = [source.problem(problem.key, problem.message) for problem in problems]
    return CwndlabError("\n".join(dict.fromkeys(sentences)))
