"""Measured files become results; each kind is checked against known facts of the same transfer."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import cwndlab as cw
from cwndlab import cli
from cwndlab.api.results import open_results
from cwndlab.errors import MeasurementError, ResultsError
from cwndlab.imports import ImportRequest, ImportSummary, import_folder, spool, statistics
from cwndlab.imports.folder import read_file
from cwndlab.imports.iperf3 import read_iperf3
from cwndlab.imports.measurement import FLOW_COLUMNS, SAMPLE_COLUMNS
from cwndlab.imports.pattern import NamePattern
from cwndlab.imports.socket_statistics import read_socket_statistics
from cwndlab.imports.table import read_table
from cwndlab.judge.comparison import compare, contestants_of
from cwndlab.report import write_report
from cwndlab.text import untrusted

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.api.results import Results
    from cwndlab.imports.measurement import Measurement

MEASURED = Path(__file__).parents[1] / "measured"
LINK = "rate=10 Mbit/s,delay=20 ms,queue=50 packets"


def imported(folder: Path, pattern: str, results: Path, warm_up_ns: int = 0) -> ImportSummary:
    request = ImportRequest(folder, NamePattern.parse(pattern), results, "mine", warm_up_ns)
    return import_folder(request)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Results:
    study = cw.Study(
        link=LINK,
        algorithm=["reno", "cubic"],
        duration="6 s",
        repetitions=2,
        factors={"link.delay": ["20 ms", "40 ms"]},
        record={"pcap": True},
    )
    return study.run(tmp_path_factory.mktemp("simulated") / "results")


@pytest.fixture
def captures(simulated: Results, tmp_path: Path) -> Path:
    """Capture a simulated study, in files with names that a user would choose."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for row in simulated.runs().to_dicts():
        delay = row["delay"].replace(" ", "")
        name = f"{row['algorithm']}_{delay}_{row['repetition']}.pcap"
        shutil.copy(simulated.path / "files" / row["run"] / "capture.pcap", folder / name)
    return folder


def test_columns_are_those_of_the_simulator(simulated: Results) -> None:
    for table, columns in (("flows", FLOW_COLUMNS), ("samples", SAMPLE_COLUMNS)):
        own = simulated.scan(table).collect_schema().names()
        assert tuple(own) == ("run", *(name for name in columns if name != "sent_by"))


def test_a_capture_tells_what_the_endpoints_know(
    simulated: Results, captures: Path, tmp_path: Path
) -> None:
    pattern = "{algorithm}_{delay}_{repetition}.pcap"
    found = open_results(imported(captures, pattern, tmp_path / "r").folder)
    assert found.factors == ("algorithm", "delay")
    theirs = {
        (row["factor_algorithm"], row["delay"].replace(" ", ""), row["repetition"]): row
        for row in simulated.flows().to_dicts()
    }
    rows = found.flows().to_dicts()
    assert len(rows) == len(theirs) == 8
    for row in rows:
        truth = theirs[row["factor_algorithm"], row["delay"], row["repetition"]]
        for column in ("sent_pkts", "retransmitted_pkts", "retransmission_bursts", "timeouts"):
            assert row[column] == truth[column], column
        for column in ("goodput_mbit_s", "rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_base_ms"):
            assert row[column] == pytest.approx(truth[column], rel=0.02), column


def test_the_report_of_an_import_judges_without_a_run(captures: Path, tmp_path: Path) -> None:
    summary = imported(captures, "{algorithm}_{delay}_{repetition}.pcap", tmp_path / "r")
    page = write_report(open_results(summary.folder), formats=()).read_text(encoding="utf-8")
    assert "cwndlab import" in page
    assert "mine (imported)" in page
    for words in ("All settings at a glance", "delay 40ms", "goodput"):
        assert words.lower() in page.lower()
    with pytest.raises(ResultsError, match="was imported from"):
        _ = open_results(summary.folder).study


