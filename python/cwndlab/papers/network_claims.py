"""Judge the claims of a paper by simulations of networks inferred from some of its numbers.

A claim *holds* if it is true on an inferred network with a probability of at least 95 %; the claim
*fails* if this probability is at most 5 %, and is *undecided* otherwise. The networks were
inferred from some columns of the paper's tables. A value that is computed only from these columns
is not a prediction, so it neither confirms nor refutes a claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.inference.importance import adjusted_values
from cwndlab.papers.evidence import PaperRuns, identifier
from cwndlab.papers.judgement import ClaimVerdict
from cwndlab.papers.network_plan import POINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.papers.claims import Claim, ClaimPart, Claims
    from cwndlab.papers.evidence import FlowResults
    from cwndlab.papers.network_fit import NetworkSets, PaperFit
    from cwndlab.stats.bootstrap import Floats

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class InferredClaim:
    """A claim of a paper, and the probability that the claim is true on an inferred network."""

    claim: Claim
    probability: float | None
    """Probability that the claim is true; None if the verdict is *input*, *not run* or *not
    attributable*."""
    verdict: ClaimVerdict


class _OnNetworks:
    """Flows simulated on sets of inferred networks, where each set is treated as a repetition."""

    def __init__(self, results: FlowResults, sets: NetworkSets) -> None:
        self.samples: Callable[..., pl.DataFrame] = results.samples
        count, places = sets.points.shape
        members = pl.DataFrame(
            {POINT: sets.points.ravel(), "repetition": np.repeat(np.arange(count), places)}
        )
        flows = results.flows().drop("repetition").with_columns(pl.col(POINT).cast(pl.Int64))
        self._flows = flows.join(members, on=POINT)

    def flows(self) -> pl.DataFrame:
        """Return a table with one row for each flow of each run."""
        return self._flows


def inferred_claims(claims: Claims, fit: PaperFit, results: FlowResults) -> list[InferredClaim]:
    """Decide every claim of a paper on the inferred networks.

    Args:
        claims: the claims of the paper.
        fit: the inferred networks.
        results: the runs of the study that simulates the possible networks.
    """
    sets = fit.sets()
    runs = PaperRuns(claims, _OnNetworks(results, sets))
    given = {identifier(name) for name in fit.plan.training}
    return [_decided(claim, claims, sets, runs, given) for claim in claims.claims]


def _decided(
    claim: Claim, claims: Claims, sets: NetworkSets, runs: PaperRuns, given: set[str]
) -> InferredClaim:
    parts = [part for part in claim.parts if not part.is_beside]
    if any(
        part.is_of_variants
        and not part.is_by_sender
        and not part.directions <= set(claims.varied_by_sender)
        for part in parts
    ):
        return InferredClaim(claim, None, ClaimVerdict.NOT_ATTRIBUTABLE)
    open_parts = [
        part for part in parts if not {name.variant for name in part.value.names} <= given
    ]
    if parts and not open_parts:
        return InferredClaim(claim, None, ClaimVerdict.INPUT)
    is_true = np.ones(len(sets.weights), dtype=bool)
    for part in open_parts:
        values = _values(part, sets, runs)
        if values is None:
            return InferredClaim(claim, None, ClaimVerdict.NOT_RUN)
        low, high = part.bounds
        is_true &= (values >= low) & (values <= high)
    if not parts or claim.lacks:
        return InferredClaim(claim, None, ClaimVerdict.NOT_RUN)
    probability = float(np.average(is_true, weights=sets.weights))
    return InferredClaim(claim, probability, _verdict(probability))


def _verdict(probability: float) -> ClaimVerdict:
    if probability >= _LEVEL:
        return ClaimVerdict.HOLDS
    return ClaimVerdict.FAILS if probability <= 1 - _LEVEL else ClaimVerdict.UNDECIDED


def _values(part: ClaimPart, sets: NetworkSets, runs: PaperRuns) -> Floats | None:
    """For each set of networks, return the value of a claim's part; None if runs are missing."""
    columns = {}
    for name in part.value.names:
        way = replace(name, direction=name.direction or part.direction)
        found = runs.values(part, way)
        if found is None or len(found) != len(sets.weights):
            return None
        columns[name] = found
    values = np.broadcast_to(part.value.evaluate(columns), sets.weights.shape)
    return adjusted_values(values, sets.features)
