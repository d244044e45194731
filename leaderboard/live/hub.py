"""One Redis subscription per process: hears that a board changed, gathers, tells its topics.

A message says only that something happened. What is shown is read from the board itself, at most
four times a second per topic, so a lost message costs a moment and never a wrong line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from config.redis.connections import OUTAGE_ERRORS, get_async_redis
from config.redis.listening import listener
from config.sql import ask_sql
from config.web import shutdown
from config.web.outages import OUTAGES
from leaderboard import keys
from leaderboard.access.rights import ACCESS_CHANGED, Rights, rights_of
from leaderboard.live.feed import Feed, Reader, Watch, told_last
from leaderboard.live.topic import HEARTBEAT, OPENING, Viewer, event
from leaderboard.notices import delivery
from sessions_app import keys as session_keys
from sessions_app.backend import parse_ended
from sessions_app.presence import Viewers

logger = logging.getLogger("rostrum.live")

GATHER = 0.25  # seconds between two updates of a board
BEAT = 1.0  # seconds between two reports of who is here
LOOK_AGAIN = 5  # beats between two looks at a board on which nothing happened
BEATS_PER_HEARTBEAT = 15  # to the browsers
ASK_RIGHTS = 3.0  # seconds between two looks at the rights of who is signed in
RETRY = (0.1, 0.5, 1.0, 2.0)  # seconds between attempts to reach Redis again; the last repeats


class Hub:
    """All boards that this process's viewers watch."""

    def __init__(self) -> None:
        self.feeds: dict[str, Feed] = {}
        self.viewers = Viewers()
        self._subscription: Any = None
        self._tasks: list[asyncio.Task[None]] = []
        self._channels: dict[bytes, Feed] = {}
        self._by_session: defaultdict[str, set[Viewer]] = defaultdict(set)
        self._by_user: defaultdict[int, dict[Viewer, Rights]] = defaultdict(dict)
        self._readers: dict[Viewer, Reader] = {}
        self._starting = asyncio.Lock()

    async def stream(
        self, watch: Watch, gone: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[bytes]:
        """Chunks of server-sent events for one viewer, until `gone` is done or the process ends."""
        feed = await self._feed(watch.slug)
        topic = await feed.topic(watch)
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
        """Chunks for a page without a board of its own: the number of unread notices, and which of
        the boards that it lists have changed."""
        async with self._starting:
            await self._start()
        viewer = Viewer(0, reader.player_id)
        listed: list[Feed] = []
        try:
            for slug in reader.slugs:
                feed = await self._feed(slug)
                feed.readers += 1
                listed.append(feed)
            self._readers[viewer] = reader
            async with self._welcome(viewer, reader, "", gone):
                viewer.tell("open", OPENING)
                if reader.player_id is not None:
                    viewer.tell("notice", await _unread(reader.player_id))
                while not viewer.gone:
                    if chunk := viewer.take():
                        yield chunk
                    else:
                        await viewer.wait()
        finally:
            self._readers.pop(viewer, None)
            for feed in listed:
                feed.readers -= 1

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
        if who.user_id is not None:
            self._by_user[who.user_id][viewer] = who.rights
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
            if who.user_id is not None:
                del self._by_user[who.user_id][viewer]
                if not self._by_user[who.user_id]:
                    del self._by_user[who.user_id]

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

    async def _feed(self, slug: str) -> Feed:
        async with self._starting:
            await self._start()
            feed = self.feeds.get(slug)
            if feed is None:
                feed = Feed(slug)
                channel = _channel(slug)
                # Subscribed before the sequence is read: a change in between is heard of.
                await self._subscription.subscribe(channel)
                feed.sequence = await self._sequence(slug)
                self.feeds[slug] = self._channels[channel.encode()] = feed
                feed.task = asyncio.create_task(self._gather(feed))
            return feed

    async def _start(self) -> None:
        if self._tasks:
            return
        await self._subscribe()
        self._tasks = [
            asyncio.create_task(work())
            for work in (self._listen, self._beat, self._ask_rights, self._stop_with_process)
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
        await self._subscription.psubscribe(keys.feed_live("*"))

    async def _sequence(self, slug: str) -> int:
        base = keys.base(slug)
        return keys.changed_at(*await get_async_redis().mget(keys.sequence(base), keys.quiet(base)))

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
                    await self._hear_safely(message)
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

    async def _hear_safely(self, message: dict[str, Any]) -> None:
        """A message that cannot be read is dropped: it must not end the listener of all pages."""
        try:
            await self._hear(message)
        except OUTAGE_ERRORS:
            raise
        except Exception:
            channel = message["channel"].decode("utf-8", "replace")
            logger.warning("Live message dropped", extra={"channel": channel}, exc_info=True)

    async def _hear(self, message: dict[str, Any]) -> None:
        if feed := self._channels.get(message["channel"]):
            await self._hear_board(feed, message)
        elif message["type"] == "pmessage":
            self._tell_activity(message["data"])
        elif message["type"] == "message":
            channel = message["channel"].decode()
            if channel == session_keys.presence_leaving():
                self.viewers.note_leaving(message["data"])
            elif channel == session_keys.sessions_ended():
                self._end(parse_ended(message["data"]))
            elif channel == keys.notices_live():
                await self._tell_player(message["data"])

    async def _hear_board(self, feed: Feed, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            # Also after an outage, when messages may have been missed.
            feed.hear(await self._sequence(feed.slug))
        elif message["type"] == "message":
            told = told_last(message["data"])
            if told.op == ACCESS_CHANGED:
                feed.end()
                for viewer, reader in self._readers.items():
                    if feed.slug in reader.slugs:
                        viewer.leave()
            else:
                feed.hear(told.seq)

    async def _tell_player(self, data: bytes) -> None:
        """A notice, to every page that its player has open here."""
        player_id = delivery.player_of(data)
        topics = (topic for feed in self.feeds.values() for topic in feed.topics.values())
        watching = chain(self._readers, *(topic.viewers for topic in topics))
        viewers = [viewer for viewer in watching if viewer.player_id == player_id]
        if viewers:
            chunk = await _unread(player_id)
            for viewer in viewers:
                viewer.tell("notice", chunk)

    def _tell_activity(self, slug: bytes) -> None:
        """News in a board's feed, to pages that show the feeds of all boards."""
        for viewer, reader in self._readers.items():
            if reader.activity:
                viewer.tell("boards", event("boards", msgspec.json.encode([slug.decode()])))

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
            self._tell_readers(heartbeat=count % BEATS_PER_HEARTBEAT == 0)
            for feed in list(self.feeds.values()):
                feed.drop_unwatched(asyncio.get_running_loop().time())
                if not feed.is_watched:
                    with contextlib.suppress(*OUTAGE_ERRORS):
                        await self._forget(feed)
                    continue
                if count % LOOK_AGAIN == 0:
                    # Somebody came online, or a window began anew, without any score.
                    feed.changed.set()
                if count % BEATS_PER_HEARTBEAT == 0:
                    for topic in feed.topics.values():
                        topic.beat()

    def _tell_readers(self, *, heartbeat: bool) -> None:
        """Pages that list boards hear once a second which of them have changed."""
        moved = frozenset(feed.slug for feed in self.feeds.values() if feed.take_moved())
        for viewer, reader in self._readers.items():
            if heartbeat:
                viewer.tell("heartbeat", HEARTBEAT)
            if changed := moved.intersection(reader.slugs):
                viewer.tell("boards", event("boards", msgspec.json.encode(sorted(changed))))

    async def _ask_rights(self) -> None:
        """End the streams of accounts that have other rights than when they were let in. A page
        that is still welcome reconnects. Asked of SQL, because not every change sends a signal."""
        while True:
            await asyncio.sleep(ASK_RIGHTS)
            watching = {user_id: dict(viewers) for user_id, viewers in self._by_user.items()}
            if not watching:
                continue
            try:
                rights = await ask_sql(rights_of, list(watching))
            except OUTAGES:
                continue  # nobody can have changed anything
            except Exception:
                logger.exception("Rights of viewers cannot be read")
                continue
            for user_id, viewers in watching.items():
                for viewer, admitted_with in viewers.items():
                    if rights.get(user_id) != admitted_with:
                        viewer.leave()

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
    return event("notice", b'{"unread":%d}' % await delivery.aunread_count(player_id))


def _channel(slug: str) -> str:
    return keys.live(keys.base(slug))


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
