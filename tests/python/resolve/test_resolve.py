from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cwndlab.api.study import Study
from cwndlab.errors import LinkError, StudyError
from cwndlab.resolve.hosts import hosts, load_host
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from cwndlab.schema.host import Host
from cwndlab.schema.path import PathPart
from wires import wires

pytestmark = pytest.mark.usefixtures("fake_core")


def scenario(**keys: Any) -> si.Scenario:  # noqa: ANN401  keys of a study
    made = Study(**{"link": "rate=10 Mbit/s,delay=20 ms", "algorithm": "reno", **keys})
    return made.cells[0].resolved.scenario


CODEL = {"kind": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": False}
FQ_CODEL = {**CODEL, "kind": "fq_codel", "queues": 1024, "quantum_bytes": 1514, "ecn": True}
DUAL_PI2 = {
    "kind": "dualpi2",
    "target_ns": 15_000_000,
    "max_rtt_ns": 100_000_000,
    "threshold_ns": 800_000,
}
PIE = {"kind": "pie", "target_ns": 15_000_000, "burst_ns": 150_000_000, "ecn": False}
RED = {
    "kind": "red",
    "max_probability_ppb": 100_000_000,
    "weight_shift": 9,
    "ecn": False,
    "gentle": False,
    "hard_drop": False,
}


def path(**keys: Any) -> PathPart:  # noqa: ANN401  keys of a study
    found = scenario(**keys).path
    assert isinstance(found, PathPart)
    return found


def test_delay_holds_for_both_directions_unless_the_reverse_link_has_its_own() -> None:
    assert path().reverse[0].delay_ns == 20_000_000
    assert path(reverse_link="rate=1 Mbit/s").reverse[0].delay_ns == 20_000_000
    own = path(reverse_link="rate=1 Mbit/s,delay=3 ms").reverse[0]
    assert own.delay_ns == 3_000_000
    none = scenario(link="rate=10 Mbit/s,delay=0 ms", reverse_link="delay=40 ms")
    assert (wires(none).forward[0].delay_ns, wires(none).reverse[0].delay_ns) == (0, 40_000_000)
    chain = scenario(link={"stage": [{"delay": "1 ms"}, {"delay": "2 ms"}]})
    assert [stage.delay_ns for stage in wires(chain).reverse] == [3_000_000]


def test_a_queue_holds_one_bdp_of_the_whole_round_trip_unless_said() -> None:
    # 10 Mbit/s * 40 ms = 400,000 bit = 33.3 packets of 1500 bytes.
    assert path().forward[0].queue == {"kind": "drop_tail", "packets": 34}
    framed = scenario(link="rate=10 Mbit/s,delay=20 ms,framing=100 bytes")
    assert wires(framed).forward[0].queue == {"kind": "drop_tail", "packets": 32}
    short = scenario(link="rate=10 Mbit/s")
    assert wires(short).forward[0].queue == {"kind": "drop_tail", "packets": 10}
    half = scenario(link="rate=10 Mbit/s,delay=20 ms,queue=0.5 BDP")
    assert wires(half).forward[0].queue == {"kind": "drop_tail", "packets": 17}
    said = scenario(link="rate=10 Mbit/s,delay=20 ms,queue=64 KiB")
    assert wires(said).forward[0].queue == {"kind": "drop_tail", "bytes": 65536}
    free = scenario(link="delay=20 ms")
    assert wires(free).forward[0].queue == {"kind": "drop_tail"}


def test_a_trace_has_250_packets_and_mahimahis_framing_unless_said(tmp_path: Path) -> None:
    trace = tmp_path / "x.down"
    trace.write_text("1\n2\n3\n")
    stage = path(link=f"trace:{trace},delay=20 ms").forward[0]
    assert (stage.queue, stage.framing_bytes) == ({"kind": "drop_tail", "packets": 250}, 4)
    assert stage.rate.kind == "mahimahi"
    stage = path(link=f"trace:{trace},framing=0 bytes,queue=9 packets").forward[0]
    assert (stage.queue, stage.framing_bytes) == ({"kind": "drop_tail", "packets": 9}, 0)


def test_every_kind_of_queue_has_its_limit_where_it_belongs() -> None:
    def queue(**keys: Any) -> PathPart:  # noqa: ANN401  keys of a link
        link = {"rate": "10 Mbit/s", "delay": "20 ms", **keys}
        found: PathPart = path(link=link).forward[0].queue
        return found

    assert queue(aqm="codel") == {**CODEL, "packets": 1000}
    assert queue(aqm={"kind": "codel", "target": "15 ms", "ecn": True}, queue="2 MB") == (
        {**CODEL, "target_ns": 15_000_000, "ecn": True, "bytes": 2_000_000}
    )
    assert queue(aqm="fq_codel") == {**FQ_CODEL, "packets": 10_240}
    flows = {"kind": "fq_codel", "queues": 64, "quantum": "300 bytes", "interval": "50 ms"}
    assert queue(aqm=flows, queue="1 MB") == (
        {
            **FQ_CODEL,
            "queues": 64,
            "quantum_bytes": 300,
            "interval_ns": 50_000_000,
            "bytes": 1_000_000,
        }
    )
    assert queue(aqm="pie") == {**PIE, "packets": 1000}
    pie = {"kind": "pie", "target": "20 ms", "burst": "0 s", "ecn": True}
    assert queue(aqm=pie, queue="2 BDP") == (
        {**PIE, "target_ns": 20_000_000, "burst_ns": 0, "ecn": True, "packets": 67}
    )
    assert queue(aqm="dualpi2") == {**DUAL_PI2, "packets": 10_000}
    dual = {"kind": "dualpi2", "target": "5 ms", "max_rtt": "200 ms", "threshold": "1 ms"}
    assert queue(aqm=dual, queue="1 MB") == {
        "kind": "dualpi2",
        "target_ns": 5_000_000,
        "max_rtt_ns": 200_000_000,
        "threshold_ns": 1_000_000,
        "bytes": 1_000_000,
    }
    red = {"kind": "red", "min": "30 kB", "max": "90 kB"}
    assert queue(aqm=red, queue="100 packets") == (
        {**RED, "min_bytes": 30_000, "max_bytes": 90_000, "limit_bytes": 150_000}
    )
    assert queue(aqm={"kind": "step", "mark": "20 packets"}, queue="100 packets") == (
        {"kind": "step", "mark_packets": 20, "packets": 100}
    )
    assert queue(aqm={"kind": "step", "mark": "30 kB"}) == (
        {"kind": "step", "mark_bytes": 30_000, "packets": 1000}
    )


def test_short_and_long_forms_are_the_same() -> None:
    short = scenario(link="rate=10 Mbit/s,loss=1 %,jitter=2 ms,aqm=codel,burst=15 kB")
    long = scenario(
        link={
            "rate": "10 Mbit/s",
            "burst": "15 kB",
            "loss": {"kind": "iid", "share": "1 %"},
            "jitter": {"kind": "uniform", "most": "2 ms"},
            "aqm": {"kind": "codel"},
        }
    )
    assert short == long
    assert scenario(application="bulk") == scenario(application={"kind": "bulk"})


def test_a_preset_is_changed_by_the_keys_beside_it() -> None:
    plain = scenario(link="lossy")
    changed = scenario(link="lossy,rate=20 Mbit/s")
    assert (
        wires(plain).forward[0].loss
        == wires(changed).forward[0].loss
        == {"kind": "iid", "ppb": 10**7}
    )
    assert wires(changed).forward[0].rate == {"kind": "fixed", "bits_per_sec": 20_000_000}
    assert wires(plain).reverse[0].rate == {"kind": "fixed", "bits_per_sec": 10_000_000}
    other = scenario(link="lossy", reverse_link="rate=1 Mbit/s")
    assert wires(other).reverse[0].rate == {"kind": "fixed", "bits_per_sec": 1_000_000}


@pytest.mark.parametrize("name", presets())
def test_every_figure_of_a_preset_has_its_source(name: str) -> None:
    preset = load_preset(name, Path())
    assert [figure for figure in preset.figures() if preset.mark_of(figure) is None] == []
    used = {id(preset.mark_of(figure)) for figure in preset.figures()}
    assert [key for key, mark in preset.sources.items() if id(mark) not in used] == []


def test_a_mark_is_one_of_three_and_the_nearest_one_counts(tmp_path: Path) -> None:
    head = 'title = "t"\n[[link.stage]]\nrate = "1 Mbit/s"\ndelay = "2 ms"\n[sources]\n'
    file = tmp_path / "x.toml"
    file.write_text(f'{head}"link.stage.0" = {{ source = "s" }}\nrate = {{ assumed = "a" }}\n')
    preset = load_preset("x.toml", tmp_path)
    assert preset.figures() == ["link.stage.0.delay", "link.stage.0.rate"]
    marks = [preset.mark_of(figure) for figure in preset.figures()]
    assert [(mark.kind, mark.text) for mark in marks if mark] == [("source", "s")] * 2
    (tmp_path / "y.toml").write_text(f'{head}rate = {{ assumed = "a", source = "s" }}\n')
    with pytest.raises(LinkError, match="is exactly one of"):
        load_preset("y.toml", tmp_path)


@pytest.mark.parametrize("name", presets())
def test_every_preset_resolves(name: str) -> None:
    found = scenario(link=name).path
    if isinstance(found, PathPart) and found.kind == "wire":
        assert any(stage.rate.kind != "unlimited" for stage in found.forward)


def test_a_link_may_be_a_file_whose_paths_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "x.down").write_text("1\n")
    (folder / "mine.toml").write_text('trace = "x.down"\ndelay = "7 ms"\n')
    (folder / "both.toml").write_text(
        'title = "t"\n[link]\nrate = "1 Mbit/s"\n[reverse_link]\nrate = "2 Mbit/s"\n'
    )
    monkeypatch.chdir(tmp_path)
    mine = path(link="links/mine.toml").forward[0]
    assert (mine.rate.kind, mine.delay_ns) == ("mahimahi", 7_000_000)
    assert path(link="links/both.toml").reverse[0].rate.kind == "fixed"
    (tmp_path / "s.toml").write_text(
        '[study]\nalgorithm="reno"\nlink="links/mine.toml,delay=1 ms"\n'
    )
    loaded = Study.load(tmp_path / "s.toml").cells[0].resolved
    assert wires(loaded.scenario).forward[0].delay_ns == 1_000_000


