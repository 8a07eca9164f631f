"""Measure time to the first screen and memory of `cwndlab open` with many results.

The program creates 200 studies with 100,000 runs in total, and one study with 100,000 runs, in a
temporary folder. It serves the studies, opens them in a browser, and then sends the server 1,000
requests of all kinds that the page sends. Each step is timed twice: with an empty cache, as if
these results had never been opened, and with the cache that the first pass has filled. The exit
status is 1 if a value exceeds its bar.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import cwndlab as cw

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER = Path(__file__).parents[1] / "target" / "page" / "test" / "open_bench.mjs"
ALGORITHMS = ["cubic", "bbr", "vegas", "reno", "htcp"]
STUDIES, RUNS = 200, 100_000
FIRST_SCREEN_MS = 1_000
GROWTH_MB = 20
LARGE = "one-large"
SETTLED = 100  # requests after which memory should not grow


def main() -> int:
    """Create the results, and time the page with an empty and with a filled cache."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", default=_browser(), help="path of Chromium or Firefox")
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument(
        "--folder", type=Path, help="folder of results that an earlier call created"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = options.folder or Path(temporary) / "results"
        if not place.exists():
            make(place)
        missed = 0
        for cache in ("empty", "kept"):
            missed += look(place, Path(temporary) / "cache", options, cache)
    return int(missed > 0)


def make(place: Path) -> None:
    """Simulate one small study and copy it many times; simulate one large study."""
    began_s = time.process_time()
    place.mkdir(parents=True)
    each = RUNS // STUDIES
    study = cw.Study(
        id="small", link="rate=2 Mbit/s,delay=5 ms", algorithm=ALGORITHMS, duration="1 s",
        repetitions=each // len(ALGORITHMS), start_jitter="50 ms",
    )  # fmt: skip
    study.run(place / "study-000")
    for number in range(1, STUDIES):
        shutil.copytree(place / "study-000", place / f"study-{number:03}")
    large = cw.Study(
        id=LARGE, link="rate=2 Mbit/s,delay=5 ms", algorithm=ALGORITHMS, duration="200 ms",
        repetitions=RUNS // len(ALGORITHMS), start_jitter="50 ms",
    )  # fmt: skip
    large.run(place / LARGE)
    size_mb = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
    print(f"made {STUDIES} studies of {each} runs and one of {RUNS:,}: {size_mb:.0f} MB, "
          f"{time.process_time() - began_s:.0f} CPU s")  # fmt: skip


def look(place: Path, cache: Path, options: argparse.Namespace, called: str) -> int:
    """Time the page once and measure the server's memory; return the number of missed bars."""
    with served(place, cache) as (process, address, start_s):
        command = ["node", str(DRIVER), address, options.browser, LARGE]
        told = subprocess.run(  # noqa: S603  our own driver
            command, stdout=subprocess.PIPE, check=True, text=True
        ).stdout
        found = json.loads(told)
        print(
            f"{called} cache: address after {start_s:.2f} s; first screen "
            f"{', '.join(map(str, found['first_ms']))} ms (bar {FIRST_SCREEN_MS}); the study of "
            f"{RUNS:,} runs {found['large_ms']} ms, its last page {found['last_page_ms']} ms",
            flush=True,
        )
        settled_mb, end_mb, spent_s = ask_often(process, address, options.requests)
    first_ms = max(found["first_ms"])
    growth_mb = end_mb - settled_mb
    print(
        f"{'':6}{options.requests:,} requests: {settled_mb:.0f} MB after {SETTLED}, "
        f"{end_mb:.0f} MB at the end (may grow by {GROWTH_MB}); {spent_s:.1f} CPU s of the server",
        flush=True,
    )
    return (first_ms > FIRST_SCREEN_MS) + (growth_mb > GROWTH_MB)


@contextmanager
def served(place: Path, cache: Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """Run `cwndlab open` on a folder; yield its process, address, and starting time in s."""
    began_s = time.perf_counter()
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": "200"}
    command = [sys.executable, "-m", "cwndlab", "open", str(place), "--no-browser"]
    with subprocess.Popen(  # noqa: S603  this program itself
        command, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        said = process.stdout.readline() if process.stdout else ""
        try:
            yield process, found_in(said, r"(http://\S+)"), time.perf_counter() - began_s
        finally:
            process.send_signal(signal.SIGINT)


def ask_often(
    process: subprocess.Popen[str], address: str, count: int
) -> tuple[float, float, float]:
    """Return the server's memory after the first and after all requests, and its CPU time."""
    client = Client(address)
    rows = client.json("/api/studies")["studies"]
    large = client.json("/api/studies", q=LARGE)["studies"][0]["id"]
    pages = itertools.cycle(range(0, 900, 7))
    began_s = cpu_s(process)
    settled_mb = 0.0
    for number in range(count):
        row = rows[number % len(rows)]["id"]
        match number % 5:
            case 0:
                client.json("/api/studies", q="study", page=number % 4)
            case 1:
                client.json("/api/state", id=row)
            case 2:
                client.json("/api/runs", id=large, page=next(pages))
            case 3:
                client.json("/api/runs", id=row, q="cubic")
            case _ if number % 50 == 4:  # noqa: PLR2004  a decision takes a second
                client.json("/api/study", id=row)
            case _:
                client.json("/api/state", id=large)
        if number == SETTLED:
            settled_mb = memory_mb(process)
    return settled_mb, memory_mb(process), cpu_s(process) - began_s


class Client:
    """A client with the cookie that the server gives in exchange for the token in an address."""

    def __init__(self, address: str) -> None:
        """Exchange the token for the cookie."""
        self.host, _, rest = address.removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(self.host)
        connection.request("GET", f"/{rest}")
        self.cookie = (connection.getresponse().headers["Set-Cookie"] or "").partition(";")[0]

    def json(self, path: str, **asked: str | int) -> Any:  # noqa: ANN401  an answer
        """Request a path, and return the JSON answer."""
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.request("GET", f"{path}?{urlencode(asked)}", headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != http.HTTPStatus.OK:
            sys.exit(f"{path}: {answer.status} {body[:200]!r}")
        return json.loads(body)


def memory_mb(process: subprocess.Popen[str]) -> float:
    """Return the resident memory of a process."""
    text = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(found_in(text, r"VmRSS:\s+(\d+) kB")) / 1024


def found_in(text: str, pattern: str) -> str:
    """Return the text that a pattern matches; end the program if there is none."""
    found = re.search(pattern, text)
    if found is None:
        sys.exit(f"no {pattern} in {text!r}")
    return found[1]


def cpu_s(process: subprocess.Popen[str]) -> float:
    """Return the CPU time that a process has used."""
    fields = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _browser() -> str:
    names = ("chromium", "firefox-esr", "firefox")
    return next((found for name in names if (found := shutil.which(name))), "")


if __name__ == "__main__":
    sys.exit(main())
