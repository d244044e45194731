"""A board that somebody watches in this process, and what its viewers ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import msgspec

from leaderboard.access.rights import Rights
from leaderboard.live.topic import Source, Topic

MINE_EVERY = 1.0  # seconds between two looks at where the viewers themselves stand
MOST_OWN = 5  # topics of one caller
LINGER = 60.0  # seconds a topic without viewers is kept, for those who come back


@dataclass(frozen=True, slots=True)
class Watch:
    """What one viewer asks for.

    `view` names the topic within the board: the first viewer's `source` feeds it. `viewer` is the
    name under which presence counts them, `player_id` the player whose own line they follow.
    The stream ends with `session`, the digest of the session that let them in, and when the
    account `user_id` no longer has the same `rights`. `owner` is the caller that a view is read
    for alone; of those each has a few.
    """

    slug: str
    view: Hashable
    source: Callable[[], Source]
    last_sequence: int | None = None
    player_id: str | None = None
    viewer: str | None = None
    session: str = ""
    user_id: int | None = None
    rights: Rights = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """A page without a board of its own: it hears of its player's notices, if the account has a
    player, and of changes on the boards that it lists; or of news in every board's feed."""

    player_id: str | None
    viewer: str | None
    session: str = ""
    user_id: int | None = None
    rights: Rights = None
    slugs: tuple[str, ...] = ()
    # Hears of all boards' feeds.
    activity: bool = False


class Told(msgspec.Struct):
    """What a message of a board's channel says of one change."""

    seq: int = 0
    op: str = ""


def told_last(data: bytes) -> Told:
    """The newest of the changes in a message, each of which is a line."""
    try:
        return msgspec.json.decode(data.rpartition(b"\n")[2], type=Told)
    except msgspec.DecodeError:
        return Told()


class Feed:
    """A board's topics, and the newest sequence heard of."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.topics: dict[Hashable, Topic] = {}
        self.readers = 0  # open pages that list the board
        self.sequence = 0
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._moved = False
        self._mine_pause: asyncio.TimerHandle | None = None
        self._mine_missed = False

    @property
    def is_watched(self) -> bool:
        return bool(self.topics or self.readers)

    async def topic(self, watch: Watch) -> Topic:
        """The topic that `watch` names, with a picture. None stays when it cannot be read."""
        topic = self.topics.get(watch.view)
        if topic is None:
            self._make_room(watch.owner)
            topic = self.topics[watch.view] = Topic(watch.source(), owner=watch.owner)
        try:
            await topic.open(self.sequence)
        except BaseException:
            self.drop(watch.view, topic)
            raise
        return topic

    def _make_room(self, owner: str) -> None:
        """Of one caller's own topics, those that nobody watches any more give way."""
        own = [one for one in self.topics.items() if owner and one[1].owner == owner]
        for view, topic in own[: max(0, len(own) - MOST_OWN + 1)]:
            self.drop(view, topic)

    def drop(self, view: Hashable, topic: Topic) -> None:
        """Forget a topic unless somebody watches it."""
        if not topic.viewers and self.topics.get(view) is topic:
            del self.topics[view]

    def hear(self, sequence: int) -> None:
        self._moved = self._moved or sequence > self.sequence
        self.sequence = max(self.sequence, sequence)
        self.changed.set()

    def take_moved(self) -> bool:
        """Whether the board has changed since this was asked last."""
        moved, self._moved = self._moved, False
        return moved

    async def refresh(self) -> None:
        """Tell each topic what changed; where the viewers themselves stand, once a second."""
        sequence = self.sequence
        topics = list(self.topics.values())
        # At once, so that sources that read the same can read it together.
        await asyncio.gather(*(topic.refresh(sequence) for topic in topics))
        if self._mine_pause is not None:
            self._mine_missed = True
            return
        self._mine_missed = False
        self._mine_pause = asyncio.get_running_loop().call_later(MINE_EVERY, self._end_pause)
        for topic in topics:
            await topic.refresh_mine()

    def _end_pause(self) -> None:
        self._mine_pause = None
        if self._mine_missed:
            self.changed.set()

    def announce(self, name: str, data: bytes) -> None:
        for topic in self.topics.values():
            topic.announce(name, data)

    def end(self) -> None:
        """End every stream; browsers that are still welcome reconnect and are asked anew."""
        for topic in self.topics.values():
            topic.close()
        self.topics.clear()

    def drop_unwatched(self, now: float) -> None:
        for view, topic in list(self.topics.items()):
            if topic.empty_since is not None and now - topic.empty_since > LINGER:
                del self.topics[view]
