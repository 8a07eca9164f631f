"""`cwndlab open`: the page's content, access control, and resistance to any request."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwndlab as cw
from cwndlab.results.folder import MATRIX
from cwndlab.viewer import catalogue, details
from cwndlab.viewer.catalogue import Catalogue
from cwndlab.viewer.details import OpenStudies
from cwndlab.viewer.server import FILES, ResultsServer
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[3]
DRIVER = ROOT / "target" / "page" / "test" / "results.mjs"
BROWSER = shutil.which("chromium") or shutil.which("firefox-esr") or shutil.which("firefox")
NODE = shutil.which("node")
LINK = "rate=4 Mbit/s,delay=9 ms"

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create two studies, a damaged one, and a folder without results."""
    folder = tmp_path_factory.mktemp("all")
    for name, algorithms in (("train", ["cubic", "vegas"]), ("wire", ["cubic", "bbr"])):
        study = cw.Study(
            id=name, title=f"The {name}", link=LINK, algorithm=algorithms, duration="3 s",
            repetitions=2, start_jitter="50 ms",
        )  # fmt: skip
        study.run(folder / name)
    shutil.copytree(folder / "wire", folder / "damaged")
    (folder / "damaged" / MATRIX).write_bytes(b"PAR1")
    (folder / "notes").mkdir()
    return folder


@dataclass
class Client:
    """A browser that has received the address."""

    server: ResultsServer
    cookie: str = ""

    def ask(
        self, path: str, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        own = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            origin = f"http://127.0.0.1:{self.server.server_port}"
            own |= {"Origin": origin, "Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body, own | dict(headers or {}))
        answer = connection.getresponse()
        try:
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, path: str) -> Any:  # noqa: ANN401  an answer
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)


@pytest.fixture
def client(results: Path, tmp_path: Path) -> Iterator[Client]:
    for name, _ in FILES.values():
        (tmp_path / name).write_text(f"<!-- {name} -->", encoding="utf-8")
    with ResultsServer([results], tmp_path, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        new = Client(server)
        status, headers, _ = new.ask(f"/?token={server.access.token}")
        assert (status, headers["Location"]) == (303, "/")
        assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
        new.cookie = headers["Set-Cookie"].partition(";")[0]
        yield new
        server.shutdown()
        thread.join()


def test_the_list_has_every_study_and_says_what_is_wrong_with_a_damaged_one(client: Client) -> None:
    found = client.json("/api/studies")
    rows = {row["name"]: row for row in found["studies"]}
    assert set(rows) == {"train", "wire", "damaged"}
    train = rows["train"]
    assert (train["title"], train["link"]) == ("The train", LINK)
    assert train["algorithms"] == ["cubic", "vegas"]
    assert (train["runs"], train["done"], train["state"]) == (4, 4, "finished")
    assert rows["damaged"]["state"] == "damaged"
    assert rows["damaged"]["problem"].count("damaged") >= 1
    assert [row["name"] for row in client.json("/api/studies?q=VEGAS+train")["studies"]] == [
        "train"
    ]
    assert client.json("/api/studies?q=nothing")["found"] == 0


def test_a_study_has_an_answer_charts_and_runs(client: Client, results: Path) -> None:
    rows = {row["name"]: row["id"] for row in client.json("/api/studies")["studies"]}
    study = client.json(f"/api/study?id={rows['train']}")
    answers = cw.open_results(results / "train").answers()
    assert answers.together.first is not None
    assert answers.together.first in study["headline"]
    assert {chart["kind"] for chart in study["charts"]} == {"scatter", "series", "dots"}
    runs = client.json(f"/api/runs?id={rows['train']}&q=vegas")
    assert runs["found"] == 2
    assert {row[1] for row in runs["rows"]} == {"vegas"}
    run = client.json(f"/api/run?id={rows['train']}&run={runs['rows'][0][0]}")
    (line,) = run["chart"]["lines"]
    assert line["name"] == "vegas"
    assert len(line["t"]) == len(line["values"]["rtt_ms"]) > 20
    status, headers, body = client.ask(f"/report?id={rows['train']}")
    assert (status, b"The train" in body) == (200, True)
    assert "sandbox" in headers["Content-Security-Policy"]
    status, _, body = client.ask(f"/api/study?id={rows['damaged']}")
    assert status in {409, 500}
    assert "damaged" in json.loads(body)["error"]


def test_whatever_is_not_the_page_is_refused(client: Client) -> None:
    port = client.server.server_port
    stranger = Client(client.server)
    for path in ("/", "/results.js", "/api/studies", "/report?id=1"):
        assert stranger.ask(path)[0] == 403, path
    assert stranger.ask("/?token=wrong")[0] == 403
    assert stranger.ask("/?token=%ff%00")[0] == 403
    assert Client(client.server, f"cwndlab-{port}=wrong").ask("/")[0] == 403
    # Other names of this address, as after DNS rebinding, even with the token and the cookie.
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1:{port + 1}", "127.0.0.1"):
        assert client.ask("/api/studies", {"Host": host})[0] == 421, host
        assert client.ask(f"/?token={client.server.access.token}", {"Host": host})[0] == 421
    # Pages of other origins, including other ports of this machine, whose requests have the cookie.
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": f"http://127.0.0.1:{port + 1}"},
        {"Origin": "null"},
    ):
        status, answer, _ = client.ask("/api/studies", headers)
        assert status == 403, headers
        assert "Access-Control-Allow-Origin" not in answer
        assert client.ask("/api/start", headers, '{"id": "evil"}')[0] == 403, headers
    assert client.ask("/api/start", {"Content-Type": "text/plain"}, '{"id": "evil"}')[0] == 415
    assert client.ask("/api/start", {"Sec-Fetch-Site": "none"}, '{"id": "evil"}')[0] == 403
    assert client.ask("/api/start", {"Content-Length": "70000"}, "{}")[0] == 413
    assert client.ask("/api/start", None, "[" * 10_000)[0] == 400
    assert not (client.server.catalogue.new_studies / "evil").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/results.js/../x",
        "/api/study?id=../../etc", "/api/study?id=", "/report?id=%2Fetc%2Fpasswd", "/api/none",
    ],
)  # fmt: skip
def test_no_path_of_a_request_leads_anywhere(client: Client, path: str) -> None:
    assert client.ask(path)[0] == 404


