"""Messages about studies that cannot run: place, value and remedy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cwndlab.api.study import Study
from cwndlab.errors import StudyError

pytestmark = pytest.mark.usefixtures("fake_core")

GOOD = """\
[study]
id = "mine"
duration = "10 s"
algorithm = "cubic"

[link]
rate = "20 Mbit/s"
delay = "20 ms"
loss = { kind = "gilbert_elliott", p = "1 %", r = "10 %" }

[[flow]]
start = "1 s"

[record]
events = false
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaint(text: str) -> str:
    """Return the message about a study file mine.toml with this text."""
    Path("mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        Study.load("mine.toml")
    assert caught.value.exit_status == 2
    return str(caught.value)


def test_a_file_whose_name_cannot_be_an_id_needs_an_id(folder: Path) -> None:
    path = folder / "my study.toml"
    path.write_text(GOOD.replace('id = "mine"\n', ""))
    with pytest.raises(
        StudyError, match=r"my study\.toml: the study has no id, and the name 'my s"
    ):
        Study.load(path)
    path.write_text(GOOD)
    assert Study.load(path).id == "mine"


def test_the_good_study_is_good(folder: Path) -> None:
    path = folder / "mine.toml"
    path.write_text(GOOD)
    assert Study.load(path).id == "mine"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'duration = "10 s"',
            'duration = "0 s"',
            'mine.toml:3: study.duration = "0 s"\n  a run of 0 s contains no packets; write a',
        ),
        (
            'id = "mine"',
            'id = "my study"',
            'mine.toml:2: study.id = "my study"\n  write letters, digits',
        ),
        (
            '"20 Mbit/s"',
            '"20 Mbps/s"',
            (
                'mine.toml:7: link.rate = "20 Mbps/s"\n'
                '  not a rate; write for example "20 Mbit/s", "2.5 MB/s"'
            ),
        ),
        (
            'delay = "20 ms"',
            "delay = 20",
            (
                "mine.toml:8: link.delay = 20\n"
                '  the number has no unit; write for example "40 ms", "60 s"'
            ),
        ),
        (
            "delay =",
            "dlay =",
            'mine.toml:8: link.dlay = "20 ms"\n  unknown key; did you mean delay?',
        ),
        (
            "duration =",
            "durration =",
            'mine.toml:3: study.durration = "10 s"\n  unknown key; did you mean duration?',
        ),
        (
            '"cubic"',
            '"westwod"',
            (
                'mine.toml:4: study.algorithm = "westwod"\n'
                '  unknown algorithm "westwod"; did you mean westwood? (cwndlab algorithm list)'
            ),
        ),
        (
            ', r = "10 %"',
            "",
            "mine.toml:9: link.loss.r\n  this key is needed here and is missing",
        ),
        (
            '"gilbert_elliott"',
            '"gilbert"',
            (
                'mine.toml:9: link.loss.kind = "gilbert"\n'
                "  must be one of iid, gilbert_elliott; did you mean gilbert_elliott?"
            ),
        ),
        (
            'start = "1 s"',
            'start = "10 s"',
            (
                'mine.toml:12: flow[0].start = "10 s"\n'
                "  the flow must start before the end of the run (start + start_jitter < duration)"
            ),
        ),
        (
            'start = "1 s"',
            'stack = "linux-6.2"',
            (
                'mine.toml:12: flow[0].stack = "linux-6.2"\n'
                '  unknown stack "linux-6.2"; did you mean linux-6.1? (cwndlab stack list)'
            ),
        ),
        (
            'start = "1 s"',
            "parameters.beta = 5000",
            "mine.toml:12: flow[0].parameters.beta = 5000\n  cubic accepts 1 to 1,023 1/1024",
        ),
        (
            'start = "1 s"',
            "parameters.alpha = 5",
            (
                "mine.toml:12: flow[0].parameters.alpha = 5\n"
                "  cubic has no such parameter; its parameters are beta"
            ),
        ),
        (
            'start = "1 s"',
            'application = { kind = "sized", byts = "1 MB" }',
            (
                "mine.toml:12: flow[0].application.bytes\n"
                "  this key is needed here and is missing: size of the transfer\n"
                'mine.toml:12: flow[0].application.byts = "1 MB"\n'
                "  unknown key; did you mean bytes?"
            ),
        ),
        (
            'start = "1 s"',
            'direction = "reverse"',
            (
                "mine.toml: direction\n"
                "  uplink data need the rate and queue of the uplink: write a [reverse_link] into "
                "the file of the study or of the link, or choose a preset that has both "
                "directions (cwndlab compare also has the option --reverse-link)"
            ),
        ),
        (
            "events = false",
            "events = 3",
            "mine.toml:15: record.events = 3\n  must be true or false",
        ),
        (
            'id = "mine"',
            'id = "mine"\nwarm_up = "10 s"',
            (
                'mine.toml:3: study.warm_up = "10 s"\n  '
                "the warm-up must be shorter than the duration"
            ),
        ),
        (
            'id = "mine"',
            'id = "../mine"',
            "mine.toml:2: study.id",
        ),
        (
            'rate = "20 Mbit/s"',
            'trace = "none.down"',
            'mine.toml:7: link.trace = "none.down"\n  none.down: no such file or directory',
        ),
        (
            'rate = "20 Mbit/s"',
            'queue = "1 BDP"',
            (
                'mine.toml:7: link.queue = "1 BDP"\n'
                "  a link without a rate has no BDP; write packets or bytes"
            ),
        ),
        (
            'rate = "20 Mbit/s"',
            'rate = "20 Mbit/s"\nburst = "1 kB"',
            (
                'mine.toml:8: link.burst = "1 kB"\n'
                "  the burst is too small: a packet of 1500 bytes would never pass; "
                "write at least this size"
            ),
        ),
        (
            'rate = "20 Mbit/s"',
            'rate = "20 Mbit/s"\ntrace = "a"',
            'mine.toml:8: link.trace = "a"\n  "rate" and "trace" both define the rate; remove one',
        ),
        (
            'rate = "20 Mbit/s"',
            'preset = "lossi"',
            (
                'mine.toml:7: link.preset = "lossi"\n'
                '  unknown link "lossi"; did you mean lossy? (cwndlab link list)'
            ),
        ),
        (
            'rate = "20 Mbit/s"',
            'rate = "20 Mbit/s"\noutages = [{ start = "2 s", stop = "1 s" }]',
            'mine.toml:8: link.outages[0].stop = "1 s"\n  the outage does not end after its start',
        ),
        (
            "[record]",
            'algorithm = "reno"\n[record]',
            None,
        ),
    ],
)
def test_each_mistake_has_its_place_and_remedy(old: str, new: str, message: str | None) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if message is None:
        Path("mine.toml").write_text(text, encoding="utf-8")
        Study.load("mine.toml")  # a flow may set its own algorithm
    else:
        assert complaint(text).startswith(message)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (
            'algorithm = ["reno", "cubc"]',
            (
                'mine.toml:17: factors.algorithm[1] = "cubc"\n'
                '  unknown algorithm "cubc"; did you mean cubic? (cwndlab algorithm list)'
            ),
        ),
        (
            'link.rate = ["1 Mbit/s",\n "2 Mbit"]',
            'mine.toml:18: factors.link.rate[1] = "2 Mbit"\n  not a rate; write for example',
        ),
        (
            '"link.rate" = ["1 Mbit/s",\n "2 Mbit"]',
            'mine.toml:18: factors."link.rate"[1] = "2 Mbit"\n  not a rate; write for example',
        ),
        (
            'algorithm = ["hstcp", "highspeed"]',
            'mine.toml:17: factors.algorithm[1] = "highspeed"\n  highspeed is already in this list',
        ),
        (
            'algorithm = ["highspeed", "hstcp"]',
            (
                'mine.toml:17: factors.algorithm[1] = "hstcp"\n'
                '  "hstcp" is highspeed, which is already in this list'
            ),
        ),
        (
            'algorithm = "reno"',
            'mine.toml:17: factors.algorithm = "reno"\n  a factor is a list of values',
        ),
        (
            'algoritm = ["reno"]',
            (
                'mine.toml:17: factors.algoritm[0] = "reno"\n'
                '  "algoritm" is not a key of a study; did you mean algorithm?'
            ),
        ),
        (
            'link.rat = ["1 Mbit/s"]',
            'mine.toml:17: factors.link.rat[0] = "1 Mbit/s"\n  unknown key; did you mean rate?',
        ),
        (
            'flow.1.start = ["1 s"]',
            'mine.toml:17: factors.flow.1.start[0] = "1 s"\n  flow has 1 entry, numbered from 0',
        ),
        (
            'duration.x = ["1 s"]',
            (
                'mine.toml:17: factors.duration.x[0] = "1 s"\n'
                "  duration is a single value and has no keys"
            ),
        ),
        (
            'algorithm = ["reno", "cubic"]\nzip = [["algorithm", "link.rate"]]',
            'mine.toml:18: factors.zip[0]\n  there is no factor "link.rate"',
        ),
        (
            (
                'algorithm = ["reno", "cubic"]\nlink.delay = ["1 ms"]\n'
                'zip = [["algorithm", "link.delay"]]'
            ),
            (
                "mine.toml:19: factors.zip[0]\n"
                "  factors in the same list of `zip` need the same number of values, but "
                "algorithm has 2, link.delay has 1"
            ),
        ),
        (
            'algorithm = ["reno"]\nexclude = [{ algorithm = "reno" }]',
            "mine.toml:18: factors.exclude\n  this rule excludes every combination",
        ),
        (
            'algorithm = ["reno"]\nexclude = [{ algoritm = "reno" }]',
            (
                'mine.toml:18: factors.exclude[0].algoritm = "reno"\n'
                '  there is no factor "algoritm"; did you mean algorithm?'
            ),
        ),
        (
            'repetition = [{ name = "a", seed = 1 }, { name = "b", duration = "5 s" }]',
            (
                "mine.toml:17: factors.repetition\n"
                '  "repetition" is already a column of results; rename the factor'
            ),
        ),
        (
            'goodput_mbit_s = [{ name = "a", seed = 1 }, { name = "b", duration = "5 s" }]',
            'mine.toml:17: factors.goodput_mbit_s\n  "goodput_mbit_s" is already a column',
        ),
        (
            'link.queue = ["67 packets", "1 BDP"]',
            (
                "mine.toml:17: factors.link.queue\n"
                "  67 packets and 1 BDP describe the same run; keep one of them"
            ),
        ),
    ],
)
def test_a_mistake_in_a_factor_is_placed_at_its_value(factors: str, message: str) -> None:
    assert complaint(f"{GOOD}[factors]\n{factors}\n").startswith(message)


