"""Not enough memory, disk or time, and too many visitors."""

import asyncio
import contextlib
import resource
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.ledger import Ledger
from tests.faults.site import SLUG, Site, assert_all_agree
from tests.servers import RedisServer, redis_server, wait_for
from tests.topologies import proxy

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

STREAMS = 10_000


def test_redis_is_full(report):
    """`maxmemory` without eviction: writes are refused, reads go on, and nothing is half done."""
    with (
        redis_server(**{"maxmemory-policy": "noeviction"}) as redis,
        Site(REDIS_URL=redis.url) as site,
    ):
        with site.clients() as clients:
            wait_for(clients.acknowledges(60), timeout=60)
            with redis.client() as client:
                client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)
                refused = clients.ledger.answers["503"]
                wait_for(lambda: clients.ledger.answers["503"] > refused + 10, timeout=30)
                status, _ = site.rostrum.get(f"/api/v1/boards/{SLUG}")
                assert status == 200
                client.config_set("maxmemory", 0)
            wait_for(clients.acknowledges(60), timeout=60)
        picture = site.settled()
        assert_all_agree(clients.ledger, picture)
        report("Redis at maxmemory, noeviction", clients.ledger, 0, "reads went on")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of a few megabytes, where the system lets us make one."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", tmp_path],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def fill(directory):
    """Until nothing fits any more; returns the file that is in the way."""
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler


def test_the_disk_of_the_append_only_file_is_full(small_disk, report):
    redis = RedisServer(appendonly="yes", appendfsync="everysec")
    redis.directory.rmdir()
    redis.directory = small_disk
    try:
        redis.start()
        with Site(REDIS_URL=redis.url) as site:
            with site.clients() as clients:
                wait_for(clients.acknowledges(60), timeout=60)
                filler = fill(small_disk)
                refused = clients.ledger.answers["503"]
                wait_for(lambda: clients.ledger.answers["503"] > refused + 10, timeout=60)
                filler.unlink()
                wait_for(clients.acknowledges(60), timeout=60)
            picture = site.settled()
            assert_all_agree(clients.ledger, picture)
            report("disk of the append-only file full", clients.ledger, 0)
    finally:
        redis.stop(kill=True)


def test_redis_is_slow(report):
    """200 ms for every answer."""
    with (
        redis_server() as redis,
        proxy(redis.port) as between,
        Site(REDIS_URL=f"redis://127.0.0.1:{between.port}/0") as site,
    ):
        with site.clients(threads=8) as clients:
            wait_for(clients.acknowledges(60), timeout=60)
            between.delay = 0.2
            wait_for(clients.acknowledges(30), timeout=60)
            # The first ones pay for new connections, which take several answers each.
            pages = [timed_page(site) for _ in range(6)]
            between.delay = 0.0
            wait_for(clients.acknowledges(60), timeout=60)
        picture = site.settled()
        assert_all_agree(clients.ledger, picture)
        report(
            "Redis answers after 200 ms",
            clients.ledger,
            0,
            f"a board's page took {min(pages):.1f} s, with new connections {max(pages):.1f} s",
        )


def timed_page(site):
    started = time.monotonic()
    status, _ = site.rostrum.get(f"/boards/{SLUG}/")
    assert status == 200
    return time.monotonic() - started


def test_ten_thousand_idle_streams(report):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = STREAMS + 2000
    if hard < wanted:
        pytest.skip(f"needs {wanted} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with redis_server() as redis, Site(REDIS_URL=redis.url) as site:
        before = memory(site)
        held = asyncio.run(hold_streams(site))
        picture = site.settled()
        assert_all_agree(held.ledger, picture)
        assert held.heard == STREAMS
        report(
            "10,000 idle live streams",
            held.ledger,
            0,
            f"all {held.heard} heard of the last score; "
            f"{(held.memory - before) / STREAMS:.0f} KiB of the web processes' memory each",
        )


@dataclass
class Held:
    ledger: Ledger
    heard: int
    memory: int


async def hold_streams(site):
    """Open them, let scores arrive, and count who hears of the last one."""
    request = (
        f"GET /live/boards/{SLUG}/ HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
    ).encode()
    gate = asyncio.Semaphore(100)

    async def open_one():
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", site.rostrum.port)
            writer.write(request)
            assert b" 200 " in await reader.readline()
            await hears(reader, 0)
            return reader, writer

    async with asyncio.timeout(180):
        streams = await asyncio.gather(*(open_one() for _ in range(STREAMS)))
    used = memory(site)
    with site.clients() as clients:
        await asyncio.to_thread(wait_for, clients.acknowledges(40), 60)
    last = (await asyncio.to_thread(site.look)).sequence
    async with asyncio.timeout(120):
        heard = await asyncio.gather(*(hears(reader, last) for reader, _ in streams))
    for _, writer in streams:
        writer.close()
    return Held(clients.ledger, sum(heard), used)


async def hears(reader, sequence):
    """Read on until the board is shown as it was at `sequence` or later."""
    while line := await reader.readline():
        if line.startswith(b"id:") and int(line[3:]) >= sequence:
            return True
    return False


def memory(site):
    """Kibibytes that the web processes hold."""
    total = 0
    for pid in site.pids("config.web.server"):
        with Path(f"/proc/{pid}/status").open() as status:
            total += sum(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return total


POST = b"POST /api/v1/boards/ledger/scores HTTP/1.1\r\nHost: localhost\r\n"
BAD = [
    POST + b"Content-Length: 3\r\n\r\n{{{",
    b"GET /boards/%00/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /boards/ledger/?page=99999999999999999999 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: nobody.example\r\n\r\n",
    b"BREW /coffee HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70000 + b"\r\n\r\n",
    POST + b"Authorization: Bearer nonsense\r\nContent-Length: 2\r\n\r\n{}",
]


def test_a_flood_of_bad_requests(report):
    with redis_server() as redis, Site(REDIS_URL=redis.url) as site:
        with site.clients() as clients:
            wait_for(clients.acknowledges(40), timeout=60)
            failures = 0
            for number in range(2000):
                with socket.create_connection(("127.0.0.1", site.rostrum.port), timeout=20) as one:
                    one.sendall(BAD[number % len(BAD)])
                    one.shutdown(socket.SHUT_WR)
                    failures += one.recv(64).startswith(b"HTTP/1.1 5")
            wait_for(clients.acknowledges(40), timeout=60)
        assert failures == 0
        picture = site.settled()
        assert_all_agree(clients.ledger, picture)
        report("2,000 bad requests", clients.ledger, 0, "no answer of the 5xx kind")
