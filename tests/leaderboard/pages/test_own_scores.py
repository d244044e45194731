"""A player's own score: what the form asks, refuses and says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from leaderboard.models import Board
from tests.leaderboard.pages.conftest import make_board, make_player, score

PAGE = "/boards/cup/submit/"


def open_board(**values: Any) -> Board:
    return make_board(submitters="players", **{"operator": "best"} | values)


@pytest.fixture
def ada(client: Client, db: None) -> Client:
    client.force_login(make_player("ada"))
    return client


def confirmed(response: HttpResponse) -> str:
    found = re.search(r'name="confirmed" value="([^"]*)"', response.content.decode())
    return found[1] if found else ""


def own_score(board: Board) -> float | None:
    entry = board.engine().get_user_entry("ada")
    return entry["score"] if entry else None


def test_a_score_that_is_far_off_is_asked_about_once(ada: Client) -> None:
    board = open_board()
    score(board, "bob", 10_000_000_000)
    form = {"score": "1000000000000"}
    asked = ada.post(PAGE, form)
    assert "1,000,000,000,000 is 100 times the best. Submit?" in asked.content.decode()
    assert own_score(board) is None
    answer = ada.post(PAGE, form | {"confirmed": confirmed(asked)})
    assert answer.status_code == 302
    assert own_score(board) == 1_000_000_000_000


def test_the_yes_is_for_that_score_only(ada: Client) -> None:
    board = open_board()
    score(board, "bob", 10)
    asked = ada.post(PAGE, {"score": "1000"})
    other = ada.post(PAGE, {"score": "10000", "confirmed": confirmed(asked)})
    assert "10,000 is 1,000 times the best." in other.content.decode()
    assert own_score(board) is None


@pytest.mark.parametrize("typed", ["1", "99", "-500"])
def test_an_ordinary_score_is_not_asked_about(ada: Client, typed: str) -> None:
    board = open_board()
    score(board, "bob", 10)
    assert ada.post(PAGE, {"score": typed}).status_code == 302
    assert own_score(board) == float(typed)


@pytest.mark.parametrize("best", [None, 0, -5])
def test_without_a_best_above_zero_nothing_is_far_off(ada: Client, best: float | None) -> None:
    board = open_board()
    if best is not None:
        score(board, "bob", best)
    assert ada.post(PAGE, {"score": "1000000"}).status_code == 302


@pytest.mark.parametrize(
    ("typed", "question"),
    [
        ("0:05", "0:05 is less than a tenth of the best. Submit?"),
        ("1:00:00", "1:00:00 is 60 times the best. Submit?"),
    ],
)
def test_a_time_can_be_far_off_in_both_directions(ada: Client, typed: str, question: str) -> None:
    board = open_board(order="asc", score_format="duration")
    score(board, "bob", 60)
    assert question in ada.post(PAGE, {"score": typed}).content.decode()
    assert own_score(board) is None


def test_an_equal_score_is_not_called_worse(ada: Client) -> None:
    open_board()
    ada.post(PAGE, {"score": "12"})
    equal = ada.post(PAGE, {"score": "12"}, follow=True).content.decode()
    assert "Nothing changed: you stay at rank 1 with 12." in equal
    worse = ada.post(PAGE, {"score": "11"}, follow=True).content.decode()
    assert "Your earlier score is better" in worse


@pytest.mark.parametrize("operator", ["set", "sum"])
def test_where_the_best_does_not_count_no_score_is_called_worse(ada: Client, operator: str) -> None:
    open_board(operator=operator)
    ada.post(PAGE, {"score": "12"})
    again = ada.post(PAGE, {"score": "12" if operator == "set" else "0"}, follow=True)
    assert "better" not in again.content.decode()


@pytest.mark.parametrize(
    ("rules", "typed", "refusal"),
    [
        ({}, "1.5", "only whole numbers"),
        ({"score_format": "decimals", "score_decimals": 2}, "1.505", "at most 2 decimal places"),
        ({"score_format": "decimals", "score_decimals": 1}, "1.55", "at most 1 decimal place"),
        ({"score_format": "duration", "order": "asc"}, "1:02.5", "only whole numbers"),
    ],
)
def test_decimals_are_refused_where_the_board_has_none(
    ada: Client, rules: dict[str, Any], typed: str, refusal: str
) -> None:
    board = open_board(**rules)
    assert refusal in ada.post(PAGE, {"score": typed}).content.decode()
    assert own_score(board) is None


def test_decimals_that_the_board_shows_are_accepted(ada: Client) -> None:
    board = open_board(score_format="decimals", score_decimals=2)
    assert 'step="0.01"' in ada.get(PAGE).content.decode()
    assert ada.post(PAGE, {"score": "1.25"}).status_code == 302
    assert own_score(board) == 1.25