def test_a_mistake_in_a_link_file_names_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('rate = "1 Mbit/s"\ndely = "7 ms"\n')
    with pytest.raises(Exception, match=r'mine\.toml:2: dely = "7 ms"\n  unknown key; did you'):
        scenario(link="mine.toml")


def test_flows_inherit_from_the_study_and_count() -> None:
    made = scenario(
        stack="ns-2-packet",
        flow=[
            {"count": 2},
            {"algorithm": "hstcp", "bytes": "100 kB", "receiver_stack": "linux-6.1"},
        ],
    )
    first, second, third = made.flows
    assert [flow.id for flow in made.flows] == [0, 1, 2]
    assert first.model_copy(update={"id": 1}) == second
    assert first.sender == si.End(stack="ns-2-packet", algorithm="reno")
    assert third.sender == si.End(stack="ns-2-packet", algorithm="highspeed")
    assert third.receiver == si.End(stack="linux-6.1", algorithm="highspeed")
    assert third.application == apps.Sized(bytes=100_000)
    assert len(scenario(flows=4).flows) == 4


DEVICE = {"queue_packets": 3, "buffer": "4 kB", "rate": "2 Mbit/s"}


def test_hosts_stand_at_their_places_whichever_way_the_data_run() -> None:
    plain, behind = scenario(flow=[{}, {"server_host": DEVICE}]).flows
    assert plain.sender.host is plain.receiver.host is behind.receiver.host is None
    device = Host(queue_packets=3, buffer_bytes=4_000, bits_per_sec=2_000_000)
    assert behind.sender.host == device
    both = {"user_host": "linux-ppp", "reverse_link": "rate=1 Mbit/s"}
    up, down = scenario(flow=[{"direction": "uplink"}, {}], server_host=DEVICE, **both).flows
    assert up.sender.host == down.receiver.host != device
    assert up.receiver.host == down.sender.host == device


