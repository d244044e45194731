"""Every address, and what a stranger and a plain user get there.

A new address fails `test_every_address_is_in_the_table` until it has its line: decide who may go
there before it exists.
"""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver

from leaderboard.models import Board
from sessions_app import flags
from tests.leaderboard.support import open_board, submit

# Address: (method, stranger, plain user, stranger and plain user on a private board or None).
# 302 for a stranger leads to the sign-in, which the test makes sure of.
PAGES = {
    "": ("GET", 200, 200, None),
    "boards/<slug:slug>/": ("GET", 200, 200, 404),
    "boards/<slug:slug>/scores/": ("GET", 200, 200, 404),
    "boards/<slug:slug>/activity/": ("GET", 200, 200, 404),
    "boards/<slug:slug>/players/<path:player_id>/": ("GET", 200, 200, 404),
    "boards/<slug:slug>/console/": ("GET", 403, 403, 404),
    "boards/<slug:slug>/nearby/": ("GET", 404, 404, 404),  # behind its flag
    "boards/<slug:slug>/submit/": ("GET", 302, 403, 404),
    "boards/<slug:slug>/seasons/": ("GET", 200, 200, 404),
    "boards/<slug:slug>/together/": ("GET", 200, 200, 404),
    "boards/<slug:slug>/seasons/<int:number>/": ("GET", 404, 404, 404),
    "live/boards/<slug:slug>/": ("GET", 404, 404, 404),  # served before Django
    "accounts/": ("GET", 302, 200, None),
    "accounts/signup/": ("GET", 200, 302, None),
    "accounts/login/": ("GET", 200, 302, None),
    "accounts/logout/": ("GET", 405, 405, None),
    "accounts/password/": ("GET", 302, 200, None),
    "accounts/reset/": ("GET", 200, 200, None),
    "accounts/reset/sent/": ("GET", 200, 200, None),
    "accounts/reset/<uidb64>/<token>/": ("GET", 200, 200, None),  # says that the link is no good
    "accounts/devices/": ("GET", 302, 200, None),
    "accounts/devices/sign-out/": ("POST", 302, 404, None),  # no such device
    "accounts/profile/": ("GET", 302, 200, None),
    "accounts/notices/": ("GET", 302, 200, None),
    "ops/activity/": ("GET", 302, 403, None),
    "live/activity/": ("GET", 403, 403, None),  # served before Django, to staff who view boards
    "live/home/": ("GET", 404, 404, None),  # served before Django
    "live/notices/": ("GET", 403, 403, None),  # served before Django, to who is signed in
    "ops/": ("GET", 302, 403, None),
    "presence/": ("POST", 204, 204, None),
    "look/language/": ("POST", 302, 302, None),
    "look/theme/": ("POST", 302, 302, None),
    "favicon.ico": ("GET", 200, 200, None),
    "healthz": ("GET", 200, 200, None),
    "readyz": ("GET", 200, 200, None),  # figures for machines: the proxy keeps them inside
    "metrics": ("GET", 200, 200, None),  # the test's client is on this machine
}
# The API knows keys, never cookies: a signed-in user is a stranger there.
API = {
    "": ("GET", 404, None),
    "openapi.json": ("GET", 200, None),
    "docs": ("GET", 200, None),
    "boards": ("GET", 200, None),
    "boards/<slug>": ("GET", 200, 404),
    "boards/<slug>/presence": ("GET", 200, 404),
    "boards/<slug>/entries": ("GET", 200, 404),
    "boards/<slug>/entries/around/<player>": ("GET", 200, 404),
    "boards/<slug>/entries/around-rank/<rank>": ("GET", 200, 404),
    "boards/<slug>/entries/range": ("GET", 200, 404),
    "boards/<slug>/entries/among": ("POST", 200, 404),
    "boards/<slug>/groups/<field>/<value>/entries": ("GET", 200, 404),
    "boards/<slug>/distribution": ("GET", 200, 404),
    "boards/<slug>/nearby": ("GET", 404, 404),  # behind its flag
    "boards/<slug>/players/<player>": ("DELETE", 401, 401),
    "boards/<slug>/players/<player>/history": ("GET", 200, 404),
    "boards/<slug>/players/<player>/location": ("PUT", 401, 401),
    "boards/<slug>/scores": ("POST", 401, 401),
    "boards/<slug>/scores/bulk": ("POST", 401, 401),
    "boards/<slug>/seasons": ("GET", 200, 404),
    "boards/<slug>/seasons/<number>/standings": ("GET", 404, 404),  # none is over yet
    "boards/<slug>/seasons/close": ("POST", 401, 401),
    "boards/<slug>/reset": ("POST", 401, 401),
    "boards/<slug>/live/ticket": ("POST", 401, 404),
    "boards/<slug>/live": ("GET", 501, 404),  # a stream, which only the lane before Django gives
}
# Forms that need no token, each for the reason that stands beside its view.
WITHOUT_TOKEN = {"presence/", "look/language/", "look/theme/"}

