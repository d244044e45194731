"""Many questions to boards in one round trip.

A question is a generator like every operation of the engine: it yields the calls it needs and
returns its answer. `ask_together` runs any number of them side by side; what they wait for goes
out in one pipeline.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError, ResponseError

from leaderboard import keys
from leaderboard.engine.base import Call, T
from leaderboard.engine.board import Operations
from leaderboard.engine.reads import PAGE, Entry, decode
from leaderboard.engine.values import checked_count, checked_id, checked_offset


class Command(NamedTuple):
    """A plain command, for what needs no script."""

    arguments: tuple[Any, ...]


Question = Generator[Call | Command, Any, T]


class Page(NamedTuple):
    """A run of entries, and how many there are on the whole board."""

    size: int
    entries: list[Entry]


def page(board: Operations, offset: int, count: int) -> Question[Page | None]:
    return _page(board, "page", checked_count(count, "count"), checked_offset(offset))


def around(board: Operations, user_id: str, count: int) -> Question[Page | None]:
    """None when the player is not on the board."""
    return _page(board, "user", checked_count(count, "count"), checked_id(user_id))


def _page(board: Operations, what: str, count: int, start: int | str) -> Question[Page | None]:
    # The engine's own methods give the entries alone; the reply has the size with them.
    arguments = [board.rules.flags, "d", what, count, start]
    reply = yield Call(PAGE, board._read_keys, arguments)
    if not reply:
        return None
    size, _, first, columns = decode(reply)
    return Page(size, board._entries(columns, first))


def entry(board: Operations, user_id: str) -> Question[Entry | None]:
    return board._entry_operation(user_id)


def percentile(board: Operations, user_id: str) -> Question[float | None]:
    return board._percentile_operation(user_id)


def sequence(key: str) -> Question[int]:
    """How many changes the board with this base key has seen."""
    reply = yield Command(("GET", keys.sequence(key)))
    return int(reply or 0)


def season(key: str) -> Question[int | None]:
    """The number of its running season."""
    reply = yield Command(("HGET", keys.season_pointer(key), "number"))
    return None if reply is None else int(reply)


async def ask_together(client: Any, questions: Sequence[Question[Any]]) -> list[Any]:
    """The answer to each question, or its exception, in order.

    A round trip for each step of the longest question. An outage is raised: it is nobody's own.
    """
    results: list[Any] = [None] * len(questions)
    waiting: list[tuple[int, Call | Command]] = []

    def step(number: int, reply: Any) -> None:
        question = questions[number]
        try:
            if isinstance(reply, Exception):
                waiting.append((number, question.throw(reply)))
            else:
                waiting.append((number, question.send(reply)))
        except StopIteration as end:
            results[number] = end.value
        except (ValueError, ResponseError) as error:
            results[number] = error

    for number in range(len(questions)):
        step(number, None)
    while waiting:
        asked, waiting = waiting, []
        replies = await _send(client, [call for _, call in asked])
        for (number, _), reply in zip(asked, replies, strict=True):
            step(number, reply)
    return results


async def _send(client: Any, calls: Sequence[Call | Command]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for call in calls:
        if isinstance(call, Command):
            pipeline.execute_command(*call.arguments)
        else:
            pipeline.execute_command(
                "EVALSHA", call.script.sha, len(call.keys), *call.keys, *call.args
            )
    replies: list[Any] = await pipeline.execute(raise_on_error=False)
    for number, reply in enumerate(replies):
        if isinstance(reply, NoScriptError):
            call = calls[number]
            assert isinstance(call, Call)
            replies[number] = await call.script.acall(client, call.keys, call.args)
        elif isinstance(reply, Exception) and not isinstance(reply, ResponseError):
            raise reply
    return replies