def test_a_host_has_offloads_and_a_discipline_of_its_queue() -> None:
    card = {"queue_packets": 1000, "rate": "1 Gbit/s", "gso_packets": 44, "gro": "50 us"}
    (flow,) = scenario(server_host={**card, "qdisc": "fq"}).flows
    assert flow.sender.host == Host(
        queue_packets=1000, bits_per_sec=10**9, gso_packets=44, gro_ns=50_000, qdisc="fq"
    )


def test_a_host_by_name_may_be_changed_or_left_out() -> None:
    (flow,) = scenario(server_host={"preset": "linux-ppp", "queue_packets": 1000}).flows
    assert flow.sender.host
    assert (flow.sender.host.queue_packets, flow.sender.host.buffer_bytes) == (1000, 4500)
    factors = {"server_host.queue_packets": [3, 30]}
    link = "rate=10 Mbit/s,delay=20 ms"
    study = Study(link=link, algorithm="reno", server_host="linux-ppp", factors=factors)
    found = [cell.resolved.scenario.flows[0].sender.host for cell in study.cells]
    assert [host.queue_packets for host in found if host] == [3, 30]
    assert scenario(server_host="none") == scenario()
    (flow,) = scenario(server_host="windows-ndis", flow=[{"server_host": "none"}]).flows
    assert flow.sender.host is None


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ({"buffer": "4 kB"}, "this key is needed here and is missing"),
        ("linux-pp", "did you mean linux-ppp?"),
        ({"queue_packets": 3}, "a network device in front of a wire needs a rate"),
        ({"queue_pakets": 3}, "unknown key; did you mean queue_packets?"),
    ],
)
def test_what_is_wrong_with_a_host_is_told(host: object, message: str) -> None:
    with pytest.raises(StudyError) as refused:
        scenario(server_host=host)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", hosts())
