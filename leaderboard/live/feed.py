"""A board that is watched in this process, and what its viewers ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import msgspec

from leaderboard.access.rights import Rights
from leaderboard.live.topic import Source, Topic

MINE_EVERY = 1.0  # seconds between two reads of the viewers' own ranks
MOST_OWN = 5  # topics of one caller
LINGER = 60.0  # seconds a topic without viewers is kept, for those who come back


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who opens a stream. Presence counts them as `presence`, and `player_id` is their own player.

    The stream ends with `session`, the digest of the session that let them in, and when the
    account `user_id` no longer has the same `rights`.
    """

    player_id: str | None = None
    presence: str | None = None
    session: str = ""
    user_id: int | None = None
    rights: Rights = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A board as one viewer watches it.

    `view` names the topic within the board, and the `source` of its first viewer feeds it. `owner`
    is the only caller that the view is read for, if any; the number of those is limited.
    """

    slug: str
    view: Hashable
    source: Callable[[], Source]
    last_sequence: int | None = None
    visitor: Visitor = Visitor()
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWatch:
    """A page without a board of its own: it gets its player's notices, the names of the boards
    among `slugs` that change and, with `activity`, of every board with news in its feed."""

    visitor: Visitor
    slugs: tuple[str, ...] = ()
    activity: bool = False


class Change(msgspec.Struct):
    """What a message of a board's channel has about one change."""

    seq: int = 0
    op: str = ""


def last_change(data: bytes) -> Change:
    """The newest of the changes in a message, each of which is a line."""
    try:
        return msgspec.json.decode(data.rpartition(b"\n")[2], type=Change)
    except msgspec.DecodeError:
        return Change()


class Feed:
    """A board's topics, and the newest sequence that is known."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.topics: dict[Hashable, Topic] = {}
        self.listed = 0  # open pages that list the board
        self.sequence = 0
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._moved = False
        self._mine_pause: asyncio.TimerHandle | None = None
        self._mine_missed = False

    @property
    def is_watched(self) -> bool:
        return bool(self.topics or self.listed)

    async def topic(self, watch: Watch) -> Topic:
        """The topic that `watch` names, with a picture. None stays when it cannot be read."""
        topic = self.topics.get(watch.view)
        if topic is None:
            self._make_room(watch.owner)
            topic = self.topics[watch.view] = Topic(watch.source(), owner=watch.owner)
        try:
            await topic.open(self.sequence)
        except BaseException:
            self._drop(watch.view, topic)
            raise
        return topic

    def _make_room(self, owner: str) -> None:
        """Drop the oldest unwatched topics of a caller that has too many of its own."""
        own = [one for one in self.topics.items() if owner and one[1].owner == owner]
        for view, topic in own[: max(0, len(own) - MOST_OWN + 1)]:
            self._drop(view, topic)

    def _drop(self, view: Hashable, topic: Topic) -> None:
        if not topic.viewers and self.topics.get(view) is topic:
            del self.topics[view]

    def note_change(self, sequence: int, *, is_score: bool) -> None:
        """Anything but a score may have hidden or renamed a player."""
        if not is_score:
            for topic in self.topics.values():
                topic.forget_steps()
        self._moved = self._moved or sequence > self.sequence
        self.sequence = max(self.sequence, sequence)
        self.changed.set()

    def take_moved(self) -> bool:
        """Whether the board has changed since the last call."""
        moved, self._moved = self._moved, False
        return moved

    async def refresh(self) -> None:
        """Send what changed to each topic; the viewers' own ranks once a second."""
        sequence = self.sequence
        topics = list(self.topics.values())
        # At the same time, so that their sources share the reads.
        await asyncio.gather(*(topic.refresh(sequence) for topic in topics))
        if self._mine_pause is not None:
            self._mine_missed = True
            return
        self._mine_missed = False
        self._mine_pause = asyncio.get_running_loop().call_later(MINE_EVERY, self._end_pause)
        await asyncio.gather(*(topic.refresh_mine() for topic in topics))

    def _end_pause(self) -> None:
        self._mine_pause = None
        if self._mine_missed:
            self.changed.set()

    def announce(self, name: str, data: bytes) -> None:
        for topic in self.topics.values():
            topic.announce(name, data)

    def end(self) -> None:
        """End every stream. Browsers reconnect, and are admitted if they still may watch."""
        for topic in self.topics.values():
            topic.close()
        self.topics.clear()

    def drop_unwatched(self, now: float) -> None:
        for view, topic in list(self.topics.items()):
            if topic.empty_since is not None and now - topic.empty_since > LINGER:
                del self.topics[view]
