"""Find Rust files that use each other in a circle; print them and exit with 1 if there are any.

A file uses another file if it names an item that the other file defines, by `use` or by a path. A
re-export counts as the item that it names, not as a use. Tests are excluded. Macro expansions are
not seen, nor the files in which methods are defined.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The endpoint's methods are defined in the files of the parts whose state they change, so these
# files name the endpoint, and the endpoint names them. To remove this exception, pass to the parts
# the state that they need instead of the whole endpoint.
PARTS_OF = (ROOT / "crates/tcp/src/linux/mod.rs",)

# Maximum length of a chain of re-exports.
LONGEST_CHAIN = 20

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
MODULE = re.compile(r"(#\[cfg\(test\)\]\s*)?(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*([;{])")
USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
PATH = re.compile(r"\b(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*")
DEFINITION = re.compile(
    r"\b(?:struct|enum|union|trait|fn|const|static|type|macro_rules!)\s+(?:mut\s+)?(\w+)"
)


@dataclass
class Module:
    """A module: its file, and the names that it defines, contains and imports."""

    file: Path
    text: str
    children: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    globs: list[tuple[str, ...]] = field(default_factory=list)
    passed_on: set[str] = field(default_factory=set)


def main() -> int:
    """Check every crate, or the given folders, each of which contains a `lib.rs` or `main.rs`."""
    folders = [Path(name) for name in sys.argv[1:]] or sorted(ROOT.glob("crates/*/src"))
    circles = [circle for folder in folders for circle in circles_of(folder)]
    for circle in circles:
        print("these files use each other in a circle:")
        for file in circle:
            print(f"  {file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}")
    return int(bool(circles))


def circles_of(folder: Path) -> list[list[Path]]:
    """Return the circles among a crate's files, each as a sorted list."""
    modules: dict[tuple[str, ...], Module] = {}
    for name in ("lib.rs", "main.rs"):
        if (folder / name).exists():
            read(folder / name, (name.removesuffix(".rs"),), folder, modules)
    uses: dict[Path, set[Path]] = {module.file: set() for module in modules.values()}
    for path, module in modules.items():
        own = [module.imports[name] for name in module.imports.keys() - module.passed_on]
        named = [*own, *module.globs, *paths_in(module, path)]
        found = (definition(modules, name) for name in named)
        others = {file for file in found if file and file != module.file}
        uses[module.file] |= {file for file in others if not is_whole_of(file, module.file)}
    return components(uses)


def is_whole_of(file: Path, part: Path) -> bool:
    """Return whether `file` defines a type and `part` contains methods of this type."""
    return file in PARTS_OF and part.is_relative_to(file.parent)


def read(file: Path, path: tuple[str, ...], folder: Path, modules: dict) -> None:
    """Read a module's file and the files of its inner modules, which are in `folder`."""
    text = STRING.sub('""', COMMENT.sub("", file.read_text()))
    text = without_tests(text)
    module = modules[path] = Module(file, text)
    for match in MODULE.finditer(text):
        is_test, name, end = match.groups()
        places = [folder / f"{name}.rs", folder / name / "mod.rs"]
        place = next((place for place in places if place.exists()), None)
        if end == "{":
            module.names.add(name)
        elif not is_test and place:
            module.children[name] = (*path, name)
            read(place, (*path, name), folder / name, modules)
    module.names |= set(DEFINITION.findall(text))
    for match in USE.finditer(text):
        is_passed_on, tree = match.groups()
        for name, target in leaves(tree):
            if name == "*":
                module.globs.append(absolute(target, path))
            else:
                module.imports[name] = absolute(target, path)
                module.passed_on |= {name} if is_passed_on else set()


def without_tests(text: str) -> str:
    """Return the text without inner modules and imports that are compiled only for tests."""
    while match := re.search(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + text[end:]
    return re.sub(r"#\[cfg\(test\)\]\s*(?:pub\s+)?use[^;]*;", "", text)


def leaves(tree: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the names that a `use` imports, with their paths."""
    tree = " ".join(tree.split())
    if "{" in tree:
        head, _, rest = tree.partition("{")
        prefix = tuple(part for part in head.strip().split("::") if part)
        inner = rest[: rest.rindex("}")]
        return [
            (name, (*prefix, *target)) if target != ("self",) else (prefix[-1], prefix)
            for part in split(inner)
            for name, target in leaves(part)
        ]
    target, _, alias = tree.partition(" as ")
    parts = tuple(part for part in target.strip().split("::") if part)
    return [(alias.strip() or parts[-1], parts if parts[-1] != "*" else parts[:-1])]


def split(text: str) -> list[str]:
    """Split a list at the commas that are not inside braces."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [part for part in [*parts, part] if part.strip()]


def absolute(target: tuple[str, ...], path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path in a module as a path from the crate's root."""
    if target and target[0] == "crate":
        return (path[0], *target[1:])
    if target and target[0] == "self":
        return (*path, *target[1:])
    base = path
    while target and target[0] == "super":
        base, target = base[:-1], target[1:]
    return (*base, *target)


def paths_in(module: Module, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the paths that a module names outside its imports."""
    text = USE.sub("", module.text)
    found = []
    for match in set(PATH.findall(text)):
        parts = tuple(match.split("::"))
        if parts[0] in module.imports:
            found.append((*module.imports[parts[0]], *parts[1:]))
        elif parts[0] in module.children or parts[0] in ("crate", "super", "self"):
            found.append(absolute(parts, path))
    return found


def definition(modules: dict, name: tuple[str, ...], depth: int = 0) -> Path | None:
    """Return the file that defines the item at a path; None if it is not in this crate."""
    length = next((n for n in range(len(name), 0, -1) if name[:n] in modules), 0)
    if not length or depth > LONGEST_CHAIN:
        return None
    module: Module = modules[name[:length]]
    if length == len(name):
        return None if module.file.name == "mod.rs" else module.file
    item = name[length]
    if item in module.names:
        return module.file
    if item in module.imports and module.imports[item] != name[: length + 1]:
        return definition(modules, (*module.imports[item], *name[length + 1 :]), depth + 1)
    for glob in module.globs:
        source = modules.get(glob)
        if source and item in (*source.names, *source.imports):
            return definition(modules, (*glob, item), depth + 1)
    return None


def components(uses: dict[Path, set[Path]]) -> list[list[Path]]:
    """Return the sets of several files in which every file reaches every other file."""
    reach = {file: reachable(file, uses) for file in uses}
    circles = {
        frozenset(other for other in reach[file] if file in reach[other])
        for file in uses
        if file in reach[file]
    }
    return sorted(sorted(circle) for circle in circles)


def reachable(file: Path, uses: dict[Path, set[Path]]) -> set[Path]:
    """Return all files that a file uses, directly or indirectly."""
    found: set[Path] = set()
    waiting = list(uses[file])
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting.extend(uses[other])
    return found


if __name__ == "__main__":
    sys.exit(main())
