"""Claims: the language of their tests, all possible verdicts, and Holm's correction."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from cwndlab.errors import CwndlabError
from cwndlab.papers import ClaimVerdict, claimed_papers, load_claims, load_paper
from cwndlab.papers.claims import ClaimPart, Claims, parse_claims
from cwndlab.papers.evidence import PaperRuns, PaperTables
from cwndlab.papers.expression import Expression, Name
from cwndlab.papers.judgement import Judgement, judge
from cwndlab.stats import mean_interval
from made_up import toml

Floats = npt.NDArray[np.float64]
RNG = np.random.default_rng(3)
SPREAD = RNG.normal(0, 1, 10)


class Given:
    """Given evidence, by name of the variant (in a direction, in a row)."""

    def __init__(self, values: Mapping[str, npt.ArrayLike]) -> None:
        self._values = values

    def values(self, part: ClaimPart, name: Name) -> Floats | None:
        del part
        for key in (f"{name.direction}.{name.variant}", name.variant):
            if key in self._values:
                return np.atleast_1d(np.asarray(self._values[key], dtype=np.float64))
        return None


def claims_of(text: str, **study: object) -> Claims:
    own = {"varied_by_sender": ["downlink"], **study}
    document = {
        "study": {
            "preset": "p",
            "variants": ["reno", "cubic"],
            "variant_factor": "algorithm",
            **own,
        },
        **tomllib.loads(text),
    }
    return parse_claims(toml(document), "x")


def claim(parts: str, name: str = "c") -> str:
    return f'[[claim]]\nid = "{name}"\nsays = "s"\nown_data = "o"\n{parts}\n'


def part(value: str = "cubic", bounds: str = "at_least = 10", **more: str) -> str:
    keys = "".join(f"{key} = {text}\n" for key, text in more.items())
    way = "" if "direction" in more else 'direction = "downlink"\n'
    return f'[[claim.part]]\nvalue = "{value}"\nmetric = "m"\n{way}{bounds}\n{keys}'


def judged(
    text: str,
    runs: Mapping[str, npt.ArrayLike],
    theirs: Mapping[str, npt.ArrayLike] | None = None,
    **study: object,
) -> list[Judgement]:
    known = claims_of(text, **study)
    return judge(known, Given(theirs or {}), Given(runs), lambda figure: figure == "fitted")


def verdict(parts: str, runs: Mapping[str, npt.ArrayLike], **study: object) -> ClaimVerdict:
    (one,) = judged(claim(parts), runs, None, **study)
    return one.verdict


@pytest.mark.parametrize(
    ("centre", "expected"),
    [(14, ClaimVerdict.HOLDS), (6, ClaimVerdict.FAILS), (10.1, ClaimVerdict.UNDECIDED)],
)
def test_interval_inside_outside_or_across_the_bound(centre: float, expected: ClaimVerdict) -> None:
    assert verdict(part(), {"cubic": centre + SPREAD}) is expected


def test_calibrated_figure_makes_input_and_a_sourced_one_does_not() -> None:
    runs = {"cubic": 14 + SPREAD}
    assert verdict(part(rests_on='"fitted"'), runs) is ClaimVerdict.INPUT
    assert verdict(part(rests_on='"sourced"'), runs) is ClaimVerdict.HOLDS


def test_input_neither_holds_a_claim_nor_fails_it() -> None:
    runs = {"cubic": 14 + SPREAD}
    given = part(bounds="at_least = 99", rests_on='"fitted"')
    assert verdict(given + part(), runs) is ClaimVerdict.HOLDS
    assert verdict(given + part(bounds="at_least = 99"), runs) is ClaimVerdict.FAILS


CHOSEN = """[[chosen]]
setting = "short segments, although the paper states long ones"
variants = { cubic = "cubic__long" }
"""


def test_setting_that_moves_a_value_makes_it_input_and_leaves_the_others() -> None:
    text = claim(part(), "moved") + claim(part("reno"), "same") + CHOSEN
    runs = {"cubic": 14 + SPREAD, "cubic__long": 6 + SPREAD, "reno": 14 + SPREAD}
    moved, same = judged(text, runs)
    assert (moved.verdict, moved.printed) == (ClaimVerdict.INPUT, ClaimVerdict.FAILS)
    assert (same.verdict, same.printed) == (ClaimVerdict.HOLDS, ClaimVerdict.HOLDS)
    (alike,) = judged(claim(part()) + CHOSEN, {**runs, "cubic__long": 14.1 + SPREAD})
    assert (alike.verdict, alike.printed) == (ClaimVerdict.HOLDS, ClaimVerdict.HOLDS)
    (without,) = judged(claim(part()), runs)
    assert without.printed is None


def test_values_displayed_only_are_named_where_they_contradict_the_claim() -> None:
    beside = part("reno", is_beside="true")
    runs = {"cubic": 14 + SPREAD, "reno": 6 + SPREAD}
    (held,) = judged(claim(part() + beside), runs)
    assert [str(each.part.value) for each in held.contradicting] == ["reno"]
    (agreed,) = judged(claim(part() + beside), {**runs, "reno": 12 + SPREAD})
    assert agreed.contradicting == []
    (failed,) = judged(claim(part(bounds="at_least = 99") + beside), {**runs, "reno": 12 + SPREAD})
    assert [each.verdict for each in failed.contradicting] == [ClaimVerdict.HOLDS]


def test_nothing_is_attributed_where_the_sender_did_not_run_the_variant() -> None:
    runs = {"cubic": 14 + SPREAD}
    assert verdict(part(direction='"uplink"'), runs) is ClaimVerdict.NOT_ATTRIBUTABLE
    assert (
        verdict(part(direction='"uplink"'), runs, varied_by_sender=["uplink"]) is ClaimVerdict.HOLDS
    )
    assert verdict(part(value="uplink.cubic"), runs) is ClaimVerdict.NOT_ATTRIBUTABLE


def test_rows_of_the_same_variants_are_compared_whoever_sent() -> None:
    runs = {"cubic": 14 + SPREAD, "reno": 7 + SPREAD}
    bounds = "at_least = 0.5"

    def of(value: str, **more: str) -> ClaimVerdict:
        return verdict(part(value, bounds, direction='"uplink"', **more), runs, row_factor="place")

    assert of("cubic['town'] / cubic['sea']") is ClaimVerdict.HOLDS
    assert of("mean(all['town']) / mean(all['sea'])") is ClaimVerdict.HOLDS
    assert of("cubic['town'] / reno['sea']") is ClaimVerdict.NOT_ATTRIBUTABLE
    assert of("cubic['town'] / reno['town']") is ClaimVerdict.NOT_ATTRIBUTABLE
    assert of("cubic / reno", column_factor='"place"') is ClaimVerdict.HOLDS, "they are places"
    assert of("cubic / reno", is_by_sender="true") is ClaimVerdict.HOLDS, "ours did run it"


def test_a_part_may_take_any_level_of_what_the_study_asks_for() -> None:
    text = claim(part(where='{ place = "any", hour = "3" }'))
    (found,) = claims_of(text, where={"place": "town", "day": "one"}).claims[0].parts
    assert found.where == {"day": "one", "hour": "3"}


def test_what_is_not_run_keeps_a_claim_from_holding_but_not_from_failing() -> None:
    runs = {"cubic": 14 + SPREAD}
    missing = part(value="reno")
    assert verdict(missing, runs) is ClaimVerdict.NOT_RUN
    assert verdict(missing + part(), runs) is ClaimVerdict.UNDECIDED
    assert verdict(missing + part(bounds="at_least = 99"), runs) is ClaimVerdict.FAILS
    assert verdict('lacks = "more"\n' + part(), runs) is ClaimVerdict.UNDECIDED
    assert verdict('lacks = "all of it"', runs) is ClaimVerdict.NOT_RUN


def test_one_part_that_fails_fails_the_claim_and_what_stands_beside_does_not() -> None:
    runs = {"cubic": 14 + SPREAD, "reno": 6 + SPREAD}
    assert verdict(part() + part(value="reno"), runs) is ClaimVerdict.FAILS
    assert verdict(part() + part(value="reno", is_beside="true"), runs) is ClaimVerdict.HOLDS


def test_fewer_than_ten_repetitions_decide_nothing() -> None:
    assert verdict(part(), {"cubic": 14 + SPREAD[:9]}) is ClaimVerdict.UNDECIDED
    assert verdict(part(), {"cubic": [14.0]}) is ClaimVerdict.UNDECIDED


def test_one_run_is_enough_where_nothing_is_drawn() -> None:
    for value, expected in ((10.0, ClaimVerdict.HOLDS), (9.9, ClaimVerdict.FAILS)):
        assert verdict(part(), {"cubic": [value]}, is_deterministic=True) is expected
    opened = part(is_open="true")
    assert verdict(opened, {"cubic": [10.0]}, is_deterministic=True) is ClaimVerdict.FAILS


def test_equality_needs_the_interval_inside_and_not_only_across() -> None:
    bounds = "at_least = 0.99\nat_most = 1.01"
    equal = part(value="cubic / reno", bounds=bounds, test='"equality"')
    reno = 100 + SPREAD
    assert verdict(equal, {"reno": reno, "cubic": reno + 0.05 * SPREAD}) is ClaimVerdict.HOLDS
    assert verdict(equal, {"reno": reno, "cubic": reno * 1.03}) is ClaimVerdict.FAILS
    assert verdict(equal, {"reno": reno, "cubic": 100 + 3 * SPREAD[::-1]}) is ClaimVerdict.UNDECIDED


def test_signs_decide_pair_by_pair() -> None:
    signs = part(value="cubic / reno", bounds="at_least = 1", is_open="true", test='"sign"')
    reno = 100 + 9 * SPREAD  # differences within pairs are far smaller than between runs
    assert verdict(signs, {"reno": reno, "cubic": reno + 0.1}) is ClaimVerdict.HOLDS
    assert verdict(signs, {"reno": reno, "cubic": reno - 0.1}) is ClaimVerdict.FAILS
    mixed = reno + 0.1 * np.array([1, -1] * 5)
    assert verdict(signs, {"reno": reno, "cubic": mixed}) is ClaimVerdict.UNDECIDED


def test_holm_asks_more_of_each_claim_the_more_there_are() -> None:
    loose, strict = (mean_interval(SPREAD, confidence=each).low for each in (0.95, 0.995))
    assert loose is not None
    assert strict is not None
    borderline = {"cubic": 10 - (loose + strict) / 2 + SPREAD, "reno": 10 + SPREAD - SPREAD.mean()}
    alone = claim(part())
    (single,) = judged(alone, borderline)
    assert single.verdict is ClaimVerdict.HOLDS
    many = alone + "".join(claim(part(value="reno"), f"open-{at}") for at in range(9))
    assert judged(many, borderline)[0].verdict is ClaimVerdict.UNDECIDED
    # Decided claims leave more room for the others: this is Holm's step, which Bonferroni lacks.
    sure = {**borderline, "reno": 50 + SPREAD}
    stepped = judged(many, sure)
    assert [each.verdict for each in stepped] == [ClaimVerdict.HOLDS] * 10


def test_papers_own_numbers_are_compared_as_they_are() -> None:
    runs, text = {"cubic": 14 + SPREAD}, claim(part())
    for own, expected in ((10.0, ClaimVerdict.HOLDS), (9.0, ClaimVerdict.FAILS)):
        (one,) = judged(text, runs, {"cubic": own})
        assert (one.theirs, one.verdict) == (expected, ClaimVerdict.HOLDS)
    (silent,) = judged(text, runs)
    assert silent.theirs is None


def test_expression_reads_rows_variants_and_directions() -> None:
    values = {
        Name(v, None, str(n)): np.array([10.0 * n + (v == "b")]) for v in "ab" for n in range(1, 5)
    }
    for text, expected in (
        ("a[2] / a[1]", 2),
        ("max(all[1]) - min(all[1])", 1),
        ("mean(a[1:3])", 20),
        ("largest_step(a[1:4])", 1),
        ("rank_correlation(a[1:4])", 1),
        ("rank_correlation(a[4], a[3], a[2], a[1])", -1),
        ("1 - a[n] / b[n]", 1 - 20 / 21),
    ):
        assert Expression(text, ("a", "b"), {"n": 2}).evaluate(values) == pytest.approx(expected)
    (name,) = Expression("d.v[3]", (), {"d": "uplink", "v": "a"}).names
    assert name == Name("a", "uplink", "3")


@pytest.mark.parametrize(
    "text",
    ["open('x')", "a if b else c", "a ** 2", "'a'", "a[b]", "a.b.c", "min(a", "(lambda: a)()"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not |names"):
        Expression(text)


def test_several_values_without_a_word_on_them_are_refused() -> None:
    both = Expression("all", ("a", "b"))
    with pytest.raises(ValueError, match="2 values"):
        both.evaluate({name: np.zeros(1) for name in both.names})


def test_unknown_key_or_empty_claim_is_refused() -> None:
    with pytest.raises(CwndlabError, match="did you mean at_least"):
        claims_of(claim(part(atleast="1")))
    with pytest.raises(CwndlabError, match="which lists the missing runs"):
        claims_of(claim(""))


@pytest.mark.parametrize(
    ("paper", "count"),
    [
        ("hsdpa-2010", 10),
        ("lte-4g-vaasa-2013", 10),
        ("lte-ns2-2011", 5),
        ("nr-5g-vaasa-2023", 7),
        ("wifi-ns3-2022", 5),
    ],
)
def test_every_claim_of_a_paper_is_here(paper: str, count: int) -> None:
    assert paper in claimed_papers()
    known = load_claims(paper)
    assert len({each.id for each in known.claims}) == len(known.claims) == count


def _own(paper: str) -> dict[str, Judgement]:
    nothing = Given({})
    known = judge(load_claims(paper), PaperTables(load_paper(paper)), nothing, lambda _: False)
    return {each.claim.id: each for each in known}


def test_tables_of_the_hsdpa_paper_bear_its_claims() -> None:
    own = _own("hsdpa-2010")
    tables = {name for name, each in own.items() if each.theirs is ClaimVerdict.HOLDS}
    assert tables >= {
        "goodput-equal",
        "cubic-bic-delay",
        "westwood-lowest-rtt",
        "cubic-retransmits",
    }
    assert not any(each.theirs is ClaimVerdict.FAILS for each in own.values())
    spread = [each.theirs for each in own["goodput-equal"].findings]
    assert spread == pytest.approx([0.034, 0.040, 0.034, 0.052], abs=0.0005)
    assert own["uplink-equal"].theirs is ClaimVerdict.HOLDS
    least = min(f.theirs or 0 for f in own["uplink-equal"].findings if "downlink." in str(f.part))
    assert least == pytest.approx(14.9, abs=0.05)


def test_table_of_the_callbox_has_bbr_ahead_by_148() -> None:
    (finding,) = _own("nr-5g-vaasa-2023")["bbr-retransmits"].findings
    assert finding.theirs == pytest.approx(147.9, abs=0.1)


def test_runs_give_one_number_a_repetition_by_direction_row_and_way_of_adding() -> None:
    known = claims_of(
        claim(part(value="cubic[2]")), row_factor="stations", varied_by_sender=["uplink"]
    )

    class Results:
        def flows(self) -> pl.DataFrame:
            return pl.DataFrame(
                {
                    "run": ["a", "a", "b", "b", "c"],
                    "repetition": [1, 1, 0, 0, 0],
                    "flow": [0, 1, 0, 1, 0],
                    "algorithm": ["cubic"] * 5,
                    "stations": [2, 2, 2, 2, 1],
                    "direction": ["reverse"] * 5,
                    "m": [1.0, 3.0, 5.0, 9.0, 99.0],
                    "goodput_mbit_s": [1.0, 1.0, 1.0, 0.0, 1.0],
                }
            )

        def samples(self, **where: object) -> pl.DataFrame:
            raise AssertionError(where)

    def values(
        row: str, direction: str = "uplink", *, metric: str = "m", is_total: bool = False
    ) -> list[float] | None:
        asked = ClaimPart(
            value=Expression("cubic"), metric=metric, direction="uplink", is_total=is_total
        )
        found = PaperRuns(known, Results()).values(asked, Name("cubic", direction, row))
        return None if found is None else found.tolist()

    assert values("2") == [7.0, 2.0]
    assert values("2", is_total=True) == [14.0, 4.0]
    assert values("1") == [99.0]
    assert values("3") is None
    assert values("2", "downlink") is None
    assert values("2", metric="jain_index") == [0.5, 1.0]


def test_levels_of_further_factors_choose_the_runs() -> None:
    flows = pl.DataFrame(
        {
            "run": [str(each) for each in range(8)],
            "repetition": [0, 1] * 4,
            "flow": [0] * 8,
            "algorithm": ["cubic"] * 8,
            "direction": ["forward"] * 8,
            "flows": [1] * 6 + [2] * 2,
            "transfer": ["long"] * 2 + ["50 kB"] * 2 + ["1 MB"] * 2 + ["50 kB"] * 2,
            "m": [100.0, 110.0, 40.0, 44.0, 90.0, 99.0, 10.0, 11.0],
        }
    )

    class Results:
        def flows(self) -> pl.DataFrame:
            return flows

        def samples(self, **where: object) -> pl.DataFrame:
            raise NotImplementedError

    text = claim(
        """
        [[claim.part]]
        value = "cubic[1]"
        metric = "m"
        direction = "downlink"
        [[claim.part]]
        value = "cubic[size] / cubic['long']"
        each = { size = ["50 kB", "1 MB"], n = [1] }
        row_factor = "transfer"
        where = { flows = "n" }
        metric = "m"
        direction = "downlink"
        at_least = 0.9
        [[claim.part]]
        value = "cubic[n]"
        each = { n = [2], size = ["50 kB"] }
        where = { transfer = "size" }
        metric = "m"
        direction = "downlink"
        """
    )
    known = claims_of(text, row_factor="flows", where={"transfer": "long"})
    parts = known.claims[0].parts
    runs = PaperRuns(known, Results())

    def of(part: ClaimPart) -> list[list[float]]:
        names = [replace(name, direction="downlink") for name in part.value.names]
        found = [runs.values(part, name) for name in names]
        return [[] if each is None else each.tolist() for each in found]

    assert [of(part) for part in parts] == [
        [[100.0, 110.0]],
        [[40.0, 44.0], [100.0, 110.0]],
        [[90.0, 99.0], [100.0, 110.0]],
        [[10.0, 11.0]],
    ]
    assert str(parts[1]) == "downlink m, flows 1: cubic['50 kB'] / cubic['long'] at least 0.9"


def test_page_s_trend_test_is_a_mean_rank_correlation() -> None:
    """The bound of the 4G thesis's trend over periods equals that of Page's L, by enumeration."""
    correlation, *_ = load_claims("lte-4g-vaasa-2013").claims[0].parts
    row = [
        sum(at * rank for at, rank in enumerate(ranks, 1)) for ranks in permutations(range(1, 5))
    ]
    chances = np.bincount(row) / len(row)
    total = chances
    for _ in range(5):
        total = np.convolve(total, chances)
    critical = next(at for at in range(len(total)) if total[at:].sum() <= 0.05)
    assert critical == 163
    assert correlation.at_most == pytest.approx(-(12 * critical / (6 * 4 * 15) - 5), abs=0.0005)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("second_lowest(a, b, c)", 2.0),
        ("median(a, b, c)", 2.0),
        ("mean(rank_correlation(a, b, c), rank_correlation(c, b, a))", 0.0),
    ],
)
def test_order_statistics(text: str, expected: float) -> None:
    names = {Name(name): np.array([value]) for name, value in zip("abc", (1, 2, 3), strict=True)}
    assert Expression(text, ("a", "b", "c")).evaluate(names) == pytest.approx([expected])


@pytest.mark.parametrize(
    ("goodput", "peaks"),
    [
        ([1.0] * 9, 0),
        ([1, 1, 6, 1, 1, 1, 6, 1, 1], 2),
        ([1, 1, 6, 6, 1, 1, 1, 1, 1], 1),
        ([6, 1, 1, 1, 1, 1, 1, 1, 6], 2),
    ],
)
def test_peaks_are_counted_once_however_long(goodput: list[float], peaks: int) -> None:
    class Results:
        def flows(self) -> pl.DataFrame:
            whole = {"end_s": 9.5, "window_s": 9.5, "direction": "forward", "algorithm": "cubic"}
            return pl.DataFrame({"run": ["a"], "flow": [0], "repetition": [0], **whole})

        def samples(self, **where: object) -> pl.DataFrame:
            del where
            times = np.arange(1.0, 1.0 + len(goodput))
            return pl.DataFrame({"t_s": times, "goodput_mbit_s": goodput}).with_columns(
                run=pl.lit("a"), flow=0, repetition=0
            )

    counted = 'of_samples = "number of rises to twice the mean"\n'
    text = claim(part().replace('metric = "m"\n', f'metric = "goodput_mbit_s"\n{counted}'))
    known = claims_of(text)
    (own,) = known.claims[0].parts
    evidence = PaperRuns(known, Results())
    assert evidence.values(own, Name("cubic", "downlink")) == pytest.approx([peaks])


def test_the_window_after_a_loss_is_in_parts_of_the_empty_path() -> None:
    # 100 ms at 11.584 Mbit/s are 100 packets of 1448 bytes.
    flow = {"run": "a", "flow": 0, "repetition": 0, "algorithm": "cubic", "direction": "forward"}
    thresholds = [None, 400, 400, 120, 120, 120, 80, 110, 110]

    class Results:
        def flows(self) -> pl.DataFrame:
            known = {"end_s": 9.5, "window_s": 9.5, "rtt_base_ms": 100.0, "goodput_mbit_s": 11.584}
            return pl.DataFrame([flow | known])

        def samples(self, **where: object) -> pl.DataFrame:
            del where
            return pl.DataFrame(
                {"run": "a", "flow": 0, "t_s": np.arange(1.0, 10.0), "ssthresh_pkts": thresholds}
            )

    own = ClaimPart(
        value=Expression("cubic"),
        metric="ssthresh_pkts",
        direction="downlink",
        of_samples="median slow-start threshold after losses (in BDP)",
    )
    found = PaperRuns(claims_of(claim(part())), Results()).values(own, Name("cubic", "downlink"))
    assert found == pytest.approx([1.1]), "120, 80 and 110 were left; the first has no before"
