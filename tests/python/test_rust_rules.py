"""Violations of CONTRIBUTING.md's rules for Rust that the compiler does not check are found."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(folder: Path, text: str) -> list[str]:
    """Return the messages about a file with this text."""
    (folder / "lib.rs").write_text(text)
    command = [sys.executable, str(ROOT / "tools/rust_rules.py"), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == int(bool(result.stdout)), result.stderr
    return result.stdout.splitlines()


def fields(count: int) -> str:
    return "".join(f"    f{number}: Vec<(u8, [u8; 4])>,\n" for number in range(count))


def test_a_predicate_that_acts_is_named_with_its_line(tmp_path: Path) -> None:
    (problem,) = check(
        tmp_path,
        "impl A {\n    fn is_a(&self) -> bool { b(&mut 1) }\n"
        "    pub fn has_rows<'a, T>(\n        &'a mut self,\n        row: T,\n    ) -> bool;\n}\n",
    )
    assert "lib.rs:3: the predicate has_rows takes `&mut`" in problem


def test_other_arguments_count_too_and_comments_do_not(tmp_path: Path) -> None:
    assert len(check(tmp_path, "fn is_room(queue: &mut Queue) -> bool {}\n")) == 1
    assert not check(tmp_path, "// fn is_room(queue: &mut Queue)\nfn take(queue: &mut Q) {}\n")
    assert not check(tmp_path, 'const A: &str = "fn is_room(a: &mut A)";\nfn is_b() -> &mut B {}\n')


def test_a_struct_may_have_twenty_fields(tmp_path: Path) -> None:
    assert not check(tmp_path, f"pub struct Some<T: Copy> {{\n{fields(20)}}}\n")
    (problem,) = check(tmp_path, f"const Q: char = '\"';\npub struct Many {{\n{fields(21)}}}\n")
    assert "lib.rs:2: the struct Many has 21 fields" in problem


def test_mirrors_of_c_may_have_more(tmp_path: Path) -> None:
    mirror = f"#[repr(C)]\n#[derive(Debug)]\npub struct Mirror {{\n{fields(21)}}}\n"
    assert not check(tmp_path, mirror)
    assert len(check(tmp_path, f"{mirror}struct Other {{\n{fields(21)}}}\n")) == 1


def test_the_crates_break_no_rule() -> None:
    command = [sys.executable, str(ROOT / "tools/rust_rules.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")
