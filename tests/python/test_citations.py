"""Citations have one form, `RFC 9438 section 4.7`, and cite documents that this project knows.

A wrong citation is worse than none, and nobody checks citations by eye: two digits are easily
transposed.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("algorithms", "crates", "python", "tests", "bench", "studies", "docs", "fuzz", "tools")
SUFFIXES = {".rs", ".c", ".h", ".py", ".toml", ".md", ".pkt"}

# Documents that the project uses. To cite another document, add it here with its subject.
KNOWN_RFCS = {
    768: "UDP",
    791: "IPv4",
    792: "ICMP",
    793: "TCP of 1981",
    894: "IP over Ethernet",
    896: "Nagle's algorithm",
    1071: "the Internet checksum",
    1122: "requirements for hosts",
    1624: "the Internet checksum, updated",
    1951: "DEFLATE",
    1952: "GZIP",
    2018: "SACK option",
    2581: "TCP congestion control of 1999",
    2697: "a single-rate three-colour marker",
    2582: "NewReno of 1999",
    2861: "congestion window validation of 2000",
    2863: "interface counters",
    2883: "D-SACK",
    2988: "RTO of 2000",
    3042: "limited transmit",
    3168: "ECN",
    3390: "initial window of 2002",
    3449: "path asymmetry",
    3465: "appropriate byte counting",
    3517: "SACK loss recovery of 2003",
    3522: "Eifel detection",
    3550: "RTP: jitter",
    3551: "RTP: audio and video",
    3649: "HighSpeed TCP",
    3708: "D-SACK and spurious retransmits",
    3742: "limited slow start",
    4015: "Eifel response",
    4291: "IPv6 addresses",
    4898: "TCP variables (Web100)",
    5166: "metrics for congestion control",
    5280: "X.509 certificates",
    5482: "TCP's user timeout",
    5681: "TCP congestion control",
    5682: "F-RTO",
    5827: "early retransmit",
    5961: "blind attacks inside the window",
    6056: "port randomisation",
    6298: "RTO",
    6356: "coupled congestion control",
    6528: "initial sequence numbers",
    6582: "NewReno",
    6598: "addresses shared by carriers",
    6675: "SACK loss recovery",
    6691: "the MSS option",
    6817: "LEDBAT",
    6928: "initial window of 10",
    6937: "PRR",
    7323: "timestamps and window scaling",
    7567: "AQM recommendations",
    7661: "congestion window validation",
    8033: "PIE",
    8200: "IPv6",
    8257: "DCTCP",
    8259: "JSON",
    8289: "CoDel",
    8290: "FQ-CoDel",
    8312: "CUBIC of 2018",
    8446: "TLS 1.3",
    8511: "ABE",
    8867: "test cases for real-time media",
    8985: "RACK-TLP",
    9000: "QUIC",
    9110: "HTTP",
    9113: "HTTP/2",
    9112: "HTTP/1.1",
    9293: "TCP",
    9331: "L4S",
    9332: "dual-queue coupled AQM",
    9406: "HyStart++",
    9438: "CUBIC",
    9768: "More Accurate ECN Feedback",
    9959: "Careful Resume",
}

MENTION = re.compile(r"\brfc[-_ ]?\d+", re.IGNORECASE)
FORM = re.compile(r"RFC (\d{3,5})(?![\d])(?: section \d+(?:\.\d+)*[a-z]?| appendix [A-Z][\d.]*)?")
# Other forms of citations: "RFC 9438.4.7", "RFC 9438, Section 4.7", "§".
OTHER_FORM = re.compile(
    r"\.\d|,?\s+(?:Section|Sect|sec\.|s\.|chapter|Appendix)\b|,\s*section\b|\s*§|#section"
)


def problems(text: str) -> list[str]:
    """Return the citations in a text that have another form or cite an unknown document."""
    # A citation may be split over two comment lines.
    text = re.sub(r"\n\s*(?:///?|//!|\*|#)?\s*", " ", text)
    found = []
    for mention in MENTION.finditer(text):
        excerpt = text[mention.start() : mention.start() + 40]
        form = FORM.match(text, mention.start())
        if form is None:
            found.append(f"{excerpt!r}: write for example 'RFC 9438 section 4.7'")
        elif OTHER_FORM.match(text, form.end()):
            found.append(f"{excerpt!r}: write 'RFC {form[1]} section N.N'")
        elif int(form[1]) not in KNOWN_RFCS:
            found.append(f"{excerpt!r}: RFC {form[1]} is not among the documents known here")
    return found


def sources() -> list[Path]:
    """Return every source and documentation file of the project."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files += ROOT.glob("*.md")
    return [path for path in files if path.suffix in SUFFIXES and path != Path(__file__)]


def test_citations_are_in_one_form() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in sources()
        for problem in problems(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    ["RFC 9438 section 4.7", "as RFC 6298 says.", "RFC 6298, RFC 5682", "(RFC 2018)",
     "RFC 6675 section\n/// 5", "RFC 7323 appendix A"],
)  # fmt: skip
def test_good_citations_pass(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    "text",
    ["RFC9438", "RFC 9438.4.7", "RFC 9438, Section 4.7", "RFC 9438 Section 4", "rfc 9438",
     "RFC 9483 section 4.7", "RFC 6298 §2", "RFC-5681"],
)  # fmt: skip
def test_other_citations_are_found(text: str) -> None:
    assert len(problems(text)) == 1
