from __future__ import annotations

import inspect
import json
import tomllib
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import jsonschema
import pytest
from pydantic import BaseModel

import cwndlab as cw
from cwndlab import core
from cwndlab.cli.advise import advise_command
from cwndlab.cli.compare import compare_command
from cwndlab.cli.study_options import help_of
from cwndlab.judge.populations import populations
from cwndlab.papers import paper_studies
from cwndlab.resolve.path import LinkFiles
from cwndlab.schema import Flow, StudyModel
from cwndlab.schema import scenario as si
from cwndlab.schema.json_schema import schema_text, study_schema, users_schema
from maximal import live_paths, maximal_scenario, written_links

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]

STUDY = """
[study]
id = "x"
link = "lossy"
duration = "10 s"
algorithm = "reno"

[reverse_link]
rate = "1 Mbit/s"
aqm = "codel"
loss = { kind = "iid", share = "1 %" }

[[flow]]
application = { kind = "sized", bytes = "1 MB" }

[factors]
"link.rate" = ["1 Mbit/s"]
algorithm = ["reno"]

[quick]
duration = "1 s"
"""


def models(model: type[BaseModel]) -> set[type[BaseModel]]:
    """Return all models that a model uses, including the model itself."""

    def within(annotation: object) -> set[type[BaseModel]]:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return models(annotation)
        if typing.get_origin(annotation) or isinstance(annotation, types.UnionType):
            return set().union(*(within(inner) for inner in typing.get_args(annotation)))
        return set()

    return {model}.union(*(within(field.annotation) for field in model.model_fields.values()))


def test_the_maximal_scenario_leaves_no_key_unset() -> None:
    found: dict[str, set[str]] = {}

    def visit(value: object) -> None:
        if isinstance(value, BaseModel):
            filled = {name for name in type(value).model_fields if getattr(value, name) is not None}
            found.setdefault(type(value).__name__, set()).update(filled)
            for name in type(value).model_fields:
                visit(getattr(value, name))
        elif isinstance(value, tuple):
            for inner in value:
                visit(inner)

    visit(maximal_scenario())
    visit(live_paths())
    for model in models(si.Scenario):
        assert found[model.__name__] == set(model.model_fields), model.__name__


def test_rust_reads_the_maximal_scenario_and_writes_the_same() -> None:
    """Both definitions of the format stay equal: each contains every key of the other."""
    scenario = maximal_scenario()
    users = tuple(flow.model_copy(update={"user": 1}) for flow in scenario.flows)
    scenario = scenario.model_copy(update={"flows": users, "before": (users[:1], users[1:])})
    ours = json.loads(scenario.to_json())
    assert without_nulls(json.loads(core.check_scenario(json.dumps(ours)))) == ours


def test_the_simulator_reads_what_the_core_makes_of_every_key_and_writes_the_same() -> None:
    """The tables of keys and the simulator's types stay equal: each contains every key."""
    scenario = maximal_scenario()
    flows = [{**json.loads(scenario.to_json())["flows"][0], "user": 1}]
    filled: set[str] = set()
    empty: set[str] = set()
    accepted = 0
    for link in written_links():
        table, problems = core.check_link(link)
        assert problems == [], link
        path_json, _, _, refused = core.resolve_link(table, None, LinkFiles(Path()))
        if path_json is None:
            assert "mark" in str(refused), link  # a marking threshold in BDP
            continue
        accepted += 1
        whole = {**json.loads(scenario.to_json()), "path": json.loads(path_json), "flows": flows}
        del whole["before"]
        read = json.loads(core.check_scenario(json.dumps(whole)))["path"]
        assert without_nulls(read) == whole["path"]
        for name, is_filled in keys_of(read, "path"):
            (filled if is_filled else empty).add(name)
    assert accepted > 80
    assert empty - filled == set()
    assert len(filled) > 200


