"""The JSON Schemas of files, for editors: the models, in the form that files have."""

from __future__ import annotations

import json
from typing import Any, Literal

from cwndlab import core
from cwndlab.schema.study import TABLES, StudyModel
from cwndlab.schema.users import WrittenPopulation

_BOTH = ("link", "reverse_link", "application")  # may also be a word or a line in [study]


def study_schema() -> dict[str, Any]:
    """The schema of a study file."""
    schema = StudyModel.model_json_schema(mode="validation")
    properties = schema["properties"]
    scalars = {key: value for key, value in properties.items() if key not in TABLES}
    scalars |= {
        key: {"type": "string", "description": f"{key} in one line, instead of [{key}]"}
        for key in _BOTH
    }
    tables = {key: value for key, value in properties.items() if key in TABLES}
    tables |= {key: _link(properties[key]) for key in ("link", "reverse_link")}
    study = {
        "type": "object",
        "description": "name of the study, and all keys that are not tables",
        "properties": scalars,
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A study of cwndlab",
        "type": "object",
        "properties": {"study": study, **tables},
        "additionalProperties": False,
        "$defs": _definitions(schema["$defs"]),
    }


def users_schema() -> dict[str, Any]:
    """The schema of a file of users."""
    schema = WrittenPopulation.model_json_schema(mode="validation")
    properties = schema["$defs"]["WrittenClass"]["properties"]
    text = {"type": "string", "description": "a link in one line: lte-typical, ./my.toml"}
    link = _link(properties["link"])
    properties["link"] = {"anyOf": [text, link], "description": link.pop("description")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A population of networks of cwndlab",
        "$defs": _definitions(schema["$defs"]),
    }


def schema_text(of: Literal["study", "users"]) -> str:
    """The schema as the file in docs/reference/ has it."""
    schema = study_schema() if of == "study" else users_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _definitions(own: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions of the models and of the core's links; a kind alone means its table.

    A string can stand for an application, as in `application = "bulk"`.
    """
    for definition in own.values():
        for name, value in definition.get("properties", {}).items():
            if name == "kind" and "const" in value:
                value.setdefault("description", definition.get("description"))
            if name == "application":
                both = {"anyOf": [{"type": "string"}, value]}
                about = value.get("description")
                definition["properties"][name] = both | ({"description": about} if about else {})
    return dict(sorted({**own, **core.link_definitions()}.items()))


def _link(field: dict[str, Any]) -> dict[str, Any]:
    """Replace the placeholder of a link by the property of its table."""
    return {"$ref": "#/$defs/Link", "description": field["description"]}
