"""Fitting a link to measurements, as a notebook calls it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.api.results import Results, open_results
from cwndlab.errors import MeasurementError, read_failure
from cwndlab.imports.folder import read_file
from cwndlab.imports.socket_statistics import is_socket_statistics, read_socket_statistics
from cwndlab.inference.clients import ClientClass, classes
from cwndlab.inference.fitting import Fit, fit_flow
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.posterior import population
from cwndlab.inference.summaries import LOSSES
from cwndlab.run.executor import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cwndlab.stats.bootstrap import Floats

_HEAD_BYTES = 1 << 16
_SMALLEST_SHARE = 0.01


def fit(
    results: Results | str | Path,
    *,
    run: str | Sequence[str] | None = None,
    family: str = "any",
    seed: int = 1,
    jobs: int | None = None,
    on_points: Callable[[int], None] | None = None,
) -> Fit:
    """Infer the link from a measurement made with one algorithm, or from several of one path.

    The links are of several families: wires with bursts of loss and a rate that varies, wires with
    a policer, with a queue that manages itself, or with competing flows, cells, and Wi-Fi.  The
    answer is a distribution over them: `posterior.members` are the families with their
    probabilities, `posterior.estimates()` has each parameter of the most probable one with its
    90 % interval and how much of it is known, `check` says whether such links explain the
    measurement at all, and `predict()` what other algorithms would get.

    Args:
        results: imported, measured or simulated results, their folder, or a file with one flow:
            JSON of iperf3, a log of `ss -tin`, a capture or a table.
        run: key of the run, or keys of several of the same path; the only one if None.
        family: of the links: `any`, `wire`, `cell` or `wifi`.
        seed: of all draws.
        jobs: simulations at once; one per core if None.
        on_points: is given the number of simulations that are done.

    Raises:
        MeasurementError: the run does not show its link; the message says why.
        ResultsError: the folder holds no results.
    """
    return fit_flow(
        measured_flows(results, run),
        jobs=jobs or available_cores(),
        kind=family,
        seed=seed,
        on_points=on_points,
    )


def measured_flows(
    results: Results | str | Path, run: str | Sequence[str] | None = None
) -> list[MeasuredFlow]:
    """The one bulk flow of each run.

    Raises:
        MeasurementError: as of `measured_flow`.
        ResultsError: the folder holds no results.
    """
    if not isinstance(results, Results) and Path(results).is_file():
        flows = large_flows(flows_of_file(Path(results)))
        if len(flows) > 1:
            msg = f"{results}: {len(flows)} flows share the link; measure one alone"
            raise MeasurementError(msg)
        return flows
    opened = results if isinstance(results, Results) else open_results(results)
    keys = [run] if run is None or isinstance(run, str) else run
    return [measured_flow(opened, key) for key in keys]


def flows_of_file(path: Path) -> list[MeasuredFlow]:
    """Every flow in a file of iperf3, a log of `ss -tin`, a capture or a table.

    Raises:
        MeasurementError: it holds no measurement, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            if is_log := is_socket_statistics(file.read(_HEAD_BYTES)):
                file.seek(0)
                measurement = read_socket_statistics(file, 0.0, smallest_share=0.0)
        if not is_log:
            measurement, _ = read_file(path, 0.0)
    except OSError as error:
        raise MeasurementError(read_failure(path, error)) from None
    except MeasurementError as error:
        msg = f"{path}: {error}"
        raise MeasurementError(msg) from None
    if measurement.error is not None:
        msg = f"{path}: {measurement.error}"
        raise MeasurementError(msg)
    tables = measurement.tables()
    rows = pl.DataFrame(tables["flows"], strict=False).rows(named=True)
    samples, events = (
        pl.DataFrame(tables[name], strict=False, infer_schema_length=None)
        for name in ("samples", "events")
    )
    return [
        MeasuredFlow(
            f"{path}, flow {row['flow']}" if len(rows) > 1 else str(path),
            row,
            _series(samples.filter(pl.col("flow") == row["flow"])),
            _losses_of(events, row),
        )
        for row in rows
    ]


def large_flows(flows: Sequence[MeasuredFlow]) -> list[MeasuredFlow]:
    """The flows beside which the others are control: iperf3 has a connection for its own."""
    sizes = [flow.row.get("delivered_bytes") or 0 for flow in flows]
    most = max(sizes, default=0)
    return [flow for flow, size in zip(flows, sizes, strict=True) if size >= _SMALLEST_SHARE * most]


