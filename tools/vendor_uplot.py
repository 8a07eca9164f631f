"""Download the report's chart library from the npm registry into the package.

    python tools/vendor_uplot.py            # the version named below
    python tools/vendor_uplot.py 1.6.33 sha512-...

The files are neither changed nor minified. The hash is the registry's `dist.integrity`, which `npm
view uplot@VERSION dist.integrity` prints.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "1.6.32"
INTEGRITY = "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="  # noqa: E501  a hash
FILES = ("dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE")
TARGET = Path(__file__).parent.parent / "python/cwndlab/report/assets/vendor/uplot"


def main() -> None:
    """Download, check and unpack the library."""
    version, integrity = sys.argv[1:3] or (VERSION, INTEGRITY)
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is needed to fetch uPlot: install nodejs and npm")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([npm, "pack", "--silent", f"uplot@{version}"], cwd=folder, check=True)  # noqa: S603  our own words
        archive = next(Path(folder).glob("*.tgz"))
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{digest}" != integrity:
            sys.exit(f"uplot {version} has an unexpected hash: sha512-{digest}")
        TARGET.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as package:
            for name in FILES:
                member = package.extractfile(f"package/{name}")
                if member is None:
                    sys.exit(f"uplot {version} has no file {name}")
                (TARGET / Path(name).name).write_bytes(member.read())
    (TARGET / "SOURCE").write_text(
        f"uPlot {version}, MIT licence, npm package uplot@{version}\n{integrity}\n"
        "fetched by tools/vendor_uplot.py\n",
        encoding="utf-8",
    )
    print(f"uPlot {version} is in {TARGET}")


if __name__ == "__main__":
    main()
