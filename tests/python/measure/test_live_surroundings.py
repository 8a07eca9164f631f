"""Disturbances of a run are detected, shown, and not attributed to the algorithm."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cwndlab as cw
from cwndlab.api.results import open_results
from cwndlab.api.running import run_study
from cwndlab.backends.live import RealNetwork
from cwndlab.errors import CampaignEndedError, MeasurementError
from cwndlab.imports.series import Series
from cwndlab.measure.flags import flags_of
from cwndlab.measure.machine import radio, surroundings
from cwndlab.measure.machine.radio import RadioLog, read_iw, read_modem, technology_changes
from cwndlab.measure.machine.surroundings import Surroundings
from cwndlab.measure.status import status_rows
from cwndlab.measure.wire.address import Address
from cwndlab.report import write_report
from cwndlab.run.progress import Silent, each_run
from iproute import IP, ip, needs_ip
from live_server import HOST, TOKEN, server_apart, server_here
from patience import PATIENCE_S, is_soon
from this_machine import needs_kernel

STUDY = """
[study]
id = "mine"
duration = "{duration}"

[live]
pause = "1 ms"
{live}

[factors]
algorithm = ["reno", "cubic"]
"""
MODEM = {
    "modem": {
        "3gpp": {"operator-name": "Example", "operator-code": "24491"},
        "generic": {
            "access-technologies": ["lte"],
            "ports": ["cdc-wdm0 (qmi)", "wwan0 (net)"],
            "signal-quality": {"recent": "yes", "value": "57"},
        },
    }
}
SIGNAL = {
    "modem": {
        "signal": {
            "5g": {"error-rate": "--", "rsrp": "-88.00", "rsrq": "-11.00", "snr": "20.50"},
            "gsm": {"error-rate": "--", "rssi": "--"},
            "lte": {
                "error-rate": "--",
                "rsrp": "-104.00",
                "rsrq": "-14.00",
                "rssi": "-69.00",
                "snr": "-3276.80",
            },
            "umts": {"ecio": "-6.50", "error-rate": "--", "rscp": "-90.00", "rssi": "--"},
        }
    }
}
CELLS = {
    "modem": {
        "generic": {
            "cell-info": [
                "cell type: lte, serving: no, physical ci: 1F, earfcn: 6200, rsrp: -110.0",
                "cell type: lte, serving: yes, tac: 1B2C, ci: 0A1B2C03, earfcn: 1300, rsrp: -104.0",
            ]
        }
    }
}
WIFI = """Connected to 04:f0:21:11:22:33 (on wlan0)
\tSSID: lab
\tfreq: 5180
\tRX: 2043203 bytes (18032 packets)
\tTX: 120345 bytes (1201 packets)
\tsignal: -52 dBm
\trx bitrate: 866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2
\ttx bitrate: 780.0 MBit/s VHT-MCS 8 80MHz short GI VHT-NSS 2
"""


def modem_with(*technologies: str) -> str:
    content = json.loads(json.dumps(MODEM))
    content["modem"]["generic"]["access-technologies"] = list(technologies)
    return json.dumps(content)


def test_a_modem_tells_technology_cell_band_and_signal() -> None:
    row = read_modem(json.dumps(MODEM), json.dumps(SIGNAL), json.dumps(CELLS))
    assert row == {
        "source": "modem",
        "technology": "lte",
        "operator": "Example",
        "quality_pct": 57.0,
        "rssi_dbm": -69.0,
        "rsrp_dbm": -104.0,
        "rsrq_db": -14.0,
        "snr_db": None,  # the driver reports that there is none
        "cell": "0A1B2C03",
        "band": "B3",
    }


@pytest.mark.parametrize(
    ("technologies", "rsrp_dbm", "name"),
    [
        (("lte", "5gnr"), -88.0, "lte+5gnr"),
        (("hspa-plus",), -90.0, "hspa-plus"),
        (("gsm",), None, "gsm"),
    ],
)
def test_the_signal_is_that_of_the_technology_in_use(
    technologies: tuple[str, ...], rsrp_dbm: float | None, name: str
) -> None:
    row = read_modem(modem_with(*technologies), json.dumps(SIGNAL))
    assert row is not None
    assert (row["technology"], row["rsrp_dbm"]) == (name, rsrp_dbm)


def test_a_5g_cell_tells_its_frequency() -> None:
    cells = {"modem": {"cell-info": ["cell type: 5gnr, serving: yes, nci: 1, nrarfcn: 636666"]}}
    row = read_modem(json.dumps(MODEM), "", json.dumps(cells))
    assert row is not None
    assert row["band"] == "3550 MHz"


def test_a_wireless_card_tells_its_access_point() -> None:
    row = read_iw(WIFI)
    assert row == {
        "source": "iw",
        "technology": "802.11ac",
        "band": "5180 MHz",
        "cell": "04:f0:21:11:22:33",
        "operator": "lab",
        "rssi_dbm": -52.0,
        "phy_rate_mbit_s": 866.7,
    }
    assert read_iw("Not connected.\n") is None
    found = read_iw(re.sub(r" VHT-MCS.*", "", WIFI))
    assert found is not None
    assert found["technology"] == "802.11a"


@given(st.text(max_size=200))
def test_any_answer_of_a_program_is_understood_or_left(text: str) -> None:
    assert read_iw(text) is None or "Connected" in text
    read_modem(text, text, text, text)
    read_modem(json.dumps({"modem": {"generic": {"cell-info": [text]}}}), json.dumps([text]))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder of programs that answer like mmcli and iw; they report the file `technology`.

    With a file `falling` in the folder, they report `umts` after some answers.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "technology").write_text("lte", encoding="ascii")
    modem = modem_with("TECHNOLOGY").replace("wwan0 (net)", "lo (net)")
    (folder / "mmcli").write_text(
        f"""#!/bin/sh
