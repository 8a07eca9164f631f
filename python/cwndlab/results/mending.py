"""Find the runs that must be computed again because their rows were in damaged files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.results.blocks import parts_of
from cwndlab.results.folder import FILES, MATRIX, RUNS, is_part
from cwndlab.results.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Collection

    from cwndlab.results.folder import Folder


def lost_runs(folder: Folder, damaged: Collection[str], done: Collection[str]) -> set[str]:
    """Return the keys of the finished runs whose data were in the damaged files.

    Each file of a table contains the rows of consecutive runs. Therefore, a damaged file can only
    contain runs from the last run of the preceding file to the first run of the following file. If
    the list of runs (`matrix.parquet`) is also damaged, all runs are considered lost.
    """
    lost = {name.split("/")[1] for name in damaged if name.startswith(f"{FILES}/")}
    tables = {name.split("/")[0] for name in damaged if is_part(name)} - {RUNS}
    if not tables:
        return lost & set(done)
    if MATRIX in damaged:
        return set(done)
    matrix = read_parquet(folder.path / MATRIX, ["run"])["run"]
    order = [key for key in matrix if key in done]
    places = {key: n for n, key in enumerate(order)}
    for table in tables:
        begin, is_open = 0, False
        for path in folder.parts(table):
            if path.relative_to(folder.path).as_posix() in damaged:
                is_open = True
                continue
            found = parts_of(table, [path], folder.numbering).runs["number"].to_numpy()
            keys = [places[key] for key in folder.numbering.keys(found) if key in places]
            if is_open and keys:
                lost.update(order[begin : keys[0] + 1])
                is_open = False
            begin = keys[-1] if keys else begin
        if is_open:
            lost.update(order[begin:])
    return lost & set(done)
