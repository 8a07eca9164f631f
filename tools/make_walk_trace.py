"""Generate the demo's trace: a walk past a cell, in both directions, in Mahimahi's format.

The trace was not measured. The logarithm of the rate is a mean-reverting random walk, as in
measurements of cellular links; during one handover of 150 ms, there is no service. Each line is the
time in milliseconds of an opportunity to send one packet of 1504 bytes.

    python tools/make_walk_trace.py python/cwndlab/data/validation/traces
"""

import math
import random
import sys
from pathlib import Path

DURATION_MS = 20_000
HANDOVER_MS = range(12_000, 12_150)
OPPORTUNITY_BITS = 1504 * 8
STEP_MS = 20
PULL = 0.02
SIGMA = 0.12


def opportunities(mean_mbit_s: float, seed: int) -> list[int]:
    """Return the times of the opportunities in milliseconds, in ascending order."""
    draw = random.Random(seed)  # noqa: S311  a made-up trace, not a secret
    deviation = 0.0
    credit_bits = 0.0
    stamps: list[int] = []
    for now_ms in range(1, DURATION_MS + 1):
        if now_ms % STEP_MS == 1:
            deviation += draw.gauss(0.0, SIGMA) - PULL * deviation
        if now_ms not in HANDOVER_MS:
            credit_bits += mean_mbit_s * math.exp(deviation) * 1000
        while credit_bits >= OPPORTUNITY_BITS:
            credit_bits -= OPPORTUNITY_BITS
            stamps.append(now_ms)
    return stamps


def main() -> None:
    """Write both directions to the folder given on the command line."""
    folder = Path(sys.argv[1])
    for name, mean_mbit_s, seed in (("walk.down", 8.0, 8), ("walk.up", 3.0, 5)):
        lines = "".join(f"{stamp}\n" for stamp in opportunities(mean_mbit_s, seed))
        (folder / name).write_text(lines, encoding="ascii")


if __name__ == "__main__":
    main()
