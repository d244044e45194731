"""Scores as people read them, and boards that add up decimals."""

import random
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from django.core.cache import cache
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import presentation
from leaderboard.boards import changing, marks
from leaderboard.models import Board
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit


def shown(score, decimals=2, score_format="decimals"):
    board = Board(score_format=score_format, score_decimals=decimals)
    return presentation.score_text(board, score)


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0.1 + 0.7, "0.80"),
        (13398.269999999999, "13,398.27"),
        (0.125, "0.12"),
        (0.375, "0.38"),
        (2.675, "2.68"),
        (-0.001, "0.00"),
        (-1.999, "-2.00"),
        (7, "7.00"),
    ],
)
def test_decimals_are_rounded_half_to_even(score, text):
    assert shown(score) == text


@given(score=st.floats(-1e9, 1e9), decimals=st.integers(0, 6))
def test_what_is_shown_is_what_decimal_rounds_to(score, decimals):
    exact = Decimal(repr(score)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN)
    assert Decimal(shown(score, decimals).replace(",", "")) == exact
    seconds = abs(score)
    parts = shown(seconds, decimals, "duration").split(":")
    total = sum(Decimal(part) * 60**place for place, part in enumerate(reversed(parts)))
    assert total == abs(exact)


@pytest.fixture
def _new_process(monkeypatch):
    forget_seasons()
    marks._seen.clear()
    cache.clear()
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)


def scores(view):
    return {entry["user_id"]: entry["score"] for entry in view.list_all()}


@pytest.mark.django_db
@pytest.mark.usefixtures("_new_process")
def test_a_board_with_decimals_adds_exactly_in_its_season_windows_and_after_a_rebuild():
    board = open_board(
        operator="sum", score_format="decimals", score_decimals=2, windows=["day", "all"]
    )
    chance, exact = random.Random(5), {}
    for _ in range(200):
        player, amount = chance.choice("abc"), Decimal(chance.randint(-500, 9999)).scaleb(-2)
        exact[player] = exact.get(player, 0) + amount
        submit(board, player, float(amount))
    expected = {player: float(total) for player, total in exact.items()}
    for _ in range(2):
        engine = board.engine()
        assert scores(engine) == expected
        assert scores(engine.window("day")) == scores(engine.window("all")) == expected
        assert changing.rebuild_board(board=board, actor=ACTOR, check=True).count == 0
        changing.rebuild_board(board=board, actor=ACTOR)


@pytest.mark.django_db
@pytest.mark.usefixtures("_new_process")
def test_other_decimals_add_the_logged_scores_up_again():
    board = open_board(operator="sum", score_format="decimals", score_decimals=1)
    for _ in range(4):
        submit(board, "ada", 0.26)
    assert scores(board.engine()) == {"ada": 1.2}
    changing.change_board(board=board, changes={"score_decimals": 2}, actor=ACTOR)
    assert scores(board.engine()) == {"ada": 1.04}
    assert changing.rebuild_board(board=board, actor=ACTOR, check=True).count == 0


@pytest.mark.django_db
@pytest.mark.usefixtures("_new_process")
def test_a_board_bounds_first_scores_by_its_largest_step():
    board = open_board(largest_step=50, first_step=True)
    with pytest.raises(ValueError, match="changes by more than 50"):
        submit(board, "ada", 51)
    assert submit(board, "ada", 50).rank == 1
