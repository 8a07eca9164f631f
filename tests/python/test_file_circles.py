"""Rust files that use each other in a circle are found by the names in them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def circles(folder: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    command = [sys.executable, str(ROOT / "tools/file_circles.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_two_files_that_name_each_other_are_a_circle(tmp_path: Path) -> None:
    result = circles(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\npub use a::A;\n",
            "a.rs": "use crate::b::B;\npub struct A { b: B }\n",
            "b.rs": "pub struct B;\nimpl B { fn a(&self, a: &crate::A) {} }\n",
        },
    )
    assert result.returncode == 1
    assert [Path(line.strip()).name for line in result.stdout.splitlines()[1:]] == ["a.rs", "b.rs"]


def test_a_parent_that_names_its_child_which_names_it_is_a_circle(tmp_path: Path) -> None:
    result = circles(
        tmp_path,
        {
            "lib.rs": "mod outer;\n",
            "outer.rs": "mod inner;\nuse inner::Inner;\npub struct Outer(Inner);\n",
            "outer/inner.rs": "use super::Outer;\npub struct Inner;\nfn of(outer: &Outer) {}\n",
        },
    )
    assert result.returncode == 1


def test_re_exports_tests_and_comments_are_no_use(tmp_path: Path) -> None:
    result = circles(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\npub use a::A;\npub struct Root;\n",
            "a.rs": "// crate::b::B\nuse crate::Root;\npub struct A(Root);\n",
            "b.rs": "use crate::A;\npub struct B(A);\n"
            "#[cfg(test)]\nmod tests { use super::*; fn a() { crate::b::f(); } }\n",
        },
    )
    assert (result.returncode, result.stdout) == (0, "")


def test_the_crates_have_none() -> None:
    command = [sys.executable, str(ROOT / "tools/file_circles.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")