@pytest.mark.parametrize("identity", ["../evil", "a/b", ".", "", "x" * 90, "started", "a\n"])
def test_no_study_gets_a_name_that_leads_elsewhere(client: Client, identity: str) -> None:
    place = client.server.catalogue.new_studies
    before = {*place.parent.iterdir(), *place.rglob("*")}
    status, _, body = client.ask("/api/start", None, json.dumps({"id": identity, "link": LINK}))
    assert status == 409
    assert json.loads(body)["error"].startswith("id: ")
    assert {*place.parent.iterdir(), *place.rglob("*")} == before


def test_a_thousand_requests_at_once_are_answered_or_refused(client: Client) -> None:
    def ask(_: int) -> int:
        try:
            return client.ask("/api/studies")[0]
        except OSError:
            return 0

    silent = [socket.create_connection(("127.0.0.1", client.server.server_port)) for _ in range(20)]
    before = client.json("/api/studies")
    with ThreadPoolExecutor(100) as pool:
        found = set(pool.map(ask, range(1000)))
    assert found <= {0, 200, 503}
    assert 200 in found
    assert threading.active_count() < 200
    for each in silent:
        each.close()
    after = client.json("/api/studies")
    assert [row["name"] for row in after["studies"]] == [row["name"] for row in before["studies"]]


def test_what_has_not_changed_is_not_sent_again(client: Client) -> None:
    assert is_soon(
        lambda: all(
            row["headline"] or row["problem"] for row in client.json("/api/studies")["studies"]
        )
    )
    _, headers, _ = client.ask("/api/studies")
    status, _, body = client.ask("/api/studies", {"If-None-Match": headers["ETag"]})
    assert (status, body) == (304, b"")


