"""One Redis subscription per process: hears that a board changed, gathers, tells its topics.

A message says only that something happened. What is shown is read from the board itself, at most
four times a second per topic, so a lost message costs a moment and never a wrong line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable
from dataclasses import dataclass
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from config import shutdown
from config.listening import listener
from config.outages import OUTAGES
from config.redis import OUTAGE_ERRORS, get_async_redis
from leaderboard import keys, notices
from leaderboard.access import ACCESS_CHANGED
from leaderboard.live.topic import HEARTBEAT, OPENING, Source, Topic, Viewer, event
from sessions_app import keys as session_keys
from sessions_app.backend import parse_ended
from sessions_app.presence import Viewers

logger = logging.getLogger("rostrum.live")

GATHER = 0.25  # seconds between two updates of a board
MINE_EVERY = 1.0  # seconds between two looks at where the viewers themselves stand
BEAT = 1.0  # seconds between two reports of who is here
LOOK_AGAIN = 5  # beats between two looks at a board on which nothing happened
BEATS_PER_HEARTBEAT = 15  # to the browsers
LINGER = 60.0  # seconds a topic without viewers is kept, for those who come back
RETRY = (0.1, 0.5, 1.0, 2.0)  # seconds between attempts to reach Redis again; the last repeats


class _Message(msgspec.Struct):
    seq: int = 0
    op: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """What one viewer asks for.

    `view` names the topic within the board: the first viewer's `source` feeds it. `viewer` is the
    name under which presence counts them, `player_id` whose own line they want to hear about,
    `session` the digest of the session that let them in: the stream ends with it.
    """

    slug: str
    view: Hashable
    source: Callable[[], Source]
    last_sequence: int | None = None
    player_id: str | None = None
    viewer: str | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """A page without a board: it hears of its player's notices, if the account has a player."""

    player_id: str | None
    viewer: str | None
    session: str