case "$*" in
*--location-get*) exit 1;;
*--signal-get*) echo '{json.dumps(SIGNAL)}';;
*--get-cell-info*) echo '{json.dumps(CELLS)}';;
*-L*) echo '{{"modem-list":["/org/freedesktop/ModemManager1/Modem/3"]}}';;
*-J*)
    if [ -e {folder}/falling ]; then echo >>{folder}/falling; fi
    if [ "$(wc -l <{folder}/falling)" -gt 3 ]; then echo umts >{folder}/technology; fi
    sed "s/TECHNOLOGY/$(cat {folder}/technology)/" <<'EOF'
{modem}
EOF
;;
esac
""",
        encoding="utf-8",
    )
    (folder / "iw").write_text("#!/bin/sh\necho 'Not connected.'\n", encoding="utf-8")
    for name in ("mmcli", "iw"):
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_the_modem_of_the_interface_is_found(programs: Path) -> None:
    (source,) = radio.sources_of("lo")
    row = source.read()
    assert row is not None
    assert (row["technology"], row["band"]) == ("lte", "B3")
    assert radio.sources_of("eth7") == []
    (programs / "mmcli").write_text("#!/bin/sh\necho nonsense\n", encoding="utf-8")
    assert source.read() is None


def test_another_technology_during_a_run_flags_it(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surroundings, "_RADIO_EVERY_S", 0.05)
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.format(duration="800 ms", live='udp = "200 kbit/s"'), encoding="utf-8")
    study = cw.Study.load(path, is_live=True)

    def tell(line: str) -> None:
        if "1 of 2" in line:  # the modem falls back in the second run
            (programs / "falling").touch()

    with server_here() as address:
        results = run_study(
            study, tmp_path / "r", backend=RealNetwork(address, None), report=each_run(tell)
        )
    rows = results.radio()
    assert rows["technology"].unique().sort().to_list() == ["lte", "umts"]
    assert rows["band"].unique().to_list() == ["B3"]
    (flag,) = results.flags().to_dicts()
    assert (flag["flag"], flag["what"]) == ("technology", "from lte to umts")
    assert results.runs()["flags"].to_list() == [None, "technology: from lte to umts"]
    datagrams = results.datagrams().to_dicts()
    assert [row["direction"] for row in datagrams] == ["forward", "forward"]
    assert all(row["sent"] == row["received"] == 29 for row in datagrams)
    page = write_report(results, tmp_path / "page", formats=()).read_text(encoding="utf-8")
    assert "Disturbed runs" in page
    assert "technology: from lte to umts" in page
    told = results.sql("SELECT count(*) AS n FROM radio JOIN flags USING (run)")
    assert told["n"][0] > 0


def test_a_log_is_read_on_the_run_s_own_time_axis(tmp_path: Path) -> None:
    path = tmp_path / "drive.csv"
    path.write_text(
        "time,technology,rsrp_dbm,note\n100,lte,-90,x\n1970-01-01T00:01:50+00:00,5gnr,-80,\n"
        "111.5,5gnr,--,\n300,umts,-70,\n",
        encoding="utf-8",
    )
    rows = RadioLog(path).rows(109, 120)
    assert [(at_s, row["technology"], row["rsrp_dbm"]) for at_s, row in rows] == [
        (109, "lte", -90.0),  # valid when the run began
        (110, "5gnr", -80.0),
        (111.5, "5gnr", None),
    ]
    changes = technology_changes([{"t_s": at_s - 109, **row} for at_s, row in rows])
    assert changes == [(1.0, "lte", "5gnr")]
    path.write_text("when,technology\n1,lte\n", encoding="utf-8")
    with pytest.raises(MeasurementError, match="needs a column `time`"):
        RadioLog(path)
    with pytest.raises(MeasurementError, match="no such file"):
        RadioLog(tmp_path / "nothing.csv")


def series(acked: list[int], unacked: list[int], backoff: list[int] | None = None) -> Series:
    """Return a series with a sample each second."""
    count = len(acked)
    columns = {
        "acked_bytes": np.array(acked, dtype=float),
        "unacked_pkts": np.array(unacked, dtype=float),
        "backoff": np.array(backoff or [0] * count, dtype=float),
    }
    return Series(np.arange(count, dtype=float), columns)


def test_no_data_for_long_is_an_outage_and_no_data_to_send_is_none() -> None:
    acked = [0, 1, 2, 2, 2, 2, 2, 3, 4]
    (flag,) = flags_of(0, series(acked, [5] * 9), 3)
    assert (flag.kind, flag.t_s, flag.duration_s) == ("outage", 2, 5)
    assert flags_of(0, series(acked, [5] * 9), 5.5) == []
    assert flags_of(0, series(acked, [5, 5, 0, 0, 0, 0, 0, 5, 5]), 3) == []
    # An application that wakes up during the silence waits only from then on.
    assert flags_of(0, series(acked, [5, 5, 0, 0, 0, 5, 5, 5, 5]), 3) == []


def test_an_outage_until_the_end_is_one() -> None:
    (flag,) = flags_of(0, series([0, 1, 1, 1, 1, 1], [5] * 6, [0, 0, 1, 2, 3, 4]), 3)
    assert flag.what == "no data for 4.0 s, retransmission timeout doubled 4 times"


def test_timeouts_in_a_row_are_flagged_where_they_are_short() -> None:
    (flag,) = flags_of(0, series([0, 1, 1, 1, 2], [5] * 5, [0, 0, 1, 3, 0]), 5)
    assert (flag.kind, flag.what) == ("timeouts", "3 timeouts in a row")
    assert flags_of(0, series([0, 1, 1, 2], [5] * 4, [0, 0, 1, 0]), 5) == []


def test_an_interface_that_goes_and_another_in_its_place_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = ["wwan0", None, "wwan0", "wlan0"]
    looks = 0
    all_seen = threading.Event()

    def now(_server: str) -> str | None:
        nonlocal looks
        looks += 1
        if looks > len(states):
            all_seen.set()
        return states[min(looks, len(states)) - 1]

    monkeypatch.setattr(surroundings, "now_ns", lambda: looks * 10**9)  # one look per second
    with Surroundings(HOST, interface_now=now) as around:
        assert all_seen.wait(PATIENCE_S)
    gone, other = around.flags(0)
    assert (gone.t_s, gone.what) == (2, "wwan0 was down for 1.0 s")
    assert gone.is_outage
    assert (other.t_s, other.what) == (4, "packets were sent through wlan0 instead of wwan0")


@needs_kernel
@needs_ip
def test_a_cut_link_flags_the_run_sets_it_aside_and_measures_it_again(tmp_path: Path) -> None:
    name, host, user = f"cwl{os.getpid()}", f"cwh{os.getpid()}", f"cwu{os.getpid()}"
    ip("netns", "add", name)
    process = None
    try:
        ip("link", "add", host, "type", "veth", "peer", "name", user, "netns", name)
        ip("addr", "add", "198.18.7.1/30", "dev", host)
        ip("link", "set", host, "up")
        ip("-n", name, "addr", "add", "198.18.7.2/30", "dev", user)
        ip("-n", name, "link", "set", user, "up")
        process, port = server_apart(tmp_path, host="198.18.7.1")
        study = tmp_path / "mine.toml"
        study.write_text(STUDY.format(duration="3 s", live=""), encoding="utf-8")
        command = [IP, "netns", "exec", name, sys.executable, "-m", "cwndlab", "live"]
        options = ["--server", f"198.18.7.1:{port}", "--outage", "900 ms", "--retries", "1"]
        client = subprocess.Popen(
            [*command, str(study), *options],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert client.stdout is not None
        for line in client.stdout:
            if "1 of 2" in line:
                break
        sent = Path(f"/sys/class/net/{host}/statistics/tx_bytes")
        before = int(sent.read_text(encoding="ascii"))
        assert is_soon(lambda: int(sent.read_text(encoding="ascii")) > before + 1_000_000)
        ip("link", "set", host, "down")
        time.sleep(1.3)
        ip("link", "set", host, "up")
        out, _ = client.communicate(timeout=PATIENCE_S)
        assert client.returncode == 0, out
        assert "cubic was disturbed and will be measured again: " in out
        assert "was disturbed and will be measured again" in out
    finally:
        if process is not None:
            process.kill()
            process.communicate()
        ip("netns", "del", name)
    results = open_results(tmp_path / "results" / "mine-live")
    assert results.runs()["flags"].to_list() == [None, None], "the second try was undisturbed"
    (aside,) = (results.path / "set-aside").iterdir()
    flags = pl.read_parquet(aside / "flags.parquet")
    assert {"outage", "interface"} <= set(flags["flag"])
    assert flags.filter(flag="interface")["what"][0].startswith(f"{user} was down for")
    loaded = cw.Study.load(study, is_live=True)
    reno, cubic, total = status_rows(loaded.matrix.runs, results.path)
    assert (reno["done"], reno["set_aside"], cubic["done"], cubic["set_aside"]) == (1, 0, 1, 1)
    assert (total["done"], total["missing"]) == (2, 0)


def test_a_transfer_that_breaks_off_says_what_disturbed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(1_000))
    process, port = server_apart(tmp_path)

    def now(_server: str) -> str | None:
        call = next(calls)
        if call == 10:
            process.kill()
        return "wwan0" if call < 4 else None

    monkeypatch.setattr(surroundings, "_interface_now", now)
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.format(duration="30 s", live=""), encoding="utf-8")
    told: list[str] = []
    try:
        with pytest.raises(CampaignEndedError):
            run_study(
                cw.Study.load(path, is_live=True),
                tmp_path / "r",
                backend=RealNetwork(Address(HOST, port, TOKEN), None, patience_s=0.1),
                report=each_run(told.append),
            )
    finally:
        process.kill()
        process.communicate()
    (line, *_) = (line for line in told if line.startswith("reno"))
    assert "wwan0 was down for" in line
    assert "failed and will be tried again: " in line


def test_what_is_missing_is_shown_without_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cwndlab.cli import run as run_cli  # noqa: PLC0415  beside its use

    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.format(duration="1 s", live='period = "06:00-07:30"'), encoding="utf-8")
    assert run_cli(["live", str(path), "--status"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert " ".join(lines[0]) == "runs when done missing broke off set aside flagged"
    assert lines[1] == ["reno", "06:00-07:30", "0", "1", "0", "0", "0"]
    assert lines[3] == ["all", "0", "2", "0", "0", "0"]
    path.write_text(STUDY.format(duration="1 s", live=""), encoding="utf-8")
    assert run_cli(["live", str(path), "--status"]) == 0
    assert "when" not in capsys.readouterr().out, "there are no periods"
    assert run_cli(["live", str(path)]) == 2
    assert "--server HOST" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_named_before_the_token_is(tmp_path: Path) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(STUDY.format(duration="1 s", live=""), encoding="utf-8")
    loaded = cw.Study.load(study, is_live=True)
    with pytest.raises(cw.errors.CwndlabError, match="is `cwndlab serve` running there"):
        run_study(
            loaded,
            tmp_path / "r",
            backend=RealNetwork(Address(HOST, 9, TOKEN), None, {}, 0.1),
            report=lambda *_: Silent(),
        )


def test_a_failure_that_repeats_is_printed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cwndlab.backends.live._FIRST_WAIT_S", 0.01)
    study = tmp_path / "mine.toml"
    study.write_text(STUDY.format(duration="1 s", live=""), encoding="utf-8")
    told: list[str] = []
    with pytest.raises(cw.errors.CwndlabError, match="is `cwndlab serve` running there"):
        run_study(
            cw.Study.load(study, is_live=True),
            tmp_path / "r",
            backend=RealNetwork(Address(HOST, 9, TOKEN), None, {}, 0.5),
            report=each_run(told.append),
        )
    attempts = [row for row in cw.open_results(tmp_path / "r").history if row["status"] == "failed"]
    assert len(attempts) > 1
    assert len(told) == 1
    assert "failed and will be tried again: " in told[0]
