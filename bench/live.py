"""2,000 viewers of one board on one server process, while 200 scores a second arrive.

Told: how long after its acknowledgement a score is on a viewer's screen (of each gathered update
the oldest score counts, so the figure is the worst case), what an idle viewer costs in memory, and
how busy the server is.
"""

from __future__ import annotations

import asyncio
import random
import resource
import tempfile
import time
from pathlib import Path

import redis.asyncio

from bench.harness import Report
from leaderboard import AsyncRedisLeaderboard, keys
from tests.browser.server import Server

VIEWERS = 2000
SCORES_PER_SECOND = 200
SECONDS = 15
PLAYERS = 1000
CONNECTING = 50  # at once
REQUEST = b"GET /live/boards/arena/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Load:
    """When each score was acknowledged, and how late each viewer heard of it."""

    def __init__(self) -> None:
        self.acknowledged: dict[int, float] = {}
        self.first = 0
        self.last = 0
        self.late: list[float] = []
        self.heard: dict[int, int] = {}

    def hear(self, viewer: int, sequence: int) -> None:
        now = time.perf_counter()
        oldest = max(self.heard.get(viewer, 0), self.first) + 1
        if self.first and oldest <= sequence and (at := self.acknowledged.get(oldest)):
            self.late.append(now - at)
        self.heard[viewer] = max(sequence, self.heard.get(viewer, 0))


class Viewer(asyncio.Protocol):
    """Reads events with as little work as possible: the load must not be the bottleneck."""

    def __init__(self, number: int, load: Load, ready: asyncio.Future[None]) -> None:
        self.number, self.load, self.ready = number, load, ready

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        at = data.rfind(b"id: ")
        if at >= 0:
            text = data[at + 4 : at + 24].partition(b"\n")[0]
            if text.isdigit():
                self.load.hear(self.number, int(text))
                if not self.ready.done():
                    self.ready.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(ConnectionError("The server closed the stream."))


async def watch(server: Server, load: Load) -> list[asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    gate = asyncio.Semaphore(CONNECTING)

    async def one(number: int) -> asyncio.BaseTransport:
        async with gate:
            ready = loop.create_future()
            transport, _ = await loop.create_connection(
                lambda: Viewer(number, load, ready), "127.0.0.1", server.port
            )
            await asyncio.wait_for(ready, 60)
            return transport

    return await asyncio.gather(*(one(number) for number in range(VIEWERS)))


async def play(server: Server, load: Load) -> None:
    client = redis.asyncio.Redis(port=server.redis.port)
    plain = server.engine()
    rules = {"season": 1, "ties": "earliest", "groups": ("country",), "windows": ("day", "week")}
    board = AsyncRedisLeaderboard(
        client, keys.base("arena"), None, events=True, notices=True, **rules
    )
    chance = random.Random(1)
    start = time.perf_counter()
    load.first = int(plain.redis.get(keys.sequence(plain.key)))
    for number in range(SCORES_PER_SECOND * SECONDS):
        delay = start + number / SCORES_PER_SECOND - time.perf_counter()
        if delay > 0:
            await asyncio.sleep(delay)
        player = f"p{chance.randrange(PLAYERS)}"
        result = await board.upsert_user(player, chance.randrange(100_000), {"name": player})
        load.acknowledged[result["sequence"]] = time.perf_counter()
        load.last = result["sequence"]
    give_up = time.perf_counter() + 20
    for viewer in range(VIEWERS):
        # An event per viewer would be a load of its own.
        while load.heard[viewer] < load.last and time.perf_counter() < give_up:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await client.aclose()


def web_processes(server: Server) -> list[int]:
    assert server.process is not None
    listing = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return [server.process.pid, *(int(pid) for pid in listing.split())]


def resident_bytes(server: Server) -> int:
    files = [Path(f"/proc/{pid}/statm").read_text() for pid in web_processes(server)]
    return sum(int(file.split()[1]) for file in files) * resource.getpagesize()


def processor_seconds(server: Server) -> float:
    return sum(time.clock_gettime(((~pid) << 3) | 2) for pid in web_processes(server))


async def measure(server: Server, report: Report) -> None:
    load = Load()
    before = resident_bytes(server)
    began = time.perf_counter()
    transports = await watch(server, load)
    opened = time.perf_counter() - began
    await asyncio.sleep(3)
    idle = (resident_bytes(server) - before) / VIEWERS / 1024
    cpu, wall, client = processor_seconds(server), time.perf_counter(), time.process_time()
    await play(server, load)
    wall = time.perf_counter() - wall
    busy = (processor_seconds(server) - cpu) / wall
    own = (time.process_time() - client) / wall
    missed = sum(load.heard[viewer] < load.last for viewer in range(VIEWERS))
    late = sorted(load.late)
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    report.table(
        ("", "measured"),
        [
            ("viewers", f"{VIEWERS:,}, connected in {opened:.1f} s"),
            ("scores", f"{SCORES_PER_SECOND} a second for {SECONDS} s"),
            ("updates received", f"{len(late):,}"),
            ("viewers that missed one", report.verdict("viewers that missed", missed, at_most=0)),
            ("late by, median", f"{p50:.2f} s"),
            ("late by, 99 %", f"{report.verdict('late by, 99 %', p99, at_most=1)} s"),
            ("late by, worst", f"{late[-1]:.2f} s"),
            (
                "memory per idle viewer",
                f"{report.verdict('KiB per idle viewer', idle, at_most=80)} KiB",
            ),
            ("server's processor", f"{100 * busy:.0f} % of one core"),
            ("this client's processor", f"{100 * own:.0f} % of one core"),
        ],
    )
    for transport in transports:
        transport.close()


def run(report: Report) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 16_384)), hard))
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), "bench.settings")
        try:
            server.prepare()
            server.start()
            asyncio.run(measure(server, report))
        finally:
            server.stop()
            server.redis.remove()
