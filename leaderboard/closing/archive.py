"""The archive: final standings of a season, from Redis to SQL, exactly once.

1. Gather: the frozen season is read in portions into a temporary file. Nothing is locked. When
   Redis has lost it, the score log is played again instead.
2. Store: one transaction removes what stands there, writes every row and marks the season closed.
   The file keeps this short, because on SQLite it is the only writer meanwhile.
3. Announce, after the commit.
4. Drop the frozen keys and the details of players who stand nowhere else; then forget the season.

Whatever is killed when, the next attempt ends the same: until the commit the frozen keys are all
there and it starts over, after it the season is closed and steps 3 and 4 are repeated.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import IO, Any

import msgspec
from django.db import transaction

from config.redis.connections import get_redis
from config.redis.locks import Held, LockTakenError
from leaderboard import keys
from leaderboard.access import aliases, erasing
from leaderboard.engine import RedisLeaderboard
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

# Rows per call: a few milliseconds of Redis's time, so that scores meanwhile do not wait.
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
    """Write the frozen standings to `file`, a portion in each line; returns how many."""
    frozen = season.board.engine(season.number)
    size = frozen.get_size()
    done = 0
    for entries in _portions(frozen):
        rows = _stored(season, entries, done)
        file.write(msgspec.json.encode(rows) + b"\n")
        done += len(rows)
        if progress:
            progress(done, size)
    return done


def played_again(season: Season) -> Build:
    """One season from the log, by the rules that its board has now."""
    board = season.board
    at = pointer.Pointer(season.number, pointer.OPEN, pointer.microseconds(season.opens), None)
    build = Build(board, at, rebuild.drain(board, rebuild.DRAIN_LIMIT), with_windows=False)
    build.replay()
    # Hidden players are not archived; those who are there already stay.
    hidden = {one.decode() for one in get_redis().smembers(keys.hidden(board.key))}
    there = FinalStanding.objects.filter(season=season, player_id__in=hidden)
    for player_id in hidden.difference(there.values_list("player_id", flat=True)):
        build.season.remove(player_id)
    return build


def gather_from_log(season: Season, file: IO[bytes], build: Build | None = None) -> int:
    build = build or played_again(season)
    rows = standings(build.season.entries, build.ranking)
    done = 0
    while portion := list(islice(rows, PORTION)):
        details = build.details_of([player_id for _, _, player_id, _ in portion])
        entries = [
            {
                "rank": rank,
                "user_id": player_id,
                "score": entry.score,
                "metadata": details[player_id],
            }
            | ({"subscore": entry.subscore} if build.ranking.subscore else {})
            for _, rank, player_id, entry in portion
        ]
        file.write(msgspec.json.encode(_stored(season, entries, done)) + b"\n")
        done += len(portion)
    return done


def _stored(season: Season, entries: list[dict[str, Any]], before: int) -> list[tuple[Any, ...]]:
    """Rows by `FIELDS`."""
    return [
        (
            season.pk,
            position,
            entry["rank"],
            storable(entry["user_id"]),
            storable(entry["metadata"].get("name", ""))[:LONGEST_NAME],
            entry["score"],
            entry.get("subscore"),
            storable_json(entry["metadata"]),
        )
        for position, entry in enumerate(aliases.masked_all(entries, with_id=True), before + 1)
    ]


def _portions(frozen: RedisLeaderboard) -> Iterator[list[dict[str, Any]]]:
    """Redis reads the next portion while this one is written."""
    with ThreadPoolExecutor(1) as reader:
        offset = 0
        ahead = reader.submit(frozen.get_page, offset, PORTION)
        while entries := ahead.result():
            offset += PORTION
            ahead = reader.submit(frozen.get_page, offset, PORTION)
            yield entries


def store(season: Season, held: Held, file: IO[bytes], count: int) -> None:
    """Write all rows and close the season in one transaction."""
    with large_cache(), transaction.atomic():
        # A holder who was paused and lost the lock has a smaller number than the next one.
        newest = Season.objects.filter(pk=season.pk, fence__lt=held.fence)
        if not newest.exclude(state=Season.State.CLOSED).update(fence=held.fence):
            raise LockTakenError("Somebody else archives this season or has done so.")
        _replace(season, file)
        if not season.advance(Season.State.CLOSED, entries=count, fence=held.fence):
            raise LockTakenError("Somebody else has archived this season.")
    forget_season_list(season.board_id)


def store_again(season: Season, file: IO[bytes], count: int) -> None:
    """Write the rows of a closed season anew; call inside the transaction that records it.

    Guarded by the fence that the season had when it was read: those of a lock begin again when
    Redis has lost them.
    """
    fence = season.fence + 1
    same = Season.objects.filter(pk=season.pk, fence=season.fence)
    if not same.update(fence=fence, entries=count):
        raise LockTakenError("Somebody else has archived this season meanwhile.")
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
    """Notify every signed-in player where they ended, and the board's feed; a second time changes
    nothing."""
    delivery.season_ended(season)
    activity.season_ended(season)


def drop(season: Season) -> None:
    """Give the memory back, in portions, and forget that the season waited."""
    board = season.board
    at = pointer.read(board)
    # Between two seasons the pointer still names the one that ended.
    running = max(at.number if at else 0, season.number + 1)
    engine = board.engine(running)
    waiting = [past.number for past in pointer.read_ended(board)]
    while engine.drop_season(season.number, waiting=waiting):
        pass
    pointer.forget_ended(board, season.number)
