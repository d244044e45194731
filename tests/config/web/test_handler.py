"""Django behind our ASGI handler: every kind of view, on few threads."""

import asyncio
import io
import threading

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.urls import path

from config.web import sending
from config.web.handler import CLIENT, DOWNLOADS, PER_CLIENT, THREADS, ThreadedASGIHandler
from config.web.streams import streamed
from tests.asgi import ask

JSON = [(b"accept", b"application/json")]  # errors need none of the product's pages then
seen_threads = set()
at_once = 0
most_at_once = 0
counting = threading.Lock()


def plain(request):
    global at_once, most_at_once
    seen_threads.add(threading.current_thread().name)
    with counting:
        at_once += 1
        most_at_once = max(most_at_once, at_once)
    response = HttpResponse(f"hello {request.GET.get('name', '')}")
    response.set_cookie("one", "1")
    response.set_cookie("two", "2")
    with counting:
        at_once -= 1
    return response


async def coroutine(request):
    await asyncio.sleep(0)
    return HttpResponse(str(id(asyncio.get_running_loop())))


def stream(request):
    return StreamingHttpResponse(str(number) for number in range(5))


async def async_stream(request):
    async def numbers():
        for number in range(5):
            yield str(number)

    return StreamingHttpResponse(numbers())


def echo(request):
    return HttpResponse(request.body[::-1])


def fail(request):
    raise RuntimeError("a bug")


generated = []


def endless(request):
    def pieces():
        for number in range(1_000_000):
            generated.append(number)
            yield "x" * 1000
        raise AssertionError("nobody reads this far")

    return streamed(request, pieces(), "text/csv", "all.csv")


def large_file(request):
    return FileResponse(io.BytesIO(b"x" * 1_000_000))


def small_file(request):
    return FileResponse(io.BytesIO(b"small"))


waiting = threading.Event()


def wait(request):
    waiting.wait(60)
    return HttpResponse("waited")


urlpatterns = [
    path("wait", wait),
    path("endless", endless),
    path("large-file", large_file),
    path("small-file", small_file),
    path("", plain),
    path("coroutine", coroutine),
    path("stream", stream),
    path("async-stream", async_stream),
    path("echo", echo),
    path("fail", fail),
]


@pytest.fixture
def handler(settings):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    return ThreadedASGIHandler()


async def test_a_plain_view_with_query_and_cookies(handler):
    answer = await ask(handler, query=b"name=Ada")
    assert (answer.status, answer.body) == (200, b"hello Ada")
    cookies = [value for name, value in answer.headers if name == b"set-cookie"]
    assert cookies == [b"one=1; Path=/", b"two=2; Path=/"]


async def test_a_coroutine_view_runs_on_the_servers_loop(handler):
    answer = await ask(handler, "/coroutine")
    assert answer.body.decode() == str(id(asyncio.get_running_loop()))


@pytest.mark.parametrize("path", ["/stream", "/async-stream"])
async def test_a_stream_arrives_whole(handler, path):
    answer = await ask(handler, path)
    assert answer.body == b"01234"
    assert answer.complete


async def test_a_body_in_pieces(handler):
    answer = await ask(handler, "/echo", method="POST", body=[b"abc", b"def"])
    assert answer.body == b"fedcba"


async def test_a_bug_is_a_500_and_the_next_request_is_served(handler):
    assert (await ask(handler, "/fail")).status == 500
    assert (await ask(handler)).status == 200


async def test_requests_one_after_the_other_share_a_thread(handler):
    seen_threads.clear()
    for _ in range(20):
        await ask(handler)
    assert len(seen_threads) == 1


async def test_a_crowd_shares_a_bounded_number_of_threads(handler):
    seen_threads.clear()
    answers = await asyncio.gather(*(ask(handler) for _ in range(300)))
    assert {answer.status for answer in answers} == {200}
    assert len(seen_threads) <= THREADS
    assert most_at_once <= THREADS


async def test_a_client_that_leaves_early_costs_nothing(handler):
    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError("nobody is there")

    await handler({"type": "http", "headers": []}, gone, send)


async def test_slow_readers_keep_nobody_out(handler):
    reading = asyncio.Event()

    async def slow(scope, receive, send):
        async def send_slowly(message):
            if message["type"] == "http.response.body":
                await reading.wait()
            await send(message)

        await handler(scope, receive, send_slowly)

    readers = [asyncio.create_task(ask(slow)) for _ in range(THREADS * 2)]
    assert (await asyncio.wait_for(ask(handler), 60)).status == 200
    reading.set()
    assert {answer.status for answer in await asyncio.gather(*readers)} == {200}


