"""Move events from each board's stream into SQL, exactly once.

Read, store, call the followers, acknowledge, trim, in that order. A row is unique by its stream id,
so an event that is delivered twice (a worker died before it acknowledged) is stored once. Only
stored events are trimmed from the stream.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

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
# Older deliveries belong to a worker that died, or to a failed attempt of this one.
CLAIM_AFTER = 15.0  # seconds
MOST_FAILURES = 5
KEPT_STORED = 1000  # a shorter stream is not trimmed
# A warning is logged when more events than this wait to be stored. Nothing is dropped.
STREAM_BOUND = 100_000
WARN_EVERY = 60.0  # seconds

# Labelled by primary key, because the slug of a private board is not public.
LAG = Gauge(
    "rostrum_score_log_lag",
    "Events of a board that are not in SQL yet",
    ["board"],
    multiprocess_mode="mostrecent",
)
STORED = Counter("rostrum_score_log_stored", "Events stored in SQL", ["board"])
BURIED = Counter("rostrum_score_log_buried", "Events moved to the dead letters", ["board"])

# In the order of `Event.row`.
EVENT_FIELDS = [field.name for field in ScoreEvent._meta.concrete_fields if not field.primary_key]
# Errors of a single event. The event is tried again, then moved to the dead letters.
UNSTORABLE = (DatabaseError, ValueError, KeyError, msgspec.MsgspecError)

_bury = LIBRARY["bury_event"]

Follower = Callable[[Board, Sequence[Event]], None]
_followers: list[Follower] = []


def follow(follower: Follower) -> None:
    """Call `follower` with a board's events once they are in SQL. They are acknowledged after it
    returns: if the worker dies in between, the follower gets them again."""
    _followers.append(follower)


class Consumer:
    """A reader of all boards' streams. Several can run, in one process or many."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._claim_at = 0.0
        self._warn_at: dict[str, float] = {}
        self._storing = troubles.Watch("log")
        self._caring = troubles.Watch("stream")

    def run_once(self) -> int:
        """Store up to one batch of events per board. Return how many events were read."""
        boards = {board.key: board for board in Board.objects.all()}
        claiming = time.monotonic() >= self._claim_at
        if claiming:
            self._claim_at = time.monotonic() + CLAIM_AFTER / 3
        seen = 0
        for board, events in self.read(list(boards.values()), claiming):
            with self._storing.over(board):
                seen += self.handle(board, events)
        if claiming:
            for board in boards.values():
                with self._caring.over(board):
                    self.look_after(board)
        return seen

    def drain(self, board: Board, until: str) -> None:
        """Store the events of one board up to the stream entry `until`, except those that another
        live worker is storing."""
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
        """Read new events of every board in one round trip and, with `claiming`, those that a dead
        worker left. A board that cannot be read yields its error instead."""
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
        """Wait up to `limit` seconds for the next events of any board, and store them.

        Return how many came. Return None at once if one call cannot wait for all boards: without
        boards, or on a cluster with several, because their streams are in different slots.
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
                return None  # one stream is broken; `run_once` reports it and reads the others
            for board in boards.values():  # a board was created or deleted while this waited
                self.join(board)
            return 0
        seen = 0
        for stream, entries in streams or ():
            with self._storing.over(boards[stream]):
                seen += self.handle(boards[stream], events_of(entries))
        return seen

    def join(self, board: Board) -> None:
        """Create the consumer group, from the start of the stream, unless it exists."""
        if not Board.objects.filter(pk=board.pk).exists():
            return  # deleted meanwhile: nothing would ever delete the stream created here
        try:
            get_redis().xgroup_create(keys.events(board.key), GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    def handle(self, board: Board, events: list[Event] | Exception) -> int:
        """Store and acknowledge what `read` returned for a board. Return how many events it was."""
        if isinstance(events, Exception):
            raise events
        stored = self.store(board, events)
        if stored:
            STORED.labels(board.pk).inc(len(stored))
            for follower in _followers:
                follower(board, stored)
            self.acknowledge(board, stored)
        return len(events)

    def store(self, board: Board, events: list[Event]) -> list[Event]:
        """Commit a batch, or each event on its own if one of them cannot be stored. Return the
        stored ones.

        If the database is down or busy, the error is raised and the events are delivered again.
        """
        try:
            store_batch(board, events)
        except (OperationalError, InterfaceError):
            raise
        except UNSTORABLE as error:
            if len(events) == 1:
                self.fail(board, events[0], error)
                return []
            return [stored for event in events for stored in self.store(board, [event])]
        return events

    def fail(self, board: Board, event: Event, error: Exception) -> None:
        """Count the failure. The fifth moves the event to the dead letters."""
        if not Board.objects.filter(pk=board.pk).exists():
            return  # the board was deleted, and its stream with it
        client, failures = get_redis(), keys.failures(board.key)
        count = client.hincrby(failures, event.stream_id, 1)
        extra = {"board": board.slug, "event": event.stream_id, "error": type(error).__name__}
        if count < MOST_FAILURES:
            logger.warning("Event not stored, will be retried", extra=extra)
            return
        reason = f"{type(error).__name__}: {error}"[:500]
        _bury(
            client,
            [keys.events(board.key), keys.dead_letters(board.key), failures],
            [GROUP, event.stream_id, reason, *chain.from_iterable(event.raw.items())],
        )
        BURIED.labels(board.pk).inc()
        logger.error("Event moved to the dead letters", extra=extra)

    def acknowledge(self, board: Board, events: list[Event]) -> None:
        get_redis().xack(keys.events(board.key), GROUP, *(event.stream_id for event in events))

    def look_after(self, board: Board) -> None:
        """Trim stored events. Log a warning when too many wait to be stored."""
        waiting = lag(board)
        trim_stored(board)
        if waiting > STREAM_BOUND and time.monotonic() >= self._warn_at.get(board.slug, 0.0):
            self._warn_at[board.slug] = time.monotonic() + WARN_EVERY
            logger.warning(
                "The score log falls behind: the stream grows beyond its bound, nothing is dropped",
                extra={"board": board.slug, "waiting": waiting, "bound": STREAM_BOUND},
            )


def store_batch(board: Board, events: Sequence[Event]) -> None:
    """Store the events and update the records of their players, in one transaction."""
    rows = [event.row(board.pk) for event in events]
    with transaction.atomic():
        insert_rows(ScoreEvent, EVENT_FIELDS, rows, skip_known=True)
        records.store(events)


def lag(board: Board) -> int:
    """How many events are not acknowledged yet: never read, or read and not stored."""
    return lags([board])[board.slug]


def lags(boards: Sequence[Board]) -> dict[str, int]:
    """The lag of many boards in one round trip.

    Redis's own number is ignored when the group has read the whole stream: a replica of Redis 7.0
    does not learn how many entries a group has read, and counts too many once it is promoted.
    """
    pipe = get_redis().pipeline(transaction=False)
    for board in boards:
        pipe.xinfo_stream(keys.events(board.key))
        pipe.xinfo_groups(keys.events(board.key))
    replies = pipe.execute(raise_on_error=False)
    found = {}
    for board, stream, groups in zip(boards, replies[::2], replies[1::2], strict=True):
        waiting = 0 if isinstance(stream, Exception) else int(stream["length"])
        if not isinstance(stream, Exception) and (group := _own(groups)):
            unread = group["lag"] if group["lag"] is not None else waiting
            last = stream["last-generated-id"]
            if stream_order(group["last-delivered-id"]) >= stream_order(last):
                unread = 0
            waiting = int(unread) + int(group["pending"])
        found[board.slug] = waiting
    return found


def _own(groups: Any) -> dict[str, Any] | None:
    """The worker's group in a reply of XINFO GROUPS; None if it does not exist yet."""
    if isinstance(groups, Exception):
        return None
    return next((group for group in groups if group["name"] == GROUP.encode()), None)


