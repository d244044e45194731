"""The archive: final standings of a season, from Redis to SQL, exactly once.

1. Gather: the ended season is read in portions into a temporary file. Nothing is locked. When
   Redis has lost it, the score log is replayed instead.
2. Store: one transaction deletes old rows, writes every row and marks the season closed.
   The file keeps this short, because on SQLite it is the only writer meanwhile.
3. Announce, after the commit.
4. Drop the season's keys and the details of players who are on no other board or season.

A process may be killed at any time, and the next attempt has the same result: until the commit all
keys are there and it starts over; afterwards the season is closed and steps 3 and 4 are repeated.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import IO, Any

import msgspec
from django.db import transaction
from msgspec import UNSET

from config.redis.connections import get_redis
from config.redis.locks import Held, LockTakenError
from leaderboard import keys
from leaderboard.access import aliases, erasing
from leaderboard.engine import RedisLeaderboard
from leaderboard.entries import Entry
from leaderboard.log import rebuild
from leaderboard.log.build import Build
from leaderboard.log.replay import standings
from leaderboard.models import FinalStanding, Season
from leaderboard.models.bulk import insert_rows, large_cache, storable, storable_json
from leaderboard.notices import activity, delivery
from leaderboard.seasons import pointer
from leaderboard.seasons.history import forget_names, forget_season_list

logger = logging.getLogger("rostrum.archive")

# Done so far, and in all.
Progress = Callable[[int, int], None]

# Rows per call: a few milliseconds of Redis time, so that scores do not wait.
PORTION = 250
LONGEST_NAME = 256
FIELDS = (
    "season",
    "position",
    "rank",
    "player_id",
    "name",
    "score",
    "subscore",
    "details",
)


def archive_season(season: Season, held: Held, *, progress: Progress | None = None) -> None:
    """Archive an ended season under the board's season lock; safe to repeat."""
    if season.state != Season.State.CLOSED:
        with tempfile.TemporaryFile() as file:
            if rebuild.is_lost(season.board, season.number):
                count = gather_from_log(season, file)
            else:
                count = gather(season, file, progress)
            held.check()
            store(season, held, file, count)
    announce(season)
    drop(season)
    logger.info(
        "Season archived",
        extra={"board": season.board.slug, "season": season.number, "players": season.entries},
    )


def gather(season: Season, file: IO[bytes], progress: Progress | None = None) -> int:
    """Write the standings to `file`, a portion in each line; returns how many."""
    ended = season.board.engine(season.number)
    return _write(season, file, _read_portions(ended), progress, ended.get_size())


def gather_from_log(season: Season, file: IO[bytes], build: Build | None = None) -> int:
    return _write(season, file, _replayed_portions(build or replayed(season)))


def replayed(season: Season) -> Build:
    """One season from the log, by the rules that its board has now."""
    board = season.board
    opens = pointer.microseconds(season.opens)
    ended = pointer.Pointer(season.number, pointer.OPEN, opens, None)
    build = Build(board, ended, rebuild.drain(board, rebuild.DRAIN_LIMIT), with_windows=False)
    build.replay()
    # Hidden players are not archived, but those who already are stay.
    hidden = {one.decode() for one in get_redis().smembers(keys.hidden(board.key))}
    there = FinalStanding.objects.filter(season=season, player_id__in=hidden)
    for player_id in hidden.difference(there.values_list("player_id", flat=True)):
        build.season.remove(player_id)
    return build


def _read_portions(ended: RedisLeaderboard) -> Iterator[list[Entry]]:
    """Redis reads the next portion while this one is written."""
    with ThreadPoolExecutor(1) as reader:
        offset = 0
        ahead = reader.submit(ended.get_page, offset, PORTION)
        while entries := ahead.result():
            offset += PORTION
            ahead = reader.submit(ended.get_page, offset, PORTION)
            yield [Entry.of(one) for one in entries]


def _replayed_portions(build: Build) -> Iterator[list[Entry]]:
    rows = standings(build.season.entries, build.ranking)
    while portion := list(islice(rows, PORTION)):
        details = build.details_of([player_id for _, _, player_id, _ in portion])
        has_subscore = build.ranking.subscore is not None
        yield [
            Entry(
                rank,
                player_id,
                one.score,
                details[player_id],
                one.subscore if has_subscore else UNSET,
            )
            for _, rank, player_id, one in portion
        ]


def _write(
    season: Season,
    file: IO[bytes],
    portions: Iterable[list[Entry]],
    progress: Progress | None = None,
    size: int = 0,
) -> int:
    done = 0
    for entries in portions:
        file.write(msgspec.json.encode(_stored(season, entries, done)) + b"\n")
        done += len(entries)
        if progress:
            progress(done, size)
    return done


def _stored(season: Season, entries: Iterable[Entry], before: int) -> list[tuple[Any, ...]]:
    """Rows by `FIELDS`."""
    return [
        (
            season.pk,
            position,
            entry.rank,
            storable(entry.player_id),
            storable(entry.details.get("name", ""))[:LONGEST_NAME],
            entry.score,
            None if entry.subscore is UNSET else entry.subscore,
            storable_json(entry.details),
        )
        for position, entry in enumerate(aliases.masked_all(entries, with_id=True), before + 1)
    ]


def store(season: Season, held: Held, file: IO[bytes], count: int) -> None:
    """Write all rows and close the season in one transaction."""
    with large_cache(), transaction.atomic():
        # A holder who was paused and lost the lock has a smaller number than the next one.
        newest = Season.objects.filter(pk=season.pk, fence__lt=held.fence)
        if not newest.exclude(state=Season.State.CLOSED).update(fence=held.fence):
            raise LockTakenError("Another process archives this season or has archived it.")
        _replace(season, file)
        if not season.advance(Season.State.CLOSED, entries=count, fence=held.fence):
            raise LockTakenError("Another process has archived this season.")
    forget_season_list(season.board_id)


def store_again(season: Season, file: IO[bytes], count: int) -> None:
    """Replace the rows of a closed season; call inside the transaction that records it.

    Guarded by the fence that the season had when it was read, because the fences of a lock start
    again when Redis has lost them.
    """
    fence = season.fence + 1
    same = Season.objects.filter(pk=season.pk, fence=season.fence)
    if not same.update(fence=fence, entries=count):
        raise LockTakenError("Another process has archived this season meanwhile.")
    _replace(season, file)
    season.entries, season.fence = count, fence
    transaction.on_commit(lambda: forget_season_list(season.board_id))
    transaction.on_commit(forget_names)


def _replace(season: Season, file: IO[bytes]) -> None:
    FinalStanding.objects.filter(season=season).delete()
    insert_rows(FinalStanding, FIELDS, _rows(file))
    erasing.erase_deleted(season)


def _rows(file: IO[bytes]) -> Iterator[list[Any]]:
    file.seek(0)
    decode = msgspec.json.Decoder(list[list[Any]]).decode
    return (row for line in file for row in decode(line))


def announce(season: Season) -> None:
    """Notify every player with an account, and the board's feed; safe to repeat."""
    delivery.season_ended(season)
    activity.season_ended(season)


def drop(season: Season) -> None:
    """Delete the season's keys, in portions, and its note that it waits for the archive."""
    board = season.board
    current = pointer.read(board)
    # Between two seasons the pointer still names the one that ended.
    running = max(current.number if current else 0, season.number + 1)
    engine = board.engine(running)
    waiting = [past.number for past in pointer.read_ended(board)]
    while engine.drop_season(season.number, waiting=waiting):
        pass
    pointer.forget_ended(board, season.number)