@pytest.mark.usefixtures("folder")
def test_keys_in_the_wrong_part_of_a_file_are_told_where_they_belong() -> None:
    assert complaint('duration = "10 s"\n' + GOOD.replace('duration = "10 s"\n', "")) == (
        'mine.toml:1: duration = "10 s"\n  move this key into the table [study]'
    )
    doubled = GOOD.replace("[study]", '[study]\nlink = "lossy"')
    assert complaint(doubled) == (
        'mine.toml:2: study.link = "lossy"\n'
        "  link is set here and again by the table [link]; keep only one of the two"
    )


@pytest.mark.usefixtures("folder")
def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    text = GOOD.replace('"20 Mbit/s"', "20").replace("events", "evnts").replace("start", "strt")
    assert [line for line in complaint(text).split("\n") if not line.startswith(" ")] == [
        "mine.toml:7: link.rate = 20",
        'mine.toml:12: flow[0].strt = "1 s"',
        "mine.toml:15: record.evnts = false",
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: the trace is empty"),
        (b"1\n-2\n", "line 2: not a time in ms"),
        (b"\x7fELF\x01", "line 1: not a time in ms"),
    ],
)
def test_a_trace_that_is_none_is_named_with_its_path(content: bytes, message: str) -> None:
    Path("bad.down").write_bytes(content)
    text = GOOD.replace('rate = "20 Mbit/s"', 'trace = "bad.down"')
    told = f'mine.toml:7: link.trace = "bad.down"\n  bad.down: {message}'
    assert complaint(text) == told


