"""Simultaneous clients: each measures in its turn, and none prevents others from measuring."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.measure.beside import DatagramsBeside
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.address import Address
from cwndlab.measure.wire.client import Session, TransferFailedError, waiting_for
from cwndlab.measure.wire.flow import SAMPLE_INTERVAL_S
from cwndlab.measure.wire.sessions import Limits
from cwndlab.measure.wire.threads import in_own_thread
from cwndlab.measure.wire.waiting_places import WaitingPlaces, network_of
from cwndlab.schema import application as apps
from cwndlab.schema import scenario as si
from live_server import TOKEN, connected, opening, server_here
from patience import PATIENCE_S, is_soon

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND_NS = 10**9


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with server_here() as found:
        yield found


def flow(number: int = 0, direction: str = "forward", **more: Any) -> si.ScenarioFlow:  # noqa: ANN401  fields of a flow
    end = si.End(stack="linux-6.1", algorithm="reno")
    return si.ScenarioFlow.model_validate(
        {"id": number, "direction": direction, "sender": end, "receiver": end} | more
    )


def measure(address: Address, duration_ns: int = SECOND_NS // 2) -> tuple[int, int, float]:
    """Return begin and end of a measurement at the server, and its goodput."""
    with Session(address) as session:
        found = session.transfer([flow()], duration_ns, [("reno", "reno")])
    far, near = found.far[0], found.near[0]
    return far["began_ns"], far["at_ns"][-1], near["moved_bytes"] * 8e3 / duration_ns


def test_ten_clients_at_once_measure_one_after_the_other(address: Address) -> None:
    with ThreadPoolExecutor(10) as clients:
        found = sorted(clients.map(measure, [address] * 10))
    ends = [end for _, end, _ in found]
    begins = [begin for begin, _, _ in found]
    assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False)), "none overlap"


def test_who_waits_is_told_how_many_are_ahead_and_comes_in_the_order_of_asking() -> None:
    with server_here(Limits(turn_answer_s=0.05)) as address, contextlib.ExitStack() as stack:
        first, second, third = (stack.enter_context(Session(address)) for _ in range(3))
        assert list(first.turn()) == []
        assert second.ask(protocol.TakeTurn()) == {"ahead": 1}
        waiting = third.turn()
        assert next(waiting) == 2
        first.__exit__()
        assert next(waiting) == 1
        assert list(second.turn()) == []
        second.__exit__()
        assert list(waiting) == []
    assert waiting_for(1) == "waiting for 1 other client: the server serves one client at a time"


def test_without_its_turn_nothing_is_measured(address: Address) -> None:
    datagrams = protocol.DatagramTest(
        direction="forward", bits_per_sec=1_000, payload_bytes=100, duration_ns=SECOND_NS
    )
    saturate = protocol.Saturate(
        direction="forward", most_bits_per_sec=1_000, payload_bytes=100, packet_bytes=128,
        duration_ns=SECOND_NS,
    )  # fmt: skip
    trains = protocol.Trains(
        direction="forward", series=0, packets=2, first_payload_bytes=64, payload_bytes=100,
        packet_bytes=128, gaps_ns=[SECOND_NS],
    )  # fmt: skip
    with Session(address) as session:
        for request in (protocol.Start(), datagrams, saturate, trains):
            with pytest.raises(TransferFailedError, match="request a turn first"):
                session.ask(request)


def test_a_client_that_has_its_turn_and_does_nothing_loses_it() -> None:
    with server_here(Limits(turn_idle_s=1)) as address, Session(address) as idle:
        assert list(idle.turn()) == []
        assert measure(address)[2] > 0
        with pytest.raises(TransferFailedError, match="lost"):
            idle.ask(protocol.Describe())


def test_datagrams_beside_a_run_share_its_turn(address: Address) -> None:
    with Session(address) as session:
        assert list(session.turn()) == []
        with DatagramsBeside(address, session.id, 800_000, SECOND_NS, ["forward"]) as beside:
            session.transfer([flow()], SECOND_NS, [("reno", "reno")])
    (row,) = beside.rows
    assert row["received"] > 0
    with (
        pytest.raises(TransferFailedError, match="has ended or belongs to a different"),
        Session(address, beside="0" * 16),
    ):
        pass


@pytest.mark.parametrize("count", [1, 4])
def test_the_server_samples_every_flow_each_ten_milliseconds(count: int) -> None:
    """The cost depends on the flows that exist, not on the possible number of flows."""
    application = apps.Paced(bits_per_sec=400_000, write_bytes=1_000)
    flows = [flow(number, application=application) for number in range(count)]
    with server_here(Limits(samples=count * 150)) as address, Session(address) as session:
        found = session.transfer(flows, SECOND_NS, [("reno", "reno")] * count)
    for end in found.far.values():
        step_s = np.median(np.diff(end["at_ns"])) / 1e9
        assert step_s == pytest.approx(SAMPLE_INTERVAL_S, rel=0.3)


def test_long_work_does_not_keep_other_work_waiting() -> None:
    ending = threading.Event()

    async def both() -> str:
        long = [asyncio.create_task(in_own_thread(ending.wait)) for _ in range(100)]
        try:
            return await in_own_thread(lambda: "done")
        finally:
            ending.set()
            await asyncio.gather(*long)

    assert asyncio.run(asyncio.wait_for(both(), PATIENCE_S)) == "done"


def test_what_the_work_raises_is_raised_where_it_is_awaited() -> None:
    def work() -> None:
        raise ValueError

    async def wait() -> None:
        with pytest.raises(ValueError):  # noqa: PT011  its own
            await in_own_thread(work)

    asyncio.run(wait())


def test_a_client_that_closes_while_it_is_counted_is_noticed_at_once() -> None:
    request = protocol.Saturate(
        direction="reverse", most_bits_per_sec=1_000_000, payload_bytes=1_000, packet_bytes=1_028,
        duration_ns=500 * SECOND_NS,
    )  # fmt: skip
    with (
        server_here(Limits(turn_answer_s=0.1)) as address,
        Session(address) as session,
        Session(address) as next_one,
    ):
        assert list(session.turn()) == []
        asking = threading.Thread(target=ask_until_closed, args=(session, request))
        asking.start()
        assert next_one.ask(protocol.TakeTurn()) == {"ahead": 1}
        session.close()
        asking.join()
        assert is_soon(lambda: not next_one.ask(protocol.TakeTurn())["ahead"])


def ask_until_closed(session: Session, request: protocol.Saturate) -> None:
    with contextlib.suppress(TransferFailedError):
        session.ask(request)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_every_address_serves_both_versions_of_ip(host: str) -> None:
    with server_here(host="::") as everywhere:
        here = Address(host, everywhere.port, TOKEN)
        with Session(here) as session:
            found = session.transfer([flow()], SECOND_NS // 4, [("reno", "reno")])
            assert session.server["path"]["interface"]["name"] == "lo"
            assert session.server["path"]["syn"]["mss_bytes"] > 0
    assert found.near[0]["moved_bytes"] > 0
    assert found.probes


def test_one_address_does_not_take_the_places_of_the_others() -> None:
    """A flood of connections from one address, and slow clients with a long RTT at another."""
    with server_here() as address:
        flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(address.port)])
        try:
            time.sleep(1)
            for _ in range(3):
                connection, nonce = connected(address, pause_s=1)
                with connection:
                    first_line = opening(nonce)
                    connection.sendall(first_line.sign(protocol.Hello(nonce="0" * 32)))
                    assert connection.recv(1)
            assert flood.poll() is None
        finally:
            flood.kill()
            flood.wait()


# 1,500 connections per second, of which the last 300 stay open.
FLOOD = """
import socket, sys, time
held, due_s = [], time.monotonic()
while True:
    due_s += 1 / 1_500
    try:
        held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1, ("127.0.0.2", 0)))
    except OSError:
        pass
    if len(held) > 300:
        held.pop(0).close()
    time.sleep(max(0, due_s - time.monotonic()))
