"""Compute statistics over runs: intervals, paired comparisons, tests and summaries.

The unit of resampling is always a *run*, never a sample within a run: the samples of a run are
correlated, whereas runs with different seeds are independent. Runs with the same seed have the same
channel. Therefore, two algorithms are compared by pairs of runs with the same seed.
"""

from cwndlab.stats.bootstrap import (
    CONFIDENCE,
    DRAWS,
    Interval,
    Statistic,
    bca_interval,
    mean_interval,
)
from cwndlab.stats.covering import covering_mean, geometric_mean
from cwndlab.stats.paired import (
    SMALLEST_EFFECT,
    Average,
    BoundDecision,
    Difference,
    PairedTest,
    compare_pairs,
    decide,
    holm,
    paired_permutation_test,
    relative_difference,
    sign_test,
    wilcoxon_signed_rank_test,
)
from cwndlab.stats.summary import (
    BoxSummary,
    box_summary,
    empirical_cdf,
    jain_index,
    most_representative,
    pareto_front,
)

__all__ = [
    "CONFIDENCE",
    "DRAWS",
    "SMALLEST_EFFECT",
    "Average",
    "BoundDecision",
    "BoxSummary",
    "Difference",
    "Interval",
    "PairedTest",
    "Statistic",
    "bca_interval",
    "box_summary",
    "compare_pairs",
    "covering_mean",
    "decide",
    "empirical_cdf",
    "geometric_mean",
    "holm",
    "jain_index",
    "mean_interval",
    "most_representative",
    "paired_permutation_test",
    "pareto_front",
    "relative_difference",
    "sign_test",
    "wilcoxon_signed_rank_test",
]
