"""Comparisons with given runs, for tests of values that are computed from them; and files."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cwndlab.judge.cell import Comparison
from cwndlab.text.toml import TomlSource
from cwndlab.text.toml_writer import write_toml


def comparison_of(
    values: Mapping[str, Mapping[str, object]],
    cell: Mapping[str, object] | None = None,
    not_sent: Mapping[str, str] | None = None,
) -> Comparison:
    """Return a cell with these runs for each contestant's columns."""
    arrays = {
        name: {column: np.asarray(runs, dtype=np.float64) for column, runs in own.items()}
        for name, own in values.items()
    }
    count = max(len(runs) for own in arrays.values() for runs in own.values())
    return Comparison(
        cell=dict(cell or {}),
        contestants=tuple(values),
        seeds=tuple(range(count)),
        repetitions=count,
        is_paired=True,
        values=arrays,
        runs={name: tuple(f"{name}-{at}" for at in range(count)) for name in values},
        flow_ids=dict.fromkeys(values, (0,)),
        flows_per_run=1,
        not_sent=dict(not_sent or {}),
    )


def around(level: float, spread: float, seed: int, count: int = 12) -> list[float]:
    """Return runs that scatter around a level; `spread` is relative to the level."""
    return list(level * (1 + spread * np.random.default_rng(seed).standard_normal(count)))


def toml(document: Mapping[str, Any]) -> TomlSource:
    """Return a file with this content."""
    return TomlSource("mine.toml", write_toml(document))


def answer_on(
    goodput: Mapping[str, float],
    delay_ms: Mapping[str, float],
    *,
    pairs: int = 12,
    spread: float = 0.02,
) -> Comparison:
    """Return runs with these means; all algorithms share the noise of a repetition."""
    return comparison_of(
        {
            name: {
                "goodput_mbit_s": around(rate, spread, 1, pairs),
                "log_goodput": np.log(around(rate, spread, 1, pairs)),
                "rtt_p95_ms": around(delay_ms[name] + 40, spread, 2, pairs),
                "log_queueing_delay": np.log(
                    np.array(around(delay_ms[name], spread, 2, pairs)) + 20
                ),
            }
            for name, rate in goodput.items()
        }
    )


FAST_OR_SHORT = answer_on(
    {"cubic": 10.0, "bbr": 9.5, "vegas": 4.0}, {"cubic": 200.0, "bbr": 40.0, "vegas": 5.0}
)
