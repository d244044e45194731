import asyncio

import pytest
from django.test import RequestFactory

from ratelimit import leases, policies, requests
from tests.servers import wait_for


@pytest.fixture(autouse=True)
def _policies(settings):
    settings.RATE_LIMITS = {
        "alone": "1 at once by ip",
        "free": "1 at once by ip, exempt network 127.0.0.0/8",
    }
    settings.RATE_LIMIT_PREFIXES = {}
    policies.configure()


def ends(redis_client):
    """When each lease ends, in microseconds."""
    (key,) = policies.get("alone").state_keys("ada")
    return dict(redis_client.zrange(key, 0, -1, withscores=True))


async def test_a_kept_lease_is_renewed_until_it_is_given_back(redis_client, monkeypatch):
    monkeypatch.setattr(leases, "_lease_seconds", lambda policy: 0.1)
    async with leases.hold("alone", "ada") as first:
        assert first
        ((lease, end),) = ends(redis_client).items()
        await asyncio.to_thread(wait_for, lambda: ends(redis_client)[lease] > end)
        async with leases.hold("alone", "ada") as second:
            assert not second
    assert not ends(redis_client)
    async with leases.hold("alone", "ada") as third:
        assert third


async def test_no_task_is_left_when_nothing_is_held():
    async with leases.hold("alone", "ada"):
        assert len(asyncio.all_tasks()) == 2
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1


async def test_a_request_holds_a_place_of_its_own(redis_client):
    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.7")
    async with requests.hold(request, "alone") as first, requests.hold(request, "alone") as next_:
        assert first
        assert not next_
    async with requests.hold(request, "free") as first, requests.hold(request, "free") as next_:
        assert first
        assert not next_


async def test_an_exempt_request_needs_no_place():
    request = RequestFactory().get("/", REMOTE_ADDR="127.0.0.1")
    async with requests.hold(request, "free") as first, requests.hold(request, "free") as next_:
        assert first
        assert next_
