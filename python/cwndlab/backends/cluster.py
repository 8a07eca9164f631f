"""Execute runs on a Dask cluster, given by the address of its scheduler.

A cluster computes the same results, byte for byte, as this machine. To ensure this, the workers
must have the same versions of all programs as this machine. Only the process that sends the tasks
writes results.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import itertools
import platform
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import core
from cwndlab.errors import ClusterError
from cwndlab.run.executor import BATCH_S, MOST_RUNS, Batch, Task, compute, compute_apart
from cwndlab.usercode.processes import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SCHEME = "dask://"
_CONNECT_S = 10
_AHEAD = 4  # batches that are submitted in advance for each core of the cluster


class ClusterExecutor:
    """An executor that uses a running Dask cluster whose workers have cwndlab installed."""

    def __init__(self, address: str) -> None:
        """Create an executor for the cluster whose scheduler has the given address.

        Args:
            address: the address in the form `dask://HOST:PORT`.

        Raises:
            ClusterError: the address does not have this form, or Dask is not installed on this
                machine.
        """
        scheduler = address.removeprefix(SCHEME)
        if scheduler == address or not scheduler.rpartition(":")[2].isdigit():
            msg = f'--executor "{address}": write the address of a scheduler, {SCHEME}HOST:PORT'
            raise ClusterError(msg)
        try:
            self._distributed = importlib.import_module("distributed")
        except ImportError as error:
            msg = f"{address}: Dask is not installed; run: pip install 'cwndlab[dask]'"
            raise ClusterError(msg) from error
        self._address = address
        self._scheduler = f"tcp://{scheduler}"

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Compute all tasks; if the caller stops iterating, cancel tasks that have not started.

        Raises:
            ClusterError: no scheduler answers, a worker's versions differ from those of this
                machine, or the cluster repeatedly lost workers.
        """
        try:
            client = self._distributed.Client(
                self._scheduler, timeout=_CONNECT_S, set_as_default=False
            )
        except (OSError, TimeoutError) as error:
            msg = (
                f"{self._address}: no scheduler answered within {_CONNECT_S} s; "
                "start a scheduler (dask scheduler) and workers (dask worker tcp://HOST:PORT)"
            )
            raise ClusterError(msg) from error
        with client:
            waiting = iter(tasks)
            at_once = _AHEAD * self._cores_of(client)
            traces: dict[str, Any] = {}
            size = 1.0

            def submit() -> list[Any]:
                """Submit the next batch; return its Dask future in a list, or [] if none remain."""
                some = list(itertools.islice(waiting, int(size)))
                for task in some:
                    for name in task.traces.keys() - traces.keys():
                        traces[name] = client.scatter(task.traces[name], hash=True)
                own = {name: traces[name] for task in some for name in task.traces}
                bare = [dataclasses.replace(t, traces=dict.fromkeys(t.traces, b"")) for t in some]
                return [client.submit(_compute, bare, own, pure=False)] if some else []

            running = self._distributed.as_completed(
                [future for _ in range(at_once) for future in submit()],
                loop=client.loop,
                with_results=True,
                raise_errors=False,
            )
            try:
                for future, result in running:
                    # Do not use the status of the future: if a worker ends after its result has
                    # arrived, the future is "lost" but the result is available.
                    if not isinstance(result, list):
                        why = result[1] if future.status == "error" else result
                        msg = (
                            f"{self._address}: the cluster returned no result for a run ({why}); "
                            "run the command again"
                        )
                        raise ClusterError(msg)
                    size = _next_size(size, result)
                    running.update(submit())
                    yield from result
            finally:
                running.clear()

    def _cores_of(self, client: Any) -> int:  # noqa: ANN401  Dask has no types
        """Check that each worker's `identity` equals this machine's; count the workers' threads.

        The result is the total number of threads.
        """
        threads = client.nthreads()
        if not threads:
            msg = (
                f"{self._address}: the cluster has no workers; start a worker with: "
                "dask worker tcp://HOST:PORT"
            )
            raise ClusterError(msg)
        here = identity()
        for worker, there in client.run(_identity_there, on_error="return").items():
            if not isinstance(there, dict):
                msg = (
                    f"{worker}: install cwndlab {here['cwndlab']}, the version on the local "
                    f"machine, on this worker (it reported {there!r})"
                )
                raise ClusterError(msg)
            for name, value in here.items():
                if there[name] != value:
                    msg = (
                        f"{worker}: {name} is {there[name]} on this worker but {value} on the "
                        f"local machine, so results could differ; use the same {name} on both "
                        "machines"
                    )
                    raise ClusterError(msg)
        return sum(threads.values())


def identity() -> dict[str, str]:
    """Return the properties of this machine that may influence results, such as versions."""
    sources = sorted(each.source_sha256 for each in core.algorithms().values())
    profiles = sorted(each.sha256 for each in core.stacks().values())
    return {
        "cwndlab": core.version(),
        "behaviour epoch": str(core.behaviour_epoch()),
        "algorithms": hashlib.sha256(repr((sources, profiles)).encode()).hexdigest()[:12],
        "machine": platform.machine(),
        "polars": pl.__version__,
    }


def _identity_there() -> dict[str, str]:
    """Return the `identity` of a worker's machine; this function runs on the worker."""
    return identity()


def _next_size(size: float, batches: Sequence[Batch]) -> float:
    """Return the number of tasks for the next batch, so that the batch takes about `BATCH_S`."""
    outcomes = [outcome for batch in batches for outcome in batch.outcomes]
    spent_s = max(sum(outcome.duration_s for outcome in outcomes), 1e-6)
    return max(1.0, min(BATCH_S * len(outcomes) / spent_s, 4 * size, MOST_RUNS))


def _compute(tasks: Sequence[Task], traces: Mapping[str, bytes]) -> list[Batch]:
    """Compute tasks and return their results in batches; this function runs on a worker."""
    left = [
        dataclasses.replace(task, traces={name: traces[name] for name in task.traces})
        for task in tasks
    ]
    batches = []
    while left:
        if left[0].is_apart:
            with WorkerProcess() as process:
                batches.append(compute_apart(left[0], process))
        else:
            together = itertools.takewhile(lambda task: not task.is_apart, left)
            batches.append(compute(list(together)))
        left = left[len(batches[-1].outcomes) :]
    return batches
