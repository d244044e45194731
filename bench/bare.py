"""What the API is measured against: a bare ASGI function on the same server.

No key, no limit, no checks, no headers: for each request one FCALL on the same board, of the same
function as the engine calls, and its reply passed on.
"""

from __future__ import annotations

import os

import msgspec
import redis.asyncio

from bench.floors import TUTORIAL
from config.redis.calls import Call
from leaderboard.engine.board import Operations

KEY = "leaderboard:{bench}"
BOARD = {
    "key": KEY,
    "max_entries": None,
    "season": 1,
    "ties": "earliest",
    "operator": "set",
    "windows": ("day", "week"),
    "events": True,
    "event_cap": 2**31,
    "notices": True,
}


class Body(msgspec.Struct):
    player: str
    score: float


_body = msgspec.json.Decoder(Body)
_encode = msgspec.json.Encoder().encode


class Bare:
    """The calls that the engine makes, taken apart once: what is left is one FCALL each."""

    def __init__(self) -> None:
        self.client = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"], max_connections=200)
        board = Operations(None, **BOARD)
        self.write = next(board.submit("PLAYER", 1.25))
        self.at = self.write.args.index("PLAYER")
        self.page = next(board.get_top(100))
        self.around = next(board.get_around_user("PLAYER", 11))

    async def submit(self, player: str, score: float) -> bytes:
        args = [*self.write.args]
        args[self.at], args[self.at + 1] = player, repr(score)
        reply = await Call(self.write.function, self.write.keys, args).asend(self.client)
        return _encode({"player": player, "reply": str(reply)})

    async def tutorial(self, player: str, score: float) -> bytes:
        keys = ["bare:{board}", "bare:{board}:user:" + player]
        rank, size = await TUTORIAL.acall(self.client, keys, [player, score, "Player"])
        return _encode({"player": player, "rank": rank + 1, "size": size})

    async def read(self, call, player: str | None = None) -> bytes:
        args = call.args if player is None else [*call.args[:-1], player]
        return await Call(call.function, call.keys, args).asend(self.client)


_bare: list[Bare] = []


async def application(scope, receive, send):
    if not _bare:
        _bare.append(Bare())
    bare, path = _bare[0], scope["path"]
    if scope["method"] == "POST":
        row = _body.decode((await receive())["body"])
        submit = bare.tutorial if path == "/tutorial" else bare.submit
        answer = await submit(row.player, row.score)
    elif path == "/entries":
        answer = await bare.read(bare.page)
    else:
        answer = await bare.read(bare.around, path.rpartition("/")[2])
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
