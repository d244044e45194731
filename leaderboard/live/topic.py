"""What many viewers see: the newest picture, and the last steps that led to it.

A topic is rendered once, however many watch. There is no queue per viewer: each keeps only its
place in one bounded ring, so a slow viewer costs nothing. Whoever falls out of the ring gets a
snapshot. Knows neither Redis nor Django.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

RING = 128  # half a minute at the highest rate
HEARTBEAT = b": still here\n\n"
# Goes out at once, so that proxies and the browser know that the stream is open.
OPENING = b"retry: 2000\n\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a board; `content` is compared to find what must be drawn again."""

    rank: int
    content: Any


@dataclass(frozen=True, slots=True)
class Picture:
    """The lines that a topic shows, in order; the season they are of, and its state."""

    season: int = 0
    size: int = 0
    rows: Mapping[str, Row] = field(default_factory=dict)
    state: str = "open"

    @property
    def is_over(self) -> bool:
        return self.state == "closed"


class Source(Protocol):
    """Where a topic's pictures come from, and what they look like on the wire."""

    async def read(self) -> Picture: ...

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        """The data of an event: what changed, or everything when `before` is None."""

    async def read_mine(self, player_ids: list[str]) -> dict[str, Any]:
        """The own lines of viewers who are players, by player id."""

    def encode_mine(self, mine: Any) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One message to all viewers. Steps that change the picture carry the board's sequence."""

    chunk: bytes
    sequence: int | None = None


def event(name: str, data: bytes, sequence: int | None = None) -> bytes:
    head = f"id: {sequence}\n" if sequence is not None else ""
    return b"%sevent: %s\ndata: %s\n\n" % (head.encode(), name.encode(), data)


class Viewer:
    """One open stream: its place in the ring, and the future that wakes it."""

    __slots__ = ("_private", "_waiting", "gone", "is_new", "mine_sent", "player_id", "position")

    def __init__(self, position: int, player_id: str | None = None) -> None:
        self.position = position
        self.player_id = player_id
        self.mine_sent = b""
        self._private: dict[str, bytes] = {}  # for this viewer alone, the newest of each kind
        self.is_new = True
        self.gone = False
        self._waiting: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def push(self, name: str, chunk: bytes) -> None:
        """Send to this viewer alone; of each name only the newest is kept for a slow one."""
        self._private[name] = chunk
        self.wake()

    def take(self) -> bytes:
        """What was pushed and is not sent yet."""
        chunk = b"".join(self._private.values())
        self._private.clear()
        return chunk

    def leave(self) -> None:
        self.gone = True
        self.wake()