def keys_of(value: object, path: str) -> Iterator[tuple[str, bool]]:
    """Yield each key with the path of its table, and whether it has a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{value.get('kind', '')}.{key}", inner is not None
            yield from keys_of(inner, "wire" if key in ("forward", "reverse") else key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, path)


def without_nulls(value: Any) -> Any:  # noqa: ANN401  JSON
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("of", ["study", "users"])
def test_the_schema_in_docs_is_that_of_the_code(of: Literal["study", "users"]) -> None:
    page = Path("docs/reference") / f"{of}.schema.json"
    written = (ROOT / page).read_text(encoding="utf-8")
    assert written == schema_text(of), f"run: cwndlab schema {of} > {page}"


@pytest.mark.parametrize("name", populations())
def test_the_schema_of_users_takes_every_population(name: str) -> None:
    validator = jsonschema.Draft202012Validator(users_schema())
    document = tomllib.loads(populations()[name].read_text(encoding="utf-8"))
    assert not list(validator.iter_errors(document))
    del document["users"][0]["weight"]
    assert list(validator.iter_errors(document))


@pytest.mark.parametrize("schema", [study_schema(), users_schema()], ids=["study", "users"])
def test_every_key_of_a_file_is_described(schema: dict[str, Any]) -> None:
    tables = {"": schema, "study": schema["properties"].get("study", {}), **schema["$defs"]}
    keys = [
        (f"{table}.{key}", about)
        for table, definition in tables.items()
        for key, about in definition.get("properties", {}).items()
    ]
    assert len(keys) > 100
    assert [key for key, about in keys if not about.get("description")] == []


def test_the_schema_takes_a_study_and_refuses_an_unknown_key() -> None:
    validator = jsonschema.Draft202012Validator(study_schema())
    jsonschema.Draft202012Validator.check_schema(study_schema())
    document = tomllib.loads(STUDY)
    assert not list(validator.iter_errors(document))
    for table in ("study", "reverse_link"):
        changed = json.loads(json.dumps(document))
        changed[table]["unknown"] = 1
        assert [list(error.path) for error in validator.iter_errors(changed)] == [[table]]


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "studies").glob("*.toml")), *paper_studies().values()],
    ids=lambda p: f"{p.parent.name}-{p.stem}",
)
def test_every_study_of_the_project_fits_the_schema(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(study_schema()).validate(document)


def test_scenarios_are_frozen_and_know_no_other_keys() -> None:
    scenario = maximal_scenario()
    with pytest.raises(ValueError, match="frozen"):
        scenario.seed = 1  # type: ignore[misc]  # what is tested
    with pytest.raises(ValueError, match="extra"):
        si.Scenario.model_validate({**scenario.model_dump(), "other": 1})


def test_a_study_takes_the_keys_of_a_study_file() -> None:
    """Only files can contain `live` and the changes of `--quick`."""
    arguments = inspect.signature(cw.Study).parameters
    about = " ".join(str(cw.Study.__init__.__doc__).split())
    assert set(arguments) == StudyModel.model_fields.keys() - {"live", "quick"}
    for name, argument in arguments.items():
        field = StudyModel.model_fields[name]
        assert argument.default is None or argument.default in {field.default, "60 s"}, name
        assert f"{name}: {field.description}." in about


@pytest.mark.parametrize("command", [compare_command, advise_command], ids=["compare", "advise"])
def test_an_option_that_is_a_key_of_a_study_is_what_the_schema_says(command: click.Command) -> None:
    plural = {"links": "link", "algorithms": "algorithm", "transfer": "bytes"}
    fields = {**Flow.model_fields, **StudyModel.model_fields}
    options = {plural.get(str(o.name), str(o.name)): o for o in command.params}
    joined = {key: option for key, option in options.items() if key in fields}
    assert joined.keys() >= {"link", "algorithm", "direction"}
    for key, option in joined.items():
        assert isinstance(option, click.Option)
        assert str(option.help).startswith(help_of(fields[key])), key
        default = option.get_default(click.Context(command))
        if isinstance(default, int | str):
            own = {"flows": 1, "duration": "60 s"}
            assert default == own.get(key, fields[key].default), key
