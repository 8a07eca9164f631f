"""Client side: send and receive datagrams at a fixed rate, or as fast as the link allows."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.datagrams import (
    DatagramReceiver,
    encode,
    prepare,
    receive,
    send_datagrams,
)
from cwndlab.measure.wire.saturator import FEEDBACK_EVERY_S, ArrivalRecorder, Saturator
from cwndlab.measure.wire.trains import Arrival, TrainReceiver, send_trains

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from cwndlab.schema.base import Model

_LINGER_S = 0.5  # time for late datagrams
_NS_PER_S = 10**9


class NearDatagrams:
    """Sends datagrams to a server, and receives datagrams that the server sends on request."""

    def __init__(
        self,
        connected: socket.socket,
        key: bytes,
        name: bytes,
        ask: Callable[[Model, float], dict[str, Any]],
    ) -> None:
        """Use a socket that is connected to the server.

        Args:
            connected: connected UDP socket.
            key: key of the session.
            name: name of the session.
            ask: function that sends a request to the server and returns the answer. Its second
                argument is the time in seconds that the requested measurement takes.
        """
        self._socket = connected
        self._key = key
        self._name = name
        self._ask = ask

    def datagrams(self, request: protocol.DatagramTest) -> dict[str, Any]:
        """Send or receive datagrams at a fixed rate; return counts, loss in % and jitter in ms."""
        key, name = self._key, self._name
        seconds = request.duration_ns / _NS_PER_S
        if request.direction == "reverse":
            sender = threading.Timer(
                0.2, send_datagrams, (self._socket.send, key, name, protocol.CLIENT, request)
            )
            sender.start()
            result = self._ask(request, seconds)
            sender.join()
            sent = int(request.duration_ns / 1e9 * request.bits_per_sec / request.payload_bytes / 8)
        else:
            prepare(self._socket)
            receiver = DatagramReceiver(key, name)
            stop = threading.Event()
            reader = threading.Thread(target=self._read_datagrams, args=(receiver, stop))
            reader.start()
            try:
                sent = self._ask(request, seconds)["sent"]
            finally:
                time.sleep(0.5)
                stop.set()
                reader.join()
            result = receiver.result()
        lost_pct = 100 * (1 - result["received"] / sent) if sent else None
        return {"direction": request.direction, "sent": sent, "lost_pct": lost_pct, **result}

    def saturate(self, request: protocol.Saturate) -> dict[str, Any]:
        """Fill the link in one direction; return the bytes that arrived in each millisecond."""
        key, name = self._key, self._name
        seconds = request.duration_ns / _NS_PER_S
        prepare(self._socket)
        stop = threading.Event()
        if request.direction == "reverse":
            saturator = Saturator(self._socket.send, key, name, protocol.CLIENT, request)
            reader = threading.Thread(target=self._read_feedback, args=(saturator, stop))
            sender = threading.Timer(0.2, saturator.run, (stop,))
            reader.start()
            sender.start()
            try:
                answer = self._ask(request, seconds)
            finally:
                stop.set()
                sender.cancel()
                sender.join()
                reader.join()
            answer |= saturator.result()
        else:
            recorder = ArrivalRecorder(key, name, request)
            reader = threading.Thread(target=self._record, args=(recorder, stop))
            reader.start()
            try:
                answer = self._ask(request, seconds)
                time.sleep(_LINGER_S)
            finally:
                stop.set()
                reader.join()
            answer |= recorder.result() | {"per_ms": recorder.arrivals()}
        return answer

    def trains(self, request: protocol.Trains) -> list[Arrival]:
        """Send or receive trains; return sending and arrival times of the packets that arrived."""
        key, name = self._key, self._name
        seconds = request.duration_ns / _NS_PER_S
        stop = threading.Event()
        if request.direction == "reverse":
            facts = (self._socket.send, key, name, protocol.CLIENT, request, stop)
            sender = threading.Timer(0.2, send_trains, facts)
            sender.start()
            try:
                arrivals = self._ask(request, seconds)["arrivals"]
            finally:
                stop.set()
                sender.cancel()
                sender.join()
            return [(train, place, sent, at) for train, place, sent, at in arrivals]
        prepare(self._socket)
        receiver = TrainReceiver(key, name, request)
        reader = threading.Thread(target=self._read_datagrams, args=(receiver, stop))
        reader.start()
        try:
            self._ask(request, seconds)
            time.sleep(_LINGER_S)
        finally:
            stop.set()
            reader.join()
        return receiver.arrivals()

    def _read_feedback(self, saturator: Saturator, stop: threading.Event) -> None:
        self._socket.settimeout(0.05)
        while not stop.is_set():
            with contextlib.suppress(OSError):
                saturator.take(self._socket.recv(2048), protocol.SERVER)

    def _record(self, recorder: ArrivalRecorder, stop: threading.Event) -> None:
        opening = 0
        told_s = 0.0
        self._socket.settimeout(FEEDBACK_EVERY_S)
        while not stop.is_set():
            if recorder.peer is None and opening < 100:  # noqa: PLR2004  some seconds
                self._ask_for_datagrams(opening)
                opening += 1
            with contextlib.suppress(OSError):
                recorder.take(*receive(self._socket), protocol.SERVER)
            if time.monotonic() - told_s >= FEEDBACK_EVERY_S:
                told_s = time.monotonic()
                feedback = recorder.feedback(protocol.CLIENT)
                with contextlib.suppress(OSError):
                    if feedback is not None:
                        self._socket.send(feedback)

    def _ask_for_datagrams(self, number: int) -> None:
        """Send a datagram, so that the server learns the client's UDP address."""
        with contextlib.suppress(OSError):
            self._socket.send(encode(self._key, self._name, protocol.CLIENT, number, 64))

    def _read_datagrams(
        self, receiver: DatagramReceiver | TrainReceiver, stop: threading.Event
    ) -> None:
        opening = 0
        self._socket.settimeout(0.05)
        while not stop.is_set():
            if receiver.peer is None and opening < 100:  # noqa: PLR2004  five seconds
                self._ask_for_datagrams(opening)
                opening += 1
            with contextlib.suppress(OSError):
                receiver.take(*receive(self._socket), protocol.SERVER)
