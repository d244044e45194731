import subprocess
import sys

from ratelimit.algorithms import TIMED
from ratelimit.decision import LimitState
from ratelimit.limiter import AsyncLimiter, Limiter
from ratelimit.sentence import parse
from tests.servers import wait_for

BOTH = parse("both", "3/minute fixed window and 5/hour gcra")


def test_the_answer_says_where_the_caller_stands(redis_client):
    policy = parse("test", "5/minute, fixed window")
    decision = Limiter(redis_client).hit(policy, "ada", cost=2)
    assert (decision.allowed, decision.limit, decision.remaining) == (True, 5, 3)
    assert 59 < decision.reset_after <= 60
    assert decision.retry_after == 0
    assert decision.policy is policy


def test_the_clock_is_that_of_redis(redis_client):
    def redis_time():
        seconds, microseconds = redis_client.time()
        return seconds * 1_000_000 + microseconds

    policy = parse("test", "1/second, sliding log")
    limiter = Limiter(redis_client)
    before = redis_time()
    assert limiter.hit(policy, "ada")
    ((_, at),) = redis_client.zrange(policy.state_keys("ada")[0], 0, -1, withscores=True)
    assert before <= at <= redis_time()
    wait_for(lambda: limiter.hit(policy, "ada"))  # a second later


def test_several_limits_are_charged_together_or_not_at_all(redis_client):
    limiter = Limiter(redis_client)
    for _ in range(3):
        assert limiter.hit(BOTH, "ada")
    denied = limiter.hit(BOTH, "ada")
    assert not denied
    assert (denied.limit, denied.remaining) == (3, 0)
    minute, hour = denied.limit_states
    assert minute.retry_after > 0
    assert (hour.remaining, hour.retry_after) == (2, 0)  # the denied call was not charged here


def test_the_limit_that_denies_longest_speaks_for_all(redis_client):
    limiter = Limiter(redis_client)
    policy = parse("both", "1/minute fixed window and 1/hour sliding log")
    limiter.hit(policy, "ada")
    denied = limiter.hit(policy, "ada")
    assert 3500 < denied.retry_after <= 3600


def test_looking_writes_nothing(redis_client):
    limiter = Limiter(redis_client)
    for algorithm in TIMED:
        policy = parse("test", f"1/minute, {algorithm.words}")
        assert limiter.peek(policy, "ada")
        assert limiter.peek(policy, "ada").remaining == 1
    assert limiter.peek(parse("test", "1 at once"), "ada")
    assert redis_client.dbsize() == 0


def test_a_denied_call_writes_nothing(redis_client):
    limiter = Limiter(redis_client)
    for algorithm in TIMED:
        policy = parse("test", f"1/minute, {algorithm.words}")
        limiter.hit(policy, "ada")
        (key,) = policy.state_keys("ada")
        before = redis_client.dump(key), redis_client.pexpiretime(key)
        assert not limiter.hit(policy, "ada")
        assert (redis_client.dump(key), redis_client.pexpiretime(key)) == before


def test_every_key_has_a_ttl(redis_client):
    limiter = Limiter(redis_client)
    for algorithm in TIMED:
        limiter.hit(parse("test", f"2/minute, {algorithm.words}"), "ada")
    limiter.hit(parse("test", "2 at once"), "ada")
    keys = list(redis_client.scan_iter())
    assert len(keys) == 6
    assert all(0 < redis_client.pttl(key) <= 120_000 for key in keys)


def test_reset_forgets(redis_client):
    limiter = Limiter(redis_client)
    for _ in range(4):
        limiter.hit(BOTH, "ada")
    limiter.reset(BOTH, "ada")
    assert limiter.peek(BOTH, "ada").remaining == 3
    assert redis_client.dbsize() == 0


def test_a_call_that_costs_more_than_the_limit_is_denied_with_a_bounded_wait(redis_client):
    limiter = Limiter(redis_client)
    for algorithm in TIMED:
        decision = limiter.hit(parse("test", f"5/minute, {algorithm.words}"), "ada", cost=6)
        assert not decision
        assert 0 < decision.retry_after <= 120


