"""A small load generator: keep-alive connections on one selector, nothing but bytes.

Each connection sends its next request as soon as it has its answer. Latency is measured from the
last byte sent to the last byte received.
"""

from __future__ import annotations

import selectors
import socket
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Request = Callable[[], bytes]


def http(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Load:
    """What one round gave."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    refused: int = 0
    cpu: float = 0.0  # seconds per request, of the server and Redis

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: int) -> float:
        return statistics.quantiles(self.latencies, n=100, method="inclusive")[share - 1]


class Connection:
    __slots__ = ("buffer", "sent_at", "socket")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.sent_at = 0.0

    def send(self, request: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool | None:
        """None until the answer is complete; then whether it was 200."""
        received = self.socket.recv(262144)
        if not received:
            raise ConnectionError("The server closed a connection.")
        self.buffer += received
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self.buffer[:end].lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].split(b"\r", 1)[0]) if at >= 0 else 0
        if len(self.buffer) < end + 4 + length:
            return None
        good = self.buffer.startswith(b"HTTP/1.1 200")
        self.buffer = self.buffer[end + 4 + length :]
        return good


class Generator:
    """A number of connections to one server, used for many rounds."""

    def __init__(self, port: int, connections: int) -> None:
        self.selector = selectors.DefaultSelector()
        self.connections = [Connection(port) for _ in range(connections)]
        for connection in self.connections:
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)

    def run(self, request: Request, seconds: float) -> Load:
        load = Load()
        for connection in self.connections:
            connection.send(request())
        begin = time.perf_counter()
        end = begin + seconds
        under_way = len(self.connections)
        while under_way:
            ready = self.selector.select(10.0)
            if not ready:
                raise TimeoutError(f"{under_way} answers did not come within 10 s.")
            for key, _ in ready:
                connection: Connection = key.data
                good = connection.receive()
                if good is None:
                    continue
                now = time.perf_counter()
                load.latencies.append(now - connection.sent_at)
                load.refused += not good
                if now < end:
                    connection.send(request())
                else:
                    under_way -= 1
        load.seconds = time.perf_counter() - begin
        return load

    def close(self) -> None:
        for connection in self.connections:
            connection.socket.close()
        self.selector.close()
