"""The season pointer in Redis: which season a score lands in, right now.

A hash per board, `number`, `state`, `opens`, `closes`. It is moved only by `move_season`, and
only from where the mover believes it to be, so of many who try, one succeeds. SQL follows.

States: `open`; `closed`, between two seasons; `paused`, while a board is rebuilt.

Two more fields note what a process has begun and not finished yet, so that the clock can finish it
when the process died: `remake`, the board's keys are to be made again from the score log;
`reschedule`, the season's end is to follow the board's calendar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Max

from config.redis.calls import Call, Steps
from config.redis.connections import get_async_redis, get_redis, perform
from leaderboard import keys
from leaderboard.engine.functions import LIBRARY
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.models.schedule import cron_line, last_boundary, next_boundary

FIELDS = ("number", "state", "opens", "closes")
REMAKE, RESCHEDULE = "remake", "reschedule"
SEQUENCE_GAP = 1_000_000
OPEN, CLOSED, PAUSED = "open", "closed", "paused"

MOVE = LIBRARY["move_season"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Pointer:
    number: int
    state: str
    opens: int  # microseconds
    closes: int | None  # None: by hand

    @property
    def is_open(self) -> bool:
        return self.state == OPEN

    @property
    def opens_at(self) -> datetime:
        return moment(self.opens)

    @property
    def closes_at(self) -> datetime | None:
        return None if self.closes is None else moment(self.closes)


@dataclass(frozen=True)
class Look:
    """The pointer, and what is left to do for its board."""

    pointer: Pointer | None
    remake: bool
    reschedule: str  # the calendar to follow, '' for none


@dataclass(frozen=True)
class Ended:
    """A season that the pointer has left and that waits for its archive."""

    number: int
    opens: int
    closes: int | None
    ended: int


Moved = tuple[bool, Pointer | None]  # whether the pointer was moved, and where it is now


def moment(microseconds: int) -> datetime:
    """Exact: a float of this size would lose microseconds."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(value: datetime) -> int:
    return (value - _EPOCH) // timedelta(microseconds=1)


def read(board: Board) -> Pointer | None:
    """The pointer; None when Redis has lost it or the board is new."""
    return parse(get_redis().hmget(keys.season_pointer(board.key), *FIELDS))


async def aread(board: Board) -> Pointer | None:
    return parse(await get_async_redis().hmget(keys.season_pointer(board.key), *FIELDS))


def read_all(boards: Sequence[Board]) -> list[Pointer | None]:
    """The pointers of these boards in one round trip."""
    pipe = get_redis().pipeline(transaction=False)
    for board in boards:
        pipe.hmget(keys.season_pointer(board.key), *FIELDS)
    return [parse(values) for values in pipe.execute()]


def look(board: Board) -> Look:
    (found,) = look_at_all([board])
    if isinstance(found, Exception):
        raise found
    return found


def look_at_all(boards: Sequence[Board]) -> list[Look | Exception]:
    """One round trip; a board with a broken key has the error in its place."""
    pipe = get_redis().pipeline(transaction=False)
    for board in boards:
        pipe.hmget(keys.season_pointer(board.key), *FIELDS, REMAKE, RESCHEDULE)
    return [
        values
        if isinstance(values, Exception)
        else Look(parse(values[:4]), bool(values[4]), (values[5] or b"").decode())
        for values in pipe.execute(raise_on_error=False)
    ]


def note(board: Board, field: str, value: str = "1") -> None:
    """Remember what has to be finished: `REMAKE`, `RESCHEDULE`."""
    get_redis().hset(keys.season_pointer(board.key), field, value)


def forget_note(board: Board, field: str) -> None:
    get_redis().hdel(keys.season_pointer(board.key), field)


def read_ended(board: Board) -> list[Ended]:
    """Seasons that wait for their archive, oldest first."""
    waiting = get_redis().hgetall(keys.ended_seasons(board.key))
    found = []
    for number, times in waiting.items():
        opens, closes, ended = times.decode().split(" ")
        found.append(Ended(int(number), int(opens), int(closes) if closes else None, int(ended)))
    return sorted(found, key=lambda season: season.number)


def forget_ended(board: Board, number: int) -> None:
    """The season is archived and its keys are gone: nothing is left to do for it."""
    get_redis().hdel(keys.ended_seasons(board.key), number)


