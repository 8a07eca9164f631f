"""Two processes in two namespaces that share no folder, over emulated links."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cwndlab.api.results import open_results
from cwndlab.imports.folder import read_file
from finished import finished
from iproute import ip, needs_ip
from live_server import TOKEN, iperf3_server, server_apart
from patience import PATIENCE_S, is_soon
from this_machine import needs_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CWNDLAB = f"{sys.executable} -m cwndlab"
CAPTURE = Path(__file__).parents[1].joinpath("wire_capture.py")
pytestmark = [
    needs_kernel,
    needs_ip,
    pytest.mark.skipif(shutil.which("tc") is None, reason="needs tc (iproute2)"),
]

STUDY = """
[study]
id = "{id}"
duration = "{duration}"
warm_up = "{warm_up}"

[application]
{application}

[live]
pause = "1 ms"

[record]
samples = "1 s"

[factors]
algorithm = {algorithms}
direction = ["downlink", "uplink"]
"""
USUAL = {"id": "mine", "duration": "1 s", "warm_up": "0 s", "application": 'kind = "bulk"'}


def client_folder(folder: Path, algorithms: list[str], *studies: dict[str, str]) -> Path:
    """Create the folder of the user's machine, with studies by name and the token."""
    made = folder / "client"
    made.mkdir()
    for keys in studies or ({},):
        text = STUDY.format(**(USUAL | keys), algorithms=json.dumps(algorithms))
        (made / f"{(USUAL | keys)['id']}.toml").write_text(text, encoding="utf-8")
    token = made / "cwndlab.token"
    token.write_text(TOKEN, encoding="ascii")
    token.chmod(0o600)
    return made


