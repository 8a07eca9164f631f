"""Draw the pictures of the documentation from the results of `make demo`.

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
    """Write the demo's timeline as a PNG file with a reduced number of colours."""
    results, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as aside:
        write_report(cw.open_results(results), aside, formats=("png",))
        picture = Image.open(Path(aside) / "figures" / "setting-0" / "timeline.png")
        picture.convert("RGB").quantize(COLOURS).save(folder / "demo.png", optimize=True)


if __name__ == "__main__":
    main()
