import pytest

from config.redis import wire
from ratelimit import shield as shield_module
from ratelimit.limiter import Limiter
from ratelimit.sentence import parse
from ratelimit.shield import Shield


@pytest.fixture
def clock(monkeypatch):
    """The process's monotonic clock, moved by hand."""
    now = [1000.0]
    monkeypatch.setattr(shield_module, "monotonic", lambda: now[0])
    monkeypatch.setattr("ratelimit.limiter.monotonic", lambda: now[0])
    return now


def test_it_refuses_until_the_time_and_then_asks(redis_client, clock):
    shield = Shield()
    limiter = Limiter(redis_client, shield=shield)
    policy = parse("test", "1/minute, fixed window")
    limiter.hit(policy, "ada")
    denied = limiter.hit(policy, "ada")
    redis_client.flushall()
    clock[0] += denied.retry_after - 0.001
    refused = limiter.hit(policy, "ada")
    assert not refused
    assert refused.retry_after == pytest.approx(0.001)
    assert refused.limit_states[0].retry_after == pytest.approx(0.001)
    clock[0] += 0.002  # a little over, because sums of fractions are not exact
    assert limiter.hit(policy, "ada")


def test_every_limit_of_a_refusal_grows_older(redis_client, clock):
    limiter = Limiter(redis_client, shield=Shield())
    policy = parse("test", "1/minute fixed window and 5/hour fixed window")
    limiter.hit(policy, "ada")
    minute, hour = limiter.hit(policy, "ada").limit_states
    clock[0] += 20
    refused = limiter.hit(policy, "ada")
    aged_minute, aged_hour = refused.limit_states
    assert refused.retry_after == pytest.approx(minute.retry_after - 20)
    assert aged_minute.reset_after == pytest.approx(minute.reset_after - 20)
    assert aged_hour.reset_after == pytest.approx(hour.reset_after - 20)
    assert (aged_hour.remaining, aged_hour.retry_after) == (4, 0)


def test_a_cheaper_call_than_the_denied_one_is_asked_for(redis_client):
    limiter = Limiter(redis_client, shield=Shield())
    policy = parse("test", "3/minute, sliding log")
    limiter.hit(policy, "ada", cost=2)
    assert not limiter.hit(policy, "ada", cost=2)
    assert limiter.hit(policy, "ada", cost=1)


def test_a_place_that_may_be_given_back_is_always_asked_for(redis_client):
    limiter = Limiter(redis_client, shield=Shield())
    policy = parse("test", "1 at once and 100/minute")
    limiter.hit(policy, "ada", lease="one")
    assert not limiter.hit(policy, "ada", lease="two")
    limiter.release(policy, "ada", "one")
    assert limiter.hit(policy, "ada", lease="two")


def test_it_is_bounded_and_forgets_the_oldest(redis_client):
    shield = Shield(max_entries=3)
    limiter = Limiter(redis_client, shield=shield)
    policy = parse("test", "1/hour, gcra")
    for caller in "abcde":
        limiter.hit(policy, caller)
        limiter.hit(policy, caller)
    assert len(shield) == 3
    redis_client.flushall()
    assert limiter.hit(policy, "a")
    assert not limiter.hit(policy, "e")


def test_the_time_counts_from_before_the_question(redis_client, clock, monkeypatch):
    """However slow the answer is, the refusal ends no later than Redis's own."""
    shield = Shield()
    limiter = Limiter(redis_client, shield=shield)
    policy = parse("test", "1/minute, gcra")
    limiter.hit(policy, "ada")
    send = wire.send

    def slow(*args, **kwargs):
        reply = send(*args, **kwargs)
        clock[0] += 10
        return reply

    monkeypatch.setattr(wire, "send", slow)
    denied = limiter.hit(policy, "ada")
    refused = limiter.hit(policy, "ada")
    assert refused.retry_after == pytest.approx(denied.retry_after - 10)