def test_it_survives_a_flush_of_functions(redis_client):
    limiter = Limiter(redis_client)
    limiter.hit(BOTH, "ada")
    redis_client.function_flush()
    assert limiter.hit(BOTH, "ada").remaining == 1


def test_replies_may_be_decoded(redis_server):
    with redis_server.client(decode_responses=True) as client:
        assert Limiter(client).hit(BOTH, "ada").remaining == 2


def test_numbers_that_change_apply_to_what_was_counted(redis_client):
    limiter = Limiter(redis_client)
    for algorithm in TIMED:
        small, large = (parse("test", f"{n}/hour, {algorithm.words}") for n in (4, 100))
        limiter.hit(small, "ada", cost=4)
        assert not limiter.hit(small, "ada")
        raised = limiter.peek(large, "ada")
        assert raised.allowed
        assert raised.remaining == 96, algorithm  # what was used stays used
        limiter.hit(large, "ada", cost=50)
        lowered = limiter.peek(small, "ada")
        assert (lowered.allowed, lowered.remaining) == (False, 0)
        assert lowered.retry_after <= 2 * 3600, algorithm


async def test_the_async_twin_does_the_same(redis_server):
    async with redis_server.async_client() as client:
        limiter = AsyncLimiter(client)
        for remaining in (2, 1, 0):
            assert (await limiter.hit(BOTH, "ada")).remaining == remaining
        assert not await limiter.hit(BOTH, "ada")
        assert not await limiter.peek(BOTH, "ada")
        await limiter.reset(BOTH, "ada")
        assert (await limiter.peek(BOTH, "ada")).limit_states[0] == LimitState(3, 3, 0.0, 0.0)


def test_so_many_at_once_and_no_more(redis_client):
    limiter = Limiter(redis_client)
    policy = parse("test", "2 at once for 1 minute")
    assert limiter.hit(policy, "ada", lease="one")
    assert limiter.hit(policy, "ada", lease="two")
    assert limiter.hit(policy, "ada", lease="two")  # the same lease again is a renewal
    denied = limiter.hit(policy, "ada", lease="three")
    assert not denied
    assert 30 < denied.retry_after <= 60
    limiter.release(policy, "ada", "one")
    assert limiter.hit(policy, "ada", lease="three")


def test_a_lease_ends_by_itself_and_a_renewed_one_lasts(redis_client):
    now = 1_800_000_000_000_000
    limiter = Limiter(redis_client, clock=lambda: now)
    policy = parse("test", "1 at once for 1 minute")
    limiter.hit(policy, "ada", lease="one")
    now += 59_000_000
    assert not limiter.hit(policy, "ada", lease="two")
    assert limiter.hit(policy, "ada", lease="one")
    now += 59_000_000
    assert not limiter.hit(policy, "ada", lease="two")
    now += 1_000_000
    assert limiter.hit(policy, "ada", lease="two")


def test_a_clock_that_steps_back_does_not_keep_a_dead_lease(redis_client):
    now = 1_800_000_000_000_000
    limiter = Limiter(redis_client, clock=lambda: now)
    policy = parse("test", "1 at once for 1 minute")
    limiter.hit(policy, "ada", lease="dead")
    now -= 3600_000_000
    assert limiter.hit(policy, "ada", lease="two").retry_after == 60
    now += 60_000_000
    assert limiter.hit(policy, "ada", lease="two")


def test_a_lease_is_renewed_only_while_it_is_held(redis_client):
    limiter = Limiter(redis_client)
    policy = parse("test", "1 at once and 100/second")
    limiter.hit(policy, "ada", lease="one")
    assert limiter.renew(policy, "ada", "one")
    limiter.release(policy, "ada", "one")
    assert not limiter.renew(policy, "ada", "one")
    assert not redis_client.exists(policy.state_keys("ada")[0])


def test_it_needs_no_django():
    program = (
        "import sys, ratelimit.limiter, ratelimit.sentence, ratelimit.shield;"
        "sys.exit(any(name.partition('.')[0] == 'django' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
