"""Search for input on which a parser of the Python package fails, guided by coverage.

    tools/fuzz_parser.py TARGET [OPTIONS OF LIBFUZZER...] FOLDERS...

A target is one of `tests/python/fuzz_targets.py`. Needs atheris, which `tools/setup fuzz` installs.
"""

import random
import sys
import warnings
from pathlib import Path

import atheris

sys.path.append(str(Path(__file__).parents[1] / "tests" / "python"))

with atheris.instrument_imports(include=["cwndlab", "tomllib"]):
    from fuzz_targets import LONGEST_BYTES, TARGETS, mutated, seeds_of


def main() -> None:
    """Run until the time limit or the first failure."""
    name, *options = sys.argv[1:]
    seeds = seeds_of(name)

    def mutate(data: bytes, most_bytes: int, seed: int) -> bytes:
        """Mutate bits, as libFuzzer does, or combine pieces of the seeds."""
        draw = random.Random(seed)  # noqa: S311  libFuzzer's seed decides
        if draw.random() < 0.5:  # noqa: PLR2004  either
            return bytes(atheris.Mutate(data, most_bytes))
        return mutated(draw, (data, *seeds))[:most_bytes]

    warnings.simplefilter("error")
    options += [f"-max_len={LONGEST_BYTES}", "-len_control=0"]
    atheris.Setup([sys.argv[0], *options], TARGETS[name], custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
