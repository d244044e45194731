"""One Redis subscription per process: it learns that a board changed and refreshes its topics.

A message is only a sign that something happened. What is shown is read from the board itself, at
most four times a second, so a lost message costs a moment and never a wrong line.
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
from leaderboard.live.feed import Feed, SiteWatch, Visitor, Watch, last_change
from leaderboard.live.topic import HEARTBEAT, OPENING, Viewer, event
from leaderboard.notices import delivery
from sessions_app import keys as session_keys
from sessions_app.backend import parse_ended
from sessions_app.presence import Viewers

logger = logging.getLogger("rostrum.live")

GATHER = 0.25  # seconds between two updates of a board
BEAT = 1.0  # seconds between two reports of who is watching
BEATS_PER_REFRESH = 5  # of a board on which nothing happened
BEATS_PER_HEARTBEAT = 15
CHECK_RIGHTS = 3.0  # seconds between two reads of the rights of signed-in viewers
SCORE = "score"
RETRY = (0.1, 0.5, 1.0, 2.0)  # seconds between attempts to reach Redis; the last repeats


class Hub:
    """All boards that this process's viewers watch."""

    def __init__(self) -> None:
        self.feeds: dict[str, Feed] = {}
        self.viewers = Viewers()
        self._subscription: Any = None
        self._tasks: list[asyncio.Task[None]] = []
        self._channels: dict[bytes, Feed] = {}
        self._by_session: defaultdict[str, set[Viewer]] = defaultdict(set)
        self._signed_in: dict[Viewer, tuple[int, Rights]] = {}
        self._site_viewers: dict[Viewer, SiteWatch] = {}
        self._starting = asyncio.Lock()

    async def stream(
        self, watch: Watch, gone: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[bytes]:
        """Chunks of server-sent events for one viewer, until `gone` is done or the process ends."""
        feed = await self._feed(watch.slug)
        topic = await feed.topic(watch)
        viewer = topic.enter(watch.last_sequence, watch.visitor.player_id)
        try:
            async with self._admitted(viewer, watch.visitor, watch.slug, gone):
                if viewer.player_id is not None:
                    await topic.refresh_mine()
                while not (topic.closed or viewer.gone):
                    chunk = topic.take(viewer)
                    if chunk:
                        yield chunk
                    else:
                        await viewer.wait()
        finally:
            topic.leave(viewer, asyncio.get_running_loop().time())

    async def site_stream(
        self, watch: SiteWatch, gone: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[bytes]:
        """Chunks for a page without a board of its own: the number of unread notices, and which of
        the boards that it lists have changed."""
        async with self._starting:
            await self._start()
        viewer = Viewer(0, watch.visitor.player_id)
        listed: list[Feed] = []
        try:
            for slug in watch.slugs:
                feed = await self._feed(slug)
                feed.listed += 1
                listed.append(feed)
            self._site_viewers[viewer] = watch
            async with self._admitted(viewer, watch.visitor, "", gone):
                viewer.push("open", OPENING)
                if viewer.player_id is not None:
                    viewer.push("notice", await _unread(viewer.player_id))
                while not viewer.gone:
                    if chunk := viewer.take():
                        yield chunk
                    else:
                        await viewer.wait()
        finally:
            self._site_viewers.pop(viewer, None)
            for feed in listed:
                feed.listed -= 1

    @contextlib.asynccontextmanager
    async def _admitted(
        self, viewer: Viewer, visitor: Visitor, slug: str, gone: asyncio.Future[Any] | None
    ) -> AsyncIterator[None]:
        """Presence counts the visitor meanwhile; the session's end or `gone` ends the stream."""
        session = visitor.session
        if visitor.presence is not None:
            self.viewers.join(visitor.presence, slug)
        if gone is not None:
            gone.add_done_callback(lambda _: viewer.leave())
        if session:
            self._by_session[session].add(viewer)
        if visitor.user_id is not None:
            self._signed_in[viewer] = visitor.user_id, visitor.rights
        try:
            if session and not await get_async_redis().exists(session_keys.session(session)):
                viewer.leave()  # signed out before the hub subscribed to sign-outs
            yield
        finally:
            if visitor.presence is not None:
                self.viewers.leave(visitor.presence, slug)
            if session:
                self._by_session[session].discard(viewer)
                if not self._by_session[session]:
                    del self._by_session[session]
            self._signed_in.pop(viewer, None)

    async def stop(self) -> None:
        """End every stream at once."""
        for feed in self.feeds.values():
            feed.end()
        for viewer in self._site_viewers:
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
                # Subscribed before the sequence is read: a change in between is not missed.
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
            for work in (self._listen, self._beat, self._check_rights, self._stop_with_process)
        ]

    async def _subscribe(self) -> None:
        """To all channels, on a new connection: after an outage the primary may be another one."""
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
        """Handle what the subscription receives."""
        failures = 0
        while True:
            try:
                if failures:
                    async with self._starting:  # no channel may be added to the old one meanwhile
                        await self._subscribe()
                    # Sign-outs may have been missed: all who signed in must reconnect.
                    for digest in list(self._by_session):
                        self._end(digest)
                message = await self._subscription.get_message(timeout=1.0)
                if message is not None:
                    await self._handle_safely(message)
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

    async def _handle_safely(self, message: dict[str, Any]) -> None:
        """A message that cannot be read is dropped: it must not end the listener of all pages."""
        try:
            await self._handle(message)
        except OUTAGE_ERRORS:
            raise
        except Exception:
            channel = message["channel"].decode("utf-8", "replace")
            logger.warning("Live message dropped", extra={"channel": channel}, exc_info=True)

    async def _handle(self, message: dict[str, Any]) -> None:
        if feed := self._channels.get(message["channel"]):
            await self._handle_board(feed, message)
        elif message["type"] == "pmessage":
            self._send_activity(message["data"])
        elif message["type"] == "message":
            channel = message["channel"].decode()
            if channel == session_keys.presence_leaving():
                self.viewers.note_leaving(message["data"])
            elif channel == session_keys.sessions_ended():
                self._end(parse_ended(message["data"]))
            elif channel == keys.notices_live():
                await self._send_notice(message["data"])

    async def _handle_board(self, feed: Feed, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            # Also after an outage, when messages may have been missed.
            feed.note_change(await self._sequence(feed.slug), is_score=False)
        elif message["type"] == "message":
            change = last_change(message["data"])
            if change.op == ACCESS_CHANGED:
                feed.end()
                for viewer, watch in self._site_viewers.items():
                    if feed.slug in watch.slugs:
                        viewer.leave()
            else:
                feed.note_change(change.seq, is_score=change.op == SCORE)

    async def _send_notice(self, data: bytes) -> None:
        """To every page that the notice's player has open here."""
        player_id = delivery.player_of(data)
        topics = (topic for feed in self.feeds.values() for topic in feed.topics.values())
        watching = chain(self._site_viewers, *(topic.viewers for topic in topics))
        viewers = [viewer for viewer in watching if viewer.player_id == player_id]
        if viewers:
            chunk = await _unread(player_id)
            for viewer in viewers:
                viewer.push("notice", chunk)

    def _send_activity(self, slug: bytes) -> None:
        """News in a board's feed, to pages that show the feeds of all boards."""
        for viewer, watch in self._site_viewers.items():
            if watch.activity:
                viewer.push("boards", _boards([slug.decode()]))

    def _end(self, session: str) -> None:
        """End the streams that a session let in; a browser that may still watch reconnects."""
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
                feed.changed.set()  # the change must not be lost
                await asyncio.sleep(RETRY[-1])
            except Exception:
                # Try again: the board may be repaired.
                logger.exception("Live board cannot be shown", extra={"board": feed.slug})
                await asyncio.sleep(RETRY[-1])
            await asyncio.sleep(GATHER)

    async def _beat(self) -> None:
        """Keep streams and presence alive; drop feeds without viewers."""
        count = 0
        while True:
            await asyncio.sleep(BEAT)
            count += 1
            with contextlib.suppress(*OUTAGE_ERRORS):  # sent when Redis is back
                for slug, watching in (await self.viewers.tick()).items():
                    if feed := self.feeds.get(slug):
                        feed.announce("presence", b'{"watching":%d}' % watching)
            self._send_to_site(heartbeat=count % BEATS_PER_HEARTBEAT == 0)
            for feed in list(self.feeds.values()):
                feed.drop_unwatched(asyncio.get_running_loop().time())
                if not feed.is_watched:
                    with contextlib.suppress(*OUTAGE_ERRORS):
                        await self._drop(feed)
                    continue
                if count % BEATS_PER_REFRESH == 0:
                    # Somebody came online, or a window began, without a score.
                    feed.changed.set()
                if count % BEATS_PER_HEARTBEAT == 0:
                    for topic in feed.topics.values():
                        topic.beat()

    def _send_to_site(self, *, heartbeat: bool) -> None:
        """Once a second, to pages that list boards: which of them have changed."""
        moved = frozenset(feed.slug for feed in self.feeds.values() if feed.take_moved())
        for viewer, watch in self._site_viewers.items():
            if heartbeat:
                viewer.push("heartbeat", HEARTBEAT)
            if changed := moved.intersection(watch.slugs):
                viewer.push("boards", _boards(sorted(changed)))

    async def _check_rights(self) -> None:
        """End the streams of accounts whose rights changed; pages that may still watch reconnect.
        Rights are read from SQL, because not every change sends a signal."""
        while True:
            await asyncio.sleep(CHECK_RIGHTS)
            watching = dict(self._signed_in)
            if not watching:
                continue
            try:
                user_ids = {user_id for user_id, _ in watching.values()}
                rights = await ask_sql(rights_of, list(user_ids))
            except OUTAGES:
                continue  # without SQL no rights can have changed
            except Exception:
                logger.exception("Rights of viewers cannot be read")
                continue
            for viewer, (user_id, admitted_with) in watching.items():
                if rights.get(user_id) != admitted_with:
                    viewer.leave()

    async def _drop(self, feed: Feed) -> None:
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


def _boards(slugs: list[str]) -> bytes:
    return event("boards", msgspec.json.encode(slugs))


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
