"""Define a study: a scenario, the factors that vary it, and the number of repetitions.

```python
import cwndlab as cw

study = cw.Study(link="rate=10 Mbit/s,delay=20 ms", algorithm=["reno", "cubic"], repetitions=10)
results = study.run()
results.flows()
```
"""

from __future__ import annotations

import copy
import html
import inspect
import os
import re
import textwrap
from collections.abc import Collection, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self

from cwndlab.errors import StudyError, plural
from cwndlab.schema.forms import ID, REMEDIES
from cwndlab.schema.study import TABLES, StudyModel, flatten_factors
from cwndlab.study import matrix
from cwndlab.study.kept import KeptScenarios
from cwndlab.study.places import Arguments, StudyFile
from cwndlab.text.files import checked_path
from cwndlab.text.quantity import format_duration
from cwndlab.text.toml import TomlSource
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.study.matrix import Matrix
    from cwndlab.study.places import Source
    from cwndlab.study.runs import Cell, Label

_LINK_KEYS = ("link", "reverse_link")

Keys = ParamSpec("Keys")
TableLike = Mapping[str, Any]
LinkLike = str | TableLike


def _with_keys(method: Callable[Keys, None]) -> Callable[Keys, None]:
    """Insert the schema's descriptions of study keys into the docstring of a method."""
    lines = []
    for name in inspect.signature(method).parameters:
        if name != "self":
            about = f"{name}: {StudyModel.model_fields[name].description}."
            lines.append(
                textwrap.fill(about, 99, initial_indent=" " * 12, subsequent_indent=" " * 16)
            )
    keys = "\n".join(["Args:", *lines])
    method.__doc__ = (method.__doc__ or "").replace("Raises:", f"{keys}\n\n        Raises:", 1)
    return method