def test_every_figure_of_a_host_says_whence_it_is(name: str) -> None:
    preset = load_host(name)
    figures = {f"host.{key}" for key in preset.host.model_fields_set}
    assert figures == preset.sources.keys()


def test_directions_have_two_names() -> None:
    up = scenario(direction="uplink", reverse_link="rate=1 Mbit/s")
    assert up.flows[0].direction == "reverse"
    mixed = scenario(
        flow=[{}, {"direction": "reverse"}], direction="downlink", reverse_link="rate=1 Mbit/s"
    )
    assert [flow.direction for flow in mixed.flows] == ["forward", "reverse"]


def test_flows_name_their_users() -> None:
    def users(**keys: Any) -> list[int]:  # noqa: ANN401  keys of a study
        return [flow.user for flow in scenario(**keys).flows]

    assert users(flows=3) == [1, 1, 1]
    assert users(flows=3, user="each") == [1, 2, 3]
    assert users(flow=[{"count": 2, "user": 4}, {"count": 2, "user": "each"}, {}]) == [
        4,
        4,
        1,
        2,
        1,
    ]


def test_canonical_json_has_sorted_keys_and_no_nulls() -> None:
    text = scenario().to_json()
    assert "null" not in text
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


PERIODS = """
title = "t"
[link.cell]
radio = { kind = "lte", resource_blocks = 50, layers = 1, category = 3 }
user = { downlink = "12 dB", uplink = "10 dB" }
access = { request_period = "10 ms" }
background = [
  { users = 2, way = "down", lowest = "8 dB", highest = "9 dB", on = "1 s", off = "9 s" },
]
downlink = { adaptation = { kind = "fixed", scheme = 9 } }
uplink = { adaptation = { kind = "fixed", scheme = 9 } }
[period.night]
[period."rush hour"]
cell.background = [
  { users = 9, way = "down", lowest = "8 dB", highest = "9 dB", on = "1 s", off = "1 s" },
]
[sources]
background = { calibrated_to = "table 6" }
link = { assumed = "a" }
"""


