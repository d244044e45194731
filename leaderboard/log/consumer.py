"""The durable score log: events from each board's stream into SQL, exactly once.

Read, store, tell, acknowledge, trim, in that order. A row is unique by its stream id, so an event
that is delivered twice (a worker died before it acknowledged) is stored once. Only what is stored
is ever trimmed from the stream.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from prometheus_client import Counter, Gauge
from redis.exceptions import ResponseError

from config.redis.cluster import CautiousCluster
from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.engine.functions import LIBRARY
from leaderboard.log import records, troubles
from leaderboard.log.events import Event, events_of
from leaderboard.log.order import stream_order
from leaderboard.models import Board, ScoreEvent
from leaderboard.models.bulk import insert_rows

logger = logging.getLogger("rostrum.log")

GROUP = "store"
BATCH = 1000
# Older deliveries belong to a worker that died, or to a failed attempt of our own.
CLAIM_AFTER = 15.0  # seconds
MOST_FAILURES = 5
# Stored events stay in the stream up to this number, for a look at the latest.
KEPT_STORED = 1000
# Beyond this many that are not stored yet, the operator should know. Nothing is dropped.
STREAM_BOUND = 100_000
WARN_EVERY = 60.0  # seconds

# By number: whoever reads the figures need not know what private boards are called.
LAG = Gauge(
    "rostrum_score_log_lag",
    "Events of a board that are not in SQL yet",
    ["board"],
    multiprocess_mode="mostrecent",
)
STORED = Counter("rostrum_score_log_stored", "Events stored in SQL", ["board"])
BURIED = Counter("rostrum_score_log_buried", "Events moved to the dead letters", ["board"])

EVENT_FIELDS = (
    "board",
    "season",
    "sequence",
    "stream_id",
    "at",
    "op",
    "player_id",
    "value",
    "operator",
    "score",
    "subscore",
    "rank",
    "source",
    "idempotency_key",
    "data",
)

_bury = LIBRARY["bury_event"]


Follower = Callable[[Board, Sequence[Event]], None]
_followers: list[Follower] = []


def follow(follower: Follower) -> None:
    """Call `follower` with the events of a board that are in SQL now. They are acknowledged after
    it: when the worker dies in between, it gets them again."""
    _followers.append(follower)


class Consumer:
    """One reader of all boards' streams. Several may run, in one process or many."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._claim_at = 0.0
        self._warn_at: dict[str, float] = {}
        self._storing = troubles.Watch("log")
        self._caring = troubles.Watch("stream")

    def run_once(self) -> int:
        """Store what waits, up to a batch per board; returns how many events were seen."""
        boards = {board.key: board for board in Board.objects.all()}
        claiming = time.monotonic() >= self._claim_at
        if claiming:
            self._claim_at = time.monotonic() + CLAIM_AFTER / 3
        seen = 0
        for board, events in self.read(list(boards.values()), claiming):
            with self._storing.over(board):
                seen += self._stored(board, events)
        if claiming:
            for board in boards.values():
                with self._caring.over(board):
                    self.look_after(board)
        return seen

    def _stored(self, board: Board, events: list[Event] | Exception) -> int:
        if isinstance(events, Exception):
            raise events
        self.handle(board, events)
        return len(events)

    def drain(self, board: Board, until: str) -> None:
        """Store what nobody else has taken of one board, and what a dead worker left, up to an
        entry of its stream."""
        self.join(board)
        while batches := list(self.read([board], claiming=True)):
            for _, events in batches:
                if isinstance(events, Exception):
                    raise events
                self.handle(board, events)
                last = events[-1].stream_id
            if stream_order(last) >= stream_order(until):
                return

    def read(
        self, boards: Sequence[Board], claiming: bool
    ) -> Iterator[tuple[Board, list[Event] | Exception]]:
        """New events of every board, and those that a dead worker left, in one round trip; a board
        that cannot be read has the error in their place."""
        pipe = get_redis().pipeline(transaction=False)
        for board in boards:
            stream = keys.events(board.key)
            pipe.xreadgroup(GROUP, self.name, {stream: ">"}, count=BATCH)
            if claiming:
                idle = int(CLAIM_AFTER * 1000)
                pipe.xautoclaim(stream, GROUP, self.name, min_idle_time=idle, count=BATCH)
        replies = iter(pipe.execute(raise_on_error=False))
        for board in boards:
            new, claimed = next(replies), next(replies) if claiming else None
            for reply in (new, claimed):
                if isinstance(reply, ResponseError) and "NOGROUP" in str(reply):
                    self.join(board)
                elif isinstance(reply, Exception):
                    yield board, reply
            if isinstance(claimed, list | tuple) and claimed[1]:
                yield board, events_of(claimed[1])
            if not isinstance(new, Exception) and new:
                ((_, entries),) = new
                yield board, events_of(entries)

    def wait(self, limit: float) -> int | None:
        """Wait for the next events of any board, at most `limit` seconds, and store them.

        Returns how many came, or None at once where one call cannot wait for all boards: on a
        cluster with several, because their streams are in different slots, and without any.
        """
        boards = {keys.events(board.key).encode(): board for board in Board.objects.all()}
        client = get_redis("blocking")
        if not boards or (len(boards) > 1 and isinstance(client, CautiousCluster)):
            return None
        try:
            streams = client.xreadgroup(
                GROUP,
                self.name,
                dict.fromkeys(boards, ">"),
                count=BATCH,
                block=int(limit * 1000),
            )
        except ResponseError as error:
            if "NOGROUP" not in str(error) and "UNBLOCKED" not in str(error):
                return None  # one stream is broken; `run_once` finds it, and serves the others
            for board in boards.values():  # a new board, or one that was deleted while we waited
                self.join(board)
            return 0
        seen = 0
        for stream, entries in streams or ():
            with self._storing.over(boards[stream]):
                seen += self._stored(boards[stream], events_of(entries))
        return seen

    def join(self, board: Board) -> None:
        """The first reader of a board makes the group, from the stream's very beginning."""
        if not Board.objects.filter(pk=board.pk).exists():
            return  # deleted since we looked: a stream of it would stay for ever
        try:
            get_redis().xgroup_create(keys.events(board.key), GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    def handle(self, board: Board, events: list[Event]) -> None:
        stored = self.store(board, events)
        if stored:
            STORED.labels(board.pk).inc(len(stored))
            for follower in _followers:
                follower(board, stored)
            self.acknowledge(board, stored)

    def store(self, board: Board, events: list[Event]) -> list[Event]:
        """Commit a batch; when something in it is not storable, each event on its own.

        A database that is away or busy is nobody's fault: that error is passed on, and the events
        come again.
        """
        try:
            store_batch(board, events)
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError, KeyError, msgspec.MsgspecError):
            return [event for event in events if self.store_alone(board, event)]
        return events

    def store_alone(self, board: Board, event: Event) -> bool:
        try:
            store_batch(board, [event])
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError, KeyError, msgspec.MsgspecError) as error:
            self.fail(board, event, error)
            return False
        return True

    def fail(self, board: Board, event: Event, error: Exception) -> None:
        """Count the failure; the fifth sends the event to the dead letters."""
        if not Board.objects.filter(pk=board.pk).exists():
            return  # deleted, and its events with it
        client, failures = get_redis(), keys.failures(board.key)
        count = client.hincrby(failures, event.stream_id, 1)
        extra = {"board": board.slug, "event": event.stream_id, "error": type(error).__name__}
        if count < MOST_FAILURES:
            logger.warning("Event not stored, will be tried again", extra=extra)
            return
        fields = [part for pair in event.raw.items() for part in pair]
        reason = f"{type(error).__name__}: {error}"[:500]
        _bury(
            client,
            [keys.events(board.key), keys.dead_letters(board.key), failures],
            [GROUP, event.stream_id, reason, *fields],
        )
        BURIED.labels(board.pk).inc()
        logger.error("Event moved to the dead letters", extra=extra)

    def acknowledge(self, board: Board, events: list[Event]) -> None:
        get_redis().xack(keys.events(board.key), GROUP, *(event.stream_id for event in events))

    def look_after(self, board: Board) -> None:
        """Trim what is stored, warn when the store falls behind."""
        waiting = lag(board)
        trim_stored(board)
        if waiting > STREAM_BOUND and time.monotonic() >= self._warn_at.get(board.slug, 0.0):
            self._warn_at[board.slug] = time.monotonic() + WARN_EVERY
            logger.warning(
                "The score log falls behind: the stream grows beyond its bound, nothing is dropped",
                extra={"board": board.slug, "waiting": waiting, "bound": STREAM_BOUND},
            )


