"""The same on a cluster, where a script reaches one slot only, and on Redis 7.0."""

import pytest

from config.redis.connections import cache_settings, close_async_redis, get_redis
from ratelimit import guard, leases, policies, selectors, services
from ratelimit.algorithms import TIMED
from ratelimit.limiter import Limiter
from ratelimit.sentence import parse
from tests import optional
from tests.servers import OWN_CACHE, OWN_SERVER, redis_cluster, redis_server

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("ratelimit servers")]
POLICY = "3/hour fixed window and 100/hour gcra and 100/day sliding log and 5 at once by ip"


@pytest.fixture(scope="module", params=["cluster", "redis 7.0"])
def address(request):
    if request.param == "cluster":
        with redis_cluster() as servers:
            yield "redis+cluster://" + ",".join(f"127.0.0.1:{one.port}" for one in servers)
        return
    binary = optional.need(optional.redis_server, "redis-server")
    with redis_server(binary) as server:
        yield server.url


@pytest.fixture(autouse=True)
def _on_that_server(address, settings):
    settings.CACHES = cache_settings(address, (OWN_CACHE or OWN_SERVER).url)
    settings.RATE_LIMITS = {"four": POLICY}
    settings.RATE_LIMIT_PREFIXES = {}
    policies.configure()


def test_several_limits_share_a_slot():
    assert [guard.hit("four", "ada").allowed for _ in range(4)] == [True] * 3 + [False]
    limit_states = selectors.peek("four", "ada").limit_states
    assert [state.remaining for state in limit_states] == [0, 97, 97, 2]


async def test_the_asynchronous_side():
    try:
        allowed = [(await guard.ahit("four", "grace")).allowed for _ in range(4)]
        assert allowed == [True] * 3 + [False]
        async with leases.hold("four", "alan") as decision:
            assert decision
    finally:
        await close_async_redis()


def test_every_algorithm():
    limiter = Limiter(get_redis("limits"))
    for algorithm in TIMED:
        policy = parse("test", f"2/hour, {algorithm.words}")
        decisions = [limiter.hit(policy, algorithm) for _ in range(3)]
        assert [decision.allowed for decision in decisions] == [True, True, False]
        assert [decision.remaining for decision in decisions] == [1, 0, 0]
        limiter.reset(policy, algorithm)
        assert limiter.hit(policy, algorithm)


def test_what_staff_see_and_do():
    guard.hit("four", "user:1")
    services.block_caller(policy="four", caller="user:2", seconds=60, actor="test")
    assert not guard.hit("four", "user:2")
    summary = selectors.summary()
    assert ("four", "user:2") in [(row.policy, row.caller) for row in summary.blocked]
    assert "user:1" in [row.caller for row in summary.busiest]
    assert services.unblock_caller(policy="four", caller="user:2", actor="test")
    services.reset_caller(policy="four", caller="user:1", actor="test")
    assert selectors.peek("four", "user:1").remaining == 3
