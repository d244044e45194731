"""A private board and none at all look the same to whoever may not see it."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import open_board, submit
from tests.security.test_addresses import API, PAGES, filled

pytestmark = pytest.mark.django_db
SECRET, NOTHING = "secret", "nobody"
# Different in any two answers, whatever is asked.
VARYING = re.compile(
    rb'r=\d+(;t=\d+)?|name="csrfmiddlewaretoken" value="[^"]*"|csrftoken=[^;]*'
    rb'|<time datetime="[^"]*" data-updated>[^<]*'
)
PAGES_OF_BOARDS = [route for route in PAGES if "<slug:slug>" in route]
API_OF_BOARDS = [route for route in API if "<slug>" in route]


@pytest.fixture(autouse=True)
def board(db):
    board = open_board(SECRET, visibility="private", windows=["day"], groups=["country"])
    submit(board, "ada", 5, details={"country": "DE"})
    return board


def readers():
    plain = Client()
    plain.force_login(User.objects.get_or_create(username="plain")[0])
    staff = Client()
    staff.force_login(User.objects.get_or_create(username="staff", is_staff=True)[0])
    return [Client(), plain, staff]


def seen(answer, slug):
    """All that reaches the client, but what always varies."""
    headers = sorted(
        (name.lower(), value)
        for name, value in answer.headers.items()
        # The length is that of the text below, and a page has the time of day in words.
        if name.lower() not in {"date", "x-request-id", "content-length"}
    )
    cookies = getattr(answer, "cookies", {})
    text = repr((answer.status_code, headers, sorted(cookies))).encode() + answer.content
    return VARYING.sub(b"", text).replace(slug.encode(), b"<slug>")


@pytest.mark.parametrize("route", PAGES_OF_BOARDS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "OPTIONS"])
@pytest.mark.parametrize("query", ["", "?window=day&q=ada&page=2"])
def test_pages(route, method, query):
    for client in readers():
        answers = [
            seen(client.generic(method, filled(route, slug) + query), slug)
            for slug in (SECRET, NOTHING)
        ]
        assert answers[0] == answers[1]


def test_it_says_so_also_to_a_reader_whom_a_public_page_would_know():
    answer = Client().get(f"/boards/{NOTHING}/")
    assert "Cookie" in answer["Vary"]


BODIES = {
    "boards/<slug>/entries/among": b'{"players": ["ada"]}',
    "boards/<slug>/scores": b'{"player": "ada", "score": 1}',
    "boards/<slug>/scores/bulk": b'[{"player": "ada", "score": 1}]',
    "boards/<slug>/players/<player>": b'{"details": {"name": "Ada"}}',
    "boards/<slug>/players/<player>/location": b'{"lat": 1, "lon": 1}',
}


@pytest.mark.parametrize("route", API_OF_BOARDS)
@pytest.mark.parametrize("kind", ["none", "of another board", "unknown"])
def test_the_api_by_both_lanes(route, kind):
    other = open_board("other")
    token = {
        "none": None,
        "unknown": "rk_unknown",
        "of another board": make_key(
            "read", "submit", "moderate", "admin", all_boards=False, boards=[other]
        ),
    }[kind]
    query = "?lat=1&lon=1" if "nearby" in route else ""
    body = BODIES.get(route, b"")
    headers = {"Content-Type": "application/json"} if body else {}
    headers |= {"Idempotency-Key": "one"}
    if token:
        headers["Authorization"] = f"Bearer {token}"

    def by_the_lane(method, slug):
        path = filled(route, slug).removeprefix("/") + query
        return Api().call(method, path, body=body, headers=headers)

    def by_django(method, slug):
        path = "/api/v1" + filled(route, slug) + query
        kind_of_body = headers.get("Content-Type", "")
        return Client().generic(method, path, body, content_type=kind_of_body, headers=headers)

    for method in {"GET", "HEAD", "POST", API[route][0]}:
        for lane in (by_the_lane, by_django):
            assert seen(lane(method, SECRET), SECRET) == seen(lane(method, NOTHING), NOTHING)