"""


def test_the_greediest_address_gives_way() -> None:
    places: WaitingPlaces[int] = WaitingPlaces(10, 4)
    assert [places.enter(who, "192.0.2.1") for who in range(4)] == [None] * 4
    assert places.enter(4, "192.0.2.1") == 0, "its own oldest"
    assert places.enter(5, "::ffff:192.0.2.1") == 1, "the same, however it is written"
    assert [places.enter(who, f"192.0.2.{who}") for who in range(6, 12)] == [None] * 6
    assert places.enter(12, "198.51.100.1") == 2, "of the address that has most"
    places.leave(12, "198.51.100.1")
    places.leave(12, "198.51.100.1")
    assert len(places) == 9


def test_hosts_of_one_network_of_ipv6_count_as_one_address() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1%eth0")
    assert network_of("2001:db8::1") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:192.0.2.1") == "192.0.2.1"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 5)), max_size=200))
def test_places_are_bounded_whatever_comes_and_goes(
    steps: list[tuple[bool, int, int]],
) -> None:
    places: WaitingPlaces[tuple[int, int]] = WaitingPlaces(7, 3)
    waiting: dict[tuple[int, int], str] = {}
    for is_coming, number, last in steps:
        who, address = (number, last), f"192.0.2.{last}"
        if is_coming and who not in waiting:
            waiting[who] = address
            displaced = places.enter(who, address)
            if displaced is not None:
                assert displaced != who
                del waiting[displaced]
        elif not is_coming:
            waiting.pop(who, None)
            places.leave(who, address)
        assert len(places) == len(waiting) <= 7
        counts = [list(waiting.values()).count(each) for each in set(waiting.values())]
        assert max(counts, default=0) <= 3


def test_a_waiting_client_does_not_change_the_goodput_of_who_measures(address: Address) -> None:
    """Ten clients wait while another client measures at a rate that it sets itself."""
    application = apps.Paced(bits_per_sec=8_000_000, write_bytes=10_000)
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(Session(address))
        assert list(session.turn()) == []
        waiting = [threading.Thread(target=wait_for_turn, args=(address,)) for _ in range(10)]
        for thread in waiting:
            thread.start()
        found = session.transfer([flow(application=application)], SECOND_NS, [("reno", "reno")])
        session.__exit__()
        for thread in waiting:
            thread.join()
    assert found.near[0]["moved_bytes"] * 8 == pytest.approx(8_000_000, rel=0.1)


def wait_for_turn(address: Address) -> None:
    with Session(address) as session:
        for ahead in session.turn():
            assert 0 < ahead <= 10
