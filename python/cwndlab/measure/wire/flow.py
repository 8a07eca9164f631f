"""Run one end of a flow: an application that sends or receives, and the sampling of TCP_INFO."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab.errors import CwndlabError
from cwndlab.kernel.capabilities import this_kernel
from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.host import describe_host
from cwndlab.measure.wire import http, schedules, sftp
from cwndlab.measure.wire.exchange import Exchange
from cwndlab.results import tcp_info
from cwndlab.schema import application as apps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SAMPLE_INTERVAL_S = 0.01
MOST_SAMPLES = 64_000
"""Maximum number of TCP_INFO samples that a computer keeps per run, for all flows together."""
_BLOCK = bytes(1 << 18)
_READ_BYTES = 1 << 18
_POLL_S = 0.2  # interval at which threads check whether to stop
_NS_PER_S = 10**9
_OURS: dict[str, str] = {}
"""Maps the name of an algorithm in the kernel to its name in cwndlab, for each of cwndlab's
algorithms that a connection has used so far."""
_STATE = ("bytes_acked", "busy_time_us", "rtt_us", "min_rtt_us", "segs_out", "total_retrans")
_LINGER_NONE = struct.pack("ii", 1, 0)


class AlgorithmMissingError(CwndlabError):
    """The kernel of client or server lacks an algorithm, or allows it only to root."""


def set_algorithm(connection: socket.socket, algorithm: str | None, where: str) -> str:
    """Set the congestion control of a connection, and return the algorithm now in use.

    If the kernel has no algorithm of this name, use cwndlab's version of the algorithm, provided
    that `cwndlab algorithm load` has loaded it; the kernel's name of this version is different.

    Raises:
        AlgorithmMissingError: the algorithm is missing in this kernel, or only root may choose it.
    """
    if algorithm is not None:
        try:
            _choose(connection, algorithm)
        except PermissionError:
            allowed = " ".join([*describe_host()["allowed"], algorithm])
            msg = (
                f"only root may use {algorithm} on the {where}; run cwndlab there as root, or: "
                f"sudo sysctl -w net.ipv4.tcp_allowed_congestion_control='{allowed}'"
            )
            raise AlgorithmMissingError(msg) from None
        except OSError:
            raise AlgorithmMissingError(missing_algorithm(algorithm, where)) from None
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    found = name.split(b"\0")[0].decode()
    return _OURS.get(found, found)


def _choose(connection: socket.socket, algorithm: str) -> None:
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    except FileNotFoundError:
        ours = _loaded_name(algorithm)
        if ours is None:
            raise
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, ours.encode())
        _OURS[ours] = algorithm


def _loaded_name(algorithm: str) -> str | None:
    """Return the kernel's name for an algorithm of cwndlab; None if it is not loaded."""
    if not this_kernel().ours:
        return None
    try:
        from cwndlab.kernel.loading import loaded_name  # noqa: PLC0415  large, and seldom needed
    except ImportError:  # a server without root privileges may be unable to read root's packages
        return None
    return loaded_name(algorithm)


def missing_algorithm(algorithm: str, where: str) -> str:
    """Return the error message for a missing algorithm, with a remedy."""
    return (
        f"the kernel of the {where} does not contain {algorithm}; load it there: "
        f"sudo modprobe tcp_{algorithm}, or: sudo cwndlab algorithm load --pin {algorithm}"
    )


@dataclass(frozen=True, slots=True)
class SocketSample:
    """A sample of a connection: TCP_INFO, and the number of data bytes written or read so far."""

    at_ns: int
    application_bytes: int
    raw: bytes = field(repr=False)