def test_importing_again_changes_nothing_and_new_files_are_added(
    captures: Path, tmp_path: Path
) -> None:
    pattern = "{algorithm}_{delay}_{repetition}.pcap"
    late = captures / "cubic_40ms_1.pcap"
    late.rename(tmp_path / late.name)
    first = open_results(imported(captures, pattern, tmp_path / "r").folder)
    runs = set(first.runs()["run"])
    assert len(runs) == 7
    (tmp_path / late.name).rename(late)
    second = open_results(imported(captures, pattern, tmp_path / "r").folder)
    assert len(set(second.runs()["run"]) - runs) == 1
    assert [entry["status"] for entry in second.history] == ["done"] * 8


@pytest.mark.parametrize(
    ("name", "sender", "receiver"),
    [("cubic_up_1", "client", "server"), ("bbr_down_2", "server", "client")],
)
def test_iperf3_values_are_its_own(name: str, sender: str, receiver: str) -> None:
    documents: dict[str, dict[str, Any]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for side in (sender, receiver):
        path = MEASURED / f"{name}_{side}.json"
        documents[side] = json.loads(path.read_bytes())
        rows[side] = read_file(path, 0)[0].flows[0]
    theirs = documents[receiver]["end"]["streams"][0]["receiver"]["bits_per_second"] / 1e6
    assert rows[receiver]["goodput_mbit_s"] == pytest.approx(theirs, rel=1e-3)
    stream = documents[sender]["end"]["streams"][0]["sender"]
    assert rows[sender]["retransmitted_pkts"] == stream["retransmits"]
    assert rows[sender]["rtt_mean_ms"] == pytest.approx(stream["mean_rtt"] / 1e3, rel=0.01)
    assert rows[sender].get("timeouts") is None, "iperf3 does not tell"
    assert rows[sender].get("rtt_p95_ms") is None, "smoothed values hide the tail"


def test_both_ends_files_of_a_transfer_are_one_run(tmp_path: Path) -> None:
    found = imported(MEASURED, "{algorithm}_{direction}_{repetition}_{side}.json", tmp_path / "r")
    flows = open_results(found.folder).flows()
    assert flows.height == 2
    assert flows.filter(direction="forward")["factor_direction"].to_list() == ["downlink"]
    for row in flows.to_dicts():
        for column in ("goodput_mbit_s", "retransmitted_pkts", "rtt_p50_ms", "delivered_bytes"):
            assert row[column] is not None, column


def test_a_client_file_with_the_servers_report_inside_is_both_ends(tmp_path: Path) -> None:
    """As `iperf3 --json --get-server-output` writes the file."""
    client, server = (
        json.loads((MEASURED / f"cubic_up_1_{side}.json").read_bytes())
        for side in ("client", "server")
    )
    alone = read_iperf3(io.BytesIO(json.dumps(client).encode()), 1.0)
    theirs = read_iperf3(io.BytesIO(json.dumps(server).encode()), 1.0)
    client["server_output_json"] = server
    both = read_iperf3(io.BytesIO(json.dumps(client).encode()), 1.0)
    assert alone.flows[0].get("goodput_mbit_s") is None, "the sender's intervals count writes"
    assert both.flows[0]["goodput_mbit_s"] == theirs.flows[0]["goodput_mbit_s"]
    assert both.flows[0]["retransmitted_pkts"] == alone.flows[0]["retransmitted_pkts"]
    (samples,) = both.samples
    assert samples["goodput_mbit_s"].null_count() < samples.height
    assert samples["cwnd_pkts"].null_count() < samples.height
    (tmp_path / "cubic.json").write_text(json.dumps(client), encoding="utf-8")
    found = imported(tmp_path, "{algorithm}.json", tmp_path / "r")
    (row,) = open_results(found.folder).flows().to_dicts()
    assert row["goodput_mbit_s"] is not None


def test_a_label_that_the_sender_contradicts_gets_no_credit(tmp_path: Path) -> None:
    """The downlink of a thesis that set the algorithm only on the client."""
    folder = tmp_path / "f"
    folder.mkdir()
    shutil.copy(MEASURED / "cubic_up_1_client.json", folder / "vegas_up.json")
    shutil.copy(MEASURED / "bbr_down_2_client.json", folder / "bbr_down.json")
    found = imported(folder, "{algorithm}_{direction}.json", tmp_path / "r")
    contestants = contestants_of(compare(open_results(found.folder)))
    assert sorted(contestants) == ["bbr", "vegas (sent by cubic)"]
    assert any("no data of this file are attributed to vegas" in note for note in found.notes)


def test_socket_statistics_agree_with_iperf3() -> None:
    log = read_file(MEASURED / "cubic_up_1.ss", 0)[0]
    (flow,) = log.flows
    iperf3 = read_file(MEASURED / "cubic_up_1_client.json", 0)[0].flows[0]
    assert flow["algorithm"] == "cubic"
    assert flow["retransmitted_pkts"] == iperf3["retransmitted_pkts"]
    assert flow["rtt_p50_ms"] == pytest.approx(iperf3["rtt_p50_ms"], rel=0.15)
    # The bytes that iperf3's server read; the log lacks up to its last tenth of a second.
    assert flow["goodput_mbit_s"] == pytest.approx(19.1, rel=0.02)
    assert flow["cwnd_max_pkts"] > 50


def test_socket_statistics_without_times_say_how_to_log_them() -> None:
    text = (MEASURED / "cubic_up_1.ss").read_text(encoding="utf-8")
    without = "\n".join(line for line in text.splitlines() if not line[:1].isdigit())
    with pytest.raises(MeasurementError, match="date"):
        read_socket_statistics(io.BytesIO(without.encode()), 0)


def changed_ss(change: Callable[[str], str]) -> Measurement:
    text = (MEASURED / "cubic_up_1.ss").read_text(encoding="utf-8")
    return read_socket_statistics(io.BytesIO(change(text).encode()), 0)


@pytest.mark.parametrize("between", [" ", ' users:(("iperf3",pid=7,fd=5)) timer:(on,1ms,0) '])
def test_socket_statistics_on_one_line_name_the_same_algorithm(between: str) -> None:
    """As `ss -tinO` and `ss -tinOpo` print them."""
    assert changed_ss(lambda text: text.replace("\n\t ", between)).flows == changed_ss(str).flows


def test_ports_that_are_used_again_are_another_connection() -> None:
    begun_s = 1795251407  # the second of the log's first reading
    again = changed_ss(lambda text: text + text.replace(str(begun_s)[:7], str(begun_s + 4000)[:7]))
    (once,) = changed_ss(str).flows
    first, second = again.flows
    assert first["goodput_mbit_s"] == once["goodput_mbit_s"]
    assert second["delivered_bytes"] == once["delivered_bytes"]


def test_the_lines_of_a_json_stream_are_the_document(tmp_path: Path) -> None:
    path = MEASURED / "cubic_up_1_client.json"
    document = json.loads(path.read_bytes())
    events = [("start", document["start"])]
    events += [("interval", each) for each in document["intervals"]]
    events += [("end", document["end"])]
    lines = [json.dumps({"event": name, "data": data}) + "\n" for name, data in events]
    (tmp_path / "stream").write_text("".join(lines), encoding="utf-8")
    found, whole = (read_file(each, 1.0)[0] for each in (tmp_path / "stream", path))
    assert found.flows == whole.flows
    assert found.samples[0].equals(whole.samples[0])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["cubic_up_1_client.json", "cubic_up_1.ss"])
