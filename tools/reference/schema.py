"""Generate the reference of study files and users files from their JSON Schemas."""

from __future__ import annotations

import json
from typing import Any

from cwndlab.schema.json_schema import schema_text
from reference.markdown import code, heading, sentence, table

STUDY = """# Keys of study files

This page lists all keys of study files; it is generated from their [JSON
Schema](study.schema.json). [Study files](studies.md) explains how to combine the keys. Write
rates, times, sizes and shares with their units.

"""
USERS = """# Keys of users files

This page lists all keys of users files; it is generated from their [JSON
Schema](users.schema.json). [Populations](../explanation/verdict.md#populations) explains how
cwndlab uses these files.

"""
_NS_PER = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def study() -> str:
    """Return the page of all keys of a study file."""
    return STUDY + _tables(json.loads(schema_text("study")), "kinds")


def users() -> str:
    """Return the page of all keys of a users file."""
    schema = json.loads(schema_text("users"))
    shared = json.loads(schema_text("study"))["$defs"]
    own = {name: about for name, about in schema["$defs"].items() if name not in shared}
    return USERS + _tables(schema | {"$defs": own}, "kinds", elsewhere="study-keys.md")


def _tables(schema: dict[str, Any], kinds: str, elsewhere: str = "") -> str:
    """Return the keys of the top level, of its tables, and of the kinds that they refer to."""
    defined = schema["$defs"]
    link = _Linker(frozenset(defined), elsewhere)
    parts = [heading(2, "The file"), _keys(schema, link)]
    for name, about in schema["properties"].items():
        if about.get("properties"):
            parts += [heading(2, code(f"[{name}]"), f"table-{name}")]
            parts += [_description(about), _keys(about, link)]
    parts.append(heading(2, "Kinds of tables", kinds))
    for name, about in sorted(defined.items()):
        parts += [heading(3, name, name.lower()), _description(about), _keys(about, link)]
    return "".join(parts)


def _description(about: dict[str, Any]) -> str:
    text = sentence(about.get("description", "").replace("\n", " "))
    return f"{text}\n\n" if text else ""


def _keys(about: dict[str, Any], link: _Linker) -> str:
    rows = [
        (code(name), link.kind(key), f"{sentence(key.get('description', ''))} {_default(key)}")
        for name, key in about.get("properties", {}).items()
    ]
    return table(("key", "value", "meaning"), rows) if rows else ""


def _default(key: dict[str, Any]) -> str:
    default = key.get("default")
    if default is None or default in ([], {}, ""):
        return ""
    text = json.dumps(default, ensure_ascii=False)
    if isinstance(default, int) and not isinstance(default, bool) and _is_time(key):
        text = _time(default)
    return f"Default: {code(text)}."


def _is_time(key: dict[str, Any]) -> bool:
    return "40 ms" in key.get("examples", ())


def _time(time_ns: int) -> str:
    unit = next((u for u, ns in _NS_PER.items() if time_ns % ns == 0), "ns") if time_ns else "s"
    return f"{time_ns // _NS_PER[unit]} {unit}"


class _Linker:
    """Describes the allowed values of a key, with links to the kinds of tables."""

    def __init__(self, here: frozenset[str], elsewhere: str) -> None:
        self.here = here
        self.elsewhere = elsewhere

    def kind(self, key: dict[str, Any]) -> str:
        """Return the allowed values of a key as text."""
        if "$ref" in key:
            name = key["$ref"].rsplit("/", 1)[1]
            return f"[{name}]({'' if name in self.here else self.elsewhere}#{name.lower()})"
        for several in ("anyOf", "oneOf", "allOf"):
            if several in key:
                kinds = [self.kind(each) for each in key[several] if each.get("type") != "null"]
                return " or ".join(dict.fromkeys(kinds))
        if "enum" in key:
            return ", ".join(code(json.dumps(value)) for value in key["enum"])
        if "const" in key:
            return code(json.dumps(key["const"]))
        return self._type(key)

    def _type(self, key: dict[str, Any]) -> str:
        kind = key.get("type")
        if kind == "array":
            return f"list of {self.kind(key['items'])}" if "items" in key else "list"
        if kind == "object":
            below = key.get("additionalProperties")
            return f"table of {self.kind(below)}" if isinstance(below, dict) and below else "table"
        if examples := key.get("examples"):
            return ", ".join(code(json.dumps(example, ensure_ascii=False)) for example in examples)
        names = {"string": "text", "integer": "whole number", "number": "number"}
        names["boolean"] = "`true` or `false`"
        return names.get(kind or "", "any value")
