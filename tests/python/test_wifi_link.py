"""A Wi-Fi channel as people write it."""

from __future__ import annotations

import re
from pathlib import Path

import cwndlab as cw

DOCS = Path(__file__).parents[2] / "docs" / "wifi.md"


def test_the_channel_of_the_docs_runs(tmp_path: Path) -> None:
    (channel,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    study = tmp_path / "study.toml"
    more = '[study]\nid = "docs"\nduration = "3 s"\ndirection = "uplink"'
    flows = '[[flow]]\ncount = 3\nuser = "each"\n'
    study.write_text(channel.replace("[study]", more) + flows)
    loaded = cw.Study.load(study)
    path = loaded.cells[0].resolved.scenario.path
    assert path.kind == "wifi"
    assert [node.x_mm for node in path.stations] == [10_000] * 3
    assert path.interference is not None
    assert (path.interference.kind, path.interference.share_ppb) == ("heard", 300_000_000)
    ran = loaded.run(tmp_path / "results").flows()
    # At 10 m nothing is lost, and the other network leaves 70 % of the air.
    rates = ran["goodput_mbit_s"].to_list()
    assert min(rates) > 1
    assert 20 < sum(rates) < 40