class StudyDefinition:
    """A study whose settings were checked for all combinations of the levels of its factors."""

    @_with_keys
    def __init__(  # noqa: PLR0913  one argument for each key of a study file
        self,
        *,
        id: str | None = None,  # noqa: A002  the name of the key
        title: str | None = None,
        description: str | None = None,
        link: LinkLike | Sequence[LinkLike] | None = None,
        reverse_link: LinkLike | Sequence[LinkLike] | None = None,
        user_host: str | TableLike | Sequence[str | TableLike] | None = None,
        server_host: str | TableLike | Sequence[str | TableLike] | None = None,
        algorithm: str | Sequence[str] | None = None,
        stack: str | Sequence[str] | None = None,
        user_stack: str | Sequence[str] | None = None,
        server_stack: str | Sequence[str] | None = None,
        direction: str | Sequence[str] | None = None,
        user: int | str | Sequence[int | str] | None = None,
        application: str | TableLike | Sequence[str | TableLike] | None = None,
        flows: int | Sequence[int] | None = None,
        flow: Sequence[TableLike] | None = None,
        duration: str | Sequence[str] = "60 s",
        warm_up: str | None = None,
        begin_within: str | None = None,
        start_jitter: str | None = None,
        rotation: Sequence[str] | None = None,
        repetitions: int = 1,
        seed: int = 1,
        common_seeds: bool = False,
        parameters: Mapping[str, Mapping[str, int]] | None = None,
        stack_overrides: TableLike | None = None,
        record: TableLike | None = None,
        factors: TableLike | None = None,
    ) -> None:
        """Create a study from the keys of a study file.

        A list of values makes its key a factor, except in `flow` and `rotation`.

        Raises:
            StudyError: a key is missing, or its value is invalid.
        """
        given = {key: value for key, value in locals().items() if key != "self"}
        given["common_seeds"] = common_seeds or None
        try:
            document = {key: _plain(value) for key, value in given.items() if value is not None}
        except RecursionError:
            msg = "a table or list contains itself; no study file can express this"
            raise StudyError([msg]) from None
        named = document.pop("factors", {})
        kept = ("flow", "rotation")
        lists = [key for key, v in document.items() if isinstance(v, list) and key not in kept]
        varied = _merged_factors({key: document.pop(key) for key in lists}, named)
        if varied:
            document["factors"] = varied
        self._prepare(document, Arguments(document), Path())

    @classmethod
    def load(cls, path: str | Path, *, is_quick: bool = False, is_live: bool = False) -> Self:
        """Read a study file.

        For the study file in a results folder, the scenarios stored in this folder are used, so
        later changes to presets and defaults have no effect.

        Args:
            path: path of the study file.
            is_quick: whether to apply the changes in the file's `[quick]` table.
            is_live: whether to measure on a real network instead of using the file's `[link]`.

        Raises:
            ArgumentError: `path` is not a path.
            StudyError: the file is not a valid study; the message names the file, line and key of
                each problem.
        """
        path = checked_path(path, "path", "a study file", "studies/demo.toml")
        source = TomlSource.read(path)
        document = _from_file_form(source)
        if "id" not in document:
            document["id"] = _id_of(path)
        if is_quick:
            quick = document.get("quick", {})
            document = _merge(document, quick) if isinstance(quick, dict) else document
        if is_live:
            document = _on_a_network(document, source)
        study = cls.__new__(cls)
        kept = None if is_quick or is_live else KeptScenarios.beside(path)
        study._prepare(document, StudyFile(source), path.parent, kept)  # noqa: SLF001  its own class
        return study

    def _prepare(
        self,
        document: dict[str, Any],
        source: Source,
        folder: Path,
        kept: KeptScenarios | None = None,
    ) -> None:
        self.document = document
        self.folder = folder
        self._kept = kept
        self.model, self.columns, self.cells = matrix.build(document, source, folder, kept)

    model: StudyModel
    """The checked settings that no factor varies."""
    columns: tuple[str, ...]
    """For each factor, the name of the column of the results that contains its levels."""
    cells: tuple[Cell, ...]
    """All combinations of factor levels that the study runs."""

    @property
    def id(self) -> str:
        """The identifier of the study, which is also the name of its results folder."""
        return self.model.id

    @property
    def title(self) -> str:
        """Title of the study; without a title, the identifier of the study."""
        return self.model.title or self.model.id

    @property
    def description(self) -> str:
        """Purpose of the study; empty if the study does not state one."""
        return self.model.description

    @property
    def repetitions(self) -> int:
        """Number of runs of each combination of factor levels."""
        return self.model.repetitions

    @property
    def is_short(self) -> bool:
        """True if the settings of the table `[quick]`, which shorten the study, are in effect."""
        short = self.document.get("quick", {})
        return bool(short) and _merge(self.document, short) == self.document

    @property
    def factors(self) -> dict[str, list[Label]]:
        """Maps the column name of each factor to those levels of the factor that occur in runs."""
        return matrix.factor_labels(self.model, self.cells)

    @cached_property
    def matrix(self) -> Matrix:
        """All runs of the study, ordered by repetition and then by combination of factor levels."""
        return matrix.expand(self.model, self.columns, self.cells)

    def changed(self, document: dict[str, Any]) -> Self:
        """Return a study with `document`; its relative paths start at the folder of this study."""
        study = type(self).__new__(type(self))
        study._prepare(document, Arguments(document), self.folder)  # noqa: SLF001  its own class
        return study

    def with_captures(self) -> Self:
        """Return a copy of the study that also captures the packets of each run."""
        document = copy.deepcopy(self.document)
        document.setdefault("record", {})["pcap"] = True
        return self.changed(document)

    def repeated(self, repetitions: int, is_meant: Callable[[Mapping[str, Any]], bool]) -> Self:
        """Return a copy with `repetitions` runs of each combination that `is_meant` selects."""
        study = copy.copy(self)
        model = self.model.model_copy(update={"repetitions": repetitions})
        runs = matrix.expand(model, self.columns, self.cells).runs
        kept = (run for run in runs if run.repetition < self.repetitions or is_meant(run.labels))
        vars(study)["matrix"] = matrix.Matrix(self.columns, tuple(kept), self.cells)
        return study

    def to_toml(self) -> str:
        """Return the study as the text of a study file."""
        return write_toml(self.in_file_form(self.document))

    def in_file_form(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a document to the form of a study file: keys outside tables move to [study]."""
        scalars = {key: value for key, value in document.items() if not _is_table(key, value)}
        tables = {key: value for key, value in document.items() if _is_table(key, value)}
        return {"study": {"id": self.id, **scalars}, **tables}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle no Pydantic models, because those created at run time cannot be pickled."""
        return _unpickled, (type(self), self.document, self.folder, self._kept)

    def __repr__(self) -> str:
        factors = ", ".join(f"{name}: {levels}" for name, levels in self.factors.items())
        return (
            f"{type(self).__name__}({self.id!r}, {self._size()}{f', {factors}' if factors else ''})"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th>"
            f"<td>{html.escape(', '.join(map(str, levels)))}</td></tr>"
            for name, levels in self.factors.items()
        )
        title = html.escape(self.title)
        return f"<b>{title}</b><br>{self._size()}<table>{rows}</table>"

    def _size(self) -> str:
        runs = plural(len(self.cells) * self.repetitions, "run")
        return f"{runs} of {format_duration(self.model.duration)}"


def _unpickled(
    kind: type[StudyDefinition],
    document: dict[str, Any],
    folder: Path,
    kept: KeptScenarios | None,
) -> StudyDefinition:
    study = kind.__new__(kind)
    study._prepare(document, Arguments(document), folder, kept)  # noqa: SLF001  its own class
    return study


def _plain(value: object) -> Any:  # noqa: ANN401  a value in a study's document
    """Return a value with its collections converted to the types of TOML."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        is_name = isinstance(path, str) and os.path.basename(path) == path  # noqa: PTH119  may be "./x"
        return _encodable(f"./{path}" if is_name else str(path))
    if isinstance(value, bytes | AbstractSet) and not isinstance(value, KeysView):
        what = (
            "a bytes object; write a string" if isinstance(value, bytes) else "a set; write a list"
        )
        msg = f"{value!r} is {what}"
        raise StudyError([msg])
    if isinstance(value, Collection) and not hasattr(value, "tolist"):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())  # arrays and numbers of NumPy, series of pandas
    return value


def _encodable(text: str) -> str:
    """Check that a text can be encoded as UTF-8, and return it.

    Raises:
        StudyError: the text contains only one half of a UTF-16 surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        msg = f"{text!a} is not valid Unicode text; remove the characters \\ud800 to \\udfff"
        raise StudyError([msg]) from None
    return text


def _is_table(key: str, value: object) -> bool:
    return key in TABLES and isinstance(value, dict | list)


def _from_file_form(source: TomlSource) -> dict[str, Any]:
    """Return the document of a file, with the keys of `[study]` moved to the top level."""
    document = dict(source.document)
    scalars = document.pop("study", {})
    problems = []
    if not isinstance(scalars, dict):
        problems.append(source.problem(("study",), "must be a table, written as [study]"))
        scalars = {}
    problems += [
        source.problem((key,), "move this key into the table [study]")
        for key, value in document.items()
        if key in StudyModel.model_fields and not _is_table(key, value)
    ]
    problems += [
        source.problem(("study", key), f"move this table out of [study]; its new header is [{key}]")
        for key, value in scalars.items()
        if _is_table(key, value) and isinstance(value, dict)
    ]
    problems += [
        source.problem(
            ("study", key),
            f"{key} is set here and again by the table [{key}]; keep only one of the two",
        )
        for key in scalars
        if key in document
    ]
    if problems:
        raise StudyError(problems)
    return scalars | document


def _on_a_network(document: dict[str, Any], source: TomlSource) -> dict[str, Any]:
    """Return the study without its link, for measurements on a real network."""
    varied = document.get("factors", {})
    factors = (
        [name for name in varied if name.startswith(_LINK_KEYS)] if isinstance(varied, dict) else []
    )
    if factors:
        message = "the link of a real network cannot be varied; remove this factor"
        raise StudyError([source.problem(("factors", name), message) for name in factors])
    if "link" not in document:
        return {"live": {}} | document
    kept = {key: value for key, value in document.items() if key not in _LINK_KEYS}
    return {"live": {}} | kept | {"id": f"{document['id']}-live"}


def _id_of(path: Path) -> str:
    """Derive a study's id from the file name; for `study.toml`, from the name of its folder."""
    name = path.stem if path.name != "study.toml" else path.resolve().parent.name
    if not re.match(ID, name):
        msg = (
            f"{path}: the study has no id, and the name {name!r} is not a valid id; add an id "
            f"to [study]\n  {REMEDIES[ID]}"
        )
        raise StudyError([msg])
    return name


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the table `base` with `changes`; nested tables are merged key by key."""
    merged = dict(base)
    for key, value in changes.items():
        if key == "factors":
            merged[key] = _merged_factors(merged.get(key, {}), value)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def _merged_factors(base: object, changes: object) -> object:
    """Return the factors of `base`, changed by those of `changes`.

    If `base` or `changes` is not a table, return `changes`; a later check reports the error.
    """
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    return flatten_factors(base) | flatten_factors(changes)
