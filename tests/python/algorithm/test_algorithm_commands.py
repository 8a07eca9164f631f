"""`cwndlab algorithm new`, `check` and `show`, as users run them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from matplotlib.text import Text

import user_code
from cwndlab.algorithm.page import read_page
from cwndlab.figures.over_time import window_figure
from program import LINK, run
from user_code import mine

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("own_cache"),
]


def test_new_writes_a_file_that_passes_its_check(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "algorithm", "new", "first_try")
    assert out.splitlines()[0] == "first_try.c"
    text = (tmp_path / "first_try.c").read_text()
    assert "skeleton" not in text.lower()
    assert text.count("/*") > 10
    findings = json.loads(
        run(tmp_path, "algorithm", "check", "./first_try.c", "--format", "json")[0]
    )
    assert {each["state"] for each in findings} <= {"ok", "skipped"}
    names = [each["check"] for each in findings]
    assert names[1:4] == [
        "compiler warnings",
        "hooks do not crash and set only valid values",
        "has no undefined behaviour",
    ]
    include = re.search(r"-I(\S+)", out)
    assert include
    assert (Path(include[1]) / "cc.h").is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cubic", "cubic is the name of a built-in algorithm; choose another name\n"),
        ("hstcp", "hstcp is the name of a built-in algorithm; choose another name\n"),
        (
            "Big",
            (
                '"Big" is not a valid algorithm name: use 1 to 15 characters of a-z, 0-9 and _, '
                "beginning with a letter\n"
            ),
        ),
        ("a_very_long_name_", '"a_very_long_name_" is not a valid algorithm name'),
        ("../up", '"../up" is not a valid algorithm name'),
        ("taken", "taken.c already exists and was not changed; choose another name\n"),
    ],
)
def test_new_refuses(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "taken.c").write_text("precious")
    _, err = run(tmp_path, "algorithm", "new", name, status=2)
    assert err.startswith(message)
    assert (tmp_path / "taken.c").read_text() == "precious"


@pytest.mark.parametrize(
    ("edit", "check", "told"),
    [
        (
            ("tcp_reno_cong_avoid(sk, ack, acked);", "tcp_sk(sk)->snd_cwnd *= 3;"),
            "hooks do not crash and set only valid values",
            r"mine\.c: cong_avoid set the congestion window to \d+ packets, above its limit snd_",
        ),
        (
            ("return max((u32)(cwnd * cc_params(sk)->kept >> 10), 2u);", "return (u32)cwnd / 2;"),
            "hooks do not crash and set only valid values",
            r"mine\.c: ssthresh returns a slow start threshold of [01] packets; .*\n  a w.*, a ",
        ),
        (
            ("return tcp_reno_undo_cwnd(sk);", "return 1;"),
            "hooks do not crash and set only valid values",
            r"mine\.c: undo_cwnd returns a window of 1, less than the present window of \d+\n",
        ),
        (
            ("tcp_reno_undo_cwnd(sk);", "tcp_sk(sk)->prior_cwnd / tcp_sk(sk)->snd_cwnd_cnt;"),
            "hooks do not crash and set only valid values",
            r"mine\.c:28: undo_cwnd divides by zero, or the .*\n  a window of \d+.*, an undo",
        ),
        (
            (
                "\t/* here */",
                (
                    "\tstatic const u32 ones[2] = {1, 1};\n\tstatic u32 seen;\n\n\t"
                    "seen += ones[acked & 1];\n\ttcp_sk(sk)->snd_cwnd_cnt += seen & 1;"
                ),
            ),
            "compiles and loads",
            r"mine\.c: all connections and runs share the static state in seen, so results ",
        ),
        (
            ("\t/* here */", "\tcc_phase(sk, 3);"),
            "hooks do not crash and set only valid values",
            r"mine\.c: cong_avoid reports phase 3, which CC_PHASES does not list",
        ),
        (
            ("\t/* here */", "\tvolatile s32 big = 0x7fffffff;\n\tbig = big + (s32)acked;"),
            "has no undefined behaviour",
            r"mine\.c:16: cong_avoid adds signed numbers beyond the range of their type",
        ),
        (
            ("\t/* here */", "\ttcp_sk(sk)->snd_cwnd_cnt += 1u << (acked & 63);"),
            "has no undefined behaviour",
            r"mine\.c:15: cong_avoid shifts a number by its width or more",
        ),
    ],
)
def test_check_explains_what_fails(
    tmp_path: Path, edit: tuple[str, str], check: str, told: str
) -> None:
    assert user_code.GOOD.count(edit[0]) == 1
    mine(tmp_path, user_code.GOOD.replace(*edit))
    out, _ = run(tmp_path, "algorithm", "check", "./mine.c", "--format", "json", status=1)
    found = {each["check"]: each for each in json.loads(out)}
    assert found[check]["state"] == "failed"
    assert re.match(told, found[check]["found"], re.DOTALL), found[check]["found"]


def test_check_notes_warnings_without_failing(tmp_path: Path) -> None:
    mine(tmp_path, user_code.GOOD.replace("\t/* here */", "\ts32 x = acked;\n\t(void)x;"))
    out, _ = run(tmp_path, "algorithm", "check", "./mine.c")
    assert re.search(r"note +compiler warnings: mine\.c:15:\d+: warning: conversion", out)


def test_check_of_a_module_leaves_its_parameters_alone(tmp_path: Path, kernel: Path) -> None:
    """The module's parameters have no bounds, and a kernel's init may limit the window."""
    path = kernel / "tcp_mod.c"
    text = path.read_text().replace("ca->calls = 0;", "tcp_sk(sk)->snd_cwnd_clamp = 500;")
    path.write_text(text.replace(">> 12, 2U)", ">> 12, 2U) / (kept == 512)"))
    out, _ = run(tmp_path, "algorithm", "check", f"linux:{path}")
    assert "ok       hooks do not crash and set only valid values" in out


def test_show_tells_all_of_a_users_file(tmp_path: Path) -> None:
    mine(tmp_path)
    out, _ = run(tmp_path, "algorithm", "show", "./mine.c", "--out", "w.png")
    assert "mine\n  Reno, written anew\n" in out
    assert "Papers: nobody's." in out
    assert "[parameters.mine], kept = ..." in out
    assert "cwnd, packets" in out
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")
    facts = json.loads(run(tmp_path, "algorithm", "show", "./mine.c", "--format", "json")[0])
    assert facts["papers"] == "nobody's."
    assert len(facts["window"]["t_s"]) == len(facts["window"]["cwnd_pkts"]) > 500
    _, err = run(tmp_path, "algorithm", "show", "./mine.c", "--out", "w.gif", status=2)
    assert err == "w.gif: choose a file name that ends in .svg, .pdf, .png\n"
    mine(tmp_path, "int x = ;\n", "bad.c")
    _, err = run(tmp_path, "algorithm", "show", "./bad.c", status=2)
    assert err.startswith("bad.c does not compile\n  bad.c:1:9: error:")


@pytest.mark.parametrize("name", ["reno", "cubic", "westwood", "bbr"])
def test_show_draws_the_window_of_a_built_in_algorithm(tmp_path: Path, name: str) -> None:
    facts = json.loads(run(tmp_path, "algorithm", "show", name, "--format", "json")[0])
    assert facts["name"] == name
    assert facts["papers"]
    assert facts["about"]
    assert facts["hooks"]
    assert max(facts["window"]["cwnd_pkts"]) > 40


def test_show_draws_a_module_of_a_kernel(tmp_path: Path, kernel: Path) -> None:
    out, _ = run(tmp_path, "algorithm", "show", f"linux:{kernel / 'tcp_mod.c'}")
    assert out.startswith("linux:mod\n  Reno as a module\n")
    assert "what a loss leaves, in 1/1024" in out
    assert out.count("other hooks") == 1
    assert "cwnd, packets" in out


@pytest.mark.parametrize("link", ["lossy", f"{LINK},jitter=1 ms,loss=0.001 %,framing=14 bytes"])
def test_the_heading_of_a_picture_lies_inside_it(link: str) -> None:
    page = read_page("reno", link, "2 s")
    figure = window_figure(page.samples, events=page.events, heading=page.heading)
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text() == page.heading]
    (shown,) = (text.get_window_extent() for text in texts)
    assert shown.x0 >= 0
    assert shown.x1 <= figure.bbox.x1
    assert shown.y1 <= figure.bbox.y1
