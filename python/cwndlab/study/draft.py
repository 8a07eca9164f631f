"""Insert a combination of factor levels into the document of a study."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab.errors import plural
from cwndlab.schema.problems import FieldError
from cwndlab.text.linkspec import parse_spec

if TYPE_CHECKING:
    from cwndlab.text.toml import KeyPath

_LINK_KEYS = ("link", "reverse_link")
_HOST_KEYS = ("user_host", "server_host")


@dataclass(slots=True)
class Draft:
    """The document of a study, into which one combination of factor levels is inserted."""

    document: dict[str, Any]
    origins: dict[tuple[str, ...], KeyPath] = field(default_factory=dict)

    def set(self, path: str, value: object, origin: KeyPath) -> None:
        """Set a value at a dotted path; error messages name `origin`, the key in the user's file.

        Raises:
            FieldError: the study does not contain this path.
        """
        parts = self._where(tuple(path.split(".")), origin)
        node: Any = self.document
        for n, part in enumerate(parts[:-1]):
            node = self._enter(node, part, parts[: n + 1], origin)
        _put(node, parts[-1], copy.deepcopy(value), path, origin)
        self.origins[parts] = origin

    def _where(self, parts: tuple[str, ...], origin: KeyPath) -> tuple[str, ...]:
        """Convert the path of a factor (`algorithm.parameters.beta`) to a path in the document."""
        match parts:
            case ("algorithm", "parameters", name):
                algorithm = self.document.get("algorithm")
                if algorithm is None:
                    message = (
                        "the study sets no common algorithm for its flows; vary the parameters of "
                        "one flow instead"
                    )
                    raise FieldError(origin, message)
                return ("parameters", algorithm, name)
            case ("flow", number, "algorithm", "parameters", name):
                return ("flow", number, "parameters", name)
            case _:
                return parts

    def _enter(self, node: Any, part: str, path: tuple[str, ...], origin: KeyPath) -> Any:  # noqa: ANN401  part of a document
        child = node.get(part) if isinstance(node, dict) else _element(node, part, path, origin)
        if isinstance(child, str) and path[-1] in _LINK_KEYS:
            child = parse_spec(child)
        elif isinstance(child, str) and part in _HOST_KEYS:
            child = {"preset": child}
        elif isinstance(child, str) and part == "application":
            child = {"kind": child}
        elif child is None:
            child = [{}] if path == ("flow",) else {}  # a study's only flow can be omitted
        elif not isinstance(child, dict | list):
            raise FieldError(origin, f"{'.'.join(path)} is a single value and has no keys")
        if isinstance(node, dict):
            node[part] = child
        else:
            node[int(part)] = child
        return child

    def origin_of(self, key: KeyPath) -> KeyPath:
        """Return where the user set the value of `key`: the key of a factor, or `key` itself."""
        parts = tuple(str(part) for part in key)
        for n in range(len(parts), 0, -1):
            if parts[:n] in self.origins:
                return self.origins[parts[:n]]
        return key


def _element(node: object, part: str, path: tuple[str, ...], origin: KeyPath) -> Any:  # noqa: ANN401  part of a document
    name = ".".join(path[:-1])
    if not isinstance(node, list):
        raise FieldError(origin, f"{name} has no key {part}")
    if not part.isdigit() or int(part) >= len(node):
        raise FieldError(origin, f"{name} has {plural(len(node), 'entry')}, numbered from 0")
    return node[int(part)]


def _put(node: Any, part: str, value: object, path: str, origin: KeyPath) -> None:  # noqa: ANN401  part of a document
    if isinstance(node, dict):
        node[part] = value
    else:
        _element(node, part, tuple(path.split(".")), origin)
        node[int(part)] = value
