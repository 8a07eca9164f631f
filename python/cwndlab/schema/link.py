"""Represent links in the form of study files: `[link]`, `[reverse_link]`, or a line of text.

The Rust core (`crates/texts`) defines and checks the keys of links. In Python, a link is a single
value of a study.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

from cwndlab import core
from cwndlab.schema.problems import DocumentError, FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue


@dataclass(frozen=True)
class Link:
    """A link as written in a study: a wire, cell, Wi-Fi channel, chain of links, or preset."""

    table: Mapping[str, Any] = field(default_factory=dict)
    """The keys that the user wrote, with short forms expanded, for example to `{ kind = "iid",
    share = "1 %" }`."""

    @classmethod
    def read(cls, written: object) -> Link:
        """Read a link from a table or a line of text.

        Raises:
            DocumentError: the value is not a link; the message names each wrong key.
        """
        if isinstance(written, Link):
            return written
        table, problems = core.check_link(written)
        if problems:
            raise DocumentError([FieldError(key, message) for key, message in problems])
        return cls(table)

    @property
    def preset(self) -> str | None:
        """Name of the preset or TOML file on which the link is based; None if there is none."""
        return self.table.get("preset")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Let pydantic read links with `read` and write them as tables."""
        return core_schema.no_info_plain_validator_function(
            cls.read,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda link: link.table),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return a placeholder for a link's schema; `cwndlab.schema.json_schema` replaces it."""
        return {"type": "object", "title": "Link"}
