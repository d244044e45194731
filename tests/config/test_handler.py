"""Django behind our ASGI handler: every kind of view, on few threads."""

import asyncio
import threading

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

from config.handler import THREADS, ThreadedASGIHandler
from tests.asgi import ask

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


urlpatterns = [
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
