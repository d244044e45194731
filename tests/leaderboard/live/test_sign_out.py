"""A live stream ends with the session that let it in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis
from asgiref.sync import sync_to_async

from config.redis.connections import close_async_redis
from leaderboard.live.hub import Hub, close_hub, get_hub
from sessions_app import devices
from sessions_app.backend import SessionStore
from tests.leaderboard.live.test_hub import Stream


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    yield get_hub()
    await close_hub()
    await close_async_redis()


async def signed_in(user_id: int) -> SessionStore:
    session = SessionStore()
    await session.aset("_auth_user_id", str(user_id))
    await session.asave()
    return session


async def ends(stream: Stream) -> bool:
    async with asyncio.timeout(2):  # the promise; it takes milliseconds
        async for _ in stream.chunks:
            pass
    return True


async def test_signing_out_a_device_ends_its_streams_and_no_other(hub: Hub) -> None:
    phone, laptop = await signed_in(7), await signed_in(7)
    streams = [Stream(hub, session=session.digest) for session in (phone, phone, laptop)]
    anonymous = Stream(hub)
    for stream in (*streams, anonymous):
        await stream.next("snapshot")
    await sync_to_async(devices.sign_out_all)(7, keep=laptop.digest)
    assert await ends(streams[0])
    assert await ends(streams[1])
    assert list(hub._by_session) == [laptop.digest]
    for stream in (streams[2], anonymous):
        await stream.close()
    assert not hub._by_session


async def test_a_session_that_ended_just_before_gets_no_stream(hub: Hub) -> None:
    session = await signed_in(7)
    digest = session.digest
    await session.aflush()
    assert await ends(Stream(hub, session=digest))


async def test_after_an_outage_those_who_signed_in_ask_again(
    hub: Hub, redis_client: redis.Redis
) -> None:
    session = await signed_in(7)
    stream, anonymous = Stream(hub, session=session.digest), Stream(hub)
    for one in (stream, anonymous):
        await one.next("snapshot")
    redis_client.client_kill_filter(_type="pubsub")
    assert await ends(stream)
    await anonymous.close()
