"""`cwndlab pack`: the archive's content works on other machines and contains no private names."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from matplotlib.image import imread

import cwndlab as cw
from cwndlab.cli import app
from cwndlab.figures import house_style
from cwndlab.packing import pack
from cwndlab.packing.privacy import Pseudonyms, hosts_of
from cwndlab.report import draw_figures
from cwndlab.results.manifest import COPY, MANIFEST, file_digest, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

LARGE_BYTES = 400_000_000


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cw.Results:
    folder = tmp_path_factory.mktemp("results")
    study = cw.Study(
        link="rate=5 Mbit/s,delay=20 ms",
        algorithm=["reno", "cubic"],
        duration="3 s",
        repetitions=2,
        id="mine",
    )
    return study.run(folder / "mine")


@pytest.fixture(scope="module")
def packed(results: cw.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(results, tmp_path_factory.mktemp("pack") / "mine.zip")


def test_a_pack_is_whole(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "mine"
    for name in ("README.md", "methods.md", "citations.md", "versions.json", "report/report.html"):
        assert (folder / name).stat().st_size > 0
    assert cw.open_results(folder / "data").flows().height == 4
    again = cw.Study.load(folder / "data/study.toml").run(tmp_path / "again")
    assert again.flows().equals(cw.open_results(folder / "data").flows())
    methods = (folder / "methods.md").read_text()
    assert "4 runs of 3 s" in methods
    assert "Factors: algorithm: reno, cubic." in methods
    assert "RFC 9438" in (folder / "citations.md").read_text()
    bibliography = (folder / "citations.bib").read_text()
    assert "@article{ha2008," in bibliography
    assert "{brakmo1994," not in bibliography
    assert bibliography.count("{") == bibliography.count("}")
    versions = json.loads((folder / "versions.json").read_text())
    assert versions["runs"]["backend"] == ["sim"]
    assert versions["pack"]["polars"] == pl.__version__


def test_scripts_draw_the_figures_with_matplotlib_alone(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "mine"
    figures = folder / "figures"
    scripts = sorted(figures.glob("*.py"))
    drawn = {path.stem for path in (folder / "report/figures").rglob("*.svg")}
    assert {path.stem for path in scripts} == drawn
    assert "throughput-delay" in drawn
    for script in scripts:
        shown = script.read_text().replace(f'{script.stem}.pdf")', f'{script.stem}.png")')
        script.write_text(shown)
    (tmp_path / "cwndlab.py").write_text("raise ImportError('a script needs Matplotlib alone')")
    each = "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path)"
    done = subprocess.run(
        [sys.executable, "-c", each, *map(str, scripts)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(script.with_suffix(".png")) for script in scripts]
    for name, figure in draw_figures(cw.open_results(folder / "data")):
        with house_style():
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            figure.savefig(tmp_path / "own.png", dpi=figure.dpi)
        ours = imread(tmp_path / "own.png")
        theirs = imread(figures / f"{name.replace('/', '-')}.png")
        assert float(np.abs(ours - theirs).mean()) < 0.005, name


def test_the_same_results_give_the_same_bytes(
    results: cw.Results, packed: Path, tmp_path: Path
) -> None:
    assert pack(results, tmp_path / "mine.zip").read_bytes() == packed.read_bytes()


def test_an_anonymous_pack_names_nobody(results: cw.Results, tmp_path: Path) -> None:
    (host,) = hosts_of([{"host": line["host"]} for line in results.history if "host" in line])
    archive = pack(results, tmp_path / "mine.zip", is_anonymous=True)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
        versions = json.loads(opened.read("mine/versions.json"))
    entries = cw.open_results(tmp_path / "mine" / "data").history
    assert {entry["host"] for entry in entries} == {"host-1"}
    assert versions["runs"]["host"] == ["host-1"]
    assert host != "host-1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("from 192.0.2.7:5201", "from address-1:5201"),
        ("at 2001:db8::17 and ::1", "at address-1 and address-2"),
        ("fe80::1%eth0, then 192.0.2.7, 192.0.2.7", "address-1%eth0, then address-2, address-2"),
        ("laptop-9 did, laptop-90 did not", "host-1 did, laptop-90 did not"),
        ("at 12:31:08 on 2026-11-21, version 1.2.3", "at 12:31:08 on 2026-11-21, version 1.2.3"),
        ("cwndlab::run and a:b", "cwndlab::run and a:b"),
    ],
)
def test_addresses_and_machines_become_numbers(text: str, shown: str) -> None:
    assert Pseudonyms(["laptop-9"]).text(text) == shown


def test_cells_stay_apart_and_lose_their_names() -> None:
    frame = pl.DataFrame({"cell": ["244-91-1", None, "244-91-2", "244-91-1"], "t_s": [0, 1, 2, 3]})
    hidden = Pseudonyms([])
    buffer = BytesIO()
    frame.write_parquet(buffer)
    shown = pl.read_parquet(BytesIO(hidden.table(buffer.getvalue())))
    assert shown["cell"].to_list() == ["cell-1", None, "cell-2", "cell-1"]
    assert shown["t_s"].to_list() == [0, 1, 2, 3]


def test_the_command_prints_the_path(results: cw.Results, tmp_path: Path) -> None:
    out = tmp_path / "given.zip"
    done = CliRunner().invoke(app, ["pack", str(results.path), "--out", str(out)])
    assert (done.exit_code, done.output.strip()) == (0, str(out))
    assert zipfile.is_zipfile(out)


@pytest.mark.parametrize("name", ["mine.tar.gz", "mine", "mine.zip.part"])
def test_a_name_of_another_kind_of_archive_is_refused(
    results: cw.Results, tmp_path: Path, name: str
) -> None:
    arguments = ["pack", str(results.path), "--out", str(tmp_path / name)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert "choose a name that ends with .zip" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_large_capture_is_packed_in_little_memory(tmp_path: Path) -> None:
    study = cw.Study(
        link="rate=5 Mbit/s,delay=20 ms",
        algorithm="reno",
        duration="1 s",
        record={"pcap": True},
        id="mine",
    )
    folder = study.run(tmp_path / "mine").path
    (capture,) = (folder / "files").glob("*/capture.pcap")
    with capture.open("r+b") as file:
        file.truncate(LARGE_BYTES)  # a hole, which takes no space
    manifest = read_manifest(folder)
    assert manifest is not None
    name = capture.relative_to(folder).as_posix()
    files = {**manifest.files, name: str(file_digest(capture))}
    for each in (MANIFEST, COPY):
        (folder / each).write_bytes(dataclasses.replace(manifest, files=files).to_json())
    tracemalloc.start()
    try:
        packed = pack(cw.open_results(folder), tmp_path / "mine.zip")
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < LARGE_BYTES / 4
    with zipfile.ZipFile(packed) as archive:
        assert archive.getinfo(f"mine/data/{name}").file_size == LARGE_BYTES
