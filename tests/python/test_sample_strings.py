"""A sample of strings is repeatable, and draws from sources, pages, columns and schemas."""

import sample_strings


def test_a_seed_draws_the_same_strings() -> None:
    assert sample_strings.sample(7) == sample_strings.sample(7)
    assert len(sample_strings.sample(7)) == sample_strings.COUNT
    assert sample_strings.sample(7) != sample_strings.sample(8)


def test_every_kind_of_text_is_drawn_from() -> None:
    places = " ".join(place for place, _ in sample_strings.sample(1, 1500))
    for part in ("python/cwndlab/cli", "docs/explanation", "columns.toml", "study.schema.json"):
        assert part in places


def test_an_item_of_a_list_is_a_string_of_its_own() -> None:
    changes = [text for place, text in sample_strings.sample(1, 3000) if place == "CHANGELOG.md"]
    assert sum(text.startswith("- ") for text in changes) > 20
    assert not any(" - `" in text for text in changes)
