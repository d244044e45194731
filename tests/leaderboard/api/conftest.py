import pytest

from leaderboard.api.callers import keyring
from tests.leaderboard.api.support import Api, make_key
from tests.leaderboard.support import forget_seasons, open_board


@pytest.fixture(autouse=True)
def _fresh_process():
    """What a process remembers between requests does not outlive a test."""
    keyring.forget()
    forget_seasons()


@pytest.fixture
def board(db):
    return open_board(windows=["day", "week"])


@pytest.fixture
def token(db):
    return make_key("read", "submit", "moderate", "admin")


@pytest.fixture
def api(token):
    return Api(token)


@pytest.fixture
def stranger(db):
    """Somebody without a key."""
    return Api()
