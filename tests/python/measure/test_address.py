"""Addresses of servers as users write them."""

from __future__ import annotations

import asyncio

import pytest

from cwndlab.measure.iperf3 import Iperf3
from cwndlab.measure.wire.address import Address, ServerUnreachableError, host_and_port
from cwndlab.measure.wire.server import Server, ServerError
from live_server import CERTIFICATE, TOKEN


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("example.net", "example.net", 7),
        ("example.net:80", "example.net", 80),
        ("192.0.2.1:65535", "192.0.2.1", 65535),
        ("2001:db8::1", "2001:db8::1", 7),
        ("[2001:db8::1]", "2001:db8::1", 7),
        ("[2001:db8::1]:80", "2001:db8::1", 80),
        ("fe80::1%eth0", "fe80::1%eth0", 7),
        ("bücher.example", "bücher.example", 7),
    ],
)
def test_host_and_port_are_read(text: str, host: str, port: int) -> None:
    assert host_and_port(text, 7) == (host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":", ":80", "h:0", "h:65536", "h:²", "h:-1", "a..b", ".a", f"{'a' * 64}.net", "[]:80"],
)
def test_text_that_names_no_host_is_refused(text: str) -> None:
    with pytest.raises(ServerUnreachableError, match="is not of the form HOST or HOST:PORT"):
        Address.parse(text, TOKEN)
    with pytest.raises(ServerUnreachableError, match="is not of the form HOST or HOST:PORT"):
        Iperf3.parse(text)


@pytest.mark.parametrize("host", ["", "a..b", "192.0.2.1"])
def test_server_on_an_address_of_another_machine_names_the_remedy(host: str) -> None:
    server = Server(TOKEN, CERTIFICATE)
    with pytest.raises(ServerError, match="choose an address of this machine with --host"):
        asyncio.run(server.run(host, 0))
