"""Create the table `tcp_info`: the state of connections over time, as the kernel reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt


def state_frame(
    run: str, flow: int, end: str, t_s: npt.NDArray[np.float64], state: Mapping[str, Any]
) -> pl.DataFrame:
    """Return rows of the table `tcp_info`: the TCP state of a flow's sender or receiver."""
    counters = {name: pl.Series(name, values, dtype=pl.UInt64) for name, values in state.items()}
    count = len(t_s)
    return pl.DataFrame(
        {
            "run": pl.Series([run] * count, dtype=pl.String),
            "flow": pl.Series([flow] * count, dtype=pl.Int64),
            "end": pl.Series([end] * count, dtype=pl.String),
            "t_s": pl.Series(t_s, dtype=pl.Float64),
            **counters,
        }
    )
