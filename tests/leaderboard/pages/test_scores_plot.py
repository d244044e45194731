"""The plot of all scores, asked for again by pages that stay open."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from leaderboard.boards import current, standings
from leaderboard.closing.seasons import close_season
from leaderboard.models import Board
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score


def test_the_page_asks_for_it_when_the_board_has_changed(client: Client, board: Board) -> None:
    score(board, "ada", 10)
    score(board, "bob", 20)
    html = client.get("/boards/cup/?window=day").content.decode()
    assert (
        'hx-get="/boards/cup/scores/?window=day" hx-trigger="scores:changed from:document"' in html
    )


def test_it_has_the_newest_scores_and_marks_mine(client: Client, board: Board) -> None:
    score(board, "ada", 10)
    score(board, "bob", 20)
    assert "chart-mine" not in client.get("/boards/cup/scores/").content.decode()
    client.force_login(make_player("ada"))
    cache.clear()
    score(board, "eve", 4321)
    html = client.get("/boards/cup/scores/").content.decode()
    assert "4,321" in html
    assert html.count("chart-mine") == 1


def test_a_process_that_has_just_started_finds_the_running_season(
    client: Client, board: Board
) -> None:
    close_season(board=board, actor=ACTOR, open_next=True)
    score(board, "ada", 10)
    score(board, "bob", 4321)
    current._seasons.clear()
    client.force_login(make_player("ada"))
    html = client.get("/boards/cup/scores/").content.decode()
    assert "4,321" in html
    assert html.count("chart-mine") == 1


def test_its_figures_are_counted_once_for_all(
    client: Client, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(board, "ada", 10)
    score(board, "bob", 20)
    asked = []
    perform = standings.perform
    monkeypatch.setattr(standings, "perform", lambda steps: asked.append(1) or perform(steps))
    for _ in range(5):
        assert client.get("/boards/cup/scores/").status_code == 200
    assert len(asked) == 1


def test_it_is_as_closed_as_its_board(client: Client, board: Board) -> None:
    make_board("secret", visibility="private")
    assert client.get("/boards/secret/scores/").status_code == 404
    assert client.get("/boards/cup/scores/?window=month").status_code == 404
    assert client.post("/boards/cup/scores/").status_code == 405