@contextlib.contextmanager
def behind(link: str, script: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a shell script behind a link; at the end, stop all of its processes."""
    links = ["--link", link] + (["--reverse-link", link] if "=" in link else [])
    shell = subprocess.Popen(
        [*CWNDLAB.split(), "shell", *links, "--", "sh", "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield shell
    finally:
        shell.kill()
        shell.wait()
        if shell.stdout is not None:
            shell.stdout.close()


def host_device(address: str) -> str:
    """Return the device at this machine's end of a shell's link."""
    shown = ip("-o", "-4", "address")
    return next(line.split()[1] for line in shown.splitlines() if f" {address}/" in line)


def wait_for(condition: Callable[[], bool], shell: subprocess.Popen[str]) -> None:
    if is_soon(lambda: condition() or shell.poll() is not None) and condition():
        return
    shell.kill()
    assert shell.stdout is not None
    raise AssertionError(shell.stdout.read())


def wait_for_data(device: str, shell: subprocess.Popen[str]) -> None:
    """Wait until a transfer has begun; control messages are far smaller than its data."""

    def carried_bytes() -> int:
        counters = Path("/sys/class/net", device, "statistics")
        return sum(int((counters / f"{way}_bytes").read_text()) for way in ("rx", "tx"))

    before = carried_bytes()
    wait_for(lambda: carried_bytes() > before + 1_000_000, shell)


def text_of(path: Path) -> str:
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


def test_a_campaign_survives_a_killed_client_a_killed_server_and_a_cut(tmp_path: Path) -> None:
    """The 5G matrix, shortened: two of its algorithms, in both directions."""
    folder = client_folder(tmp_path, ["cubic", "bbr"])
    (tmp_path / "server").mkdir()
    results_folder = folder / "results" / "mine-live"
    server, port = server_apart(tmp_path / "server", host="0.0.0.0")  # noqa: S104  a shell is another host
    campaign = f"{CWNDLAB} live mine.toml --server $CWNDLAB_HOST:{port}"
    script = f"""
        echo $CWNDLAB_HOST > host
        {campaign} & first=$!
        while [ ! -e kill ]; do sleep 0.05; done
        kill -9 $first
        {campaign}
    """

    def done() -> dict[str, int]:
        return finished(results_folder)

    try:
        with behind("nr-5g-vaasa-2023", script, folder) as shell:
            wait_for(lambda: len(done()) >= 1, shell)
            device = host_device(text_of(folder / "host"))
            wait_for_data(device, shell)
            first = done()
            (folder / "kill").touch()
            wait_for(lambda: len(done()) >= 2, shell)
            wait_for_data(device, shell)
            second = done()
            server.kill()
            server.communicate()
            server, _ = server_apart(tmp_path / "server", port, host="0.0.0.0")  # noqa: S104  as above
            wait_for(lambda: len(done()) >= 3, shell)
            cut = ["tc", "qdisc", "replace", "dev", device, "root", "bfifo", "limit", "1"]
            subprocess.run(cut, check=True)
            time.sleep(2)
            subprocess.run(["tc", "qdisc", "del", "dev", device, "root"], check=True)  # noqa: S607  as installed
            out, _ = shell.communicate(timeout=PATIENCE_S)
    finally:
        server.kill()
        server.communicate()
    last = done()
    assert len(last) == 4, out
    for before in (first, second):
        assert {key: last[key] for key in before} == before, "finished is finished"
    results = open_results(folder / "results" / "mine-live")
    assert {row["status"] for row in results.history} == {"done", "failed"}
    for key in last:
        state = results.tcp_info(run=key)
        for end in ("sender", "receiver"):
            assert state.filter(end=end)["snd_cwnd"].min() is not None, (key, end)


# ---- the same transfers, observed by TCP_INFO, by captures at both ends, and by iperf3

FIXED = "rate=20 Mbit/s,delay=5 ms,queue=40 packets"
"""Slow start overflows the queue; a second later the link is full, and stays so."""
WARM_UP_S = 1.0
APART_S = 0.25
"""So much later than another may a process of a busy machine look at the clock."""


def transfers(capture: Path, warm_up_s: float = 0) -> list[dict[str, Any]]:
    """Return the four transfers in a capture, in order; fetched results are far smaller."""
    flows = read_file(capture, warm_up_s)[0].flows
    largest = sorted(flows, key=lambda flow: -int(flow["delivered_bytes"]))[:4]
    return sorted(largest, key=lambda flow: float(flow["start_s"]))


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_tcp_info_packets_and_iperf3_agree(tmp_path: Path) -> None:
    """Four transfers: a file down and up by our ends, and three seconds down and up by iperf3."""
    folder = client_folder(
        tmp_path,
        ["reno"],
        {"duration": "60 s", "application": 'kind = "sized"\nbytes = "2 MB"'},
        {"id": "theirs", "duration": "3 s", "warm_up": f"{WARM_UP_S:g} s"},
    )
    (tmp_path / "server").mkdir()
    server, port = server_apart(tmp_path / "server", host="0.0.0.0")  # noqa: S104  a shell is another host
    capture = f"{sys.executable} {CAPTURE}"
    try:
        with iperf3_server() as other_port:
            script = f"""
                echo $CWNDLAB_HOST > host
                {capture} cwndlab-in inside.pcap {port} {other_port} > inside & wire=$!
                while [ ! -e go ] || [ ! -s inside ]; do sleep 0.05; done
                {CWNDLAB} live mine.toml --server $CWNDLAB_HOST:{port}
                {CWNDLAB} live theirs.toml --via iperf3 --server $CWNDLAB_HOST:{other_port}
                sleep 1
                kill $wire; wait $wire
            """
            with behind(FIXED, script, folder) as shell:
                wait_for(lambda: bool(text_of(folder / "host")), shell)
                device = host_device(text_of(folder / "host"))
                words = [*capture.split(), device, str(folder / "outside.pcap")]
                outside = subprocess.Popen(
                    [*words, str(port), str(other_port)], stdout=subprocess.PIPE, text=True
                )
                assert outside.stdout is not None
                assert outside.stdout.readline() == "ready\n"
                (folder / "go").touch()
                out, _ = shell.communicate(timeout=PATIENCE_S)
                outside.send_signal(signal.SIGTERM)
                outside.communicate()
    finally:
        server.kill()
        server.communicate()
    assert "writes a report" in out, out
    at = {end: folder / f"{end}.pcap" for end in ("outside", "inside")}
    senders = {"forward": "outside", "reverse": "inside"}

    ours = open_results(folder / "results" / "mine-live")
    rows = {row["direction"]: row for row in ours.flows().to_dicts()}
    for number, (direction, sender) in enumerate(senders.items()):
        packets = transfers(at[sender])[number]
        state = ours.tcp_info(run=rows[direction]["run"])
        last = state.filter(end="sender").tail(1).to_dicts()[0]
        assert packets["delivered_bytes"] == pytest.approx(last["bytes_acked"], rel=0.01)
        again = last["total_retrans"]
        assert again > 0, "there was something to agree on"
        assert packets["retransmitted_pkts"] == pytest.approx(again, rel=0.01, abs=1)
        # A second of slow start and recovery: equal bytes, measured by the clock of each end.
        own_s = rows[direction]["window_s"]
        for capture_at in at.values():
            captured = transfers(capture_at)[number]
            assert captured["delivered_bytes"] == pytest.approx(2_000_000, rel=0.01), capture_at
            assert captured["window_s"] == pytest.approx(own_s, abs=APART_S), capture_at
            own = rows[direction]["goodput_mbit_s"] * own_s / captured["window_s"]
            assert captured["goodput_mbit_s"] == pytest.approx(own, rel=0.01), capture_at

    theirs = open_results(folder / "results" / "theirs-live-iperf3")
    rows = {row["direction"]: row for row in theirs.flows().to_dicts()}
    for number, (direction, sender) in enumerate(senders.items(), start=2):
        raw = theirs.path / "files" / rows[direction]["run"] / "iperf3.json"
        received = json.loads(raw.read_bytes())["end"]["sum_received"]
        own = 8e-6 * received["bytes"] / received["end"]
        assert rows[direction]["goodput_mbit_s"] == pytest.approx(own, rel=0.01)
        packets = transfers(at[sender], WARM_UP_S)[number]
        assert packets["goodput_mbit_s"] == pytest.approx(own, rel=0.01 + APART_S / received["end"])
