"""A contest that is over: its page and its wall keep showing the final table."""

from __future__ import annotations

import pytest
from django.test import Client

from leaderboard.closing.seasons import close_season, open_season
from leaderboard.models import Board, Player
from sessions_app.models import Flag
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score


@pytest.fixture
def over(db: None) -> Board:
    board = make_board(groups=["country"])
    for number in range(60):
        score(board, f"p{number:02}", 1000 - number, name=f"Player {number}", country="DE")
    close_season(board=board, actor=ACTOR, open_next=False)
    return board


@pytest.mark.parametrize("address", ["/boards/cup/", "/boards/cup/?display=wall"])
def test_it_shows_the_final_table_and_says_that_it_is_over(
    client: Client, over: Board, address: str
) -> None:
    Flag.objects.update_or_create(name="wall", defaults={"state": Flag.State.ON})
    html = client.get(address).content.decode()
    assert html.count("<tr data-id=") == 50
    assert "Player 0" in html
    assert 'data-state="closed"' in html
    assert 'data-status="over"' in html
    assert "The season is over" in html


def test_it_has_pages_and_search(client: Client, over: Board) -> None:
    assert "Player 59" in client.get("/boards/cup/?page=2").content.decode()
    found = client.get("/boards/cup/?q=player 59").content.decode()
    assert found.count("<tr data-id=") == 1
    assert "Player 59" in found


def test_a_player_finds_their_own_place(client: Client, over: Board) -> None:
    client.force_login(make_player("p07"))
    html = client.get("/boards/cup/").content.decode()
    assert "<strong>8</strong>" in html
    assert "of 60" in html


def test_who_became_anonymous_since_is_not_named(client: Client, over: Board) -> None:
    Player.objects.create(id="p00", display_name="Player 0", privacy="anonymous")
    html = client.get("/boards/cup/").content.decode()
    assert "p00" not in html
    assert "Player 0<" not in html
    assert html.count("<tr data-id=") == 50


def test_the_list_of_boards_keeps_the_winners(client: Client, over: Board) -> None:
    html = client.get("/").content.decode()
    assert "Player 0" in html
    assert "No score yet" not in html


def test_the_next_season_takes_its_place(client: Client, over: Board) -> None:
    open_season(board=over, actor=ACTOR)
    html = client.get("/boards/cup/").content.decode()
    assert "Player 0" not in html
    assert 'data-status="over"' not in html
