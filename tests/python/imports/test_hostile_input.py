"""For any file name or argument, a command answers with a sentence and exit status 2."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cwndlab import cli
from cwndlab.api.study import Study

STUDY = """\
[study]
algorithm = "reno"
duration = "1 s"
[link]
rate = "1 Mbit/s"
delay = "1 ms"
[factors]
algorithm = ["reno", "cubic"]
"""
LINK = "rate=1 Mbit/s,delay=1 ms"
COMPARE = ("compare", "--algorithm", "reno", "--duration", "1 s", "--link")
NOWHERE = "127.0.0.1:9"  # the discard port, on which no program listens

# Names of files that do not exist or cannot be read by cwndlab.
FILES = ("missing", "folder", "empty", "binary", "file/inside", "x" * 300, "\udcff", "")
READERS: dict[str, tuple[str, ...]] = {
    "run": ("run", "FILE"),
    "report": ("report", "FILE"),
    "pack": ("pack", "FILE"),
    "plan": ("plan", "FILE"),
    "plan --pilot": ("plan", "good.toml", "--pilot", "FILE"),
    "live": ("live", "--status", "FILE"),
    "live --token": ("live", "live.toml", "--server", NOWHERE, "--token", "FILE"),
    "live --radio-log": ("live", "live.toml", "--server", NOWHERE, "--radio-log", "FILE"),
    "preflight": ("preflight", "FILE", "--server", NOWHERE),
    "import": ("import", "FILE", "--pattern", "{algorithm}"),
    "link show": ("link", "show", "FILE"),
    "link show a TOML file": ("link", "show", "FILE.toml"),
    "compare a trace": (*COMPARE, "trace:FILE"),
    "compare a log": (*COMPARE, "log:FILE"),
    "compare an algorithm": ("compare", "--link", LINK, "--algorithm", "FILE.h"),
    "compare a link again and again": (*COMPARE, "FILE", "--repeat", "2"),
    "compare --stack": (*COMPARE, LINK, "--stack", "FILE"),
    "advise --results": ("advise", "--results", "FILE"),
    "advise --trace": ("advise", "--trace", "FILE"),
    "algorithm show": ("algorithm", "show", "FILE"),
    "algorithm load": ("algorithm", "load", "FILE"),
    "stack show": ("stack", "show", "FILE"),
    "reproduce": ("reproduce", "FILE"),
    "shell": ("shell", "--link", "FILE", "--", "true"),
}

# Paths that cannot be written.
PLACES = ("file", "file/inside", "/proc/nothing", "/dev/full/x")
WRITERS: dict[str, tuple[str, ...]] = {
    "run": ("run", "good.toml", "--results", "PLACE"),
    "compare": (*COMPARE, LINK, "--results", "PLACE"),
    "report": ("report", "results", "--out", "PLACE"),
    "pack": ("pack", "results", "--out", "PLACE/x.zip"),
    "import": ("import", "measured", "--pattern", "{algorithm}", "--results", "PLACE"),
    "link export": ("link", "export", LINK, "--duration", "1 s", "--out", "PLACE/x"),
    "link show": ("link", "show", LINK, "--plot", "--duration", "1 s", "--out", "PLACE/x.svg"),
    "algorithm show": ("algorithm", "show", "reno", "--duration", "1 s", "--out", "PLACE/x.svg"),
}

NUMBERS = ("", "nan", "-1", "9" * 400, "ten s")
SETTINGS: dict[str, tuple[str, ...]] = {
    "--duration": ("compare", "--link", LINK, "--algorithm", "reno", "--duration", "N"),
    "--warm-up": (*COMPARE, LINK, "--warm-up", "N"),
    "--repeat": (*COMPARE, LINK, "--repeat", "N"),
    "--seed": (*COMPARE, LINK, "--seed", "N"),
    "--flows": (*COMPARE, LINK, "--flows", "N"),
    "--bytes": (*COMPARE, LINK, "--bytes", "N"),
    "rate": (*COMPARE, "rate=N,delay=1 ms"),
    "rate in Mbit/s": (*COMPARE, "delay=1 ms,rate=N Mbit"),
    "rate again and again": (*COMPARE, "rate=N,delay=1 ms", "--repeat", "2"),
    "delay": (*COMPARE, "rate=1 Mbit/s,delay=N"),
    "queue": (*COMPARE, f"{LINK},queue=N"),
    "loss": (*COMPARE, f"{LINK},loss=N"),
    "jitter": (*COMPARE, f"{LINK},jitter=N"),
    "key": (*COMPARE, "N=1"),
    "kind": (*COMPARE, f"{LINK},aqm.kind=N"),
    "users": (*COMPARE, "lte-typical,cell.users=N"),
    "import --warm-up": ("import", "measured", "--pattern", "{algorithm}", "--warm-up", "N"),
    "link show --duration": ("link", "show", LINK, "--plot", "--out", "x.svg", "--duration", "N"),
    "link export --duration": ("link", "export", LINK, "--out", "x", "--duration", "N"),
    "advise --budget": ("advise", "--link", LINK, "--budget", "N"),
    "run --jobs": ("run", "good.toml", "--jobs", "N"),
    "plan --effect": ("plan", "good.toml", "--effect", "N"),
    "plan --rate": ("plan", "live.toml", "--rate", "N"),
    "preflight --udp": ("preflight", "--server", NOWHERE, "--udp", "N"),
    "live --outage": ("live", "live.toml", "--server", NOWHERE, "--outage", "N"),
    "live --server": ("live", "live.toml", "--server", "127.0.0.1:N"),
    "serve --port": ("serve", "--port", "N"),
    "watch --duration": ("watch", "--duration", "N"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with one small file of each kind."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "good.toml").write_text(STUDY, encoding="utf-8")
    (folder / "live.toml").write_text('[study]\nalgorithm = "reno"\n[live]\n', encoding="utf-8")
    Study.load(folder / "good.toml").run(folder / "results")
    (folder / "folder").mkdir()
    (folder / "file").write_text("a file\n", encoding="ascii")
    for suffix in ("", ".toml", ".c"):
        (folder / f"empty{suffix}").touch()
        (folder / f"binary{suffix}").write_bytes(bytes(range(256)) * 9)
    (folder / "measured").mkdir()
    measured = Path(__file__).parents[1] / "measured" / "cubic_up_1_client.json"
    shutil.copy(measured, folder / "measured" / "cubic")
    return folder


@pytest.fixture(autouse=True)
def _here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    # Neither the user's token nor compiled algorithms.
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("XDG_CACHE_HOME", str(made / "cache"))


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the message of a command that ends with exit status 2."""
    status = cli.run(list(arguments))
    told = capsys.readouterr().err
    assert status == 2, told
    assert told.strip()
    assert "Traceback" not in told
    assert "Errno" not in told
    return told


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_none_of_its_kind(
    reader: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [word.replace("FILE", name) for word in READERS[reader]]
    told = complaint(capsys, *arguments)
    if name == "missing" and reader in ("run", "link show a TOML file", "compare a trace"):
        assert "no such file" in told


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_place_where_nothing_can_be_written(
    writer: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [word.replace("PLACE", place) for word in WRITERS[writer]]
    told = complaint(capsys, *arguments)
    assert place.partition("/")[0] in told


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_number_that_is_none(
    setting: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if setting == "key" and number in ("nan", "inf"):
        pytest.skip("a word")
    complaint(capsys, *(word.replace("N", number) for word in SETTINGS[setting]))


def small_files() -> None:
    """Limit files of this process to a kilobyte, as on a full disk."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, most))


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "results", "--out", "full-report"),
        ("pack", "results", "--out", "full.zip"),
        ("run", "good.toml", "--results", "full-run"),
        ("link", "export", LINK, "--duration", "9 s", "--out", "full.down"),
        ("import", "measured", "--pattern", "{algorithm}", "--results", "full-import"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_full_disk(arguments: tuple[str, ...]) -> None:
    # A separate process, because the limit also applies to the files of a test runner.
    done = subprocess.run(
        [sys.executable, "-m", "cwndlab", *arguments],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=small_files,
    )
    assert done.returncode == 2, done.stderr
    assert "file too large" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_study_may_be_called_anything(capsys: pytest.CaptureFixture[str]) -> None:
    name = "ünï 名 $(x) -- ..toml"
    Path(name).write_text(STUDY.replace("[study]", '[study]\nid = "fine"'), encoding="utf-8")
    assert cli.run(["run", name, "--results", "ünï 名"]) == 0, capsys.readouterr().err
    assert cli.run(["report", "ünï 名", "--out", "ünï 名 r"]) == 0
