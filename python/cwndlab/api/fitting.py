"""Infer links from measurements; commands and notebooks call these functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.api.arguments import checked_jobs
from cwndlab.api.results import Results, open_results
from cwndlab.errors import ArgumentError, MeasurementError, read_failure
from cwndlab.imports.folder import read_file
from cwndlab.imports.socket_statistics import is_socket_statistics, read_socket_statistics
from cwndlab.inference.clients import ClientClass, classes
from cwndlab.inference.fitting import Fit, fit_flow
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.inference.posterior import population
from cwndlab.inference.summaries import DISORDER, LOSSES
from cwndlab.run.executor import available_cores
from cwndlab.schema.application import Probe
from cwndlab.text.files import checked_path, refuse_pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cwndlab.stats.bootstrap import Floats

_HEAD_BYTES = 1 << 16
_SMALLEST_SHARE = 0.01
_PROBE = Probe.model_fields["kind"].default
_STATES = {"established", "open", DISORDER}
"""Events that exist only if the changes of the sender's TCP state were recorded."""


def fit(
    results: Results | str | Path | Sequence[Results | str | Path],
    *,
    run: str | Sequence[str] | None = None,
    family: str = "any",
    seed: int = 1,
    jobs: int | None = None,
    on_points: Callable[[int], None] | None = None,
) -> Fit:
    """Infer a link from a measurement with one algorithm, or from several runs on the same path.

    The candidate links belong to several families: wired links with bursts of loss and a varying
    rate; wired links with a policer, with active queue management or with competing flows; cellular
    links; and Wi-Fi. The result is a probability distribution over these families.
    `posterior.members` contains the families with their probabilities. `estimates()`
    returns each parameter of the most probable family, with its 90 % interval and the share of the
    uncertainty that the measurement removes. `check` states whether any link of these families
    explains the measurement. `predict()` predicts the results of other algorithms.

    Args:
        results: imported, measured or simulated results, their folder, or a file with one flow:
            JSON output of iperf3, a log of `ss -tin`, a packet capture or a table. A list contains
            several of these, measured on the same path.
        run: key of the run, or keys of several runs on the same path. None is allowed if the
            results contain only one run, or only probes of one path, which are all used.
        family: links to try: `wire` for wired links, `cell`, `wifi`, or `any` for all of these.
        seed: random seed.
        jobs: number of parallel simulations. If None, one simulation per processor core.
        on_points: function that is called with the number of finished simulations.

    Raises:
        ArgumentError: `results` is neither results nor a path, or `jobs` is below 1.
        MeasurementError: the link cannot be inferred from the run; the message names the reason.
        ResultsError: the folder contains no results.
    """
    return fit_flow(
        measured_flows(results, run),
        jobs=checked_jobs(jobs) or available_cores(),
        kind=family,
        seed=seed,
        on_points=on_points,
    )


def measured_flows(
    results: Results | str | Path | Sequence[Results | str | Path],
    run: str | Sequence[str] | None = None,
) -> list[MeasuredFlow]:
    """Return the bulk flows of the given runs, one flow for each run.

    Args:
        results: results, a folder of results, a measurement file with a single large flow, or a
            list of these.
        run: key of a run, or a list of keys; each run must have exactly one flow. If None, the
            results must contain exactly one run, or only runs of probes, which are all used. For a
            measurement file, `run` is ignored.

    Raises:
        MeasurementError: several flows share the link, a run does not exist, or `run` is None and
            the results contain several runs.
        ResultsError: the folder contains no results.
    """
    if isinstance(results, list | tuple):
        return [flow for each in results for flow in measured_flows(each, run)]
    results = results if isinstance(results, Results) else checked_path(results)
    if not isinstance(results, Results) and results.is_file():
        flows = large_flows(flows_of_file(Path(results)))
        if len(flows) > 1:
            msg = f"{results}: {len(flows)} flows share the link; measure a single flow"
            raise MeasurementError(msg)
        return flows
    opened = results if isinstance(results, Results) else open_results(results)
    if run is None and (probes := _probes_of(opened)):
        run = probes
    keys = [run] if run is None or isinstance(run, str) else run
    if not isinstance(keys, Sequence):
        raise ArgumentError(run, "run", "write the key of a run, or a list of keys")
    return [measured_flow(opened, key) for key in keys]


def flows_of_file(path: Path) -> list[MeasuredFlow]:
    """Return all flows in a measurement file: iperf3 JSON, `ss -tin` log, packet capture or table.

    Raises:
        MeasurementError: the file contains no measurement, or cannot be read.
    """
    try:
        refuse_pipe(path)
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
    """Return the flows that deliver at least 1 % of the largest flow's bytes.

    Leave out tiny flows, such as iperf3's control connection.
    """
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
    """Infer a link for each group of similar clients in a server's log of `ss -tin`.

    Raises:
        MeasurementError: no connection of the log is suitable for inferring a link.
    """
    flows = flows_of_file(path)
    found = classes(flows, [_is_usable(flow) for flow in flows], *_times_of_log(flows))
    if not found:
        flows[0].numbers()  # raises an error with the reason
        msg = f"{path}: no connection of the log is suitable for inferring a link"
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
    """Return the content of a users file.

    The weight of a class of clients is its share of all connections, or of all bytes if `weighing`
    is `bytes`. The links of a class share its weight equally.
    """
    users = []
    for each, found in clients:
        share = each.share_of_flows if weighing == "flows" else each.share_of_bytes
        count = max(1, round(links / len(clients)))
        part = population(found.draw(count), heading, found.duration_s, found.check.widening)
        for user in part["users"]:
            source = f"{each.connections} connections of a log, weighted by {weighing}"
            user |= {
                "name": f"{each.title}, {user['name']}",
                "weight": max(share / count, 1e-6),
                "source": f"{source}: {user['source']}",
            }
            users.append(user)
    note = (
        "Links of a server's clients, inferred by cwndlab advise --from. Short connections have "
        "larger weights, because the snapshots in a log miss many short connections."
    )
    widest = max(found.check.widening for _, found in clients)
    if widest > 1:
        note += (
            f" The spread of the links' parameters is widened by a factor of up to {widest:.2g}, "
            "because the links do not fully explain the log."
        )
    kind = {"classes": "users" if len(clients) > 1 else "estimates", "explained": widest == 1}
    return {"title": heading, "description": note, **kind, "users": users}


