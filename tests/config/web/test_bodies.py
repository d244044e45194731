"""Bodies are read in bounded time and memory."""

import asyncio

import pytest

from config.web.access_log import AccessLog, BodyLimit
from config.web.bodies import SMALL, BodyTooLargeError, ClientGoneError, NoRoomError, Room
from tests.asgi import ask


def sender(*pieces, then_leave=False):
    waiting = list(pieces)

    async def receive():
        if not waiting:
            if then_leave:
                return {"type": "http.disconnect"}
            await asyncio.Future()
        piece = waiting.pop(0)
        more = bool(waiting) or then_leave
        return {"type": "http.request", "body": piece, "more_body": more}

    return receive


async def test_a_body_arrives_whole_and_leaves_its_room():
    room = Room(10)
    assert await room.read(sender(b"ab", b"cd"), 4) == b"abcd"
    assert await room.read(sender(b"abcd"), 4) == b"abcd"
    assert room.taken == 0


@pytest.mark.parametrize("pieces", [(b"abcde",), (b"abc", b"de"), (b"abcde", b"", b"")])
async def test_a_body_that_is_too_long_is_refused(pieces):
    room = Room(10)
    with pytest.raises(BodyTooLargeError):
        await room.read(sender(*pieces), 4)
    assert room.taken == 0


async def test_a_client_that_leaves_gives_its_room_back():
    room = Room(10)
    with pytest.raises(ClientGoneError):
        await room.read(sender(b"ab", then_leave=True), 4)
    assert room.taken == 0


async def test_large_bodies_share_the_room_and_small_ones_always_fit():
    room = Room(3 * SMALL)
    never = asyncio.Future()

    async def slow():
        if not hasattr(slow, "begun"):
            slow.begun = True
            return {"type": "http.request", "body": b"x" * 3 * SMALL, "more_body": True}
        await never
        raise AssertionError

    holding = asyncio.ensure_future(room.read(slow, 10 * SMALL))
    await asyncio.sleep(0)
    with pytest.raises(NoRoomError):
        await room.read(sender(b"x" * (SMALL + 1), b"y"), 10 * SMALL)
    assert await room.read(sender(b"x", b"y"), 10 * SMALL) == b"xy"
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert room.taken == 0


async def test_a_body_that_never_ends_is_given_up():
    reached = []

    async def application(scope, receive, send):
        message = await receive()
        while message["type"] == "http.request" and message["more_body"]:
            message = await receive()
        reached.append(message["type"])

    async def trickle(scope, receive, send):
        begun = False

        async def receive_slowly():
            nonlocal begun
            if begun:
                await asyncio.Future()
            begun = True
            return {"type": "http.request", "body": b"a", "more_body": True}

        await AccessLog(BodyLimit(application, 100, seconds=0.05))(scope, receive_slowly, send)

    answer = await ask(trickle, method="POST")
    assert answer.status == 408
    assert reached == ["http.disconnect"]


async def test_a_complete_body_leaves_no_timer_behind():
    async def application(scope, receive, send):
        await receive()
        await asyncio.sleep(0.1)  # longer than a body may take
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    limited = BodyLimit(application, 100, seconds=0.05)
    assert (await ask(limited, method="POST", body=[b"abc"])).status == 204