def store_batch(board: Board, events: Sequence[Event]) -> None:
    """One transaction: the events, and what they say of their players."""
    rows = [event.row(board.pk) for event in events]
    with transaction.atomic():
        insert_rows(ScoreEvent, EVENT_FIELDS, rows, skip_known=True)
        records.store(events)


def lag(board: Board) -> int:
    """How many events are not acknowledged yet: never read, or read and not stored."""
    return lags([board])[board.slug]


def lags(boards: Sequence[Board]) -> dict[str, int]:
    """The lag of many boards in one round trip.

    Redis's own number is not trusted when the group stands at the stream's end: a replica of Redis
    7.0 does not learn how many entries a group has read, and once promoted counts too many.
    """
    pipe = get_redis().pipeline(transaction=False)
    for board in boards:
        pipe.xinfo_stream(keys.events(board.key))
        pipe.xinfo_groups(keys.events(board.key))
    replies = pipe.execute(raise_on_error=False)
    found = {}
    for board, stream, groups in zip(boards, replies[::2], replies[1::2], strict=True):
        waiting = 0 if isinstance(stream, Exception) else int(stream["length"])
        if not isinstance(groups, Exception) and not isinstance(stream, Exception):
            for group in groups:
                if group["name"] not in (GROUP, GROUP.encode()):
                    continue
                unread = group["lag"] if group["lag"] is not None else waiting
                if stream_order(group["last-delivered-id"]) >= stream_order(
                    stream["last-generated-id"]
                ):
                    unread = 0
                waiting = int(unread) + int(group["pending"])
        found[board.slug] = waiting
    return found


