"""Compare published studies, whose facts and claims are stored as data, with cwndlab's results."""

from cwndlab.papers.claims import Claim, Claims, load_claims
from cwndlab.papers.experiments import ClaimTrial, TableTrial, TrialEffect, try_paper
from cwndlab.papers.facts import (
    Paper,
    PaperFigure,
    PaperNumber,
    PaperPlot,
    PaperTable,
    find_paper,
    load_paper,
)
from cwndlab.papers.judgement import ClaimVerdict, Judgement, PartFinding, judge_paper
from cwndlab.papers.library import claimed_papers, paper_ids, paper_studies
from cwndlab.papers.phases import (
    Episode,
    Sawtooth,
    find_episodes,
    first_reached,
    sawtooth,
    slow_start_end,
    value_at,
)
from cwndlab.papers.reading import Reading, read_check
from cwndlab.papers.settings import VariantSetting, difference_of, settings_of, single_changes
from cwndlab.papers.tables import PaperCell, read_plot, read_table

__all__ = [
    "Claim",
    "ClaimTrial",
    "ClaimVerdict",
    "Claims",
    "Episode",
    "Judgement",
    "Paper",
    "PaperCell",
    "PaperFigure",
    "PaperNumber",
    "PaperPlot",
    "PaperTable",
    "PartFinding",
    "Reading",
    "Sawtooth",
    "TableTrial",
    "TrialEffect",
    "VariantSetting",
    "claimed_papers",
    "difference_of",
    "find_episodes",
    "find_paper",
    "first_reached",
    "judge_paper",
    "load_claims",
    "load_paper",
    "paper_ids",
    "paper_studies",
    "read_check",
    "read_plot",
    "read_table",
    "sawtooth",
    "settings_of",
    "single_changes",
    "slow_start_end",
    "try_paper",
    "value_at",
]
