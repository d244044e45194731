"""What the API is measured against: the least a server can do for the same question.

No key, no limit, no checks: one call to Redis per request, on the same server and client library.
"""

from __future__ import annotations

import os

import msgspec
import redis.asyncio

from config.scripts import Script
from leaderboard.engine.reads import PAGE

KEY = "leaderboard:{bench}"
FLAGS = os.environ.get("BENCH_FLAGS", "")
ENTRIES = f"{KEY}:s1"

# One write as a tutorial would make it atomic: the score, the details, the rank, the size.
WRITE = Script(
    "bare write",
    """
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('HSET', KEYS[2], 'name', ARGV[3])
return {redis.call('ZREVRANK', KEYS[1], ARGV[1]), redis.call('ZCARD', KEYS[1])}
""",
)


class Body(msgspec.Struct):
    player: str
    score: float


_body = msgspec.json.Decoder(Body)
_encode = msgspec.json.Encoder().encode
_client: list[redis.asyncio.Redis] = []


def client() -> redis.asyncio.Redis:
    if not _client:
        _client.append(redis.asyncio.Redis.from_url(os.environ["REDIS_URL"], max_connections=200))
    return _client[0]


async def application(scope, receive, send):
    path = scope["path"]
    if scope["method"] == "POST":
        row = _body.decode((await receive())["body"])
        keys = ["bare:{board}", "bare:{board}:user:" + row.player]
        rank, size = await WRITE.acall(client(), keys, [row.player, row.score, "Player"])
        answer = _encode({"player": row.player, "rank": rank + 1, "size": size})
    elif path == "/entries":
        args = [FLAGS, "d", "page", 100, 0]
        answer = await PAGE.acall(client(), [KEY, ENTRIES], args)
    else:
        args = [FLAGS, "d", "user", 11, path.rpartition("/")[2]]
        answer = await PAGE.acall(client(), [KEY, ENTRIES], args)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