def fit_clients(
    path: Path,
    *,
    family: str = "any",
    seed: int = 1,
    jobs: int | None = None,
    on_points: Callable[[int], None] | None = None,
) -> list[tuple[ClientClass, Fit]]:
    """Infer the links of the clients in a server's log of `ss -tin`, in classes with weights.

    Raises:
        MeasurementError: no connection shows its path.
    """
    flows = flows_of_file(path)
    found = classes(flows, [_is_usable(flow) for flow in flows], *_times_of_log(flows))
    if not found:
        flows[0].numbers()  # says why not
        msg = f"{path}: no connection shows its path"
        raise MeasurementError(msg)
    workers = jobs or available_cores()
    return [
        (
            each,
            fit_flow(each.flow, jobs=workers, kind=family, seed=seed, on_points=on_points),
        )
        for each in found
    ]


def clients_population(
    clients: Sequence[tuple[ClientClass, Fit]], heading: str, weighing: str, links: int
) -> dict[str, Any]:
    """Classes of clients as a file of users, weighed by `flows` or by `bytes`."""
    users = []
    for each, found in clients:
        share = each.share_of_flows if weighing == "flows" else each.share_of_bytes
        count = max(1, round(links / len(clients)))
        part = population(found.draw(count), heading, found.duration_s, found.check.widening)
        for user in part["users"]:
            source = f"{each.connections} connections of a log, by {weighing}: {user['source']}"
            user |= {
                "name": f"{each.title}, {user['name']}",
                "weight": max(share / count, 1e-6),
                "source": source,
            }
            users.append(user)
    note = (
        "Links of a server's clients, by cwndlab advise --from. Short connections count as often "
        "as there are more of them than a log of snapshots sees."
    )
    widest = max(found.check.widening for _, found in clients)
    if widest > 1:
        note += f" What they leave unexplained widens the links by up to {widest:.2g} times."
    return {"title": heading, "description": note, "users": users}


def _is_usable(flow: MeasuredFlow) -> bool:
    try:
        flow.numbers()
    except MeasurementError:
        return False
    return True


def _times_of_log(flows: Sequence[MeasuredFlow]) -> tuple[float, float]:
    """How long a log is, and how often it was read."""
    steps = [np.diff(flow.samples["t_s"]) for flow in flows if len(flow.samples.get("t_s", ())) > 1]
    interval_s = float(np.median(np.concatenate(steps))) if steps else 1.0
    ends = [float(flow.samples["t_s"][-1]) for flow in flows if len(flow.samples.get("t_s", ()))]
    return max([interval_s, *ends]), interval_s


def measured_flow(results: Results, run: str | None = None) -> MeasuredFlow:
    """The one bulk flow of a run.

    Raises:
        MeasurementError: there are several runs and none is named, or several flows share the run.
    """
    flows = results.flows()
    keys = flows["run"].unique(maintain_order=True).to_list()
    if run is None and len(keys) > 1:
        msg = (
            f"{results.path}: holds {len(keys)} runs, and a link is fitted to one; name it with "
            f"--run, for example --run {keys[0]}"
        )
        raise MeasurementError(msg)
    chosen = keys[0] if run is None else run
    if chosen not in keys:
        msg = f"{results.path}: has no run {chosen}; its runs are {', '.join(keys[:5])}"
        raise MeasurementError(msg)
    rows = flows.filter(pl.col("run") == chosen)
    place = f"{results.path}, run {chosen}"
    if rows.height != 1:
        msg = f"{place}: {rows.height} flows share the link; measure one alone"
        raise MeasurementError(msg)
    row = rows.row(0, named=True)
    samples = results.scan("samples")
    names = samples.collect_schema().names()
    own = (
        samples.filter((pl.col("run") == chosen) & (pl.col("flow") == row["flow"]))
        if {"run", "flow"} <= set(names)
        else samples
    ).collect()
    return MeasuredFlow(place, row, _series(own), _losses_s(results, chosen, row))


def _series(own: pl.DataFrame) -> dict[str, Floats]:
    """The columns of samples that a fit reads."""
    columns = ("t_s", "goodput_mbit_s", "srtt_ms", "cwnd_pkts", "delivery_rate_mbit_s")
    return {
        name: own[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in columns
        if name in own.columns and own.height and own[name].null_count() < own.height
    }


def _losses_s(results: Results, run: str, row: Mapping[str, Any]) -> Floats | None:
    """Times of recoveries and timeouts; None if losses were counted and their times were not."""
    table = results.scan("events")
    if "run" not in table.collect_schema().names():
        return _losses_of(pl.DataFrame(), row)
    return _losses_of(table.filter(pl.col("run") == run).collect(), row)


def _losses_of(events: pl.DataFrame, row: Mapping[str, Any]) -> Floats | None:
    count = row.get("retransmitted_pkts")
    if count is None:
        return None
    if not {"event", "t_s"} <= set(events.columns) or not events.height:
        return None if count else np.empty(0)
    own = events.filter(pl.col("event").is_in(LOSSES))
    if "flow" in own.columns:
        own = own.filter(pl.col("flow").is_null() | (pl.col("flow") == row["flow"]))
    return None if count and not own.height else own["t_s"].cast(pl.Float64).to_numpy()
