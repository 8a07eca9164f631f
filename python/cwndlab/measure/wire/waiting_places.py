"""Limit the number of unauthenticated connections, in total and per address."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from typing import Generic, TypeVar

_NETWORK_OF_A_USER_BITS = 64  # RFC 4291 section 2.5.4: one site chooses the remaining bits
_MAPPED = "::ffff:"

_T = TypeVar("_T")


class WaitingPlaces(Generic[_T]):
    """Connections that have not authenticated yet, by address.

    If an address has too many of these connections, the server closes the oldest of them from that
    address. If there are too many in total, the server closes the oldest one from the address that
    has the most.
    """

    def __init__(self, most: int, most_of_address: int) -> None:
        """Set the limits on the number of connections, in total and per address."""
        self._most = most
        self._most_of_address = most_of_address
        self._by_network: dict[str, OrderedDict[_T, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return the number of unauthenticated connections."""
        return self._count

    def enter(self, who: _T, address: str) -> _T | None:
        """Add a connection; if there are too many, remove one of them.

        Return the removed connection, which the caller must close, or None.
        """
        network = network_of(address)
        own = self._by_network.setdefault(network, OrderedDict())
        own[who] = None
        self._count += 1
        if len(own) > self._most_of_address:
            return self._oldest(network)
        if self._count > self._most:
            return self._oldest(max(self._by_network, key=lambda each: len(self._by_network[each])))
        return None

    def leave(self, who: _T, address: str) -> None:
        """Remove a connection; do nothing if `enter` has already removed the connection."""
        network = network_of(address)
        own = self._by_network.get(network)
        if own is not None and who in own:
            self._forget(network, who)

    def _oldest(self, network: str) -> _T:
        oldest = next(iter(self._by_network[network]))
        self._forget(network, oldest)
        return oldest

    def _forget(self, network: str, who: _T) -> None:
        own = self._by_network[network]
        del own[who]
        self._count -= 1
        if not own:
            del self._by_network[network]


def network_of(address: str) -> str:
    """Return the network whose connections are limited: an IPv4 address, or an IPv6 /64 prefix."""
    plain = address.partition("%")[0].removeprefix(_MAPPED)
    if ":" not in plain:
        return plain
    bits = int(ipaddress.IPv6Address(plain)) >> _NETWORK_OF_A_USER_BITS
    return f"{bits:x}"
