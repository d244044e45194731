"""Filters of a board's page: what they offer and how they match."""

from __future__ import annotations

import re

import pytest
from django.http import HttpResponse
from django.test import Client

from leaderboard.boards import nearby, standings
from leaderboard.boards.moderation import hide_player
from leaderboard.models import Board
from sessions_app import flags
from sessions_app.models import Flag
from tests.leaderboard.pages.conftest import ACTOR, make_board, score
from tests.leaderboard.pages.test_board import ranked

PAGE = "/boards/cup/"


@pytest.fixture
def board(db: None) -> Board:
    board = make_board(groups=["country", "team"], windows=["day"])
    score(board, "ada", 3, country="GB", team="Night Owls")
    score(board, "bob", 2, country="DE", team="Foxes")
    score(board, "cy", 1, country="DE", team="Night Owls")
    score(board, "dee", 1)
    return board


def offered(response: HttpResponse, field: str) -> list[str]:
    found = re.search(rf'<datalist id="{field}-values">(.*?)</datalist>', response.content.decode())
    return re.findall(r'value="([^"]*)"', found[1]) if found else []


@pytest.mark.parametrize("query", ["", "?window=day", "?team=foxes"])
def test_they_offer_the_values_that_players_have(client: Client, board: Board, query: str) -> None:
    response = client.get(PAGE + query)
    assert offered(response, "team") == ["Foxes", "Night Owls"]
    assert offered(response, "country") == ["DE", "GB"]


def test_they_offer_a_bounded_number(
    client: Client, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standings, "MOST_SUGGESTED", 1)
    assert offered(client.get(PAGE), "team") == ["Foxes"]


@pytest.mark.django_db(transaction=True)
def test_the_team_of_a_hidden_player_is_not_offered(client: Client, board: Board) -> None:
    hide_player(player_id="bob", reason="x", actor=ACTOR, board=board)
    assert offered(client.get(PAGE), "team") == ["Night Owls"]


@pytest.mark.parametrize("typed", ["night owls", "NIGHT OWLS", " Night Owls "])
@pytest.mark.parametrize("window", ["", "&window=day"])
def test_they_match_without_case(client: Client, board: Board, typed: str, window: str) -> None:
    response = client.get(f"{PAGE}?team={typed}{window}")
    assert ranked(response) == [(1, "ada"), (2, "cy")]
    assert 'value="Night Owls" maxlength' in response.content.decode()
    assert ranked(client.get(f"{PAGE}?team={typed}&country=de{window}")) == [(1, "cy")]


def test_an_exact_value_wins_over_one_in_another_case(client: Client, board: Board) -> None:
    score(board, "eve", 9, team="foxes")
    assert ranked(client.get(f"{PAGE}?team=Foxes")) == [(1, "bob")]
    assert ranked(client.get(f"{PAGE}?team=foxes")) == [(1, "eve")]


def test_a_value_that_nobody_has_finds_nobody(client: Client, board: Board) -> None:
    response = client.get(f"{PAGE}?team=Nobody")
    assert ranked(response) == []
    assert "No players found" in response.content.decode()


def test_nearby_appears_only_where_the_board_has_places(client: Client, board: Board) -> None:
    Flag.objects.update_or_create(name="nearby", defaults={"state": Flag.State.ON})
    flags.forget()
    link = 'href="/boards/cup/nearby/"'
    assert link not in client.get(PAGE).content.decode()
    nearby.share(board, "ada", 52.5, 13.4)
    assert link in client.get(PAGE).content.decode()
    nearby.forget(board, "ada")
    assert link not in client.get(PAGE).content.decode()
    flags.forget()