class Topic:
    """A source, its newest picture, the ring, and who watches."""

    def __init__(self, source: Source, ring: int = RING, owner: str = "") -> None:
        self.source = source
        self.owner = owner  # the only caller that it is read for, if any
        self.viewers: set[Viewer] = set()
        self.picture = Picture()
        self.sequence = 0
        self.closed = False
        self.empty_since: float | None = None
        self._ring: deque[Step] = deque()
        self._limit = ring
        self._end = 0  # steps ever taken; a viewer's position counts from the same zero
        self._complete_after = 0  # every change after this sequence is in the ring
        self._snapshot: tuple[int, bytes] | None = None
        self._mine: dict[str, bytes] = {}
        self._notes: dict[str, bytes] = {}
        self._opened = False
        self._opening = asyncio.Lock()

    async def open(self, sequence: int) -> None:
        """Read the first picture. `sequence` was read before it, so that nothing is missed."""
        async with self._opening:
            if not self._opened:
                self.picture = await self.source.read()
                self.sequence = self._complete_after = sequence
                self._opened = True

    async def refresh(self, sequence: int) -> None:
        """Read the board again and send what changed, as one step."""
        if not self._opened:
            return
        before, self.picture = self.picture, await self.source.read()
        if sequence <= self.sequence and before == self.picture:
            return
        self.sequence = max(sequence, self.sequence)
        if (before.season, before.is_over) != (self.picture.season, self.picture.is_over):
            data = self.source.encode(None, self.picture)
            self._append(event("season", data, self.sequence), self.sequence)
        else:
            data = self.source.encode(before, self.picture)
            self._append(event("rows", data, self.sequence), self.sequence)

    async def refresh_mine(self) -> None:
        """Read the ranks of all viewers who are players, in one call."""
        players = {viewer.player_id for viewer in self.viewers if viewer.player_id is not None}
        if not players:
            self._mine.clear()
            return
        answers = await self.source.read_mine(sorted(players))
        self._mine = {
            player_id: event("me", self.source.encode_mine(mine))
            for player_id, mine in answers.items()
        }
        for viewer in self.viewers:
            if self._mine.get(viewer.player_id or "", b"") != viewer.mine_sent:
                viewer.wake()

    def forget_steps(self) -> None:
        """Replay nothing from before now: a step may name a player who is not named any more."""
        self._ring.clear()
        self._complete_after = self.sequence

    def announce(self, name: str, data: bytes) -> None:
        """Send something beside the picture to all viewers, and to those who come later."""
        chunk = event(name, data)
        if self._notes.get(name) != chunk:
            self._notes[name] = chunk
            self._append(chunk)

    def beat(self) -> None:
        self._append(HEARTBEAT)

    def close(self) -> None:
        self.closed = True
        for viewer in self.viewers:
            viewer.wake()

    def enter(self, last_sequence: int | None, player_id: str | None = None) -> Viewer:
        """A viewer who has seen the board up to `last_sequence` continues there, or, when the
        ring no longer reaches back that far, begins with a snapshot."""
        viewer = Viewer(self._position_after(last_sequence), player_id)
        self.viewers.add(viewer)
        self.empty_since = None
        return viewer

    def leave(self, viewer: Viewer, now: float) -> None:
        self.viewers.discard(viewer)
        if not self.viewers:
            self.empty_since = now

    def take(self, viewer: Viewer) -> bytes:
        """All that was not sent to this viewer yet, in one piece."""
        begin = self._end - len(self._ring)
        if viewer.position < begin:
            chunk = self._whole()
        elif viewer.position == self._end:
            chunk = b""
        elif viewer.position == self._end - 1:  # nearly always: no new bytes for each viewer
            chunk = self._ring[-1].chunk
        else:
            chunk = b"".join(
                self._ring[index].chunk for index in range(viewer.position - begin, len(self._ring))
            )
        if viewer.is_new:
            viewer.is_new = False
            chunk = b"".join((OPENING, chunk, *self._notes.values()))
        viewer.position = self._end
        mine = self._mine.get(viewer.player_id, b"") if viewer.player_id is not None else b""
        if mine != viewer.mine_sent:
            viewer.mine_sent = mine
            chunk += mine
        return chunk + viewer.take()

    def _position_after(self, last_sequence: int | None) -> int:
        # Ahead of us: the board's counter was reset, or another process is faster. Start fresh.
        if last_sequence is None or not self._complete_after <= last_sequence <= self.sequence:
            return -1
        begin = self._end - len(self._ring)
        # Steps with the same sequence differ in what no score changed, such as a window that
        # began. The viewer has certainly seen the first of them.
        for index, step in enumerate(self._ring):
            if step.sequence is not None and step.sequence >= last_sequence:
                return begin + index + (step.sequence == last_sequence)
        return begin if last_sequence == self._complete_after else self._end

    def _whole(self) -> bytes:
        if self._snapshot is None or self._snapshot[0] != self._end:
            data = self.source.encode(None, self.picture)
            self._snapshot = (self._end, event("snapshot", data, self.sequence))
        return self._snapshot[1]

    def _append(self, chunk: bytes, sequence: int | None = None) -> None:
        if len(self._ring) == self._limit:
            dropped = self._ring.popleft()
            if dropped.sequence is not None:
                self._complete_after = dropped.sequence
        self._ring.append(Step(chunk, sequence))
        self._end += 1
        for viewer in self.viewers:
            viewer.wake()
