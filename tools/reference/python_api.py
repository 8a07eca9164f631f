"""Generate the reference of the Python package: public names, and the classes that they return."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import cwndlab as cw
from cwndlab import errors
from cwndlab.api.plots import Plotter
from cwndlab.backends.live import RealNetwork
from cwndlab.inference.fitting import Fit
from cwndlab.inference.posterior import Posterior
from cwndlab.judge.answer import Answers
from cwndlab.judge.decision import Decision
from reference.markdown import block, code, heading, table

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """# Python

This page lists the names that `import cwndlab as cw` provides. Tables are
[Polars](https://docs.pola.rs) data frames; [Columns of results](columns.md) describes their
columns. Every error that you can fix is a `cw.CwndlabError`.

"""
REACHED: tuple[type, ...] = (Plotter, Answers, Decision, RealNetwork, Fit, Posterior)
"""Types that public names return or take as arguments."""
_SECTION = re.compile(r"^(Args|Raises|Returns|Yields):$")
_ITEM = re.compile(r"^(\w[\w.*]*):\s+(.*)$", re.DOTALL)


def page() -> str:
    """Return the page of all public names, with their signatures and documentation."""
    parts = [HEAD]
    public = {name: getattr(cw, name) for name in cw.__all__}
    for name, found in public.items():
        if inspect.isclass(found) and not issubclass(found, Exception):
            parts.append(_class(f"cw.{name}", found))
        elif inspect.isfunction(found):
            parts.append(_function(2, f"cw.{name}", found))
    parts += [_class(f"{found.__module__}.{found.__name__}", found) for found in REACHED]
    parts.append(heading(2, "`cw.errors`", "cw.errors"))
    parts.append("The base class is `cw.CwndlabError`; there is one subclass for each remedy.\n\n")
    rows = ((code(f"cw.errors.{e.__name__}"), _first(e)) for e in error_classes())
    return "".join(parts) + table(("error", "when"), rows)


def error_classes() -> list[type[Exception]]:
    """Return all error classes of `cwndlab.errors`."""
    found = (value for value in vars(errors).values() if inspect.isclass(value))
    return [value for value in found if issubclass(value, errors.CwndlabError)]


def members(found: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, including those of our base classes."""
    for name in dict.fromkeys(name for base in found.__mro__ for name in vars(base)):
        member = inspect.getattr_static(found, name)
        owner = next(base for base in found.__mro__ if name in vars(base))
        is_ours = owner.__module__.startswith("cwndlab")
        if is_ours and not name.startswith("_") and _documentation(member):
            yield name, member


def _class(name: str, found: type) -> str:
    parts = [heading(2, code(name), name)]
    if "__init__" in vars(found) or any("__init__" in vars(b) for b in found.__mro__[:-1]):
        parts.append(block(_signature(name, found), "py"))
    parts.append(_text(inspect.getdoc(found) or ""))
    made = inspect.getattr_static(found, "__init__")
    if inspect.isfunction(made) and made.__doc__ and made.__module__.startswith("cwndlab"):
        parts.append(_text(inspect.getdoc(made) or ""))
    for member_name, member in members(found):
        parts.append(_member(f"{name}.{member_name}", member))
    return "".join(parts)


def _member(name: str, member: object) -> str:
    called = getattr(member, "__func__", member)
    if inspect.isfunction(called):
        return _function(3, name, called)
    shown = heading(3, code(name.rsplit(".", 1)[1]), name)
    return shown + _text(_documentation(member))


def _function(level: int, name: str, found: Any) -> str:  # noqa: ANN401  a function
    short = code(name if level == 2 else name.rsplit(".", 1)[1])  # noqa: PLR2004  a heading
    parts = [heading(level, short, name), block(_signature(name, found), "py")]
    return "".join(parts) + _text(inspect.getdoc(found) or "")


def _signature(name: str, found: Any) -> str:  # noqa: ANN401  a class or function
    signature = inspect.signature(found)
    kept = [p for p in signature.parameters.values() if p.name not in {"self", "cls"}]
    text = str(signature.replace(parameters=kept)).replace("'", "").replace(" -> None", "")
    line = f"{name.rsplit('.', 1)[1] if not name.startswith('cw.') else name}{text}"
    if len(line) <= 88:  # noqa: PLR2004  width of a line
        return line
    opened, closed = line.index("("), line.rindex(")")
    inner = "".join(f"    {part},\n" for part in _arguments(line[opened + 1 : closed]))
    return f"{line[: opened + 1]}\n{inner}{line[closed:]}"


def _arguments(text: str) -> Iterator[str]:
    """Yield the arguments of a signature, split at commas outside brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield text[begin:place].strip()
            begin = place + 1
    yield text[begin:].strip()


def _documentation(member: object) -> str:
    inner = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return inspect.getdoc(inner) or "" if hasattr(inner, "__doc__") else ""


def _first(found: type) -> str:
    return (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")


def _text(doc: str) -> str:
    """Return a docstring as Markdown, with its sections as tables."""
    parts, lines = [], doc.splitlines()
    while lines:
        line = lines.pop(0)
        section = _SECTION.match(line)
        if section is None:
            parts.append(line)
            continue
        body = []
        while lines and (not lines[0].strip() or lines[0].startswith("    ")):
            body.append(lines.pop(0)[4:])
        parts += ["", *_section(section[1], body), ""]
    return "\n".join(parts).rstrip() + "\n\n"


def _section(title: str, body: list[str]) -> list[str]:
    items: list[str] = []
    for line in body:
        if line and not line.startswith(" "):
            items.append(line)
        elif line and items:
            items[-1] += f" {line.strip()}"
    rows = [match.groups() if (match := _ITEM.match(item)) else ("", item) for item in items]
    names = {"Args": "argument", "Raises": "raises", "Returns": "returns", "Yields": "yields"}
    shown = ((code(name), text) for name, text in rows)
    return table((names[title], "meaning"), shown).rstrip().splitlines()
