"""Create the published ledger: predict networks by their class, then score the predictions.

    python bench/public_ledger.py predict --pantheon CLONE   # writes bench/evidence/public/
    python bench/public_ledger.py score --pantheon CLONE     # writes the published ledger

CLONE is a clone of GenetProject/Genet.  Sources, rules and exclusions are in
docs/notes/2026-11-ledger-sources.md; that note and the predictions were committed before any
measured figure was extracted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import tempfile
import tomllib
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from public_networks import (
    ALGORITHMS,
    RUNS,
    Network,
    drawn,
    files,
    pantheon_networks,
    read,
    seed_of,
    stated_networks,
)

from cwndlab import core
from cwndlab.judge.goals import STARVED_MBIT_S, Goal, goal_named
from cwndlab.judge.ledger import PUBLIC as LEDGER
from cwndlab.judge.ledger import LedgerEntry
from cwndlab.judge.ledger_scores import reliability, score, scores
from cwndlab.judge.prediction import RegisteredPrediction, chances
from cwndlab.judge.switchback import MeasuredChange, Verdict, change_of, verdict_of
from cwndlab.study import matrix
from cwndlab.study.places import Arguments

if TYPE_CHECKING:
    from cwndlab.stats.bootstrap import Floats

FOLDER = Path(__file__).parent / "evidence" / "public"
NETWORKS, PREDICTIONS = FOLDER / "networks.jsonl", FOLDER / "predictions.jsonl"
MEASURED, STATED = FOLDER / "measured-runs.json", FOLDER / "stated.toml"
KEPT = Path("target") / "public-ledger"
"""Simulated results, so that an interrupted command resumes."""
BASELINE = "cubic"


def main() -> None:
    """Run the chosen step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["predict", "score"])
    parser.add_argument("--pantheon", type=Path, required=True, metavar="CLONE")
    options = parser.parse_args()
    {"predict": predict, "score": score_all}[options.step](options.pantheon)


def predict(clone: Path) -> None:
    """Simulate every network and write the predictions; existing predictions are replaced."""
    networks = [*pantheon_networks(clone), *stated_networks()]
    found = []
    for network in networks:
        values, digest = _kept(network)
        found += [
            asdict(_prediction(network, goal, challenger, values, digest))
            for goal in network.goals
            for challenger in network.algorithms
            if challenger != BASELINE
        ]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, rows in ((NETWORKS, [asdict(each) for each in networks]), (PREDICTIONS, found)):
        path.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    digest = hashlib.sha256(PREDICTIONS.read_bytes()).hexdigest()
    print(f"{len(found)} predictions for {len(networks)} networks; SHA-256 {digest}")


def _kept(network: Network) -> tuple[dict[str, Any], str]:
    """Simulate a network, or return results that an earlier call stored."""
    kept = KEPT / f"{hashlib.sha256(network.key.encode()).hexdigest()[:16]}.npz"
    if not kept.exists():
        values, digest = simulate(network)
        KEPT.mkdir(parents=True, exist_ok=True)
        np.savez(kept, digest=digest, **values)
        print(network.name, flush=True)
    with np.load(kept) as stored:
        return {name: stored[name] for name in network.algorithms}, str(stored["digest"])


def simulate(network: Network) -> tuple[dict[str, Any], str]:
    """Return goodputs and delays by algorithm, network, run and flow; and the scenarios' hash."""
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        settings = drawn(network, Path(folder))
        for at, setting in enumerate(settings):
            for algorithm in network.algorithms:
                text = _scenario(network, setting, algorithm, Path(folder))
                for run in range(RUNS):
                    seed = seed_of(network.key, at, algorithm, run)
                    texts.append(json.dumps(text | {"seed": seed}, sort_keys=True))
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    rows: list[list[tuple[float, float]]] = []
    while texts:
        tables = core.run_many(texts, {})
        done = len(tables["errors"])
        if any(tables["errors"]):
            msg = f"{network.name}: {tables['errors']}"
            raise SystemExit(msg)
        own: list[list[tuple[float, float]]] = [[] for _ in range(done)]
        flows = tables["flows"]
        for n, run in enumerate(flows["run"]):
            if not network.stagger_s or flows["flow"][n] == 0:
                value = (flows["goodput_mbit_s"][n], flows["queueing_delay_mean_ms"][n])
                own[int(run)].append(value)
        rows += own
        texts = texts[done:]
    shape = (len(settings), len(network.algorithms), RUNS)
    by_place = np.array([np.array(row, dtype=float) for row in rows]).reshape(*shape, -1, 2)
    return {name: by_place[:, n] for n, name in enumerate(network.algorithms)}, digest


def _scenario(
    network: Network, setting: dict[str, Any], algorithm: str, folder: Path
) -> dict[str, Any]:
    seconds = network.duration_s
    flows = [
        {"algorithm": algorithm} | ({"start": f"{n * network.stagger_s:g} s"} if n else {})
        for n in range(network.flows)
    ]
    document: dict[str, Any] = {
        "duration": f"{seconds:g} s",
        "direction": network.simulated_direction,
        "record": {"events": False},
        **({"stack": network.stack} if network.stack else {}),
        "flow": flows,
        "factors": {"network": [{"name": "drawn", **setting}]},
    }
    _, _, (cell,) = matrix.build(document, Arguments(document), folder)
    text: dict[str, Any] = cell.resolved.scenario.model_dump(mode="json", exclude_none=True)
    return text