def test_files_that_powershell_wrote_are_read(name: str, encoding: str, tmp_path: Path) -> None:
    text = (MEASURED / name).read_text(encoding="utf-8")
    (tmp_path / name).write_text(text, encoding=encoding)
    assert read_file(tmp_path / name, 0)[0].flows == read_file(MEASURED / name, 0)[0].flows


WEB100 = """Duration CurMSS CurCwnd SmoothedRTT MinRTT PktsRetrans Timeouts ThruBytesAcked
0 1448 14480 40 40 0 0 0
1000000 1448 72400 60 40 0 0 1250000
2000000 1448 36200 80 40 3 1 2500000
3000000 1448 36200 70 40 3 1 3750000
"""


def test_web100_variables_are_known() -> None:
    (flow,) = read_table(io.BytesIO(WEB100.encode()), 0).flows
    assert flow["goodput_mbit_s"] == pytest.approx(10)
    assert (flow["timeouts"], flow["retransmitted_pkts"]) == (1, 3)
    assert (flow["cwnd_max_pkts"], flow["rtt_base_ms"]) == (50, 40)
    assert flow["rtt_p50_ms"] == 65
    warm = read_table(io.BytesIO(WEB100.encode()), 1).flows[0]
    assert warm["rtt_p50_ms"] == 70
    assert warm["window_s"] == 2


