"""Closing a season through the API."""

import pytest

from config.redis.locks import hold
from leaderboard.closing import seasons
from tests.leaderboard.support import submit


def close(api, body=None):
    return api.post("boards/cup/seasons/close", body)


def test_a_season_that_never_was_cannot_be_closed(api, board):
    answer = close(api, {"season": 7})
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_season")
    assert answer.json()["field"] == "season"


def test_a_season_that_is_over_cannot_be_closed_again(api, board):
    assert close(api, {"season": 1, "open_next": True}).status_code == 200
    answer = close(api, {"season": 1})
    assert (answer.status_code, answer.json()["code"]) == (409, "season_closed")


@pytest.mark.parametrize("body", [None, {}])
def test_closing_needs_no_body(api, board, body):
    submit(board, "ada", 5)
    answer = close(api, body)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["number"], answer.json()["entries"]) == (1, 1)


def test_a_board_that_is_busy_asks_to_come_back(api, board, monkeypatch):
    monkeypatch.setattr(seasons, "LOCK_WAIT", 0.1)
    with hold("season:cup", timeout=30):
        for path in ("boards/cup/seasons/close", "boards/cup/reset"):
            answer = api.post(path, {} if path.endswith("close") else None)
            assert (answer.status_code, answer.json()["code"]) == (409, "board_busy")
            assert int(answer.headers["retry-after"]) > 0
    assert close(api).status_code == 200