class Feed:
    """A board that somebody watches: its topics, and the newest sequence heard of."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.topics: dict[Hashable, Topic] = {}
        self.sequence = 0
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._mine_pause: asyncio.TimerHandle | None = None
        self._mine_missed = False

    def hear(self, sequence: int) -> None:
        self.sequence = max(self.sequence, sequence)
        self.changed.set()

    async def refresh(self) -> None:
        """Tell each topic what changed; where the viewers themselves stand, once a second."""
        sequence = self.sequence
        topics = list(self.topics.values())
        for topic in topics:
            await topic.refresh(sequence)
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


class Hub:
    """All boards that this process's viewers watch."""

    def __init__(self) -> None:
        self.feeds: dict[str, Feed] = {}
        self.viewers = Viewers()
        self._subscription: Any = None
        self._tasks: list[asyncio.Task[None]] = []
        self._channels: dict[bytes, Feed] = {}
        self._by_session: defaultdict[str, set[Viewer]] = defaultdict(set)
        self._readers: set[Viewer] = set()
        self._starting = asyncio.Lock()

    async def stream(
        self, watch: Watch, gone: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[bytes]:
        """Chunks of server-sent events for one viewer, until `gone` is done or the process ends."""
        topic = await self._topic(watch)
        viewer = topic.enter(watch.last_sequence, watch.player_id)
        try:
            async with self._welcome(viewer, watch, watch.slug, gone):
                if watch.player_id is not None:
                    await topic.refresh_mine()
                while not (topic.closed or viewer.gone):
                    chunk = topic.take(viewer)
                    if chunk:
                        yield chunk
                    else:
                        await viewer.wait()
        finally:
            topic.leave(viewer, asyncio.get_running_loop().time())

    async def notices(
        self, reader: Reader, gone: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[bytes]:
        """Chunks for a page without a board, which begin with the number of unread notices."""
        async with self._starting:
            await self._start()
        viewer = Viewer(0, reader.player_id)
        self._readers.add(viewer)
        try:
            async with self._welcome(viewer, reader, "", gone):
                viewer.private = OPENING
                if reader.player_id is not None:
                    viewer.private += await _unread(reader.player_id)
                while not viewer.gone:
                    if viewer.private:
                        chunk, viewer.private = viewer.private, b""
                        yield chunk
                    else:
                        await viewer.wait()
        finally:
            self._readers.discard(viewer)

    @contextlib.asynccontextmanager
    async def _welcome(
        self, viewer: Viewer, who: Watch | Reader, slug: str, gone: asyncio.Future[Any] | None
    ) -> AsyncIterator[None]:
        """Presence counts the viewer meanwhile, and the session's end or `gone` ends the stream."""
        if who.viewer is not None:
            self.viewers.join(who.viewer, slug)
        if gone is not None:
            gone.add_done_callback(lambda _: viewer.leave())
        if who.session:
            self._by_session[who.session].add(viewer)
        try:
            if who.session and not await get_async_redis().exists(
                session_keys.session(who.session)
            ):
                viewer.leave()  # signed out since it was asked, and we were not listening yet
            yield
        finally:
            if who.viewer is not None:
                self.viewers.leave(who.viewer, slug)
            if who.session:
                self._by_session[who.session].discard(viewer)
                if not self._by_session[who.session]:
                    del self._by_session[who.session]

    async def stop(self) -> None:
        """End every stream at once."""
        for feed in self.feeds.values():
            for topic in feed.topics.values():
                topic.close()
        for viewer in self._readers:
            viewer.leave()
        tasks = [*self._tasks, *(feed.task for feed in self.feeds.values() if feed.task)]
        for task in tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self.feeds.clear()
        self._channels.clear()
        if self._subscription is not None:
            with contextlib.suppress(Exception):  # the server may be gone already
                await self._subscription.aclose()
            self._subscription = None

    async def _topic(self, watch: Watch) -> Topic:
        async with self._starting:
            await self._start()
            feed = self.feeds.get(watch.slug)
            if feed is None:
                feed = Feed(watch.slug)
                channel = _channel(watch.slug)
                # Subscribed before the sequence is read: a change in between is heard of.
                await self._subscription.subscribe(channel)
                feed.sequence = await self._sequence(watch.slug)
                self.feeds[watch.slug] = self._channels[channel.encode()] = feed
                feed.task = asyncio.create_task(self._gather(feed))
        topic = feed.topics.get(watch.view)
        if topic is None:
            topic = feed.topics[watch.view] = Topic(watch.source())
        await topic.open(feed.sequence)
        return topic

    async def _start(self) -> None:
        if self._tasks:
            return
        await self._subscribe()
        self._tasks = [
            asyncio.create_task(work())
            for work in (self._listen, self._beat, self._stop_with_process)
        ]

    async def _subscribe(self) -> None:
        """To everything, on a new connection: after an outage, the primary may be another one."""
        if self._subscription is not None:
            with contextlib.suppress(Exception):  # it is broken: that is why we are here
                await self._subscription.aclose()
        self._subscription = listener(get_async_redis())
        channels = [name.decode() for name in self._channels]
        await self._subscription.subscribe(
            session_keys.presence_leaving(),
            session_keys.sessions_ended(),
            keys.notices_live(),
            *channels,
        )

    async def _sequence(self, slug: str) -> int:
        return int(await get_async_redis().get(keys.sequence(keys.base(slug))) or 0)

    async def _listen(self) -> None:
        """Pass on what the subscription hears."""
        failures = 0
        while True:
            try:
                if failures:
                    async with self._starting:  # nobody may add a channel to the old one meanwhile
                        await self._subscribe()
                    # Who was signed out meanwhile was not heard of: all who signed in ask again.
                    for digest in list(self._by_session):
                        self._end(digest)
                message = await self._subscription.get_message(timeout=1.0)
                if message is not None:
                    await self._hear(message)
            except OUTAGE_ERRORS as error:
                if not failures:
                    logger.warning("Live feed lost Redis", extra={"error": type(error).__name__})
                    self._announce("redis", b'{"away":true}')
                await asyncio.sleep(RETRY[min(failures, len(RETRY) - 1)])
                failures += 1
                continue
            if failures:
                failures = 0
                self._announce("redis", b'{"away":false}')

    async def _hear(self, message: dict[str, Any]) -> None:
        if message["channel"] == session_keys.presence_leaving().encode():
            if message["type"] == "message":
                self.viewers.hear_leaving(message["data"])
            return
        if message["channel"] == session_keys.sessions_ended().encode():
            if message["type"] == "message":
                self._end(parse_ended(message["data"]))
            return
        if message["channel"] == keys.notices_live().encode():
            if message["type"] == "message":
                await self._tell_player(message["data"])
            return
        feed = self._channels.get(message["channel"])
        if feed is None:
            return
        if message["type"] == "subscribe":
            # Also after an outage, when messages may have been missed.
            feed.hear(await self._sequence(feed.slug))
        elif message["type"] == "message":
            told = _told(message["data"])
            if told.op == ACCESS_CHANGED:
                feed.end()
            else:
                feed.hear(told.seq)

    async def _tell_player(self, data: bytes) -> None:
        """A notice, to every page that its player has open here."""
        player_id = notices.player_of(data)
        topics = (topic for feed in self.feeds.values() for topic in feed.topics.values())
        watching = chain(self._readers, *(topic.viewers for topic in topics))
        viewers = [viewer for viewer in watching if viewer.player_id == player_id]
        if viewers:
            chunk = await _unread(player_id)
            for viewer in viewers:
                viewer.tell(chunk)

    def _end(self, session: str) -> None:
        """End the streams that a session let in; a browser that is still welcome reconnects."""
        for viewer in list(self._by_session.get(session, ())):
            viewer.leave()

    def _announce(self, name: str, data: bytes) -> None:
        for feed in self.feeds.values():
            feed.announce(name, data)

    async def _gather(self, feed: Feed) -> None:
        """Turn any number of changes into at most four updates a second."""
        while True:
            await feed.changed.wait()
            feed.changed.clear()
            try:
                await feed.refresh()
            except OUTAGES:
                feed.changed.set()  # `_listen` tells the viewers; here the change must not be lost
                await asyncio.sleep(RETRY[-1])
            except Exception:
                # One board that cannot be read must not silence itself for ever.
                logger.exception("Live board cannot be shown", extra={"board": feed.slug})
                await asyncio.sleep(RETRY[-1])
            await asyncio.sleep(GATHER)

    async def _beat(self) -> None:
        """Keep streams and presence alive; forget what nobody came back to."""
        count = 0
        while True:
            await asyncio.sleep(BEAT)
            count += 1
            with contextlib.suppress(*OUTAGE_ERRORS):  # stays due until Redis is back
                for slug, watching in (await self.viewers.tick()).items():
                    if feed := self.feeds.get(slug):
                        feed.announce("presence", b'{"watching":%d}' % watching)
            if count % BEATS_PER_HEARTBEAT == 0:
                for viewer in self._readers:
                    viewer.tell(viewer.private or HEARTBEAT)
            for feed in list(self.feeds.values()):
                feed.drop_unwatched(asyncio.get_running_loop().time())
                if not feed.topics:
                    with contextlib.suppress(*OUTAGE_ERRORS):
                        await self._forget(feed)
                    continue
                if count % LOOK_AGAIN == 0:
                    # Somebody came online, or a window began anew, without any score.
                    feed.changed.set()
                if count % BEATS_PER_HEARTBEAT == 0:
                    for topic in feed.topics.values():
                        topic.beat()

    async def _forget(self, feed: Feed) -> None:
        self.feeds.pop(feed.slug, None)
        self._channels.pop(_channel(feed.slug).encode(), None)
        if feed.task is not None:
            feed.task.cancel()
        await self._subscription.unsubscribe(_channel(feed.slug))

    async def _stop_with_process(self) -> None:
        await shutdown.wait()
        await self.stop()


async def _unread(player_id: str) -> bytes:
    return event("notice", b'{"unread":%d}' % await notices.aunread_count(player_id))


def _channel(slug: str) -> str:
    return keys.live(keys.base(slug))


def _told(data: bytes) -> _Message:
    """The newest of the changes in a message, each of which is a line."""
    try:
        return msgspec.json.decode(data.rpartition(b"\n")[2], type=_Message)
    except msgspec.DecodeError:
        return _Message()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def get_hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]


async def close_hub() -> None:
    """For tests: end the running loop's streams and tasks."""
    hub = _hubs.pop(asyncio.get_running_loop(), None)
    if hub is not None:
        await hub.stop()
