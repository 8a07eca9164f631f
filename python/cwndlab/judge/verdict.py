"""The answer in words: which algorithm here, by how much, how sure; computed, never hand-written.

The rule.  Throughput first: an algorithm is *as good as* the best if two one-sided tests put its
difference within the smallest effect of interest (5 %).  Among those, the one with the shortest
median round trip is the best of both.  Of transfers with an end, the quickest is the best.  A
difference is *sure* if its 95 % interval over paired runs
excludes zero and a paired permutation test agrees after Holm's correction for the number of
comparisons; where there are too few pairs for such a test to agree, all pairs must.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from cwndlab.judge.comparison import Comparison
from cwndlab.results.columns import Better, quantity
from cwndlab.stats import CONFIDENCE, Difference, holm
from cwndlab.text.wording import format_number, join_words

THROUGHPUT = "goodput_mbit_s"
DELAY = "rtt_p50_ms"
COMPLETION = "completion_ms"


class Standing(Enum):
    """How an algorithm stands to the best of a quantity."""

    BEST = "best"
    AS_GOOD = "as good"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Ranking:
    """How every algorithm stands in one quantity."""

    column: str
    best: str
    standings: dict[str, Standing]
    differences: dict[str, Difference | None]

    def those(self, *standings: Standing) -> list[str]:
        """Return the algorithms with one of these standings, in order."""
        return [name for name, standing in self.standings.items() if standing in standings]

    @property
    def leaders(self) -> list[str]:
        """The best and those as good."""
        return self.those(Standing.BEST, Standing.AS_GOOD)


@dataclass(frozen=True)
class Verdict:
    """The answer for one cell of a study."""

    headline: str
    details: tuple[str, ...]
    notes: tuple[str, ...]
    recommended: tuple[str, ...]
    rankings: dict[str, Ranking]


def judge(comparison: Comparison) -> Verdict:
    """Return the verdict on a comparison."""
    column = THROUGHPUT if comparison.has(THROUGHPUT) else "throughput_mbit_s"
    rankings = {
        name: ranking
        for name in (column, DELAY, COMPLETION)
        if (ranking := rank(comparison, name)) is not None
    }
    if column not in rankings:
        return Verdict("No run has a result.", (), (), (), rankings)
    if len(comparison.contestants) == 1:
        return _alone(comparison, rankings)
    if COMPLETION in rankings:
        return _quickest(comparison, rankings)
    details = [_throughput_sentence(rankings[column])]
    if DELAY in rankings:
        details.append(_latency_sentence(comparison, rankings[DELAY]))
        headline, recommended = _best_of_both(comparison, rankings[column], rankings[DELAY])
    else:
        leaders = rankings[column].leaders
        headline, recommended = f"Highest throughput: {names_of(leaders)}.", tuple(leaders)
    return Verdict(headline, tuple(details), _notes(comparison), recommended, rankings)


def rank(comparison: Comparison, column: str) -> Ranking | None:
    """Return how every contestant stands to the best; None where there is nothing to rank."""
    best = comparison.best(column)
    if best is None:
        return None
    measured = [n for n in comparison.contestants if comparison.interval(n, column) is not None]
    others = [name for name in measured if name != best]
    differences = {name: comparison.difference(name, best, column) for name in others}
    known = {name: diff for name, diff in differences.items() if diff is not None}
    adjusted = dict(zip(known, holm([diff.p_value for diff in known.values()]), strict=True))
    standings = {best: Standing.BEST}
    for name in others:
        diff = known.get(name)
        standings[name] = _standing(
            diff, float(adjusted.get(name, 1.0)), len(known), 1 - comparison.confidence
        )
    ordered = sorted(measured, key=lambda name: _order(comparison, name, column))
    return Ranking(column, best, {name: standings[name] for name in ordered}, differences)


def _standing(
    difference: Difference | None, p_value: float, comparisons: int, level: float
) -> Standing:
    if difference is None:
        return Standing.UNDECIDED
    if difference.is_negligible:
        return Standing.AS_GOOD
    if difference.pairs == 1:
        return Standing.WORSE
    is_there = is_sure(difference, p_value, comparisons, level)
    return Standing.WORSE if is_there else Standing.UNDECIDED


def is_sure(
    difference: Difference, p_value: float, comparisons: int, level: float = 1 - CONFIDENCE
) -> bool:
    """Whether a difference is there beyond reasonable doubt; see the module's rule.

    `p_value` is adjusted for the number of comparisons.
    """
    if difference.pairs == 1 or difference.direction == 0:
        return False
    smallest_possible = comparisons * 2.0 ** (1 - difference.pairs)
    if smallest_possible >= level:
        return difference.pairs in {difference.pairs_above, difference.pairs_below}
    return p_value < level


def _order(comparison: Comparison, name: str, column: str) -> float:
    interval = comparison.interval(name, column)
    estimate = interval.estimate if interval is not None else 0.0
    return -estimate if quantity(column).better is Better.HIGHER else estimate


def _alone(comparison: Comparison, rankings: dict[str, Ranking]) -> Verdict:
    name = comparison.contestants[0]
    parts = []
    for column in rankings:
        interval = comparison.interval(name, column)
        if interval is not None:
            about = quantity(column)
            parts.append(f"{format_number(interval.estimate)} {about.unit} ({about.title})")
    headline = f"{quoted(name)}: {join_words(parts)}. Nothing stands beside it to compare with."
    return Verdict(headline, (), _notes(comparison), (name,), rankings)


def _throughput_sentence(ranking: Ranking) -> str:
    if len(ranking.leaders) == len(ranking.standings):
        apart = _largest(ranking, ranking.leaders)
        names = names_of(ranking.leaders)
        return f"Throughput: {names} are within {apart}, too little to care about."
    parts = [f"{quoted(ranking.best)} is best"]
    as_good = ranking.those(Standing.AS_GOOD)
    if as_good:
        parts.append(
            f"{names_of(as_good)} within {_largest(ranking, as_good)} of it, too little to care"
        )
    parts += [
        f"{quoted(name)} is {_lower(ranking, name)} lower" for name in ranking.those(Standing.WORSE)
    ]
    unsure = [name for name in ranking.those(Standing.UNDECIDED) if ranking.differences[name]]
    if unsure:
        listed = join_words([f"{quoted(name)} ({_lower(ranking, name)} lower)" for name in unsure])
        parts.append(f"the runs do not decide about {listed}")
    return f"Throughput: {'; '.join(parts)}."


def _quickest(comparison: Comparison, rankings: dict[str, Ranking]) -> Verdict:
    """Return the verdict on transfers with an end: what counts is when they are done."""
    ranking = rankings[COMPLETION]
    details = [_times_sentence(comparison, ranking, "Completion", "the quickest transfers")]
    if DELAY in rankings:
        details.append(_latency_sentence(comparison, rankings[DELAY]))
    leaders = tuple(ranking.leaders)
    rest = [name for name in ranking.standings if name not in leaders]
    if rest:
        next_best = rest[0]
        difference = comparison.difference(ranking.best, next_best, COMPLETION)
        headline = f"Quickest: {names_of(leaders, 'or')}."
        if difference is not None:
            share = ratio_words(1 + difference.relative.estimate)
            sure = certainty(comparison, difference)
            headline = f"{headline[:-1]} ({share} {quoted(next_best)}'s time; {sure})."
    else:
        effect = f"{100 * comparison.smallest_effect:g}"
        headline = (
            f"No difference worth caring about: {names_of(leaders)} complete within {effect} % of "
            "each other."
        )
    return Verdict(headline, tuple(details), _notes(comparison), leaders, rankings)


def _latency_sentence(comparison: Comparison, ranking: Ranking) -> str:
    return _times_sentence(comparison, ranking, "Latency", "the shortest round trips")


def _times_sentence(comparison: Comparison, ranking: Ranking, title: str, what: str) -> str:
    def milliseconds(name: str) -> str:
        interval = comparison.interval(name, ranking.column)
        return "" if interval is None else f"{format_number(interval.estimate)} ms"

    if len(ranking.leaders) == len(ranking.standings):
        apart = _largest(ranking, ranking.leaders)
        return (
            f"{title}: all within {apart}, too little to care about ({milliseconds(ranking.best)})."
        )
    leaders = [f"{quoted(name)} ({milliseconds(name)})" for name in ranking.leaders]
    parts = [f"{join_words(leaders)} {'has' if len(leaders) == 1 else 'have'} {what}"]
    parts += [
        f"{quoted(name)} {_longer(ranking, name)} ({milliseconds(name)})"
        for name in ranking.those(Standing.WORSE)
    ]
    unsure = [name for name in ranking.those(Standing.UNDECIDED) if ranking.differences[name]]
    if unsure:
        listed = join_words([f"{quoted(name)} ({milliseconds(name)})" for name in unsure])
        parts.append(f"the runs do not decide about {listed}")
    return f"{title}: {'; '.join(parts)}."


def _best_of_both(
    comparison: Comparison, throughput: Ranking, delay: Ranking
) -> tuple[str, tuple[str, ...]]:
    candidates = [name for name in throughput.leaders if name in delay.standings]
    if not candidates:
        return f"Highest throughput: {quoted(throughput.best)}.", (throughput.best,)
    chosen = min(candidates, key=lambda name: _order(comparison, name, DELAY))
    level = [name for name in candidates if name != chosen and _is_level(comparison, name, chosen)]
    if len(level) == len(comparison.contestants) - 1:
        return _no_winner(comparison, chosen), tuple(candidates)
    if len(candidates) == 1 and chosen not in delay.leaders:
        return _trade_off(comparison, throughput, delay), (chosen,)
    recommended = (chosen, *level)
    reference = _reference(comparison, throughput, recommended)
    name = names_of(recommended, "or")
    if reference is None:
        return f"Best of both: {name}.", recommended
    return f"Best of both: {name} {_trade(comparison, chosen, reference)}", recommended


def _no_winner(comparison: Comparison, chosen: str) -> str:
    """Return the sentence for when all are as fast and no delay is surely shorter."""
    names = names_of(comparison.contestants)
    within = f"within {100 * comparison.smallest_effect:g} % of each other"
    others = [name for name in comparison.contestants if name != chosen]
    delays = [comparison.difference(name, chosen, DELAY) for name in others]
    if all(each is not None and each.is_negligible for each in delays):
        return f"No difference worth caring about: {names} are {within} in throughput and in delay."
    return (
        f"No clear winner: {names} are {within} in throughput, and the runs do not decide about "
        "their delay."
    )


def _trade_off(comparison: Comparison, throughput: Ranking, delay: Ranking) -> str:
    """Return the sentence for when the fastest has no equal and others have shorter delays."""
    fast, quick = throughput.best, delay.best
    more = comparison.difference(fast, quick, throughput.column)
    less = comparison.difference(quick, fast, DELAY)
    if more is None or less is None:
        return f"Highest throughput: {quoted(fast)}. Shortest delay: {quoted(quick)}."
    faster = (
        f"{quoted(fast)} in throughput ({more_words(more.relative.estimate, quick)}; "
        f"{certainty(comparison, more)})"
    )
    quicker = (
        f"{quoted(quick)} in latency ({ratio_words(1 + less.relative.estimate)} "
        f"{quoted(fast)}'s delay; {certainty(comparison, less)})"
    )
    is_faster, is_quicker = (is_sure_among(comparison, each) for each in (more, less))
    if comparison.is_one_run or (is_faster and is_quicker):
        return f"None is best in both: {faster}, {quicker}."
    if is_faster:
        return f"Best: {faster}. Latency is not decided: {quicker}."
    if is_quicker:
        return f"Best: {quicker}. Throughput is not decided: {faster}."
    return f"No clear winner: {faster}, {quicker}."


def _is_level(comparison: Comparison, name: str, chosen: str) -> bool:
    """Whether an algorithm's delay is not worse than the chosen one's for all that is known."""
    difference = comparison.difference(name, chosen, DELAY)
    if difference is None or difference.is_negligible:
        return True
    if difference.pairs == 1:
        return False
    return not is_sure_among(comparison, difference)


def is_sure_among(comparison: Comparison, difference: Difference) -> bool:
    """Whether a difference is sure though it was picked from several (Bonferroni's correction)."""
    comparisons = max(1, len(comparison.contestants) - 1)
    return is_sure(
        difference,
        min(1.0, comparisons * difference.p_value),
        comparisons,
        1 - comparison.confidence,
    )


def _reference(
    comparison: Comparison, throughput: Ranking, recommended: tuple[str, ...]
) -> str | None:
    """Return whom to set the winner against: the fastest, or who follows if that is the winner."""
    if throughput.best not in recommended:
        return throughput.best
    rest = [name for name in throughput.standings if name not in recommended]
    as_fast = [name for name in rest if throughput.standings[name] is Standing.AS_GOOD]
    pool = as_fast or rest
    return min(pool, key=lambda name: _order(comparison, name, DELAY)) if pool else None


def _trade(comparison: Comparison, chosen: str, reference: str) -> str:
    throughput = comparison.difference(chosen, reference, THROUGHPUT)
    delay = comparison.difference(chosen, reference, DELAY)
    share = None if throughput is None else throughput.relative.estimate
    parts = []
    if share is not None:
        owner = f"{quoted(reference)}'s throughput"
        percent = f"{100 * (1 + share):.0f} %"
        is_same = percent == "100 %"
        parts.append(
            f"the throughput of {quoted(reference)}" if is_same else f"{percent} of {owner}"
        )
    if delay is None:
        return f"({join_words(parts)})."
    parts.append(f"{ratio_words(1 + delay.relative.estimate)} its delay")
    return f"({' at '.join(parts)}; {certainty(comparison, delay)})."


def certainty(comparison: Comparison, difference: Difference) -> str:
    """Return how sure a difference is, in words."""
    if comparison.is_deterministic:
        return "the same in every repetition"
    if difference.pairs == 1:
        return "one run, so how sure is not known"
    agreeing = max(difference.pairs_above, difference.pairs_below)
    pairs = f"{agreeing} of {difference.pairs} pairs"
    if is_sure_among(comparison, difference):
        return f"sure: {pairs}"
    return f"not sure: {pairs}"


def ratio_words(ratio: float) -> str:
    """Return a ratio as a reader says it: "a quarter of", "83 % of", "2.3 times"."""
    for value, words in (
        (0.25, "a quarter of"),
        (1 / 3, "a third of"),
        (0.5, "half"),
        (2, "twice"),
    ):
        if abs(ratio / value - 1) < 0.04:  # noqa: PLR2004  nearer than a word can say
            return words
    if ratio < 1:
        return f"{100 * ratio:.0f} % of"
    return f"{format_number(ratio, 2)} times" if ratio >= 1.1 else f"{100 * ratio:.0f} % of"  # noqa: PLR2004


def more_words(relative: float, other: str) -> str:
    """Return how much more than another something is: "9 % more than a", "twice that of a"."""
    if relative < 1:
        return f"{_percent(relative)} more than {quoted(other)}"
    return f"{ratio_words(1 + relative)} that of {quoted(other)}"


def names_of(names: Iterable[str], last: str = "and") -> str:
    """Return names as they stand in a sentence."""
    return join_words([quoted(name) for name in names], last)


def quoted(name: str) -> str:
    """Return a name of several words in quotes, so that it stays one in a sentence."""
    return f'"{name}"' if " " in name or "," in name else name


def _largest(ranking: Ranking, names: list[str]) -> str:
    sizes = [abs(diff.relative.estimate) for n in names if (diff := ranking.differences.get(n))]
    return _percent(max(sizes, default=0.0))


def _lower(ranking: Ranking, name: str) -> str:
    difference = ranking.differences[name]
    return "" if difference is None else _percent(abs(difference.relative.estimate))


def _longer(ranking: Ranking, name: str) -> str:
    difference = ranking.differences[name]
    ratio = 1.0 if difference is None else 1 + difference.relative.estimate
    if ratio >= 2:  # noqa: PLR2004  from twice on, "times" reads better than per cent
        return f"{format_number(ratio, 2)} times as long"
    return f"{_percent(ratio - 1)} longer"


def _percent(share: float) -> str:
    percent = 100 * share
    if percent < 0.95:  # noqa: PLR2004  what rounds to less than 1 %
        return "1 %"
    return f"{percent:.0f} %"


def _notes(comparison: Comparison) -> tuple[str, ...]:
    if comparison.is_one_run:
        return ("One run each: repeat (--repeat 20) to know how sure this is.",)
    if comparison.is_deterministic:
        return ("Every repetition gave the same numbers: nothing in this set-up is random.",)
    return ()