@pytest.mark.parametrize(("column", "said"), [("srtt_ms", "smoothed RTT"), ("rtt_ms", "rtt_ms")])
def test_a_table_states_from_which_samples_its_round_trips_are(column: str, said: str) -> None:
    text = f"t_s,acked_bytes,{column}\n0,0,20\n1,100000,21\n2,200000,22\n"
    (note,) = read_table(io.BytesIO(text.encode()), 0).notes
    assert said in note


def test_a_csv_of_rates_needs_no_counters() -> None:
    (flow,) = read_table(
        io.BytesIO(b"time;goodput_mbit_s;rtt\n0;10;40\n1;12;40\n2;14;44\n"), 0
    ).flows
    assert flow["goodput_mbit_s"] == 13
    assert flow["rtt_p50_ms"] == 40


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cwnd,srtt\n1,2\n", "no time column"),
        ("t_s,cwnd\n0,1\n1,2\n", "no column with the amount"),
        ("t_s,goodput_mbit_s\n0,1\n", "fewer than two"),
        ("t_s,goodput_mbit_s\n0,1\nx,2\n", "line 3: 'x' is not a number"),
        ("t_s,acked_bytes\n0,1\n1,1e999\n", "line 3: '1e999' is not a number"),
    ],
)
def test_a_table_that_cannot_be_read_says_why(text: str, complaint: str) -> None:
    with pytest.raises(MeasurementError, match=complaint):
        read_table(io.BytesIO(text.encode()), 0)