def stalled(handler, reading, client=None):
    """The handler for clients that take the head and then read nothing until `reading` is set."""

    async def application(scope, receive, send):
        async def send_slowly(message):
            if message["type"] == "http.response.body":
                await reading.wait()
            await send(message)

        await handler(scope | ({CLIENT: client} if client else {}), receive, send_slowly)

    return application


@pytest.mark.parametrize("path", ["/large-file", "/small-file"])
async def test_a_file_arrives_whole(handler, path):
    answer = await ask(handler, path)
    assert answer.body == (b"x" * 1_000_000 if "large" in path else b"small")
    assert answer.complete


async def test_readers_of_files_keep_nobody_out(handler):
    reading = asyncio.Event()
    slow = stalled(handler, reading)
    readers = [asyncio.create_task(ask(slow, "/large-file")) for _ in range(THREADS * 2)]
    assert (await asyncio.wait_for(ask(handler), 60)).status == 200
    reading.set()
    assert {len(answer.body) for answer in await asyncio.gather(*readers)} == {1_000_000}


@pytest.mark.parametrize("path", ["/large-file", "/endless", "/"])
async def test_a_reader_who_takes_nothing_is_dropped(handler, monkeypatch, path):
    monkeypatch.setattr(sending, "STALLED", 0.05)
    answer = await ask(stalled(handler, asyncio.Event()), path)
    assert (answer.status, answer.body) == (200, b"")
    assert (await ask(handler)).status == 200


async def test_one_address_does_not_take_every_place(handler):
    waiting.clear()
    busy = [asyncio.create_task(ask(handler, "/wait")) for _ in range(THREADS * 2)]

    async def from_elsewhere(scope, receive, send):
        await handler(scope | {CLIENT: "203.0.113.1"}, receive, send)

    try:
        assert (await asyncio.wait_for(ask(from_elsewhere), 60)).status == 200
        assert THREADS - handler._places._value <= PER_CLIENT
    finally:
        waiting.set()
    assert {answer.body for answer in await asyncio.gather(*busy)} == {b"waited"}


async def test_one_address_has_one_request_at_a_time_until_it_waits_for_long(handler, monkeypatch):
    monkeypatch.setattr("config.web.handler.TURN", 60)
    waiting.clear()
    first = asyncio.create_task(ask(handler, "/wait"))
    second = asyncio.create_task(ask(handler))
    try:
        for _ in range(100):
            await asyncio.sleep(0.001)
            assert not second.done()
        assert handler._places._value == THREADS - 1
    finally:
        waiting.set()
    assert [(await one).status for one in (first, second)] == [200, 200]

    monkeypatch.setattr("config.web.handler.TURN", 0)
    waiting.clear()
    slow = asyncio.create_task(ask(handler, "/wait"))
    try:
        assert (await asyncio.wait_for(ask(handler), 60)).status == 200
        assert not slow.done()
    finally:
        waiting.set()
    assert (await slow).status == 200


async def test_a_download_stops_when_its_reader_leaves(handler):
    generated.clear()
    left = asyncio.Event()
    received = 0

    async def leave_early(scope, receive, send):
        begun = False

        async def receive_end():
            nonlocal begun
            if not begun:
                begun = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def count(message):
            nonlocal received
            received += len(message.get("body", b""))
            left.set()
            await asyncio.sleep(0)

        await handler(scope, receive_end, count)

    with pytest.raises(IndexError):  # nothing was sent to the helper itself
        await ask(leave_early, "/endless")
    assert received < 200_000
    assert len(generated) < 200


async def test_downloads_have_few_places_of_their_own(handler):
    reading = asyncio.Event()
    readers = [
        asyncio.create_task(ask(stalled(handler, reading, f"203.0.113.{n}"), "/endless"))
        for n in range(DOWNLOADS)
    ]
    while not handler._downloads.locked():  # noqa: ASYNC110 a semaphore has no event
        await asyncio.sleep(0.01)
    refused = await ask(handler, "/endless", headers=JSON)
    assert refused.status == 503
    assert refused.header(b"retry-after") == b"5"
    assert (await ask(handler)).status == 200
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


async def test_large_forms_are_refused(handler, settings):
    settings.MIDDLEWARE = ["config.web.middleware.ErrorPageMiddleware"]
    handler = ThreadedASGIHandler()
    body = [b"x" * 1_000_000] * 3
    assert (await ask(handler, "/echo", method="POST", body=body, headers=JSON)).status == 413
    handler._room.taken = handler._room.size + 1
    assert (await ask(handler, "/echo", method="POST", body=body[:2], headers=JSON)).status == 503
    assert (await ask(handler, "/echo", method="POST", body=[b"abc", b"d"])).status == 200
