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
from leaderboard.engine.reads import Entry


class Command(NamedTuple):
    """A plain command, for what needs no script."""

    arguments: tuple[Any, ...]


Question = Generator[Call | Command, Any, T]


def page(board: Operations, offset: int, count: int) -> Question[list[Entry]]:
    return board._page_operation(offset, count)


def around(board: Operations, user_id: str, count: int) -> Question[list[Entry]]:
    """Empty when the player is not on the board."""
    return board._around_user_operation(user_id, count)


def entry(board: Operations, user_id: str) -> Question[Entry | None]:
    return board._entry_operation(user_id)


def percentile(board: Operations, user_id: str) -> Question[float | None]:
    return board._percentile_operation(user_id)


def size(board: Operations) -> Question[int]:
    reply = yield Command(("ZCARD", board.entries_key))
    return int(reply)


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
