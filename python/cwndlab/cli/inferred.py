"""`cwndlab reproduce --inferred`: infer a paper's network, and predict the paper's numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.cli.output import command_line, print_rows, prose, say
from cwndlab.cli.studies import completed, folder_of, result_options
from cwndlab.errors import UnknownNameError, plural
from cwndlab.inference.posterior import LEVEL, quantiles
from cwndlab.papers import load_claims, load_paper
from cwndlab.papers.inferred import INFERRED_FILE
from cwndlab.papers.library import inferred_papers
from cwndlab.papers.network_claims import inferred_claims
from cwndlab.papers.network_fit import (
    PaperFit,
    PlaceFit,
    fit_paper,
    shuffled_errors,
    table_numbers,
)
from cwndlab.papers.network_plan import load_plan, possible_networks
from cwndlab.results.staging import write_synced
from cwndlab.run.progress import tell
from cwndlab.tables import format_number

if TYPE_CHECKING:
    from pathlib import Path

    from cwndlab.api.results import Results
    from cwndlab.api.study import Study
    from cwndlab.cli.options import Where
    from cwndlab.inference.importance import WeightedPoints
    from cwndlab.judge.keys import Key
    from cwndlab.papers.network_claims import InferredClaim
    from cwndlab.papers.network_plan import PossibleNetworks
    from cwndlab.stats.bootstrap import Floats


def infer_paper(
    paper: Study, results: Path | None, where: Where, *, is_quick: bool, plan: str | None = None
) -> None:
    """Infer a paper's network, and print how well this network predicts the paper's numbers.

    Args:
        paper: the study of the paper.
        results: the folder of results, or None for the default folder.
        where: where the runs are executed.
        is_quick: whether to simulate fewer networks.
        plan: a plan that was written after the first fit, or None for the plan of the first fit.

    Raises:
        UnknownNameError: cwndlab has no such plan for inferring this paper's network.
    """
    known = inferred_papers()
    if paper.id not in known:
        raise UnknownNameError(
            paper.id,
            known,
            f"papers with --inferred: {', '.join(known)}",
            kind="paper whose network cwndlab can infer",
        )
    networks = possible_networks(load_plan(paper.id, plan), paper, is_quick=is_quick)
    tell(f"preparing the simulation of {plural(networks.count, 'possible network')}")
    own_id = f"{networks.study['id']}-{plan}" if plan else networks.study["id"]
    study = paper.changed({**networks.study, "id": own_id})
    options = [*(["--plan", plan] if plan else []), *result_options(results, is_quick=is_quick)]
    again = command_line("cwndlab", "reproduce", paper.id, "--inferred", *options, *where.options)
    folder = results or folder_of(study, where.backend, is_quick=is_quick)
    with completed(study, folder, where, f"`{again}`") as done:
        _report(paper.id, networks, done)


def _report(paper_id: str, networks: PossibleNetworks, results: Results) -> None:
    tell(
        "fitting the networks to the paper's numbers, first with the right names of the TCP "
        "variants and then with shuffled names"
    )
    numbers = table_numbers(load_paper(paper_id).tables, networks, results.flows())
    fit = fit_paper(numbers, networks)
    shuffled = shuffled_errors(numbers, networks)
    claims = inferred_claims(load_claims(paper_id), fit, results)
    say("", f"  {results.title}: network inferred from {_given(fit)}", "")
    print_rows([row for place in fit.places for row in _settings(place)], "table")
    say("")
    print_rows(_tables(fit), "table")
    say("", prose(f"  {_comparison(fit, shuffled)}"), "")
    if fit.plan.after:
        say(prose(f"  This plan was written after {fit.plan.after}."), "")
    print_rows([_claim(each) for each in claims], "table")
    path = results.path / INFERRED_FILE
    fresh = path.with_name(path.name + ".new")
    write_synced(fresh, f"{json.dumps(_document(fit, shuffled, claims), indent=2)}\n".encode())
    fresh.replace(path)
    say("", f"  {path} contains every predicted number")


def _given(fit: PaperFit) -> str:
    columns = ", ".join(fit.plan.training)
    return f"{plural(len(fit.given), 'number')} of {columns}"


def _settings(fit: PlaceFit) -> list[dict[str, Any]]:
    """Return a row of a table for each property of the network of a place."""
    place = {"place": fit.networks.name} if fit.networks.name else {}
    return [place | _setting(n, key, fit.inferred) for n, key in enumerate(fit.networks.keys)]


def _setting(n: int, key: Key, inferred: WeightedPoints) -> dict[str, Any]:
    """Return the prior range and the inferred range of a property of the network."""
    shares, weights = inferred.points[:, n], inferred.weights
    if key.choices:
        names = [key.value_at(float(share)) for share in shares]
        parts = {
            choice.name: float(weights[[name == choice.name for name in names]].sum())
            for choice in key.choices
        }
        likely = ", ".join(f"{name} {100 * part:.0f} %" for name, part in parts.items())
        return {"setting": key.name, "possible": f"{len(key.choices)} choices", "inferred": likely}
    ends = quantiles(shares, weights, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    low, middle, high = (key.value_at(float(end)) for end in ends)
    return {
        "setting": key.name,
        "possible": f"{key.low:g} to {key.high:g} {key.unit}",
        "inferred": f"{middle:g} ({low:g} to {high:g}) {key.unit}",
    }


def _tables(fit: PaperFit) -> list[dict[str, Any]]:
    rows = []
    for name in dict.fromkeys(each.number.table for each in fit.predicted):
        own = [each for each in fit.predicted if each.number.table == name]
        rows.append(
            {
                "table": name,
                "predicted numbers": len(own),
                "mean error": _percent(np.mean([each.error for each in own])),
                "mean error if the paper's mean for the metric is the prediction": _percent(
                    np.mean([each.error_of_mean for each in own])
                ),
                "numbers within their 90 % interval": (
                    f"{sum(each.is_inside for each in own)} of {len(own)}"
                ),
            }
        )
    return rows


def _comparison(fit: PaperFit, shuffled: Floats) -> str:
    better = _as_good(fit, shuffled)
    return (
        f"The mean error of {plural(len(fit.predicted), 'predicted number')} is "
        f"{_percent(fit.error)}. For comparison, the mean of all the paper's numbers for the same "
        "metric and direction predicts these numbers with a mean error of "
        f"{_percent(fit.error_of_mean)}. As a test, the fit was repeated {len(shuffled)} times "
        f"with shuffled names of the variants. In {better} of these fits, the mean error is at "
        f"most as large as with the right names (p = {_p_value(fit, shuffled):.3f})."
    )


def _p_value(fit: PaperFit, shuffled: Floats) -> float:
    return (1 + _as_good(fit, shuffled)) / (1 + len(shuffled))


def _as_good(fit: PaperFit, shuffled: Floats) -> int:
    """Count the fits with shuffled variants whose mean error is at most that of `fit`."""
    return int((shuffled <= fit.error).sum())


def _percent(share: float | np.floating[Any]) -> str:
    return f"{format_number(100 * float(share))} %"


def _claim(each: InferredClaim) -> dict[str, Any]:
    return {
        "claim": each.claim.id,
        "as inferred": each.verdict.value,
        "probability": "" if each.probability is None else f"{each.probability:.2f}",
        "statement": each.claim.says,
    }


def _document(fit: PaperFit, shuffled: Floats, claims: list[InferredClaim]) -> dict[str, Any]:
    """Return the errors, the judged claims and the predictions as a dictionary for JSON."""
    return {
        "training": list(fit.plan.training),
        "error": fit.error,
        "error_of_grand_mean": fit.error_of_mean,
        "shuffled_p": _p_value(fit, shuffled),
        "claims": {
            each.claim.id: {"verdict": each.verdict.value, "probability": each.probability}
            for each in claims
        },
        "predicted": [
            {
                "table": each.number.table,
                "row": each.number.row,
                "column": each.number.column,
                "paper": [each.number.low, each.number.high],
                "low": each.low,
                "median": each.median,
                "high": each.high,
            }
            for each in fit.predicted
        ],
    }
