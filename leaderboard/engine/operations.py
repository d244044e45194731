"""The methods of a board, written once for every kind of client.

An operation is a generator: it yields each `Call` it needs, gets the reply, and returns the result.
A `RedisLeaderboard` performs it at once, an `AsyncRedisLeaderboard` as a coroutine. Plain
`Operations`, which have no client, return its steps, to be sent along with others.

Inside an operation `yield from` plain generators, not other operations: a board would perform them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar, overload

from redis.exceptions import ResponseError

from config.redis.calls import Steps, aperform_on, perform_on
from leaderboard.engine.errors import LeaderboardError

if TYPE_CHECKING:
    from leaderboard.engine.base import Board

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)


class Synchronous:
    """A board on a redis-py client."""

    redis: Any

    def _perform(self, steps: Steps[T]) -> T:
        try:
            return perform_on(self.redis, steps)
        except ResponseError as error:
            _explain(error)


class Asynchronous:
    """A board on a `redis.asyncio` client."""

    redis: Any

    async def _perform(self, steps: Steps[T]) -> T:
        try:
            return await aperform_on(self.redis, steps)
        except ResponseError as error:
            _explain(error)


def _explain(error: ResponseError) -> NoReturn:
    if "WRONGTYPE" not in str(error):
        raise error
    raise LeaderboardError(
        "A key of this board has a value of another type.", code="wrong_type", field="key"
    ) from error


class Operation(Protocol[P, R]):
    """An operation as type checkers see it: its result depends on the kind of board."""

    @overload
    def __get__(self, board: Synchronous, owner: Any = None) -> Callable[P, R]: ...

    @overload
    def __get__(
        self, board: Asynchronous, owner: Any = None
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...

    @overload
    def __get__(self, board: Board, owner: Any = None) -> Callable[P, Steps[R]]: ...


def operation(steps: Callable[Concatenate[Any, P], Steps[T]]) -> Operation[P, T]:
    @wraps(steps)
    def method(board: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return board._perform(steps(board, *args, **kwargs))

    found: Any = method
    return found  # type: ignore[no-any-return]