def test_a_study_of_the_form_runs_stops_and_goes_on(client: Client, results: Path) -> None:
    form = {"id": "long", "link": LINK, "algorithm": "reno, cubic", "duration": "60 s"}
    form["repetitions"] = 400  # type: ignore[assignment]  # a number of the form
    try:
        status, _, body = client.ask("/api/start", None, json.dumps(form))
        assert status == 200, body
        identity = json.loads(body)["id"]
        assert client.ask("/api/start", None, json.dumps(form))[0] == 409  # one is already running

        def state() -> Any:  # noqa: ANN401  an answer
            return client.json(f"/api/state?id={identity}")

        assert is_soon(lambda: 0 < state()["done"] < state()["runs"], 0.1)
        now = state()
        assert (now["runs"], now["state"], now["is_running_here"]) == (800, "running", True)
        assert client.ask("/api/stop", None, json.dumps({"id": identity}))[0] == 200
        assert is_soon(lambda: not state()["is_running_here"])
        stopped = state()
        assert stopped["state"] == "stopped"
        assert f"{stopped['done']} of 800 runs " in stopped["printed"]
        assert cw.open_results(results / "long").runs().height == stopped["done"]
        assert client.ask("/api/go-on", None, json.dumps({"id": identity}))[0] == 200
        assert is_soon(lambda: state()["done"] > stopped["done"], 0.1)
    finally:
        client.server.started.end()
        shutil.rmtree(results / "long", ignore_errors=True)
        shutil.rmtree(results / "started", ignore_errors=True)


def test_a_study_that_is_refused_says_why_and_leaves_nothing(client: Client, results: Path) -> None:
    code = results / "mine.c"
    for form, said in (
        ({"id": "bad", "link": "rate=4 Mbitt/s"}, "not a rate"),
        ({"id": "bad", "link": LINK, "algorithm": str(code)}, "--trust"),
        ({"id": "bad", "link": {"rate": "1 Mbit/s"}}, "link: "),
        ({"id": "bad", "factors": "x"}, "must be a table"),
    ):
        code.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        status, _, body = client.ask("/api/start", None, json.dumps(form))
        code.unlink()
        assert status == 409
        assert said in json.loads(body)["error"]
        assert not (results / "bad").exists()
        assert not (results / "started" / "bad.toml").exists()