def test_arguments_of_a_call_are_named_like_those_of_a_file() -> None:
    with pytest.raises(StudyError) as caught:
        Study(link="rate=10 Mbit/s,dlay=3 ms", algorithm="reno")
    assert str(caught.value) == (
        'link = "rate=10 Mbit/s,dlay=3 ms"\n  dlay: unknown key; did you mean delay?'
    )
    with pytest.raises(StudyError) as caught:
        Study(link={"rate": "10 Mbit/s"}, algorithm="reno", duration=["1 s", "2 sec"])
    assert str(caught.value) == (
        'duration[1] = "2 sec"\n  not a time; write for example "40 ms", "60 s"'
    )
    with pytest.raises(StudyError, match="no algorithm is given; write, for example,"):
        Study(link="rate=10 Mbit/s")
    with pytest.raises(StudyError) as caught:
        Study(link="rate=10 Mbit/s", algorithm=["reno", "westwod"])
    assert str(caught.value) == (
        'unknown algorithm "westwod"; did you mean westwood? (cwndlab algorithm list)'
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"link": "rate=1 Mbit/s,delay=10 ms,queue=9007199254740993 BDP"},
            "a queue of 15,011,998,757,901,655 packets is too large; write at most 4,294,967,295",
        ),
        ({"link": "rate=2000 Gbit/s,delay=100000 h"}, "write at most 4,294,967,295 packets"),
        (
            {"link": "rate=1 Mbit/s", "application": {"kind": "sized", "bytes": "0 B"}},
            'application.bytes = "0 B"\n  must be greater than 0',
        ),
        ({"link": "delay=0 ms"}, "has neither a rate nor a delay"),
        ({"link": "loss=1 %"}, "has neither a rate nor a delay"),
        ({"link": "lossy", "flow": [{"count": 10**12}]}, "must be less than or equal to 10000"),
        (
            {"link": "lossy", "factors": {f"link.{n}": list(range(1, 101)) for n in "abcd"}},
            "100,000,000 combinations exceed the limit of 1,000,000; split the study",
        ),
    ],
)
def test_what_would_never_end_or_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=re.escape(message)):
        Study(algorithm="reno", **arguments)


