"""An entry of a board, from the reply of the engine to a page, a file or the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType


class Entry(msgspec.Struct, gc=False):
    """A player on a board; an anonymous one has an alias, unless the reader may know the id."""

    rank: int
    player_id: str = msgspec.field(name="player")
    score: float
    details: dict[str, str]
    subscore: Annotated[
        float | UnsetType | None,
        Meta(description="Only on boards with a second number; null for a player without one."),
    ] = UNSET

    @classmethod
    def of(cls, found: Mapping[str, Any], **further: Any) -> Self:
        """From an entry as the engine returns it, and the further fields of a subclass."""
        return cls(
            found["rank"],
            found["user_id"],
            found["score"],
            found["metadata"],
            found.get("subscore", UNSET),
            **further,
        )

    @property
    def has_page(self) -> bool:
        """Whether the player has a page on the board."""
        return True


class UnnamedEntry(Entry, gc=False):
    """In final standings: a player who is not named."""

    @property
    def has_page(self) -> bool:
        return False
