"""The record of agreement between advice and real measurements."""

from pathlib import Path

import pytest

from cwndlab.api.study import Study
from cwndlab.judge.answer import class_of
from cwndlab.judge.ledger import PUBLIC, read_ledger
from cwndlab.judge.ledger_scores import scores
from cwndlab.judge.reality import reality_of
from cwndlab.judge.record import phrase_of_record
from cwndlab.papers import load_claims


@pytest.mark.parametrize(
    ("link", "kind"),
    [
        ("hspa-typical", "umts"),
        ("lte-typical", "lte"),
        ("nr-typical", "nr"),
        ("wifi-typical", "wifi"),
        ("lossy", "wire"),
    ],
)
def test_a_link_has_the_class_of_its_radio(link: str, kind: str) -> None:
    scenario = Study(link=link, algorithm="cubic").matrix.runs[0].scenario
    assert class_of(scenario.model_dump(mode="json")) == kind


def test_a_recording_is_no_wire(tmp_path: Path) -> None:
    recording = tmp_path / "drive.down"
    recording.write_text("".join(f"{at}\n" for at in range(1, 100)))
    scenario = Study(link=f"trace:{recording}", algorithm="cubic").matrix.runs[0].scenario
    assert class_of(scenario.model_dump(mode="json")) == "trace"


def test_no_more_claims_are_counted_than_papers_have() -> None:
    for radio, paper in (
        ("umts", "hsdpa-2010"),
        ("lte", "lte-4g-vaasa-2013"),
        ("nr", "nr-5g-vaasa-2023"),
    ):
        record = reality_of(radio)
        assert record is not None
        assert record.source.startswith(paper)
        published = sum(each.prediction.network_class == radio for each in read_ledger(PUBLIC))
        most = len(load_claims(paper).claims) + published
        assert 0 <= record.agreed <= record.checked <= most


def test_what_was_never_checked_has_no_record() -> None:
    assert reality_of("wifi") is None
    assert reality_of("trace") is None


def test_a_class_whose_published_record_is_poor_says_so() -> None:
    for each in scores(read_ledger(PUBLIC)):
        record = reality_of(each.network_class)
        assert record is not None
        assert [miss.score for miss in record.misses] == ([each] if each.failures else [])
        assert (
            "published predictions for this class were poor" in phrase_of_record(record)
        ) == bool(each.failures)
