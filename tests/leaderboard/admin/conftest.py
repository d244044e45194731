"""A board with three players, and somebody who may do everything."""

import pytest

from leaderboard.boards import changing, marks
from tests.leaderboard.admin.support import staff
from tests.leaderboard.support import forget_seasons, open_board, submit


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    forget_seasons()
    marks._seen.clear()
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)


@pytest.fixture
def board():
    board = open_board()
    for player, score in [("ada", 30), ("bob", 20), ("c/y", 10)]:
        submit(board, player, score, details={"name": player.title()})
    return board


@pytest.fixture
def admin_of_all():
    return staff(superuser=True)