NAMES = {
    "<path:player_id>": "ada",
    "<player>": "ada",
    "<rank>": "1",
    "<field>": "country",
    "<value>": "DE",
    "<number>": "7",
    "<int:number>": "7",
    "<uidb64>": "MQ",
    "<token>": "set-password",
    "<id>": "1",
    "<int:pk>": "1",
    "<path:object_id>": "1",
    "<path:content_type_id>": "1",
    "(?P<url>.*)$": "nothing/",
}


def every_address():
    def walk(patterns, prefix):
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLPattern):
                yield route
            else:
                yield from walk(pattern.url_patterns, route)

    return sorted(set(walk(get_resolver().url_patterns, "")))


ADDRESSES = every_address()
# Where the admin sends a user who is no staff, instead of refusing.
ELSEWHERE = {"/", "/accounts/password/"}
ADMIN = [route for route in ADDRESSES if route.startswith("admin/")]


def filled(route, slug="cup"):
    path = "/" + route.replace("<slug:slug>", slug).replace("<slug>", slug)
    # The admin lists its apps in the order in which they were registered.
    path = re.sub(r"\^\(\?P<app_label>[^)]*\)/\$", "auth/", path)
    for name, value in NAMES.items():
        path = path.replace(name, value)
    # The admin names its apps in the order in which they were registered.
    path = re.sub(r"\^\(\?P<app_label>[^)]*\)/\$", "auth/", path)
    assert "<" not in path, f"give {route} sample values in NAMES"
    return path


@pytest.fixture
def boards(db):
    flags.forget()
    for slug, visibility in (("cup", "public"), ("secret", "private")):
        name = f"A {visibility} board"
        board = open_board(slug, visibility=visibility, name=name, groups=["country"])
        submit(board, "ada", 5, details={"country": "DE"})
    return Board.objects.get(slug="cup")


@pytest.fixture
def stranger(client):
    client.raise_request_exception = False
    return client


@pytest.fixture
def user(db):
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("ann"))
    return client


def test_every_address_is_in_the_table():
    known = {*PAGES, *(f"api/v1/{route}" for route in API), *ADMIN}
    assert sorted(known) == ADDRESSES


@pytest.mark.parametrize("route", PAGES)
def test_pages(boards, stranger, user, route):
    method, for_stranger, for_user, private = PAGES[route]
    answer = stranger.generic(method, filled(route))
    assert answer.status_code == for_stranger
    if for_stranger == 302 and route not in WITHOUT_TOKEN:
        assert answer["Location"].startswith("/accounts/login/?next=/")
    assert user.generic(method, filled(route)).status_code == for_user
    if private is not None:
        assert user.generic(method, filled(route, "secret")).status_code == private
        answer = stranger.generic(method, filled(route, "secret"))
        assert answer.status_code in {private, 302}
        assert b"A private board" not in answer.content


@pytest.mark.parametrize("route", API)
def test_api(boards, stranger, user, route):
    method, status, private = API[route]
    body = '{"players": ["ada"]}' if route.endswith("/among") else "{}"
    for client in (stranger, user):
        for slug, expected in (("cup", status), ("secret", private)):
            if expected is None and slug == "secret":
                continue
            path = filled(f"api/v1/{route}", slug) + ("?lat=1&lon=1" if "nearby" in route else "")
            answer = client.generic(method, path, body, content_type="application/json")
            assert answer.status_code == expected, answer.content[:300]
    listed = stranger.get("/api/v1/boards").json()["boards"]
    assert [board["slug"] for board in listed] == ["cup"]


def test_the_admin_is_for_staff(boards, stranger, user):
    """All of it, whatever is added: a stranger is sent to the sign-in, a user is refused."""
    for route in ADMIN:
        path = filled(route)
        answer = stranger.get(path)
        assert answer.status_code == 302, path
        location = answer["Location"]
        if route not in {"admin/logout/", "admin/password_change/"}:  # lead to pages that ask
            assert location.startswith(("/accounts/login/?next=/", "/admin/login/?next=/")), path
        followed = user.get(path, follow=True)
        assert followed.status_code in (403, 405) or followed.request["PATH_INFO"] in ELSEWHERE, (
            path
        )


def test_every_form_needs_a_token(boards):
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    for route in ADDRESSES:
        if route.startswith("api/") or route in WITHOUT_TOKEN:
            continue
        status = client.post(filled(route)).status_code
        assert status in (403, 404, 405), (route, status)
    assert Board.objects.count() == 2
    assert client.get("/admin/").status_code == 200  # nothing signed us out


@pytest.mark.parametrize(
    "target",
    ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "\t//e"],
)
def test_nobody_is_sent_elsewhere(boards, stranger, user, target):
    form = {"next": target, "theme": "dark"}
    assert stranger.post("/look/theme/", form)["Location"] == "/"
    assert user.get("/accounts/login/", {"next": target})["Location"] == "/"
    assert user.get("/accounts/signup/", {"next": target})["Location"] == "/"
    answer = stranger.get("/admin/login/", {"next": target})["Location"]
    assert answer.startswith("/accounts/login/?next=")


@pytest.mark.parametrize("path", ["/", "/boards/cup/", "/api/v1/boards", "/healthz"])
def test_unknown_hosts_are_refused(boards, stranger, path):
    assert stranger.get(path, headers={"host": "evil.example"}).status_code == 400