def _is_usable(flow: MeasuredFlow) -> bool:
    try:
        flow.numbers()
    except MeasurementError:
        return False
    return True


def _times_of_log(flows: Sequence[MeasuredFlow]) -> tuple[float, float]:
    """Return the duration of a log and the interval between its snapshots, in seconds."""
    steps = [np.diff(flow.samples["t_s"]) for flow in flows if len(flow.samples.get("t_s", ())) > 1]
    interval_s = float(np.median(np.concatenate(steps))) if steps else 1.0
    ends = [float(flow.samples["t_s"][-1]) for flow in flows if len(flow.samples.get("t_s", ()))]
    return max([interval_s, *ends]), interval_s


def measured_flow(results: Results, run: str | None = None) -> MeasuredFlow:
    """Return the only bulk flow of a run.

    Raises:
        MeasurementError: the results contain several runs and `run` is None, the run does not
            exist, or several flows share the link.
    """
    flows = results.flows()
    keys = flows["run"].unique(maintain_order=True).to_list()
    if run is None and len(keys) > 1:
        msg = (
            f"{results.path} contains {len(keys)} runs; choose the run to which a link is fitted, "
            f"for example with --run {keys[0]}"
        )
        raise MeasurementError(msg)
    if not keys:
        msg = f"{results.path} contains no finished run; measure again"
        raise MeasurementError(msg)
    chosen = keys[0] if run is None else run
    if chosen not in keys:
        msg = f"{results.path} contains no run {chosen}; its first runs are {', '.join(keys[:5])}"
        raise MeasurementError(msg)
    rows = flows.filter(pl.col("run") == chosen)
    place = f"{results.path}, run {chosen}"
    if rows.height != 1:
        msg = f"{place}: {rows.height} flows share the link; measure a single flow"
        raise MeasurementError(msg)
    row = rows.row(0, named=True)
    samples = results.scan("samples")
    names = samples.collect_schema().names()
    own = (
        samples.filter((pl.col("run") == chosen) & (pl.col("flow") == row["flow"]))
        if {"run", "flow"} <= set(names)
        else samples
    ).collect()
    events = _events(results, chosen)
    return MeasuredFlow(
        place,
        row | _disorders(events, row),
        _series(own),
        _losses_of(events, row),
        _schedule_of(results, row),
    )


def _probes_of(results: Results) -> list[str]:
    """Return the keys of all runs if all are probes of one path; otherwise, an empty list.

    Such runs differ at most in their algorithm and in their repetition.
    """
    flows = results.flows()
    if results.imported is not None or flows.is_empty():
        return []
    is_one_path = set(results.study.columns) <= {"algorithm"} and flows["direction"].n_unique() == 1
    is_probe = (flows["application"] == _PROBE).all()
    return flows["run"].unique(maintain_order=True).to_list() if is_one_path and is_probe else []


def _schedule_of(results: Results, row: Mapping[str, Any]) -> Probe | None:
    """Return the schedule of a probe; None for other flows."""
    if row.get("application") != _PROBE:
        return None
    for cell in results.study.cells:
        labels = {name: str(row.get(f"factor_{name}", row[name])) for name in cell.labels}
        if all(labels[name] == str(label) for name, label in cell.labels.items()):
            application = cell.resolved.scenario.flows[row["flow"]].application
            if isinstance(application, Probe):
                return application
    msg = f"{results.path}: the study lacks the probe of flow {row['flow']}; measure again"
    raise MeasurementError(msg)


def _series(own: pl.DataFrame) -> dict[str, Floats]:
    """Return, by column name, those time series of a flow from which a link is inferred."""
    columns = ("t_s", "goodput_mbit_s", "srtt_ms", "cwnd_pkts", "delivery_rate_mbit_s")
    return {
        name: own[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in columns
        if name in own.columns and own.height and own[name].null_count() < own.height
    }


def _events(results: Results, run: str) -> pl.DataFrame:
    table = results.scan("events")
    if "run" not in table.collect_schema().names():
        return pl.DataFrame()
    return table.filter(pl.col("run") == run).collect()


def _disorders(events: pl.DataFrame, row: Mapping[str, Any]) -> dict[str, int]:
    """Return {"disorders": n} if the sender entered the state `disorder` n times; {} if unknown."""
    if not {"event", "flow"} <= set(events.columns):
        return {}
    own = events.filter(pl.col("flow") == row["flow"])["event"]
    return {"disorders": int((own == DISORDER).sum())} if _STATES & set(own) else {}


def _losses_of(events: pl.DataFrame, row: Mapping[str, Any]) -> Floats | None:
    """Return the times of recoveries and timeouts; None if these times are unknown."""
    count = row.get("retransmitted_pkts")
    if count is None:
        return None
    if not {"event", "t_s"} <= set(events.columns) or not events.height:
        return None if count else np.empty(0)
    own = events.filter(pl.col("event").is_in(LOSSES))
    if "flow" in own.columns:
        own = own.filter(pl.col("flow").is_null() | (pl.col("flow") == row["flow"]))
    return None if count and not own.height else own["t_s"].cast(pl.Float64).to_numpy()
