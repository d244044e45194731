import logging
import signal
import time

import pytest
from prometheus_client import REGISTRY

import config.redis.connections
from config.redis.connections import get_redis
from ratelimit import guard, policies, services
from ratelimit.decision import Reason
from tests.patience import PRODUCT_ANSWER_TIMEOUT
from tests.servers import RedisServer, redis_server, wait_for


@pytest.fixture(autouse=True)
def _policies(settings):
    settings.RATE_LIMITS = {
        "two": "2/hour, fixed window",
        "strict": "2/hour, fixed window, closed on failure",
        "watched": "2/hour, fixed window, shadow",
        "alone": "1 at once",
    }
    settings.RATE_LIMIT_PREFIXES = {}
    policies.configure()


def counted(policy, outcome):
    labels = {"policy": policy, "outcome": outcome}
    return REGISTRY.get_sample_value("rostrum_ratelimit_calls_total", labels) or 0


def point_at(settings, server):
    """Send the limits of this process to another server, as settings would."""
    caches = settings.CACHES
    settings.CACHES = caches | {"limits": caches["limits"] | {"LOCATION": [server.url]}}


def test_outcomes_are_counted():
    before = counted("two", "allowed"), counted("two", "denied")
    for _ in range(3):
        guard.hit("two", "ada")
    assert (counted("two", "allowed"), counted("two", "denied")) == (before[0] + 2, before[1] + 1)


def test_a_shadow_policy_counts_and_logs_but_never_denies(caplog):
    before = counted("watched", "shadow_denied")
    with caplog.at_level(logging.INFO, "rostrum.ratelimit"):
        assert all(guard.hit("watched", "ada") for _ in range(4))
    assert counted("watched", "shadow_denied") == before + 2
    assert [record.policy for record in caplog.records] == ["watched"] * 2


def test_a_denied_caller_is_refused_without_asking_redis(redis_client):
    for _ in range(3):
        guard.hit("two", "ada")
    redis_client.flushall()  # Redis would allow now; this process does not ask
    denied = guard.hit("two", "ada")
    assert not denied
    assert 3590 < denied.retry_after <= 3600
    assert guard.hit("two", "grace")


def test_a_reset_reaches_the_shield():
    for _ in range(3):
        guard.hit("two", "ada")
    services.reset_caller(policy="two", caller="ada", actor="test")
    assert guard.hit("two", "ada").remaining == 1


@pytest.mark.parametrize(("policy", "allowed"), [("two", True), ("strict", False)])
def test_without_redis_the_policy_says_what_happens(settings, policy, allowed):
    outcome = "failed_open" if allowed else "failed_closed"
    before = counted(policy, outcome)
    server = RedisServer()  # never started
    point_at(settings, server)
    try:
        for _ in range(5):
            decision = guard.hit(policy, "ada")
            assert decision.allowed is allowed
            assert decision.reason is Reason.OUTAGE
    finally:
        server.remove()
    assert counted(policy, outcome) == before + 5


async def test_the_async_twin_also_decides_without_redis(settings):
    server = RedisServer()
    point_at(settings, server)
    try:
        assert await guard.ahit("two", "ada")
        assert not await guard.ahit("strict", "ada")
    finally:
        server.remove()


def test_a_silent_redis_is_asked_a_few_times_and_then_left_alone(settings, monkeypatch):
    limit = PRODUCT_ANSWER_TIMEOUT["limits"]
    monkeypatch.setitem(config.redis.connections.ANSWER_TIMEOUT, "limits", limit)
    asked = []
    hit = guard.Limiter.hit

    def counting(*args, **kwargs):
        asked.append(args)
        return hit(*args, **kwargs)

    monkeypatch.setattr(guard.Limiter, "hit", counting)
    with redis_server() as server:
        point_at(settings, server)
        options = get_redis("limits").connection_pool.connection_kwargs
        assert options["socket_timeout"] == options["socket_connect_timeout"] == limit < 0.1
        server.process.send_signal(signal.SIGSTOP)
        assert not any(guard.hit("strict", "ada") for _ in range(200))
        assert guard.breaker.is_open
        # Until it opens, and a probe for each second that a slow machine took.
        assert len(asked) < 20
        server.process.send_signal(signal.SIGCONT)
        wait_for(lambda: guard.hit("strict", "ada"))  # without a restart
        assert not guard.breaker.is_open


def test_the_breaker_probes_and_closes_again():
    breaker = guard.Breaker(failures=2, pause=1000)
    breaker.failed()
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    breaker._next_probe = time.monotonic()
    assert breaker.allows()  # one probe
    assert not breaker.allows()  # and nobody else meanwhile
    breaker.succeeded()
    assert breaker.allows()


def test_a_place_is_held_for_the_length_of_a_block():
    with guard.hold("alone", "ada") as first:
        assert first
        with guard.hold("alone", "ada") as second:
            assert not second
    with guard.hold("alone", "ada") as third:
        assert third


async def test_a_lease_can_be_kept_and_given_back():
    assert await guard.ahit("alone", "ada", lease="one")
    assert await guard.arenew("alone", "ada", "one")
    await guard.arelease("alone", "ada", "one")
    assert not await guard.arenew("alone", "ada", "one")


def test_a_policy_may_be_given_as_it_is():
    policy = policies.overridden("two", "1/hour")
    assert guard.hit(policy, "ada")
    assert not guard.hit(policy, "ada")


def test_an_unknown_policy_is_named():
    with pytest.raises(policies.UnknownPolicyError, match="'three' is not in RATE_LIMITS; known"):
        guard.hit("three", "ada")
