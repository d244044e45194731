"""Places in the order of a board that stay where they are while scores change."""

from __future__ import annotations

from typing import NamedTuple

from leaderboard.engine.values import checked_offset


class Position(NamedTuple):
    """The place of an entry: its score, the bytes before the id in its member as hex (see
    `stamps.lua`), and the id where those bytes do not distinguish entries.

    It is a place even when the entry has moved or gone: what is read after it is what is worse.
    """

    score: float
    prefix: str
    user_id: str = ""

    def __str__(self) -> str:
        """As `positions.lua` reads it."""
        return f"{self.score!r} {self.prefix} {self.user_id}"


def skipped(offset: int | Position) -> int | str:
    """What a function skips: so many entries, or all up to a position."""
    return str(offset) if isinstance(offset, Position) else checked_offset(offset)


def last_position(ties: str, score: float, user_id: str, prefix: str | bool) -> Position | None:
    """Where the last row of a page is. `prefix` is the function's: False when no row follows."""
    if not isinstance(prefix, str):
        return None
    return Position(score, prefix, user_id if ties == "member" else "")
