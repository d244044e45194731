"""Each algorithm against its plain-Python model, under a clock that the test moves both ways."""

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ratelimit.algorithms import TIMED, Algorithm
from ratelimit.limiter import Limiter
from ratelimit.policy import MICROSECONDS, Limit, Policy
from tests.ratelimit.models import MODELS
from tests.servers import OWN_SERVER

START = 1_800_000_000_000_000
CALLERS = itertools.count()

SMALL = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def microseconds(decision):
    state = decision.limit_states[0]
    return (
        decision.allowed,
        state.remaining,
        round(state.reset_after * MICROSECONDS),
        round(state.retry_after * MICROSECONDS),
    )


class Machine(RuleBasedStateMachine):
    """Hits and peeks of one caller. Windows of a minute and more: keys outlive the test."""

    algorithm: Algorithm

    @initialize(
        count=st.integers(1, 12), window=st.sampled_from([60, 3600]), burst=st.integers(1, 15)
    )
    def begin(self, count, window, burst):
        burst = burst if self.algorithm.takes_burst else 0
        self.limit = Limit(count, window, self.algorithm, burst)
        self.policy = Policy("model", (self.limit,))
        self.model = MODELS[self.algorithm](count, window * MICROSECONDS, self.limit.capacity)
        self.now = START
        self.limiter = Limiter(OWN_SERVER.client(), clock=lambda: self.now)
        self.caller = str(next(CALLERS))
        self.denied = None

    @rule(share=st.one_of(st.just(0), st.floats(0, 2.5)))
    def time_passes(self, share):
        self.now += int(share * self.limit.window * MICROSECONDS)
        self.denied = None

    @rule(share=st.floats(0, 3))
    def the_clock_steps_back(self, share):
        self.now -= int(share * self.limit.window * MICROSECONDS)
        self.denied = None

    @rule(cost=st.integers(1, 4))
    def a_call_comes(self, cost):
        expected_fits, *_ = self.model.ask(self.now, cost)
        decision = self.limiter.hit(self.policy, self.caller, cost)
        retry = self.model.ask(self.now, cost)[3]
        self.model.settle(self.now)
        if expected_fits:
            self.model.charge(self.now, cost)
        _, remaining, reset, _ = self.model.ask(self.now, cost)
        assert microseconds(decision) == (expected_fits, remaining, reset, retry)
        window = self.limit.window * MICROSECONDS
        longest = 2 * max(window, window * (self.limit.capacity + cost) // self.limit.count + 1)
        assert retry <= longest
        self.denied = None if expected_fits else (cost, retry)

    @rule(cost=st.integers(1, 4))
    def somebody_looks(self, cost):
        decision = self.limiter.peek(self.policy, self.caller, cost)
        assert microseconds(decision) == self.model.ask(self.now, cost)

    @precondition(lambda self: self.denied and self.denied[0] <= self.limit.capacity)
    @rule()
    def a_denied_call_comes_again_just_too_early_and_just_in_time(self):
        cost, retry = self.denied
        self.now += retry - 1
        assert not self.limiter.hit(self.policy, self.caller, cost)
        self.now += 1
        assert self.limiter.hit(self.policy, self.caller, cost)
        self.model.settle(self.now)
        self.model.charge(self.now, cost)
        self.denied = None

    def teardown(self):
        if hasattr(self, "limiter"):
            client = self.limiter.client
            for key in self.policy.state_keys(self.caller):
                assert client.pttl(key) != -1  # gone, or it will be
            client.close()


@pytest.mark.parametrize("algorithm", TIMED)
def test_it_agrees_with_its_model(algorithm):
    run_state_machine_as_test(
        type(f"{algorithm}Machine", (Machine,), {"algorithm": algorithm}), settings=SMALL
    )