def show_lags() -> None:
    """Set the gauge for /metrics. The web process does this: a worker that hangs could not."""
    boards = list(Board.objects.all())
    waiting = lags(boards)
    for board in boards:
        LAG.labels(board.pk).set(waiting[board.slug])


def last_id(board: Board) -> str:
    """The id of the newest entry of a board's stream."""
    newest = get_redis().xrevrange(keys.events(board.key), count=1)
    return newest[0][0].decode() if newest else "0-0"


def is_stored(board: Board, stream_id: str) -> bool:
    """Whether this entry of a board's stream and all before it are in SQL."""
    client, stream = get_redis(), keys.events(board.key)
    group = _own(client.xinfo_groups(stream))
    # The group is read before the pending list: entries delivered in between come after this one.
    if group is None or stream_order(group["last-delivered-id"]) < stream_order(stream_id):
        return False
    oldest = client.xpending(stream, GROUP)["min"]
    return oldest is None or stream_order(oldest) > stream_order(stream_id)


def trim_stored(board: Board) -> int:
    """Delete stored events from the stream, never others. Return how many."""
    client, stream = get_redis(), keys.events(board.key)
    if client.xlen(stream) <= KEPT_STORED:
        return 0
    group = _own(client.xinfo_groups(stream))
    if group is None:
        return 0
    oldest = client.xpending(stream, GROUP)["min"] or group["last-delivered-id"]
    return int(client.xtrim(stream, minid=oldest, approximate=False))


def forget_idle_readers(board: Board, idle: float = 3600.0) -> None:
    """Delete consumers of the group that ended long ago and have nothing pending."""
    client, stream = get_redis(), keys.events(board.key)
    try:
        readers = client.xinfo_consumers(stream, GROUP)
    except ResponseError:
        return  # no stream, or no group yet
    for reader in readers:
        if not reader["pending"] and reader["idle"] > idle * 1000:
            client.xgroup_delconsumer(stream, GROUP, reader["name"])
