"""Generate the JSON Schemas with which text editors check study files and users files."""

from __future__ import annotations

import json
from typing import Any, Literal

from cwndlab import core
from cwndlab.schema.study import TABLES, StudyModel
from cwndlab.schema.users import WrittenPopulation

_BOTH = ("link", "reverse_link", "application")  # may also be a single string in [study]


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files."""
    schema = StudyModel.model_json_schema(mode="validation")
    properties = schema["properties"]
    scalars = {key: value for key, value in properties.items() if key not in TABLES}
    scalars |= {
        key: {
            "type": "string",
            "description": f"the settings of the table [{key}] in one line of text",
        }
        for key in _BOTH
    }
    tables = {key: value for key, value in properties.items() if key in TABLES}
    tables |= {key: _link(properties[key]) for key in ("link", "reverse_link")}
    study = {
        "type": "object",
        "description": "general settings of the study, such as its name and duration",
        "properties": scalars,
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A study file of cwndlab",
        "type": "object",
        "properties": {"study": study, **tables},
        "additionalProperties": False,
        "$defs": _definitions(schema["$defs"]),
    }


def users_schema() -> dict[str, Any]:
    """Return the JSON Schema of users files."""
    schema = WrittenPopulation.model_json_schema(mode="validation")
    properties = schema["$defs"]["WrittenClass"]["properties"]
    text = {
        "type": "string",
        "description": "a link written as one line of text, such as lte-typical or ./my.toml",
    }
    link = _link(properties["link"])
    properties["link"] = {"anyOf": [text, link], "description": link.pop("description")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A users file of cwndlab: a population of users with their networks",
        "$defs": _definitions(schema["$defs"]),
    }


def schema_text(of: Literal["study", "users"]) -> str:
    """Return the JSON Schema of study files or users files, as stored in docs/reference/."""
    schema = study_schema() if of == "study" else users_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _definitions(own: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions of the models (`own`) and of links (from the Rust core).

    The function changes the definitions of the models in two ways. If the key `kind` of a table has
    no description, the function adds the table's description to this key. As the value of the key
    `application`, the function permits not only a table, but also a string, such as `"bulk"`.
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
    """Return a reference (`$ref`) to the definition `Link`, with the description of `field`."""
    return {"$ref": "#/$defs/Link", "description": field["description"]}