def test_a_preset_may_know_times_of_the_day(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(PERIODS)

    def users(line: str) -> list[int]:
        path = scenario(link=f"{tmp_path}/{line}").path
        assert isinstance(path, PathPart)
        return [each.users for each in path.background]

    assert users("x.toml") == users("x.toml,period=night") == [2]
    assert users("x.toml,period=rush hour") == [9]
    with pytest.raises(
        StudyError, match="has no values for this period; its periods are night, rush hour"
    ):
        scenario(link=f"{tmp_path}/x.toml,period=noon")
    with pytest.raises(StudyError, match="the preset lossy has no values for this period"):
        scenario(link="lossy,period=night")
    marks = load_preset("x.toml", tmp_path)
    assert marks.mark_of("period.rush hour.cell.background.0.off") == marks.sources["background"]
    assert "period.rush hour.cell.background.0.off" in marks.figures()


def test_files_go_up_and_down_over_http_and_sftp() -> None:
    def application(direction: str, **given: object) -> apps.Application:
        made = scenario(direction=direction, reverse_link="rate=1 Mbit/s", application=given)
        return made.flows[0].application

    http = {"kind": "http", "bytes": "293 MB", "chunk": "2 MB"}
    up = apps.Http(bytes=293 * 10**6, chunk_bytes=2 * 10**6, is_upload=True)
    assert application("uplink", **http) == up
    assert application("downlink", **http) == up.model_copy(update={"is_upload": False})
    sftp = application("uplink", kind="sftp", bytes="1 MB", client="winscp")
    assert sftp == apps.Sftp(bytes=10**6, request_bytes=32768, outstanding=4, is_upload=True)
    openssh = application("downlink", kind="sftp", bytes="1 MB")
    assert openssh == apps.Sftp(bytes=10**6, request_bytes=32768, outstanding=64, is_upload=False)
    with pytest.raises(
        StudyError, match="no such SFTP client; the known clients are openssh, winscp, filezilla"
    ):
        application("uplink", kind="sftp", bytes="1 MB", client="putty")


def test_ends_are_of_machines_whichever_way_data_go(tmp_path: Path) -> None:
    def ends(direction: str, more: str = "") -> list[tuple[str, str]]:
        file = tmp_path / "s.toml"
        file.write_text(
            f'[study]\nalgorithm = "hstcp"\nuser_stack = "ns-2-packet"\ndirection = "{direction}"\n'
            f'[link]\nrate = "1 Mbit/s"\n[reverse_link]\nrate = "1 Mbit/s"\n{more}'
        )
        flow = Study.load(file).cells[0].resolved.scenario.flows[0]
        return [(end.stack, end.algorithm) for end in (flow.sender, flow.receiver)]

    server, user = "linux-6.1", "ns-2-packet"
    assert ends("downlink") == [(server, "highspeed"), (user, "highspeed")]
    assert ends("uplink") == [(user, "highspeed"), (server, "highspeed")]
    # Set on the client, an algorithm applies only to uploads.
    client = '[live]\nalgorithm_on = "client"'
    assert ends("uplink", client) == [(user, "highspeed"), (server, "cubic")]
    assert ends("downlink", client) == [(server, "cubic"), (user, "highspeed")]
    on_server = '[live]\nalgorithm_on = "server"'
    assert ends("downlink", on_server) == [(server, "highspeed"), (user, "cubic")]
    assert ends("uplink", on_server) == [(user, "cubic"), (server, "highspeed")]
