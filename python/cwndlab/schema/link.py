"""A link as a study has it: `[link]`, `[reverse_link]`, or a line that is short for one.

Which keys it may have, and what they become, is the core's (`crates/texts`). Here it is one value
of a study, whose keys the core has seen.
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
    """One direction of a path: a wire, a chain of stages, a medium, or a preset with changes."""

    table: Mapping[str, Any] = field(default_factory=dict)
    """Its keys as written, each table in its one form: `{ kind = "iid" }`."""

    @classmethod
    def read(cls, written: object) -> Link:
        """The link that a table or a line stands for.

        Raises:
            DocumentError: it is none; names each key.
        """
        if isinstance(written, Link):
            return written
        table, problems = core.check_link(written)
        if problems:
            raise DocumentError([FieldError(key, message) for key, message in problems])
        return cls(table)

    @property
    def preset(self) -> str | None:
        """The preset or TOML file that it names."""
        return self.table.get("preset")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """A model reads it as `read` does, and writes its table."""
        return core_schema.no_info_plain_validator_function(
            cls.read,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda link: link.table),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """A place that `cwndlab.schema.json_schema` fills with what the core defines."""
        return {"type": "object", "title": "Link"}