def move(
    board: Board,
    *,
    believed: Pointer | None,
    mode: str,
    number: int,
    state: str,
    opens: int | None = None,
    closes: int | None = None,
) -> Steps[Moved]:
    """See `move_season`: `mode` is `over`, `end` or `keep`; `opens` None means now."""
    base = board.key
    names = [
        keys.season_pointer(base),
        keys.ended_seasons(base),
        keys.sequence(base),
        keys.live(base),
    ]
    args = [
        "" if believed is None else believed.number,
        "" if believed is None else believed.state,
        mode,
        number,
        state,
        "" if opens is None else opens,
        "" if closes is None else closes,
    ]
    return read_move((yield Call(MOVE, names, args)))


def roll(board: Board, believed: Pointer) -> Steps[Moved]:
    """End the season when its time is over; with a schedule the next begins where it ended.

    After a long silence the next season is the one that runs now: nobody could have scored in
    those between. The function takes the time from Redis; this machine's clock only decides which
    season is next.
    """
    now = datetime.now(UTC)
    if believed.closes is not None:
        now = max(now, moment(believed.closes))
    line = cron_line(board.schedule, board.cron)
    if line is None:
        return move(
            board,
            believed=believed,
            mode="over",
            number=believed.number,
            state=CLOSED,
            opens=believed.opens,
            closes=believed.closes,
        )
    opens, closes = last_boundary(line, board.zone, now), next_boundary(line, board.zone, now)
    if believed.closes is not None:
        # The schedule may have changed while the season ran.
        opens = max(opens, moment(believed.closes))
    return move(
        board,
        believed=believed,
        mode="over",
        number=believed.number + 1,
        state=OPEN,
        opens=microseconds(opens),
        closes=microseconds(closes),
    )


def calendar(board: Board) -> str:
    """By what a board's seasons end, as text: the note `reschedule` holds the one to follow, so
    that nothing moves when the change was never saved."""
    return f"{board.schedule} {board.cron} {board.time_zone}"


def next_close(board: Board, now: datetime) -> int | None:
    """When a season that begins now will end by the board's schedule; None: by hand."""
    line = cron_line(board.schedule, board.cron)
    return None if line is None else microseconds(next_boundary(line, board.zone, now))


def restore(board: Board, *, believed: Pointer | None = None) -> Moved | None:
    """Put a lost pointer back as SQL last knew it; None when the board never had a season.

    With it everything else was lost. Where the log has scores the season comes back paused, and is
    open when they are on the board again: the clock does that.
    """
    season = Season.objects.filter(board=board).exclude(state="planned").order_by("-number").first()
    if season is None:
        return None
    # The sequence is lost with the pointer, and must go on above all that SQL knows and what the
    # lost stream may have held: it gives the events their order.
    last = ScoreEvent.objects.filter(board=board).aggregate(Max("sequence"))["sequence__max"] or 0
    get_redis().set(keys.sequence(board.key), last + SEQUENCE_GAP, nx=True)
    for past in Season.objects.filter(board=board, state=Season.State.CLOSING):
        closes = "" if past.closes is None else microseconds(past.closes)
        ended = microseconds(past.closed_at or past.closes or past.opens)
        times = f"{microseconds(past.opens)} {closes} {ended}"
        get_redis().hsetnx(keys.ended_seasons(board.key), str(past.number), times)
    note(board, REMAKE)
    state = CLOSED
    if season.state == Season.State.OPEN:
        state = PAUSED if last else OPEN
    return perform(
        move(
            board,
            believed=believed,
            mode="keep",
            number=season.number,
            state=state,
            opens=microseconds(season.opens),
            closes=None if season.closes is None else microseconds(season.closes),
        )
    )


def current(board: Board) -> Pointer | None:
    """The pointer, put back from SQL when Redis has lost it."""
    found = read(board)
    if found is None and (restored := restore(board)) is not None:
        _, found = restored
    return found


def parse(values: Sequence[bytes | None]) -> Pointer | None:
    number, state, opens, closes = ((value or b"").decode() for value in values)
    if not number:
        return None
    return Pointer(int(number), state, int(opens or 0), int(closes) if closes else None)


def read_move(reply: list[Any]) -> Moved:
    return bool(reply[0]), parse(reply[1:])
