import pytest

from ratelimit import guard, metrics, policies, sync


@pytest.fixture(autouse=True)
def _fresh_process():
    """What this process remembers between calls is forgotten between tests."""

    def forget():
        policies.configure()
        guard.shield.clear()
        guard.breaker.succeeded()
        metrics.take_tally()
        sync._blocks, sync._changes, sync._overrides = {}, None, {}

    forget()
    yield
    forget()
