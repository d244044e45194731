"""A past season archived again from the score log."""

from __future__ import annotations

import tempfile

from django.db import transaction

from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.closing import archive
from leaderboard.closing.seasons import season_lock
from leaderboard.errors import ServiceError, UnknownSeasonError
from leaderboard.log import differences
from leaderboard.log.build import Build
from leaderboard.log.differences import Difference, Report
from leaderboard.models import Board, FinalStanding, Season
from leaderboard.seasons.pointer import microseconds


def rebuild_season(
    *, board: Board, number: int, actor: Actor, check: bool = False, allow_loss: bool = False
) -> Report:
    """Compare the archive of a closed season with the score log. Where they differ, archive it
    again by the rules that the board has now; with `check` only compare.

    `WouldLoseError` when the archive has entries that the log does not have, unless `allow_loss`.
    A second call finds no difference and changes nothing.
    """
    with season_lock(board) as held:
        season = _closed(board, number)
        build = archive.replayed(season)
        found = _compare(season, build)
        result = differences.report(
            board,
            entries=len(build.season.entries),
            swapped=bool(found) and not check,
            differences=found,
            views=[(_view(season), microseconds(season.opens))],
        )
        if not result.swapped:
            return result
        if not allow_loss:
            differences.refuse_loss(board, result)
        before = season.entries
        with tempfile.TemporaryFile() as file:
            count = archive.gather_from_log(season, file, build)
            held.check()
            with transaction.atomic():
                archive.store_again(season, file, count)
                audit.record(
                    "season.rearchive",
                    actor=actor,
                    board=board,
                    season=number,
                    before=before,
                    after=count,
                    lost=result.lost_count,
                )
    return result


def _closed(board: Board, number: int) -> Season:
    season = Season.objects.select_related("board").filter(board=board, number=number).first()
    if season is None:
        raise UnknownSeasonError(f"{board.name} has no season {number}.", field="season")
    if season.state == Season.State.CLOSING:
        raise ServiceError(f"{season.title} of {board.name} has not been archived yet.")
    if season.state != Season.State.CLOSED:
        raise ServiceError(
            f"{season.title} of {board.name} is {season.state}; rebuild the board instead."
        )
    return season


def _view(season: Season) -> str:
    return f"season {season.number}"


def _compare(season: Season, build: Build) -> list[Difference]:
    fields = ["score", "subscore"] if build.ranking.subscore else ["score"]
    rows = FinalStanding.objects.filter(season=season)
    archived = {
        row.player_id: {name: getattr(row, name) for name in fields}
        for row in rows.only("player_id", *fields).iterator(chunk_size=1000)
    }
    logged = {
        player_id: {name: getattr(entry, name) for name in fields}
        for player_id, entry in build.season.entries.items()
    }
    since = microseconds(season.opens)
    return [
        Difference(_view(season), since, name, archived.get(name), logged.get(name))
        for name in sorted(archived.keys() | logged.keys())
        if archived.get(name) != logged.get(name)
    ]
