"""Long lines and refused words are found; reflowing a page keeps its words."""

import prose


def test_a_refused_word_is_named_with_a_remedy() -> None:
    problems = list(prose.refused("page:1", "2 entrys, and something befell 3 of them"))
    assert [problem.split('"')[1] for problem in problems] == ["befell", "entrys"]
    assert all("; write: " in problem for problem in problems)


def test_plain_sentences_pass() -> None:
    assert not list(prose.refused("page:1", "The two are told apart by their port."))


def test_breaking_a_page_anew_keeps_words_code_and_tables() -> None:
    row = f"| {'a cell ' * 30}|"
    code = f"```text\n{'code ' * 40}\n```"
    text = f"# Title\n\n- an item {'word ' * 40}\n- another\n\n{row}\n\n{code}\n"
    broken = prose.reflowed(text)
    assert broken.split() == text.split()
    assert row in broken
    assert code in broken
    assert all(len(line) <= prose.WIDTH for line in broken.splitlines() if "word" in line)
    assert broken.splitlines()[3].startswith("  word")
