"""Pages do not say who an anonymous player is, except to the player."""

from __future__ import annotations

import pytest
from django.test import Client

from leaderboard.access import aliases
from leaderboard.boards import marks, profiles
from leaderboard.closing import seasons
from leaderboard.models import Board, Player
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score
from tests.leaderboard.support import forget_seasons

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def board(client: Client) -> Board:
    forget_seasons()
    marks._seen.clear()
    board = make_board(windows=["day"])
    make_player("ada", display_name="Ada Lovelace", team="Engine", avatar="https://a.example/1")
    score(board, "ada", 30, name="Ada Lovelace")
    score(board, "bob", 20, name="Bob")
    return board


def become(privacy: str) -> None:
    profiles.update_profile(player=Player.objects.get(pk="ada"), privacy=privacy)


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


@pytest.mark.parametrize("page", ["", "?window=day", "players/bob/", "?q=Bob", "seasons/"])
def test_no_page_has_the_id_of_an_anonymous_player(client: Client, board: Board, page: str) -> None:
    become("anonymous")
    shown = text(client, f"/boards/cup/{page}")
    for secret in ("Lovelace", "/ada/", '"ada"', "Engine", "a.example"):
        assert secret not in shown


def test_nobody_is_found_by_the_id_of_an_anonymous_player(client: Client, board: Board) -> None:
    become("anonymous")
    assert "No players found" in text(client, "/boards/cup/?q=ada")
    assert client.get("/boards/cup/players/ada/").status_code == 404


def test_the_alias_has_a_page_that_names_nobody(client: Client, board: Board) -> None:
    other = make_board("other")
    score(other, "ada", 5, name="Ada Lovelace")
    become("anonymous")
    page = text(client, f"/boards/cup/players/{aliases.alias_of(board, 'ada')}/")
    assert "Anonymous" in page
    for secret in ("Lovelace", "/ada/", "Engine", "a.example", "The Other"):
        assert secret not in page


def test_without_a_current_entry_the_old_name_is_not_shown(client: Client, board: Board) -> None:
    seasons.close_season(board=board, actor=ACTOR, open_next=True)
    become("anonymous")
    assert client.get("/boards/cup/players/ada/").status_code == 404
    client.force_login(Player.objects.get(pk="ada").account)  # type: ignore[arg-type]
    own = text(client, "/boards/cup/players/ada/")
    for secret in ("Lovelace", "Engine", "a.example"):
        assert secret not in own.partition("<main")[2]


def test_an_anonymous_player_finds_the_own_row(client: Client, board: Board) -> None:
    become("anonymous")
    client.force_login(Player.objects.get(pk="ada").account)  # type: ignore[arg-type]
    page = text(client, "/boards/cup/")
    assert f'data-me="{aliases.alias_of(board, "ada")}"' in page
    assert 'class="mine"' in page


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"operation": "add", "amount": "1"}, "was saved but is not ranked"),
        ({"operation": "set", "score": "30"}, "was saved but is not ranked"),
        ({"operation": "set", "team": "x"}, "is not on the board"),
    ],
)
def test_a_console_does_not_say_which_alias_belongs_to_an_id(
    client: Client, board: Board, data: dict[str, str], said: str
) -> None:
    Board.objects.update(submitters="demo")
    become("anonymous")
    answer = client.post("/boards/cup/console/", data | {"player_id": "ada"})
    shown = answer.content.decode()
    assert f"ada {said}" in shown.replace("&#x27;", "'")
    for secret in ("anonymous-", "Anonymous", "Lovelace", "rank 1"):
        assert secret not in shown


def test_a_console_does_not_name_who_opted_out(client: Client, board: Board) -> None:
    Board.objects.update(submitters="demo")
    become("opted_out")
    data = {"operation": "add", "amount": "1", "player_id": "ada"}
    shown = client.post("/boards/cup/console/", data).content.decode()
    assert "ada was saved but is not ranked" in shown
    assert "Lovelace" not in shown
