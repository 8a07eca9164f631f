"""Effects of methods and algorithms: the analysis recovers the effects in the data."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import cwndlab as cw
from cwndlab.judge.methods import MethodTable, Transfers, method_tables
from cwndlab.report import write_report
from made_up import comparison_of

RUNS = 12
METHODS = {"web": 0.8, "raw TCP": 1.0, "sftp": 0.5}
ALGORITHMS = {"cubic": 1.0, "bbr": 1.5}
KINDS = {"web": "http", "raw TCP": "sized", "sftp": "sftp"}
EXACT = 1e-9


def setting(
    method: str,
    goodput: Mapping[str, list[float]],
    *,
    names: Mapping[str, str] | None = None,
    rate: int = 10,
) -> Transfers:
    """Return a cell with these runs; `names` are the contestants' names in the study."""
    values = {name: {"goodput_mbit_s": runs} for name, runs in goodput.items()}
    not_sent = {name: named for name, named in (names or {}).items() if name != named}
    comparison = comparison_of(values, {"place": "home", "method": method}, not_sent)
    flow = {"id": 1, "direction": "reverse", "application": {"kind": KINDS[method]}}
    known = (names or {}).values() or goodput
    return Transfers(comparison, {name: {"rate": rate, "flows": [flow]} for name in known})


def study(own: Mapping[tuple[str, str], float] | None = None, runs: int = RUNS) -> list[Transfers]:
    """Return all pairs of methods and algorithms, on a network that differs between runs."""
    level = 20 * np.exp(np.random.default_rng(6).normal(0, 0.3, runs))
    return [
        setting(
            method,
            {
                name: list(level * of_method * of_name * (own or {}).get((method, name), 1))
                for name, of_name in ALGORITHMS.items()
            },
        )
        for method, of_method in METHODS.items()
    ]


def only(tables: list[MethodTable]) -> MethodTable:
    (table,) = tables
    return table


def test_effects_that_were_put_in_come_out_and_nothing_is_left() -> None:
    table = only(method_tables(study()))
    assert table.conditions == "place home"
    assert table.methods == ("raw TCP", "web", "sftp"), "the plain one is the reference"
    assert set(table.of_methods) == {"web", "sftp"}
    assert table.of_methods["web"].relative.estimate == pytest.approx(-0.2, abs=EXACT)
    assert table.of_methods["sftp"].relative.estimate == pytest.approx(-0.5, abs=EXACT)
    assert table.of_algorithms["bbr"].relative.estimate == pytest.approx(0.5, abs=EXACT)
    assert all(own.relative.estimate == pytest.approx(0, abs=EXACT) for own in table.own.values())
    assert table.peculiar == []


def test_what_a_pair_has_of_its_own_is_neither_effect() -> None:
    table = only(method_tables(study({("sftp", "bbr"): 0.5})))
    # one of six pairs is halved: its interaction is (2/3)(1/2) of the logarithm
    halved = table.own["sftp", "bbr"].relative.estimate
    assert halved == pytest.approx(0.5 ** (1 / 3) - 1, abs=EXACT)
    assert ("sftp", "bbr") in table.peculiar
    assert table.of_methods["web"].relative.estimate == pytest.approx(-0.2, abs=EXACT)


def test_one_run_makes_nothing_sure() -> None:
    table = only(method_tables(study({("sftp", "bbr"): 0.5}, runs=1)))
    assert table.peculiar == []
    assert not any(effect.direction for effect in table.of_methods.values())


def test_who_did_not_send_has_no_effect_but_its_runs_tell_of_methods() -> None:
    other = "bbr (sent by cubic)"
    settings = [
        setting(
            method,
            {"cubic": [10 * effect] * 3, other: [11 * effect] * 3},
            names={"cubic": "cubic", other: "bbr"},
        )
        for method, effect in METHODS.items()
    ]
    table = only(method_tables(settings))
    assert table.algorithms == ("cubic", other)
    assert table.of_algorithms == {}
    assert table.of_methods["sftp"].relative.estimate == pytest.approx(-0.5, abs=EXACT)


def test_settings_that_differ_in_more_than_the_application_are_no_table() -> None:
    web, raw, _ = study()
    faster = Transfers(raw.comparison, {n: {**s, "rate": 20} for n, s in raw.scenarios.items()})
    assert method_tables([web, faster]) == []
    assert method_tables([web]) == []


def test_runs_that_a_campaign_still_lacks_are_left_out() -> None:
    settings = study()
    values = settings[0].comparison.values["bbr"]["goodput_mbit_s"]
    values[3] = np.nan
    values[4] = 1e9  # would take the place of the missing value if missing runs were removed
    settings[0].comparison.values["cubic"]["goodput_mbit_s"][4] = np.nan
    table = only(method_tables(settings))
    assert table.of_methods["web"].pairs == RUNS - 2
    assert table.of_methods["web"].relative.estimate == pytest.approx(-0.2, abs=EXACT)


METHODS_STUDY = """
[study]
id = "methods"
link = "rate=10 Mbit/s,delay=20 ms"
duration = "10 s"
repetitions = 2
algorithm = "cubic"

[[factors.method]]
name = "one block at a time"
application = { kind = "windowed_file", total = "500 kB", request = "32 kB", outstanding = 1 }

[[factors.method]]
name = "raw TCP"
application = { kind = "sized", bytes = "500 kB" }
"""


def test_a_simulated_study_of_methods_reports_them_apart(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(METHODS_STUDY, encoding="utf-8")
    results = cw.Study.load(path).run(tmp_path / "r")
    page = write_report(results, formats=()).read_text(encoding="utf-8")
    section = page.split('id="methods"')[1].split("</section>")[0]
    assert "Effects of transfer method (such as SFTP) and algorithm on goodput" in section
    assert section.index(">raw TCP<") < section.index(">one block at a time<")
    assert "algorithm's effect" not in section, "there is one algorithm"
    assert "The method with the largest effect is one block at a time" in section


def test_a_study_of_one_method_has_no_such_section(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    text = METHODS_STUDY.partition("[[factors.method]]")[0]
    path.write_text(text + '[factors]\nalgorithm = ["cubic", "reno"]\n', encoding="utf-8")
    results = cw.Study.load(path).run(tmp_path / "r")
    assert 'id="methods"' not in write_report(results, formats=()).read_text(encoding="utf-8")