def test_a_delay_alone_is_a_link() -> None:
    assert Study(link="delay=1 ms", algorithm="reno").repetitions == 1
    assert Study(link="delay=0 ms,jitter=1 ms", algorithm="reno").repetitions == 1


@pytest.mark.parametrize("link", ["", " ", "rate=", "rate=1 Mbit/s,rate=2 Mbit/s", "a=b=c"])
def test_a_line_that_is_no_link_is_refused(link: str) -> None:
    with pytest.raises(StudyError, match=r"^link = "):
        Study(link=link, algorithm="reno")


@pytest.mark.usefixtures("folder")
def test_unknown_links_stacks_hosts_and_algorithms_are_told_together() -> None:
    said = complaint(
        """
[study]
id = "mine"
stack = "linux-99"

[factors]
link = ["losy", "lossy"]

[[flow]]
algorithm = "cubci"
user_host = "linux-pp"

[[flow]]
algorithm = "reno"
receiver_stack = "linux-6"
"""
    )
    assert sorted(re.findall(r'unknown (\w+) "([\w.-]+)"', said)) == [
        ("algorithm", "cubci"),
        ("host", "linux-pp"),
        ("link", "losy"),
        ("stack", "linux-6"),
        ("stack", "linux-99"),
    ]


@pytest.mark.usefixtures("folder")
def test_all_unknown_names_of_a_factor_are_told_at_once() -> None:
    said = complaint(
        GOOD.replace('algorithm = "cubic"\n', "")
        + '[factors]\nalgorithm = ["cubci", "cubic", "rno"]\nflows = [1, 2]\n'
    )
    assert re.findall(r'unknown algorithm "(\w+)"; did you mean (\w+)', said) == [
        ("cubci", "cubic"),
        ("rno", "reno"),
    ]


def test_factors_that_are_no_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"^factors\n  must be a table"):
        Study(link="rate=10 Mbit/s", algorithm="reno", factors=["reno"])  # type: ignore[arg-type]
    file = tmp_path / "study.toml"
    file.write_text(
        '[study]\nalgorithm = "reno"\nduration = "1 s"\n[link]\nrate = "1 Mbit/s"\n'
        "[quick]\nfactors = 3\n"
    )
    assert len(Study.load(file).cells) == 1
    with pytest.raises(StudyError, match=r"study.toml: factors\n  must be a table"):
        Study.load(file, is_quick=True)
