"""Write data/reality.toml: how often our runs agree with papers that measured real networks.

    cwndlab reproduce hsdpa-2010 && cwndlab reproduce lte-4g-vaasa-2013 && ...
    python tools/make_reality.py results/hsdpa-2010 results/lte-4g-vaasa-2013 ...

A claim that our runs decide agrees if it holds.  Claims that are undecided, not run, or true by the
construction of the study do not count.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from cwndlab.api.results import open_results
from cwndlab.papers import ClaimVerdict, judge_paper

CLASSES = {  # radio kind of the preset: its usual name, and the papers that measured it
    "umts": ("HSDPA", ("hsdpa-2010",)),
    "lte": ("LTE", ("lte-4g-vaasa-2013",)),
    "nr": ("5G NR", ("nr-5g-vaasa-2023",)),
}
HEAD = """\
# Written by tools/make_reality.py: for each class of real networks, the number of claims of papers
# that our runs confirm or refute (checked), and the number of claims that they confirm (agreed).
"""


def main() -> int:
    """Judge the claims of results, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "results", nargs="+", type=Path, help="results folders of complete reproductions"
    )
    parser.add_argument("--out", type=Path, default=Path("python/cwndlab/data/reality.toml"))
    options = parser.parse_args()
    counts = {}
    for folder in options.results:
        results = open_results(folder)
        verdicts = Counter(each.verdict for each in judge_paper(results.id, results))
        counts[results.id] = verdicts
        print(f"{results.id}: " + ", ".join(f"{n} {each.value}" for each, n in verdicts.items()))
    entries = []
    for radio, (kind, papers) in CLASSES.items():
        found = [counts[paper] for paper in papers if paper in counts]
        agreed = sum(each[ClaimVerdict.HOLDS] for each in found)
        checked = agreed + sum(each[ClaimVerdict.FAILS] for each in found)
        if checked:
            source = ", ".join(paper for paper in papers if paper in counts)
            entries.append(
                f'\n[{radio}]\nkind = "{kind}"\nagreed = {agreed}\nchecked = {checked}\n'
                f'source = "{source}"\n'
            )
    options.out.write_text(HEAD + "".join(entries), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
