"""Make the pictures of the documentation from results that `make demo` left.

python tools/make_images.py results/demo docs/images
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image

import cwndlab as cw
from cwndlab.report import write_report

COLOURS = 64


def main() -> None:
    """Take the demo's windows over time on the line, with no more colours than they need."""
    results, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as aside:
        write_report(cw.open_results(results), aside, formats=("png",))
        picture = Image.open(Path(aside) / "figures" / "setting-0" / "timeline.png")
        picture.convert("RGB").quantize(COLOURS).save(folder / "demo.png", optimize=True)


if __name__ == "__main__":
    main()
