"""Runs on a Dask cluster, given by the address of its scheduler.

A study on a cluster gives the same bytes as on this machine; to ensure this, the versions of the
workers are first compared with those of this process. Only this process writes results.
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
_AHEAD = 4  # batches that a core of the cluster may have before it


class ClusterExecutor:
    """The workers of a running Dask cluster; they need cwndlab but no files."""

    def __init__(self, address: str) -> None:
        """Use the cluster whose scheduler has this address.

        Args:
            address: the address in the form `dask://HOST:PORT`.

        Raises:
            ClusterError: the address does not have this form, or Dask is not installed here.
        """
        scheduler = address.removeprefix(SCHEME)
        if scheduler == address or not scheduler.rpartition(":")[2].isdigit():
            msg = f'--executor "{address}": write {SCHEME}HOST:PORT, the address of a scheduler'
            raise ClusterError(msg)
        try:
            self._distributed = importlib.import_module("distributed")
        except ImportError as error:
            msg = f"{address}: Dask is not installed here; run: pip install 'cwndlab[dask]'"
            raise ClusterError(msg) from error
        self._address = address
        self._scheduler = f"tcp://{scheduler}"

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Compute all tasks. If the caller stops, tasks that have not started are cancelled.

        Raises:
            ClusterError: no scheduler answers, the workers would give different results, or
                workers were lost repeatedly.
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
                """Submit the next batch to Dask; return no future when no tasks are left."""
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
                    # Do not use the status: if a worker dies after its result arrived here, the
                    # future is "lost" but the result is available.
                    if not isinstance(result, list):
                        why = result[1] if future.status == "error" else result
                        msg = f"{self._address}: the cluster lost a run ({why}); try again"
                        raise ClusterError(msg)
                    size = _next_size(size, result)
                    running.update(submit())
                    yield from result
            finally:
                running.clear()

    def _cores_of(self, client: Any) -> int:  # noqa: ANN401  Dask has no types
        """Return the number of cores of all workers, after comparing their versions with ours."""
        threads = client.nthreads()
        if not threads:
            msg = f"{self._address}: the cluster has no workers; start some: dask worker tcp://HOST:PORT"
            raise ClusterError(msg)
        here = identity()
        for worker, there in client.run(_identity_there, on_error="return").items():
            if not isinstance(there, dict):
                msg = f"{worker}: install cwndlab {here['cwndlab']} on this worker ({there!r})"
                raise ClusterError(msg)
            for name, value in here.items():
                if there[name] != value:
                    msg = (
                        f"{worker}: {name} is {there[name]} there but {value} here, so results "
                        "could differ; use the same on both machines"
                    )
                    raise ClusterError(msg)
        return sum(threads.values())


def identity() -> dict[str, str]:
    """Return all properties, other than the task, that determine the bytes of a result."""
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
    """Return a worker's versions; each worker calls this function."""
    return identity()


def _next_size(size: float, batches: Sequence[Batch]) -> float:
    """Return the size of the next batch; short batches keep few tasks in flight."""
    outcomes = [outcome for batch in batches for outcome in batch.outcomes]
    spent_s = max(sum(outcome.duration_s for outcome in outcomes), 1e-6)
    return max(1.0, min(BATCH_S * len(outcomes) / spent_s, 4 * size, MOST_RUNS))


def _compute(tasks: Sequence[Task], traces: Mapping[str, bytes]) -> list[Batch]:
    """Compute a batch; a worker calls this function."""
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