class FlowEnd:
    """One end of a flow: runs an application on a socket in a thread, and samples TCP_INFO."""

    def __init__(
        self,
        connection: socket.socket,
        *,
        application: apps.Application,
        is_sender: bool,
        duration_s: float,
        secret: bytes = b"",
    ) -> None:
        """Take ownership of a connected socket.

        Args:
            connection: connected socket.
            application: application that uses the socket.
            is_sender: whether this computer sends the data.
            duration_s: time after which the flow ends.
            secret: secret that client and server share, for transfer methods that need credentials.
        """
        self.connection = connection
        self.algorithm = set_algorithm(connection, None, "")
        self.error: str | None = None
        self.began_ns = 0
        self.ended_ns = 0
        self.samples: list[SocketSample] = []
        self.moved_bytes = 0
        self._application = application
        self._is_sender = is_sender
        self._duration_s = duration_s
        self._max_samples = 0
        self._secret = secret
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True)
            for work in (self._run, self._sample)
        ]

    def start(self, max_samples: int) -> None:
        """Start the flow.

        Whenever there are `max_samples` samples, every second sample is dropped, and the sampling
        interval is doubled.
        """
        self._max_samples = max_samples
        self.began_ns = now_ns()
        self.connection.settimeout(_POLL_S)
        for thread in self._threads:
            thread.start()

    @property
    def is_done(self) -> bool:
        """True if the application has finished."""
        return self.ended_ns > 0

    def state(self) -> dict[str, int]:
        """Return RTTs, acknowledged bytes and segments of the last sample; empty if none."""
        samples = self.samples
        info = tcp_info.decode(samples[-1].raw) if samples else {}
        return {name: info[name] for name in _STATE if name in info}

    def break_off(self) -> None:
        """Tell the application to stop; the connection stays open until `stop` is called."""
        self._stopping.set()

    def stop(self) -> None:
        """End the flow, even if data are still in flight; later calls do nothing."""
        if self.connection.fileno() < 0:
            return
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=5)
        with contextlib.suppress(OSError):
            if self.began_ns:
                self._take()  # the kernel still sent buffered data after the end of the application
            # Without this option, the kernel would continue to send the data in the buffer.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
        self.connection.close()

    def result(self) -> dict[str, Any]:
        """Return this computer's records of the flow as a dictionary that can be sent as JSON."""
        return {
            "algorithm": self.algorithm,
            "kernel_name": next((k for k, n in _OURS.items() if n == self.algorithm), None),
            "kernel": os.uname().release,
            "began_ns": self.began_ns,
            "ended_ns": self.ended_ns,
            "moved_bytes": self.moved_bytes,
            "error": self.error,
            "at_ns": [sample.at_ns for sample in self.samples],
            "application_bytes": [sample.application_bytes for sample in self.samples],
            "info": tcp_info.columns([sample.raw for sample in self.samples]),
        }

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            # At the end of the flow's duration, the other end closes the connection: no failure.
            is_over = now_ns() - self.began_ns >= 0.99 * self._duration_s * _NS_PER_S
            if not is_over and not self._stopping.is_set() and self.error is None:
                self.error = (error.strerror or str(error)).lower()
        finally:
            if work == self._run:
                self.ended_ns = self.ended_ns or now_ns()

    def _sample(self) -> None:
        due_s = time.monotonic()
        step_s = SAMPLE_INTERVAL_S
        while not self._stopping.is_set():
            self._take()
            if len(self.samples) >= self._max_samples:
                self.samples = self.samples[::2]
                step_s *= 2
            if self.is_done:
                return
            due_s = max(due_s + step_s, time.monotonic() - step_s)
            self._stopping.wait(max(0.0, due_s - time.monotonic()))

    def _take(self) -> None:
        raw = tcp_info.read(self.connection)
        self.samples.append(SocketSample(now_ns(), self.moved_bytes, raw))

    def _run(self) -> None:
        if isinstance(self._application, apps.Http | apps.Sftp):
            self._exchange(self._application)
        elif self._is_sender:
            self._send()
        else:
            self._receive()

    def _is_over(self) -> bool:
        passed_ns = now_ns() - self.began_ns
        return self._stopping.is_set() or passed_ns >= self._duration_s * _NS_PER_S

    def _send(self) -> None:
        match self._application:
            case apps.Bulk():
                self._write(None)
            case apps.Sized() as sized:
                self._write(sized.bytes)
                self._say_goodbye()
            case apps.OnOff() as on_off:
                while not self._is_over():
                    self._write(None, on_off.on_ns / _NS_PER_S)
                    self._stopping.wait(on_off.off_ns / _NS_PER_S)
            case apps.Paced() | apps.Probe() as limited:
                bulk_ends_s = time.monotonic() + limited.bulk_for_ns / _NS_PER_S
                self._write(None, limited.bulk_for_ns / _NS_PER_S)
                self._write_at(bulk_ends_s, schedules.after_bulk(limited))
            case apps.RequestResponse() as pattern:
                while not self._is_over() and self._read_exactly(pattern.request_bytes):
                    self._write(pattern.response_bytes)
            case apps.WindowedFile() as pattern:
                self._send_blocks(pattern)

    def _receive(self) -> None:
        match self._application:
            case apps.RequestResponse() as pattern:
                rounds = 0
                while not self._is_over() and (pattern.count is None or rounds < pattern.count):
                    self._push(pattern.request_bytes)
                    if not self._read_counted(pattern.response_bytes):
                        return
                    rounds += 1
                    self._stopping.wait(pattern.think_ns / _NS_PER_S)
            case apps.WindowedFile() as pattern:
                while self._read_counted(pattern.request_bytes):
                    self._push(1)
            case _:
                while self._read_counted(_READ_BYTES, is_whole=False):
                    pass
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)  # so the sender learns that all data were read

    def _exchange(self, file: apps.Http | apps.Sftp) -> None:
        """Transfer a file by HTTP or SFTP, as the client (at the user's end) or as the server."""
        exchange = Exchange(self.connection, file.bytes, file.is_upload, self._count, self._is_over)
        is_client = self._is_sender == file.is_upload
        match file:
            case apps.Http() if is_client:
                http.be_client(exchange, file.chunk_bytes)
            case apps.Http():
                http.be_server(exchange)
            case apps.Sftp() if is_client:
                sftp.be_client(exchange, self._secret, file.request_bytes, file.outstanding)
            case apps.Sftp():
                sftp.be_server(exchange, self._secret)
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)

    def _count(self, size: int) -> None:
        """Count `size` more bytes; a receiver records the time at which the file is complete."""
        self.moved_bytes += size
        match self._application:
            case apps.Http(bytes=wanted) | apps.Sftp(bytes=wanted) if not self._is_sender:
                if self.moved_bytes >= wanted:
                    self.ended_ns = self.ended_ns or now_ns()

    def _write(self, size: int | None, for_s: float | None = None) -> None:
        """Write `size` bytes, or, if `size` is None, until the end of the flow.

        Stop after `for_s` seconds at the latest, unless `for_s` is None.
        """
        until_s = None if for_s is None else time.monotonic() + for_s
        left = size
        while not self._is_over() and (left is None or left > 0):
            if until_s is not None and time.monotonic() >= until_s:
                return
            block = _BLOCK if left is None else memoryview(_BLOCK)[: min(left, len(_BLOCK))]
            written = self._send_some(block)
            self.moved_bytes += written
            if left is not None:
                left -= written

    def _push(self, size: int) -> None:
        """Write a request or an acknowledgement of a block, without counting its bytes as data."""
        left = size
        while left > 0 and not self._is_over():
            block = memoryview(_BLOCK)[: min(left, len(_BLOCK))]
            left -= self._send_some(block)

    def _write_at(self, began_s: float, schedule: Iterable[tuple[float, int]]) -> None:
        """Write data at the given times, in s since `began_s`; stop at the end of the flow."""
        for at_s, size in schedule:
            self._stopping.wait(max(0.0, began_s + at_s - time.monotonic()))
            if self._is_over():
                return
            self._write(size)

    def _send_blocks(self, pattern: apps.WindowedFile) -> None:
        outstanding = sent = 0
        total = pattern.total_bytes
        while not self._is_over() and (total is None or sent < total):
            if outstanding == pattern.outstanding:
                if not self._read_exactly(1):
                    return
                outstanding -= 1
            size = pattern.request_bytes
            self._write(size)
            sent += size
            outstanding += 1
        if total is not None:
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        """Close the sending direction, and wait until the receiver has read all data."""
        self.connection.shutdown(socket.SHUT_WR)
        while not self._is_over():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue

    def _read_counted(self, size: int, *, is_whole: bool = True) -> bool:
        """Read and count data; return False at the end of the data or of the flow."""
        left = size
        while left > 0 and not self._is_over():
            read = self._receive_some(min(left, _READ_BYTES))
            if read == 0:
                return False
            self.moved_bytes += read
            left -= read
            if not is_whole:
                break
        return not self._is_over()

    def _read_exactly(self, size: int) -> bool:
        left = size
        while left > 0 and not self._is_over():
            read = self._receive_some(left)
            if read == 0:
                return False
            left -= read
        return left == 0

    def _send_some(self, block: bytes | memoryview) -> int:
        """Write some bytes and return their number; 0 means that the time of the flow is over."""
        while not self._is_over():
            with contextlib.suppress(TimeoutError):
                return self.connection.send(block)
        return 0

    def _receive_some(self, most: int) -> int:
        """Read some bytes and return their number; 0 means the end of the data or of the flow."""
        while not self._is_over():
            with contextlib.suppress(TimeoutError):
                return len(self.connection.recv(most))
        return 0
