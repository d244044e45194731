"""A client of the live streams."""

import asyncio
import json

from asgiref.sync import async_to_sync

from config.redis.connections import close_async_redis
from leaderboard.live.hub import close_hub
from tests.leaderboard.api.support import application, check_event


class Stream:
    """A client of the stream, as the server sees it: reads events, then leaves."""

    def __init__(self, path, token=None, headers=()):
        self.sent = asyncio.Queue()
        self.left = asyncio.Event()
        self.buffer = b""
        headers = [(b"host", b"localhost"), *headers]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        path, _, query = path.partition("?")
        self.scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "scheme": "http",
            "client": ("127.0.0.1", 1),
        }

    async def __aenter__(self):
        self.task = asyncio.create_task(application()(self.scope, self.receive, self.sent.put))
        self.start = await self.sent.get()
        return self

    async def __aexit__(self, *error):
        self.left.set()
        await self.task

    async def receive(self):
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def event(self):
        """The next event that shows the board; heartbeats and counts of viewers are passed over."""
        while True:
            while b"\n\n" not in self.buffer:
                self.buffer += (await self.sent.get())["body"]
            text, _, self.buffer = self.buffer.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in text.decode().splitlines())
            if "event" in fields:
                check_event(fields)
            if "id" in fields:
                return fields["event"], int(fields["id"]), json.loads(fields["data"])


def run(coroutine):
    async def bounded():
        try:
            async with asyncio.timeout(20):
                return await coroutine()
        finally:
            await close_hub()
            await close_async_redis()

    return async_to_sync(bounded)()
