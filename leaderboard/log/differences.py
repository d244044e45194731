"""How a live board and its score log differ, and which entries a rebuild would lose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from leaderboard.errors import WouldLoseError
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.seasons.pointer import moment

SHOWN = 20


@dataclass(frozen=True)
class Difference:
    """One player's standing, live (or archived) and by the log. `view` is '' for the season, else
    a window's period such as `day 2026-11-16`. `since` is the start of it, in microseconds."""

    view: str
    since: int
    player_id: str
    live: Mapping[str, Any] | None
    log: Mapping[str, Any] | None

    def __str__(self) -> str:
        return f"{self.player_id} ({self.view})" if self.view else self.player_id


@dataclass(frozen=True)
class Report:
    """`differences` are the first 20 of `count`. `lost` are the first 20 of `lost_count` entries
    that the log does not have. `warnings` are sentences."""

    entries: int
    count: int
    swapped: bool
    differences: tuple[Difference, ...] = ()
    lost: tuple[Difference, ...] = ()
    lost_count: int = 0
    warnings: tuple[str, ...] = ()


def report(
    board: Board,
    *,
    entries: int,
    swapped: bool,
    differences: Sequence[Difference] = (),
    views: Iterable[tuple[str, int]] = (),
) -> Report:
    """`views` are the names and starts of the compared sorted sets."""
    trimmed = trimmed_seasons(board)
    lost = lost_entries(differences, trimmed)
    return Report(
        entries=entries,
        count=len(differences),
        swapped=swapped,
        differences=tuple(differences[:SHOWN]),
        lost=tuple(lost[:SHOWN]),
        lost_count=len(lost),
        warnings=_warnings(views, trimmed),
    )


def trimmed_seasons(board: Board) -> list[Season]:
    """Past seasons of which the log has deleted scores, or is about to."""
    gone = Q(~Exists(ScoreEvent.objects.filter(board=board, season=OuterRef("number"))))
    if board.history_days is not None:
        gone |= Q(closed_at__lt=timezone.now() - timedelta(days=board.history_days))
    past = Season.objects.filter(board=board, state=Season.State.CLOSED, entries__gt=0)
    return list(past.filter(gone).order_by("number"))


def lost_entries(differences: Iterable[Difference], trimmed: Sequence[Season]) -> list[Difference]:
    """Entries that are live and not in the log. Where the log is incomplete, an entry that differs
    counts as lost too: it may come from a deleted score."""
    return [
        one
        for one in differences
        if one.live is not None
        and (one.log is None or (one.view and _reaching_back(one.since, trimmed)))
    ]


def refuse_loss(board: Board, found: Report) -> None:
    """Raise `WouldLoseError` with the entries that would be lost, if any."""
    if not found.lost_count:
        return
    names = ", ".join(map(str, found.lost))
    if found.lost_count > len(found.lost):
        names += f" and {found.lost_count - len(found.lost):,} more"
    entries = "entry" if found.lost_count == 1 else "entries"
    text = (
        f"A rebuild of {board.name} would lose {found.lost_count:,} {entries} "
        f"that the score log does not have: {names}."
    )
    raise WouldLoseError(" ".join([text, *found.warnings]))


def _reaching_back(since: int, trimmed: Sequence[Season]) -> list[Season]:
    return [one for one in trimmed if one.closed_at and one.closed_at > moment(since)]


def _warnings(views: Iterable[tuple[str, int]], trimmed: Sequence[Season]) -> tuple[str, ...]:
    short = [name for name, since in views if name and _reaching_back(since, trimmed)]
    if not short:
        return ()
    first, last = trimmed[0].number, trimmed[-1].number
    seasons = f"season {first}" if first == last else f"seasons {first} to {last}"
    text = f"The log no longer has every score of {seasons}, so it cannot restore all of: "
    return (f"{text}{', '.join(short)}.",)