def test_failed_transfers_stay_on_record(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    shutil.copy(MEASURED / "cubic_up_1_client.json", folder / "cubic_1.json")
    failed = {"start": {"test_start": {}}, "end": {}, "error": "unable to connect to server"}
    (folder / "cubic_2.json").write_text(json.dumps(failed), encoding="utf-8")
    (folder / "cubic_3.json").write_text("{}", encoding="utf-8")
    found = imported(folder, "{algorithm}_{repetition}.json", tmp_path / "r")
    assert open_results(found.folder).runs().height == 1
    assert any("unable to connect" in failure for failure in found.left_out)
    assert any("cubic_3.json" in failure and "--json" in failure for failure in found.left_out)
    statuses = [entry["status"] for entry in open_results(found.folder).history]
    assert sorted(statuses) == ["done", "failed"]


def test_programs_get_the_decision_the_rows_and_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, rate in (("cubic", 2), ("reno", 1)):
        for number in (1, 2):
            rows = "".join(f"{t},{t * rate * 125_000 + number}\n" for t in range(4))
            (tmp_path / f"{name}_{number}.csv").write_text(f"t_s,acked_bytes\n{rows}")
    pattern = ("--pattern", "{algorithm}_{repetition}.csv", "--results", str(tmp_path / "r"))
    assert cli.run(["import", str(tmp_path), *pattern, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["decision"]["best"] == ["cubic"]
    assert {row["algorithm"]: row["is_first"] for row in told["rows"]} == {
        "cubic": True,
        "reno": False,
    }
    assert sorted(run["algorithm"] for run in told["runs"]) == ["cubic"] * 2 + ["reno"] * 2


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("{algorithm}_{algorithm}", "appears twice"),
        ("{algorithm", "field names in braces"),
        ("{run}", "cannot be a field"),
        ("{goodput_mbit_s}", "cannot be a field"),
        ("{algorithm}{direction}", "directly follows another field"),
        ("{algorithm}.txt", "no file in this folder \\(5 files"),
    ],
)
def test_a_pattern_that_does_not_fit_says_so(pattern: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=complaint):
        imported(MEASURED, pattern, tmp_path / "r")


def test_a_direction_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cubic_sideways.json").write_text("{}", encoding="utf-8")
    with pytest.raises(MeasurementError, match="known values: downlink"):
        imported(tmp_path, "{algorithm}_{direction}.json", tmp_path / "r")


def test_files_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for name in ("a_cubic_1.json", "b_cubic_1.json"):
        document = json.loads((MEASURED / "cubic_up_1_client.json").read_bytes())
        document["start"]["cookie"] = name
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(MeasurementError, match="add a field to --pattern"):
        imported(folder, "{}_{algorithm}_{repetition}.json", tmp_path / "r")


def changed_iperf3(change: Callable[[Any], None]) -> bytes:
    document = json.loads((MEASURED / "cubic_up_1_client.json").read_bytes())
    change(document)
    return json.dumps(document).encode()


def set_windows(document: Any, cwnd: float) -> None:  # noqa: ANN401  JSON
    for interval in document["intervals"]:
        interval["streams"][0]["snd_cwnd"] = cwnd


HEAD = "time_s,acked_bytes,cwnd,note\n"
BAD_FILES = {
    "timesecs": (
        changed_iperf3(lambda d: d["start"]["timestamp"].update(timesecs=10**13)),
        "the start time, 1e+13 s after 1970, is not a valid date",
    ),
    "cookie": (
        changed_iperf3(lambda d: d["start"].update(cookie=["a"])),
        "identity is ['a'], which is not a text",
    ),
    "bytes": (
        changed_iperf3(lambda d: d["end"]["streams"][0]["receiver"].update(bytes=1e20)),
        "delivered_bytes is 1e+20, which is not a plausible number",
    ),
    "window": (changed_iperf3(lambda d: set_windows(d, 1e300)), "cwnd_mean_pkts is "),
    "infinite": (changed_iperf3(lambda d: set_windows(d, 1e999)), "Infinity is not a JSON number"),
    "algorithm": (
        changed_iperf3(lambda d: d["end"].update(sender_tcp_congestion={})),
        "algorithm is {}, which is not a text",
    ),
    "nested": (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    "field": (
        f'{HEAD}0,0,10,"{"y" * 140_000}"\n1,1000,10,z\n'.encode(),
        "line 2: field larger than field limit",
    ),
    "negative": (b"t_s,goodput_mbit_s\n0,-8\n1,-8\n", "goodput_mbit_s is -8.0, which is not"),
    "overflow": (
        f"{HEAD}0,4294000000,9,x\n1,4294500000,9,x\n2,32704,9,x\n".encode(),
        "acked_bytes falls from 4294500000 to 32704 after 2.000 s",
    ),
    "clock": (
        f"{HEAD}100,0,9,x\n101,5000,9,x\n1,9000,9,x\n2,12000,9,x\n".encode(),
        "acked_bytes falls from 12000 to 0 after 99.000 s",
    ),
    "cwnd": (f"{HEAD}0,0,1e300,x\n1,1,1,y\n".encode(), "line 2: '1e300' is not a number"),
    "zeros": (bytes(500), "unknown format; use iperf3 JSON"),
    "empty": (b"", "the file is empty"),
}


def test_bad_files_are_left_out_with_the_reason_and_the_others_imported(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for name, (content, _) in BAD_FILES.items():
        (folder / f"{name}_cubic_1").write_bytes(content)
    shutil.copy(MEASURED / "cubic_up_1_client.json", folder / "good_reno_1")
    shutil.copy(MEASURED / "cubic_up_1_client.json", folder / f"good_reno_{'9' * 200}")
    found = imported(folder, "{case}_{algorithm}_{repetition}", tmp_path / "r")
    assert open_results(found.folder).runs()["case"].to_list() == ["good"]
    told = {sentence.split("_cubic_1: ")[0]: sentence for sentence in found.left_out}
    for name, (_, reason) in BAD_FILES.items():
        assert reason in told[str(folder / name)]
        assert "\n" not in told[str(folder / name)]
    assert [each for each in found.left_out if "at most 18 digits" in each]
    assert len(found.left_out) == len(BAD_FILES) + 1
    record = open_results(found.folder).imported
    assert record is not None
    assert record["left_out"] == found.left_out


def test_numbers_of_any_length_in_names_are_labels(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for size in ("1", "9" * 18, "9" * 200):
        shutil.copy(MEASURED / "cubic_up_1_client.json", folder / f"cubic_{size}.json")
    found = open_results(imported(folder, "{algorithm}_{size}.json", tmp_path / "r").folder)
    assert set(found.runs()["size"]) == {"1", "9" * 18, "9" * 200}


LONG_LOG = """
import resource, sys
from pathlib import Path
from cwndlab.imports import ImportRequest, import_folder
from cwndlab.imports.pattern import NamePattern
def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def imported(name):
    pattern = NamePattern.parse("{algorithm}")
    return import_folder(ImportRequest(Path(name), pattern, Path(f"{name}-results"), "mine"))
imported("short")
before_mb = peak_mb()
summary = imported("long")
assert not summary.left_out, summary.left_out
print(peak_mb() - before_mb)
"""
SS_READING = (
    "{}.00\nESTAB 0 0 10.0.0.1:50 10.0.0.2:51\n\t cubic rto:204 rtt:{}/1 mss:1448 cwnd:{} "
    "bytes_acked:{} retrans:0/{} minrtt:20\n"
)


def csv_log(lines: int) -> str:
    rows = (f"{n / 100},{n * 900},{n % 90 + 10},{n % 37 + 20},{n // 50}\n" for n in range(lines))
    return "t_s,acked_bytes,cwnd_pkts,srtt_ms,retransmitted_pkts\n" + "".join(rows)


def ss_log(lines: int) -> str:
    return "".join(
        SS_READING.format(1_700_000_000 + n, n % 37 + 20, n % 90 + 10, n * 900, n // 50)
        for n in range(lines // 3)
    )


def iperf3_log(lines: int, side: str = "client") -> str:
    document = json.loads((MEASURED / f"cubic_up_1_{side}.json").read_bytes())
    (first, *_) = document["intervals"]
    for part in (*first["streams"], first["sum"]):
        part.update(start="BEGIN", end="END", seconds=1)
    text = json.dumps(document | {"intervals": ["HERE"]}, indent="\t")
    one = json.dumps(first, indent="\t")
    each = (
        one.replace('"BEGIN"', str(n)).replace('"END"', str(n + 1))
        for n in range(lines // (one.count("\n") + 1))
    )
    return text.replace('"HERE"', ",\n".join(each))


def iperf3_log_with_both_ends(lines: int) -> str:
    client, server = (iperf3_log(lines, side) for side in ("client", "server"))
    return client.replace("{", f'{{"server_output_json": {server},', 1)


@pytest.mark.parametrize(
    ("log", "lines"),
    [
        (csv_log, 2_000_000),
        (ss_log, 1_000_000),
        (iperf3_log, 2_000_000),
        (iperf3_log_with_both_ends, 1_500_000),
    ],
    ids=["csv", "ss", "iperf3", "iperf3 of both ends"],
)
def test_the_memory_of_an_import_does_not_grow_with_a_log(
    log: Callable[[int], str], lines: int, tmp_path: Path
) -> None:
    """Data that exceed the memory limit are on disk; in memory, they would need about 200 MB."""
    for name, own in (("short", lines // 10), ("long", lines)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cubic").write_text(log(own), encoding="ascii")
    told = subprocess.run(
        [sys.executable, "-c", LONG_LOG], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert float(told.stdout) < 40
    results = open_results(tmp_path / "long-results")
    assert results.scan("samples").select(pl.len()).collect().item() > lines / 40


@given(
    st.lists(
        st.tuples(
            st.integers(0, 40), *[st.one_of(st.none(), st.integers(0, 99)) for _ in range(4)]
        ),
        min_size=2,
        max_size=40,
    ),
    st.integers(1, 9),
    st.floats(0, 20),
)
def test_a_log_in_pieces_is_the_same_as_in_one(
    rows: list[tuple[int | None, ...]], at_once: int, warm_up_s: float
) -> None:
    text = "t_s,acked_bytes,cwnd,srtt,rtt\n" + "".join(
        ",".join("" if value is None else str(value) for value in row) + "\n" for row in rows
    )

    def read() -> Measurement:
        return read_table(io.BytesIO(text.encode()), warm_up_s)

    whole = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "PIECE_ROWS", at_once)
        patch.setattr(spool, "_ROWS_TO_MERGE", 5)
        patch.setattr(statistics, "_IN_MEMORY", at_once)
        pieces = read()
        tables = pieces.tables()
    expected = whole.tables()
    assert pieces.flows[0].keys() == whole.flows[0].keys()
    for name, value in whole.flows[0].items():
        assert pieces.flows[0][name] == pytest.approx(value, nan_ok=True), name
    samples = pl.DataFrame(tables["samples"], strict=False)
    assert_frame_equal(samples, pl.DataFrame(expected["samples"], strict=False))
    assert tables["events"] == expected["events"]


@given(
    st.sampled_from((read_iperf3, read_socket_statistics, read_table)),
    st.one_of(
        st.binary(max_size=300),
        st.text('0123456789.:/,{}[]" \nESTABcwndrtoack_', max_size=300).map(str.encode),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["start", "end", "streams", "sender", "receiver", "test_start", "intervals"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=20,
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_any_content_is_a_measurement_or_an_error(read: Any, content: bytes) -> None:  # noqa: ANN401  one of three functions
    with contextlib.suppress(MeasurementError):
        measurement = read(io.BytesIO(content), 0.0)
        measurement.check()
        measurement.tables()


@given(
    st.dictionaries(
        st.sampled_from(["start", "intervals", "end", ""]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.just("intervals") | st.text(), inner, max_size=3)
            ),
            max_leaves=12,
        ),
    ),
    st.sampled_from([None, 0, 1]),
    st.integers(0, 30),
)
def test_json_that_is_read_in_parts_is_the_same(
    document: dict[str, Any], indent: int | None, cut: int
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    own: list[Any] = []
    inner: list[Any] = []
    streamed = {("intervals",): own.append, ("end", "intervals"): inner.append}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(untrusted, "_JSON_BYTES", 1)
        found = untrusted.read_json_object(io.BytesIO(text), streamed)
        if isinstance(document.get("intervals"), list):
            found["intervals"] = own
        end = document.get("end")
        if isinstance(end, dict) and isinstance(end.get("intervals"), list):
            found["end"]["intervals"] = inner
        assert found == document
        torn = io.BytesIO(text[: len(text) - 1 - cut])
        with pytest.raises(ValueError):  # noqa: PT011  whatever is missing
            untrusted.read_json_object(torn, streamed)