def show_lags() -> None:
    """For /metrics: a worker that stands still cannot tell that the log does."""
    boards = list(Board.objects.all())
    waiting = lags(boards)
    for board in boards:
        LAG.labels(board.pk).set(waiting[board.slug])


def last_id(board: Board) -> str:
    """The newest entry of a board's stream."""
    newest = get_redis().xrevrange(keys.events(board.key), count=1)
    return newest[0][0].decode() if newest else "0-0"


def is_stored(board: Board, stream_id: str) -> bool:
    """Whether this entry of a board's stream and all before it are in SQL."""
    client, stream = get_redis(), keys.events(board.key)
    for group in client.xinfo_groups(stream):
        if group["name"] in (GROUP, GROUP.encode()):
            # Asked in this order: what is delivered later waits behind.
            if stream_order(group["last-delivered-id"]) < stream_order(stream_id):
                return False
            oldest = client.xpending(stream, GROUP)["min"]
            return oldest is None or stream_order(oldest) > stream_order(stream_id)
    return False


def trim_stored(board: Board) -> int:
    """Take stored events off the stream; returns how many. Never one that is not stored."""
    client, stream = get_redis(), keys.events(board.key)
    if client.xlen(stream) <= KEPT_STORED:
        return 0
    for group in client.xinfo_groups(stream):
        if group["name"] in (GROUP, GROUP.encode()):
            oldest = client.xpending(stream, GROUP)["min"] or group["last-delivered-id"]
            return int(client.xtrim(stream, minid=oldest, approximate=False))
    return 0


def forget_idle_readers(board: Board, idle: float = 3600.0) -> None:
    """Readers that ended long ago and left nothing behind."""
    client, stream = get_redis(), keys.events(board.key)
    try:
        readers = client.xinfo_consumers(stream, GROUP)
    except ResponseError:
        return  # no stream, or no group yet
    for reader in readers:
        if not reader["pending"] and reader["idle"] > idle * 1000:
            client.xgroup_delconsumer(stream, GROUP, reader["name"])