def score_all(clone: Path) -> None:
    """Extract the measured values, compare the predictions with them, and write the ledger."""
    networks = {_title(each): each for each in _networks()}
    runs = measured_runs(clone)
    MEASURED.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n")
    stated = tomllib.loads(STATED.read_text(encoding="utf-8"))
    entries = []
    for line in PREDICTIONS.read_text(encoding="utf-8").splitlines():
        claim = RegisteredPrediction(**json.loads(line))
        network = networks[claim.network]
        change, verdict, place = _outcome(claim, network, runs, stated)
        if change is None and place is None:
            print(f"nothing measured: {claim.network}, {claim.challenger}")
            continue
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        source = stated["sources"][network.source]
        entries.append(LedgerEntry(claim, verdict, change, ended, "", source, place))
    LEDGER.write_text("".join(json.dumps(e.to_json(), sort_keys=True) + "\n" for e in entries))
    print(f"{len(entries)} entries")
    for each in [*scores(entries), score("all", entries)]:
        print(json.dumps(asdict(each)), each.failures)
    decided = [e for e in entries if e.change and e.change.blocks > 1]
    for title, own in (("all", entries), ("95 % interval excludes 0", decided)):
        for each in reliability(own, decided_only=own is decided):
            shares = f"stated {each.stated:.2f}, came true {each.happened:.2f} of {each.count}"
            print(f"{title}: {shares}")


def measured_runs(clone: Path) -> dict[str, dict[str, list[float | None]]]:
    """Return the mean throughput of each run of source A, in Mbit/s; None for a missing run."""
    listed = set(files(clone))
    found: dict[str, dict[str, list[float | None]]] = {}
    for folder in sorted({path.rsplit("/", 1)[0] for path in listed}):
        own = found.setdefault(folder.split("/")[2], {})
        for name in ALGORITHMS:
            paths = [f"{folder}/{name}_datalink_run{run}.json" for run in range(1, RUNS + 1)]
            own[name] = [_mean_mbit_s(clone, p) if p in listed else None for p in paths]
    return found


def _mean_mbit_s(clone: Path, path: str) -> float:
    series = np.array(read(clone, path)["bandwidths"])
    # A value of 0.1 Mbit/s means "at most 0.1": the authors' files contain no lower value.
    return round(float(series.mean()), 4)


def _outcome(
    claim: RegisteredPrediction, network: Network, runs: dict[str, Any], stated: dict[str, Any]
) -> tuple[MeasuredChange | None, Verdict, int | None]:
    """Return the measured change, or only the order of algorithms if the source gives no values."""
    if network.source == "A":
        own = runs[network.name]
        ours, theirs = (
            [math.nan if value is None else math.log(value) for value in own[name]]
            for name in (claim.challenger, claim.baseline)
        )
        change = change_of(ours, theirs)
        if change is None:  # only one pair of runs has both values
            apart = np.nanmean(ours) - np.nanmean(theirs)
            change = MeasuredChange(float(apart), float(apart), float(apart), 1, 0.0)
        return change, verdict_of(change), None
    table = stated[network.source][network.name]
    if "order" in table:
        place = table["order"].index(claim.challenger) + 1
        is_better = place < table["order"].index(claim.baseline) + 1
        return None, Verdict.CONFIRMED if is_better else Verdict.REFUTED, place
    goal = goal_named(claim.goal)
    ours, theirs = (
        goal.utility_of_flow(
            table["mbit_s"][name], max(table["rtt_ms"][name] - 100, 0) if "rtt_ms" in table else 0
        )
        for name in (claim.challenger, claim.baseline)
    )
    return (
        MeasuredChange(ours - theirs, ours - theirs, ours - theirs, 1, 0.0),
        Verdict.NOT_ENOUGH,
        None,
    )


def _networks() -> list[Network]:
    rows = [json.loads(line) for line in NETWORKS.read_text(encoding="utf-8").splitlines()]
    return [Network(**row) for row in rows]


def _title(network: Network) -> str:
    return f"{network.name} ({network.source}, {network.day})"


def utility(goal: Goal, values: Floats) -> Floats:
    """Return the mean utility over the runs and flows of each drawn network."""
    goodput = np.maximum(values[..., 0], STARVED_MBIT_S)
    delay = np.nan_to_num(values[..., 1])
    each = np.vectorize(goal.utility_of_flow)(goodput, delay)
    mean: Floats = each.mean(axis=(1, 2))
    return mean


def _prediction(
    network: Network, name: str, challenger: str, values: dict[str, Any], digest: str
) -> RegisteredPrediction:
    goal = goal_named(name)
    apart = utility(goal, values[challenger]) - utility(goal, values[BASELINE])
    probability, change, low, high = chances(apart)
    return RegisteredPrediction(
        goal=name,
        challenger=challenger,
        baseline=BASELINE,
        network=_title(network),
        network_class=network.network_class,
        probability=probability,
        change=change,
        low=low,
        high=high,
        networks=len(apart),
        version=f"{core.version()}, epoch {core.behaviour_epoch()}",
        study=digest,
        registered=datetime.now(UTC).isoformat(timespec="seconds"),
        blocks=RUNS,
        period_s=network.duration_s,
        washout_s=0.0,
        seed=0,
    )


if __name__ == "__main__":
    main()
