"""The record of advice beside real measurements."""

import pytest

from cwndlab.api.study import Study
from cwndlab.judge.answer import class_of
from cwndlab.judge.reality import reality_of
from cwndlab.papers import load_claims


@pytest.mark.parametrize(
    ("link", "kind"),
    [
        ("hspa-typical", "umts"),
        ("lte-typical", "lte"),
        ("nr-typical", "nr"),
        ("wifi-typical", "wifi"),
        ("lossy", None),
    ],
)
def test_a_link_has_the_class_of_its_radio(link: str, kind: str | None) -> None:
    scenario = Study(link=link, algorithm="cubic").matrix.runs[0].scenario
    assert class_of(scenario.model_dump(mode="json")) == kind


def test_no_more_claims_are_counted_than_papers_have() -> None:
    for radio, paper in (
        ("umts", "hsdpa-2010"),
        ("lte", "lte-4g-vaasa-2013"),
        ("nr", "nr-5g-vaasa-2023"),
    ):
        record = reality_of(radio)
        assert record is not None
        assert record.source == paper
        assert 0 <= record.agreed <= record.checked <= len(load_claims(paper).claims)


def test_what_was_never_checked_has_no_record() -> None:
    assert reality_of("wifi") is None
    assert reality_of(None) is None