def test_finished_folders_are_read_once_for_all_sessions(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Catalogue([results])
    before = first.page("", 0)
    first.keep()

    def read(*_: object) -> None:
        pytest.fail("a finished folder was read again")

    second = Catalogue([results / "train", results / "wire"])
    monkeypatch.setattr(catalogue, "tally", read)
    assert {row["name"]: row for row in second.page("", 0)["studies"]} == {
        row["name"]: row for row in before["studies"] if row["state"] == "finished"
    }
    monkeypatch.undo()
    (results / "train" / "study.toml").touch()
    assert Catalogue([results / "train"]).page("", 0)["runs"] == 4


def test_a_form_is_checked_field_by_field_before_anything_runs(
    client: Client, results: Path
) -> None:
    def checked(form: Mapping[str, Any]) -> Any:  # noqa: ANN401  an answer
        status, _, body = client.ask("/api/check", None, json.dumps(form))
        assert status == 200, body
        return json.loads(body)

    before = sorted(results.rglob("*"))
    good = {
        "id": "both", "link": LINK, "repetitions": 3,
        "factors": {"algorithm": ["reno", "cubic"], "link.queue": ["1 BDP", "2 BDP"]},
        "flow": [{"count": 2}, {"algorithm": "vegas", "start": "1 s"}],
    }  # fmt: skip
    found = checked(good)
    assert (found["runs"], found["problems"]) == (12, [])
    assert tomllib.loads(found["toml"])["flow"][1] == {"algorithm": "vegas", "start": "1 s"}
    assert checked({"toml": found["toml"]}) == found
    for change, key in (
        ({"link": "rate=4 Mbitt/s"}, "link"),
        ({"duration": "5 parsecs"}, "duration"),
        ({"factors": {"link.queue": ["1 BDPP"]}}, 'factors."link.queue"[0]'),
        ({"flow": [{"count": -1}]}, "flow[0].count"),
        ({"id": "../x"}, "id"),
        ({"nonsense": 1}, "nonsense"),
    ):
        (problem,) = checked(good | change)["problems"]
        assert problem["key"] == key, problem
        assert problem["text"], problem
    assert checked({"toml": "[study\n"})["problems"][0]["text"].startswith("not valid TOML")
    mine = good | {"factors": {"algorithm": ["mine.c"]}}
    assert (checked(mine)["runs"], checked(mine)["problems"]) == (None, [])  # no file is compiled
    assert sorted(results.rglob("*")) == before


def test_only_a_few_studies_are_held_in_memory(results: Path) -> None:
    studies = OpenStudies()
    for name in ("train", "wire") * 3:
        assert studies.runs(results / name, 0, "")["found"] == 4
    assert len(studies._open) == 2  # noqa: SLF001  the point
    assert set(Catalogue([results / "wire", results]).summaries()) == {
        results / name for name in ("train", "wire", "damaged")
    }


def test_a_file_that_is_moved_while_it_is_read_is_found_again(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, aside = tmp_path / "train", tmp_path / "aside"
    shutil.copytree(results / "train", folder)
    moved: list[Path] = []

    def open_then_move(path: Path) -> cw.Results:
        if moved:
            aside.rename(path / "flows")
            return cw.open_results(path)
        found = cw.open_results(path)
        moved.append((path / "flows").rename(aside))
        return found

    monkeypatch.setattr(details, "open_results", open_then_move)
    found = OpenStudies().page(folder, 0)
    assert not aside.exists()
    monkeypatch.undo()
    assert found == OpenStudies().page(folder, 0)


def test_a_study_may_be_read_while_it_runs(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "while-it-runs"
    study = cw.Study(
        id="w", link=LINK, algorithm=["cubic", "bbr"], duration="2 s", repetitions=4,
        start_jitter="50 ms",
    )  # fmt: skip
    client.server.catalogue = Catalogue([tmp_path])
    asked: list[int] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            for row in client.json("/api/studies")["studies"]:
                asked.extend(
                    client.ask(f"/api/{path}?id={row['id']}")[0]
                    for path in ("study", "runs", "state")
                )

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(5):
            study.run(folder)
            shutil.rmtree(folder)
    finally:
        is_over.set()
        asking.join()
    assert 200 in asked
    assert set(asked) <= {200, 404, 409}, asked


@pytest.mark.skipif(not (DRIVER.exists() and BROWSER and NODE), reason="make page, and a browser")
def test_a_user_in_a_real_browser(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "cwndlab", "open", str(folder), "--no-browser"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        driven = subprocess.run(
            [str(NODE), DRIVER, address[0], str(BROWSER)],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S * 2,
        )  # fmt: skip
        assert driven.returncode == 0, driven.stdout + driven.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    seen = json.loads(driven.stdout)
    assert (seen["foreign"], seen["errors"]) == ([], [])
    assert "token" not in seen["address"]
    assert seen["found"] == "3 studies, 8 runs in all"
    assert seen["search"].startswith("1 study of 3")
    assert (seen["title"], seen["focus"]) == ("The train", "main")
    assert "use " in seen["headline"] or "either" in seen["headline"]
    assert seen["charts"] == [
        "Goodput over RTT, median Mbit/s", "Over time",
        "Delivery rate over packets in flight Mbit/s", "RTT over packets in flight ms",
    ]  # fmt: skip
    assert seen["hidden"] == 3  # a point, and the dots of two charts
    assert seen["saving"] == " ".join(["SVG PNG PDF CSV"] * 4)
    assert {name.partition(":")[0] for name in seen["overlay"]} == {"The train", "The wire"}
    assert "not a rate" in seen["refusal"]
    assert seen["invalid"] == "key-link"
    assert "not a queue limit" in seen["of_factor"]
    document = tomllib.loads(seen["toml"])
    assert document["flow"] == [{}, {"algorithm": "reno"}]
    assert document["factors"] == {"algorithm": ["bbr", "cubic"], "link.queue": ["1 BDP", "2 BDP"]}
    assert (seen["started"], seen["state"]) == ("from-the-form", "finished")
    assert process.returncode == 130
