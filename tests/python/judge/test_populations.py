"""Populations from the package, from files and from links; networks drawn for their classes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cwndlab as cw
from cwndlab import core
from cwndlab.errors import CoreMissingError, StudyError, UnknownNameError
from cwndlab.judge.populations import (
    expand,
    load_population,
    networks_of_draws,
    population_of_links,
    population_of_settings,
    populations,
)
from cwndlab.judge.sampling import vary
from cwndlab.schema.path import PathPart

DRAWS = 12
DOCS = Path(__file__).parents[3] / "docs/explanation/verdict.md"
FILE = """
title = "visitors"
[[users]]
name = "phones"
link = "lte-typical"
weight = 3
source = "our logs"
[[users]]
name = "far"
link = "./own.toml"
weight = 1
invented = "a guess"
[users.set]
"link.server" = "40 ms"
duration = "20 s"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "own.toml").write_text('[link]\nrate = "7 Mbit/s"\ndelay = "9 ms"\n')


def complaint(text: str) -> str:
    Path("there/users.toml").write_text(text)
    with pytest.raises(StudyError) as caught:
        load_population("there/users.toml")
    return str(caught.value)


@pytest.mark.parametrize("name", ["mobile", "home", "train", "satellite"])
def test_every_class_of_the_package_can_be_drawn_and_run(name: str) -> None:
    population = load_population(name)
    assert sum(population.weights) == pytest.approx(1)
    for each in population.classes:
        assert each.weight_source
        assert each.is_invented == ("invented:" in each.weight_source)
    drawn = expand(population, DRAWS, 1)
    levels = [level for users in drawn for level in users.levels()]
    study = cw.Study(algorithm=["cubic", "bbr"], factors={"network": levels})
    assert len(study.cells) == 2 * DRAWS * len(population.classes)
    assert set(populations()) >= {name}


def test_classes_share_their_random_numbers() -> None:
    drawn = expand(load_population("mobile"), DRAWS, 5)
    by_name = {each.users.name: each.sample for each in drawn}
    one, other = by_name["LTE, good coverage"], by_name["LTE, bad coverage"]
    for key in ("server", "queue"):
        assert [draw.keys[key] for draw in one.draws] == [draw.keys[key] for draw in other.draws]
    lengths = [[draw.keys["length"] for draw in each.sample.draws] for each in drawn]
    assert all(length == lengths[0] for length in lengths)
    # The seed of a run depends on its network, but not on its algorithm.
    levels = drawn[0].levels()[:2]
    runs = cw.Study(algorithm=["cubic", "bbr"], factors={"network": levels}).matrix.runs
    assert len({(run.seed, run.labels["network"]) for run in runs}) == 2


def test_a_file_of_users() -> None:
    Path("there/users.toml").write_text(FILE)
    population = load_population("there/users.toml")
    assert population.title == "visitors"
    assert population.weights == (0.75, 0.25)
    phones, far = population.classes
    assert (phones.weight_source, phones.is_invented) == ("our logs", False)
    assert (far.weight_source, far.is_invented) == ("invented: a guess", True)
    drawn = expand(population, DRAWS, 1, given=("server_host",))
    assert {"server", "length", "qdisc"} & {key.name for key in drawn[1].sample.keys} == set()
    study = cw.Study(algorithm="cubic", factors={"network": drawn[1].levels()})
    for cell in study.cells:
        path = cell.resolved.scenario.path
        assert isinstance(path, PathPart)
        assert path.kind == "wire"
        assert path.forward[0].delay_ns == 49_000_000  # the file is in the population's folder
        assert cell.resolved.scenario.duration_ns == 20 * 10**9


def test_estimates_of_one_network_take_turns_in_proportion_to_their_probabilities() -> None:
    Path("there/users.toml").write_text(FILE)
    users = networks_of_draws(load_population("there/users.toml"), DRAWS, 1)
    assert [len(draw) for draw in users] == [2] * DRAWS
    assert [weight for _, weight in users[0]] == [0.75, 0.25]
    Path("there/users.toml").write_text(f'classes = "estimates"\nexplained = false\n{FILE}')
    population = load_population("there/users.toml")
    assert (population.meaning.are_estimates, population.meaning.is_explained) == (True, False)
    drawn = networks_of_draws(population, DRAWS, 1)
    assert [(len(draw), draw[0][1]) for draw in drawn] == [(1, 1.0)] * DRAWS
    names = [draw[0][0]["name"].partition(",")[0] for draw in drawn]
    assert (names.count("phones"), names.count("far")) == (9, 3)
    assert len({draw[0][0]["name"] for draw in drawn}) == DRAWS


def test_the_files_of_the_docs_hold() -> None:
    link, users = re.findall(r"```text\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    Path("far.toml").write_text(link)
    Path("wifi-far.toml").write_text('[link.wifi]\nstandard = "802.11n"\n')
    Path("users.toml").write_text(users)
    names = {key.name: key for key in vary("far.toml", 1, 1).keys}
    assert (names["server"].low, names["server"].high, names["server"].is_log) == (2, 60, True)
    assert [choice.name for choice in names["load"].choices] == ["nobody else", "a backup runs"]
    population = load_population("users.toml")
    assert population.weights == (0.7, 0.3)
    assert [each.is_invented for each in population.classes] == [False, True]
    assert len(expand(population, 3, 1)[1].levels()) == 3


def test_several_links_and_settings_count_the_same() -> None:
    population = population_of_links(["lte-typical", "wifi-typical", "satellite-geo"])
    assert population.weights == pytest.approx((1 / 3,) * 3)
    assert all(each.is_invented for each in population.classes)
    assert [each.name for each in population.classes] == [
        "lte-typical",
        "wifi-typical",
        "satellite-geo",
    ]
    settings = population_of_settings({"near": "lte-typical", "far": "lte-typical,server=80 ms"})
    assert [each.name for each in settings.classes] == ["near", "far"]


def test_mistakes_in_a_file_name_their_place() -> None:
    assert "users.toml:4: users[0].name" in complaint(FILE.replace('"phones"', '""'))
    assert "users.toml:6: users[0].weight = -3" in complaint(FILE.replace("= 3", "= -3"))
    said = complaint(FILE.replace('source = "our logs"\n', ""))
    assert "users.toml:3: users[0]\n" in said
    expected = (
        'state the "source" of the values, or list the values without a source under "invented"'
    )
    assert expected in said
    said = complaint(FILE.replace('"far"', '"phones"'))
    assert said.startswith("there/users.toml:9: users[1].name")
    assert "two classes have this name" in said
    said = complaint(FILE.replace('"lte-typical"', '"lte-typicl"'))
    assert "there/users.toml:5: users[0].link" in said
    assert "lte-typical" in said
    said = complaint(FILE.replace('"40 ms"', '"40"'))
    assert "users[1].set" in said
    assert "the number has no unit" in said
    assert "unknown key; did you mean weight?" in complaint(FILE.replace("weight = 3", "weigt = 3"))
    with pytest.raises(UnknownNameError, match="did you mean mobile"):
        load_population("mobil")
