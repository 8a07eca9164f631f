"""Settings of this machine that differ from the simulated host."""

from pathlib import Path

from cwndlab.api.study import Study
from cwndlab.judge.simulated_host import HostDifference, differences, simulated_host


def machine(folder: Path, qdisc: str, largest: int) -> Path:
    """Create a folder like /proc/sys/net with these settings."""
    (folder / "core").mkdir()
    (folder / "ipv4").mkdir()
    (folder / "core" / "default_qdisc").write_text(f"{qdisc}\n", encoding="ascii")
    for name in ("tcp_wmem", "tcp_rmem"):
        (folder / "ipv4" / name).write_text(f"4096\t16384\t{largest}\n", encoding="ascii")
    return folder


def test_smaller_buffers_and_another_queue_are_differences(tmp_path: Path) -> None:
    study = Study(link="rate=10 Mbit/s", algorithm="cubic", server_host="linux-ethernet-fq")
    host = simulated_host(study.matrix.runs[0].scenario.model_dump(mode="json"))
    assert host.qdisc == "fq"
    assert differences(host, machine(tmp_path, "pfifo_fast", 4_194_304)) == (
        HostDifference("net.core.default_qdisc", "pfifo_fast", "fq"),
        HostDifference("net.ipv4.tcp_wmem (largest)", "4,194,304 bytes", "16,777,216 bytes"),
        HostDifference("net.ipv4.tcp_rmem (largest)", "4,194,304 bytes", "16,777,216 bytes"),
    )


def test_a_machine_as_simulated_has_no_differences(tmp_path: Path) -> None:
    study = Study(link="rate=10 Mbit/s", algorithm="cubic", server_host="linux-ethernet-fq")
    host = simulated_host(study.matrix.runs[0].scenario.model_dump(mode="json"))
    assert differences(host, machine(tmp_path, "fq", 33_554_432)) == ()
