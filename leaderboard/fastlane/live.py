"""The live stream for programs: the hub that feeds the pages, with JSON in its events."""

from __future__ import annotations

from leaderboard.api import callers, limits
from leaderboard.api.queries import LiveQuery
from leaderboard.engine import LeaderboardError
from leaderboard.fastlane.http import Request
from leaderboard.fastlane.operations import Lane, admitted, read_query
from leaderboard.live.boards import watch_json
from leaderboard.live.hub import Watch


async def watch(lane: Lane, request: Request) -> Watch:
    """What the caller may watch; raises like any other operation."""
    caller, card = await admitted(lane, request, callers.READ)
    window = read_query(LiveQuery, request).window
    if window != "season" and window not in card.board.windows:
        raise LeaderboardError(
            f"This board keeps no window {window!r}.", code="unknown_window", field="window"
        )
    request.charged = True
    decision = await limits.acharge(caller)
    if not decision.allowed:
        raise limits.refusal(decision)
    seen = request.header(b"last-event-id")
    return watch_json(
        card.board,
        window="" if window == "season" else window,
        last_sequence=int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 19 else None,
    )
