from ipaddress import ip_network

import pytest

from ratelimit.algorithms import Algorithm
from ratelimit.policy import Limit, Policy, PolicyError
from ratelimit.sentence import parse


@pytest.mark.parametrize(
    ("sentence", "limits", "by"),
    [
        ("5/minute", [Limit(5, 60)], ("ip",)),
        (
            "5/minute by ip+username, sliding log",
            [Limit(5, 60, Algorithm.SLIDING_LOG)],
            ("ip", "username"),
        ),
        ("5 per 10 minutes by user", [Limit(5, 600)], ("user",)),
        ("1_000/2 days, fixed window", [Limit(1000, 172800, Algorithm.FIXED_WINDOW)], ("ip",)),
        (
            "10/second and 1000/day by api_key, gcra, burst 20",
            [Limit(10, 1, Algorithm.GCRA, 20), Limit(1000, 86400, Algorithm.GCRA, 20)],
            ("api_key",),
        ),
        (
            "100/hour fixed window and 10/second token bucket burst 30 by user",
            [Limit(100, 3600, Algorithm.FIXED_WINDOW), Limit(10, 1, Algorithm.TOKEN_BUCKET, 30)],
            ("user",),
        ),
        (
            "20 at once for 2 minutes and 5/second by session",
            [Limit(20, 120, Algorithm.AT_ONCE), Limit(5, 1)],
            ("session",),
        ),
        ("3 at once", [Limit(3, 60, Algorithm.AT_ONCE)], ("ip",)),
        ("5/minute by some.module.function", [Limit(5, 60)], ("some.module.function",)),
    ],
)
def test_it_reads_limits_as_people_say_them(sentence, limits, by):
    policy = parse("test", sentence)
    assert list(policy.limits) == limits
    assert policy.by == by


def test_it_reads_the_rest_of_a_policy():
    policy = parse(
        "test",
        "5/minute by ip, cost some.cost, closed on failure, shadow, exempt group staff, "
        "exempt network 10.0.0.0/8, exempt network 2001:db8::/32, exempt key abc",
    )
    assert policy.cost == "some.cost"
    assert policy.on_failure == "closed"
    assert policy.shadow
    assert policy.exempt.groups == {"staff"}
    assert policy.exempt.networks == (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))
    assert policy.exempt.api_keys == {"abc"}


@pytest.mark.parametrize(
    "sentence",
    [
        "5/minute sliding log by ip+username, open on failure",
        "100/hour fixed window and 10/second token bucket burst 30 by user, cost 3, shadow",
        "20 at once for 2 minutes by ip, closed on failure, exempt group staff, exempt key abc",
    ],
)
def test_a_policy_writes_itself_so_that_it_is_read_back(sentence):
    policy = parse("test", sentence)
    assert parse("test", str(policy)) == policy


@pytest.mark.parametrize(
    ("sentence", "part"),
    [
        ("", ""),
        ("by ip", "by ip"),
        ("often by ip", "often"),
        ("5/minit by ip", "minit"),
        ("0/minute", "0"),
        ("5/0 minutes", "0 seconds"),
        ("5/minute slidng log", "slidng log"),
        ("5/minute, slidng log", "slidng log"),
        ("5/minute, sliding log, burst 5", "burst 5"),
        ("5/minute by ip+", ""),
        ("5/minute by ip username", "ip username"),
        ("5/minute, burst many", "many"),
        ("5/minute, exempt network 10.0.0.0/99", "10.0.0.0/99"),
        ("5/minute, exempt planet earth", "exempt planet earth"),
        ("1000000/second, gcra", "1000000/1s"),
        ("1000000/day, sliding log", "1000000"),
    ],
)
def test_a_bad_sentence_is_refused_with_the_words_at_fault(sentence, part):
    with pytest.raises(PolicyError) as error:
        parse("test", sentence)
    assert error.value.part == part


def test_a_name_must_fit_into_keys_and_headers():
    with pytest.raises(PolicyError):
        Policy("No spaces", (Limit(1, 1),))


def test_a_sentence_on_a_base_keeps_what_it_leaves_out():
    base = parse("test", "5/minute by user, sliding log, closed on failure, exempt group staff")
    changed = parse("test", "20/minute", base=base)
    assert changed.limits == (Limit(20, 60, Algorithm.SLIDING_LOG),)
    assert (changed.by, changed.on_failure, changed.exempt) == (
        base.by,
        base.on_failure,
        base.exempt,
    )
    assert parse("test", "20/minute, gcra", base=base).limits[0].algorithm is Algorithm.GCRA
