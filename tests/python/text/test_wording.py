"""Numbers as text."""

import pytest

from cwndlab.text.wording import percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0003, "0 %"),
        (-0.0003, "0 %"),
        (0.0006, "0.1 %"),
        (0.0094, "0.9 %"),
        (0.0095, "1 %"),
        (-0.004, "-0.4 %"),
        (0.123, "12 %"),
    ],
)
def test_a_share_has_a_decimal_only_where_it_shows_something(share: float, text: str) -> None:
    assert percent(share) == text
