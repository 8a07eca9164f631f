"""Classes of clients in a server's log: their weights, and the file that `advise` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from cwndlab.api import fitting as api
from cwndlab.cli.advise import advise_command
from cwndlab.errors import MeasurementError
from cwndlab.inference import choice, fitting
from cwndlab.inference.clients import classes, weights
from cwndlab.inference.measurement import MeasuredFlow
from cwndlab.judge.populations import load_population

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_weights_undo_the_over_sampling_of_long_connections() -> None:
    """Nine in ten connections are short, but a log with a reading every 5 s misses many of them."""
    draws = np.random.default_rng(1)
    window_s, interval_s = 600.0, 5.0
    begin = draws.uniform(-300, window_s, 40_000)
    lengths = np.where(draws.random(40_000) < 0.9, 4.0, 300.0)
    first = np.maximum(np.ceil(begin / interval_s) * interval_s, 0.0)
    is_seen = (first <= np.minimum(begin + lengths, window_s)) & (begin < window_s)
    seen = lengths[is_seen]
    counts = weights(seen, window_s, interval_s)
    assert (seen < 5).mean() < 0.85
    assert counts[seen < 5].sum() / counts.sum() == pytest.approx(0.9, abs=0.01)
    assert (weights(np.zeros(3), window_s, interval_s) == 2).all()  # seen once: length D / 2


def _flow(rtt_ms: float, mbit_s: float, seconds: float) -> MeasuredFlow:
    row = {
        "algorithm": "cubic",
        "start_s": 0.0,
        "end_s": seconds,
        "rtt_base_ms": rtt_ms,
        "goodput_mbit_s": mbit_s,
        "delivered_bytes": mbit_s * seconds * 125_000,
    }
    return MeasuredFlow(f"{rtt_ms} ms", row, {})


def test_connections_are_grouped_by_their_paths() -> None:
    near = [_flow(10 + n / 10, 40, 30) for n in range(5)]
    far = [_flow(100 + n, 4, 30) for n in range(3)]
    short = [_flow(101, 0.3, 0.5) for _ in range(4)]
    flows = [*near, *far, *short]
    found = classes(flows, [True] * 8 + [False] * 4, 3600.0, 1.0)
    assert [each.connections for each in found] == [7, 5]
    assert found[0].flow.row["rtt_base_ms"] >= 100
    assert found[0].share_of_flows > 0.5 > found[0].share_of_bytes
    assert sum(each.share_of_bytes for each in found) == pytest.approx(1)


def _log(path: Path, connections: Sequence[tuple[float, float, int]]) -> Path:
    """Write a log of `ss -tin` with a reading every second; connections are (RTT ms, Mbit/s, s)."""
    draws = np.random.default_rng(2)
    lines = []
    for second in range(16):
        lines.append(f"{1_790_000_000 + second}.0")
        for n, (rtt, mbit_s, seconds) in enumerate(connections):
            if second >= seconds:
                continue
            acked = int(mbit_s * 125_000 * (second + 0.3 * draws.random()))
            window = 20 + second % 7
            lines.append(f"ESTAB 0 0 192.0.2.1:443 198.51.100.{n + 1}:50000")
            lines.append(
                f"\t reno wscale:7,7 rto:300 rtt:{rtt * (1.2 + 0.03 * (second % 7)):.3f}/2 "
                f"mss:1448 cwnd:{window} bytes_sent:{acked + 1448} bytes_acked:{acked} "
                f"data_segs_out:{acked // 1448 + 1} retrans:0/{second // 5} minrtt:{rtt}"
            )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_log_becomes_a_population_and_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _log(
        tmp_path / "server.log", [(10, 3.0, 16), (120, 1.0, 16), (121, 0.9, 14), (120, 1, 2)]
    )
    monkeypatch.setattr(api, "fit_flow", _coarse)
    monkeypatch.setattr(choice, "FIRST", 60)
    monkeypatch.setattr(choice, "SECOND", 20)
    asked: dict[str, Any] = {}

    def advise(_links: object, _goal: str, **options: object) -> None:
        asked.update(options)
        msg = "asked"
        raise MeasurementError(msg)

    monkeypatch.setattr("cwndlab.cli.advise.advise", advise)
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(advise_command, ["--from", str(log), "--jobs", "2"])
    assert isinstance(ran.exception, MeasurementError), ran.output
    assert asked["users"] == "fitted-server.toml"
    assert asked["baseline"] == "reno"
    assert "3 connections" in ran.output
    flows = load_population(str(tmp_path / "fitted-server.toml"))
    sizes = load_population(str(tmp_path / "fitted-server-by-bytes.toml"))
    far = [
        each.name.startswith("120 ms") or each.name.startswith("121 ms") for each in flows.classes
    ]
    assert sum(np.array(flows.weights)[far]) > 0.7
    assert sum(np.array(sizes.weights)[far]) < 0.5


def _coarse(flow: Any, **options: Any) -> fitting.Fit:  # noqa: ANN401  as they are
    monkey = options | {"kind": "wire"}
    return fitting.fit_flow(flow, rounds=1, **monkey)


def test_a_file_is_fitted_without_being_imported(tmp_path: Path) -> None:
    (flow,) = api.measured_flows(_log(tmp_path / "one.log", [(30, 2.0, 16)]))
    assert flow.algorithm == "reno"
    assert {"goodput", "rtt_base", "loss_seconds", "cwnd_mid"} <= set(flow.numbers())
    two = _log(tmp_path / "two.log", [(30, 2.0, 16), (31, 2.0, 16)])
    with pytest.raises(MeasurementError, match="2 flows share the link"):
        api.measured_flows(two)
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(MeasurementError, match="unknown format; use iperf3 JSON"):
        api.measured_flows(tmp_path / "text")
