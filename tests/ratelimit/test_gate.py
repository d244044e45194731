"""The limit before Django: what is refused never comes to a thread."""

import json

import pytest
from django.core.handlers.asgi import ASGIHandler

from config.redis.connections import close_async_redis
from config.web.access_log import CLIENT
from ratelimit import gate, policies
from ratelimit.gate import Gate
from tests.asgi import ask

MACHINE = [(b"accept", b"application/json")]
PERSON = [(b"accept", b"text/html")]


@pytest.fixture(autouse=True)
def _policies(settings):
    settings.ROOT_URLCONF = "tests.ratelimit.urls"
    settings.RATE_LIMITS = {
        "page": "2/hour by ip, fixed window",
        "mine": "1/hour by user, fixed window",
        "inside": "1/hour by ip, exempt network 127.0.0.1/32",
        "two": "100/hour by ip",
    }
    settings.RATE_LIMIT_PREFIXES = {
        "/": "page",
        "/api/": None,
        "/plain/": "mine",
        "/inside": "inside",
    }
    policies.configure()


class Counting:
    """Stands behind the gate; says what came through."""

    def __init__(self):
        self.scopes = []
        self.django = ASGIHandler()

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        await self.django(scope, receive, send)


@pytest.fixture
def behind():
    return Counting()


async def asked(behind, path, number=1, headers=(), **options):
    application = Gate(behind)
    try:
        return [await ask(application, path, headers=headers, **options) for _ in range(number)]
    finally:
        await close_async_redis()


async def test_unknown_addresses_are_refused_before_django_sees_them(behind):
    answers = await asked(behind, "/nothing", 5, MACHINE)
    assert [answer.status for answer in answers] == [404, 404, 429, 429, 429]
    assert len(behind.scopes) == 2
    refused = answers[-1]
    assert json.loads(refused.body)["code"] == "rate_limited"
    assert int(refused.header(b"retry-after")) > 0
    assert refused.header(b"ratelimit-policy") == b'"page";q=2;w=3600'


async def test_django_shows_what_the_gate_decided_and_asks_no_more(behind):
    (answer,) = await asked(behind, "/sync/", 1, MACHINE)
    assert answer.header(b"ratelimit") == b'"page";r=1;t=3600, "two";r=99;t=7200'


async def test_a_person_who_is_refused_gets_a_page(behind):
    answers = await asked(behind, "/nothing", 3, PERSON)
    assert answers[-1].status == 429
    assert b"Too many requests" in answers[-1].body


async def test_a_flood_does_not_get_a_page_each(behind, monkeypatch):
    monkeypatch.setattr(gate, "PAGE_EVERY", 60.0)
    answers = await asked(behind, "/nothing", 6, PERSON)
    assert [answer.status for answer in answers] == [404, 404, 429, 429, 429, 429]
    assert len(behind.scopes) == 3
    assert json.loads(answers[-1].body)["code"] == "rate_limited"


async def test_a_policy_that_needs_the_user_is_left_to_django(behind):
    answers = await asked(behind, "/plain/", 2, MACHINE)
    assert [answer.status for answer in answers] == [200, 429]
    assert len(behind.scopes) == 2


async def test_an_exempt_address_is_never_refused(behind):
    answers = await asked(behind, "/inside", 3, MACHINE)
    assert [answer.status for answer in answers] == [404, 404, 404]


async def test_whoever_asks_is_known_by_the_count_of_proxies(behind, settings):
    settings.TRUSTED_PROXIES = 1
    forwarded = (b"x-forwarded-for", b"198.51.100.1, 203.0.113.9")
    await asked(behind, "/nothing", 1, [forwarded, *MACHINE])
    assert behind.scopes[0][CLIENT] == "203.0.113.9"
