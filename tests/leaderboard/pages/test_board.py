"""A board's page, as the server renders it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.boards import standings
from leaderboard.boards.scores import submit_scores
from leaderboard.closing.seasons import close_season
from leaderboard.engine import Submission
from leaderboard.models import Board
from sessions_app.models import Flag
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score


def ranked(response: HttpResponse) -> list[tuple[int, str]]:
    """(rank, id) of the rows shown."""
    rows = re.findall(r'<tr data-id="([^"]*)" data-rank="(\d+)"', response.content.decode())
    return [(int(rank), player_id) for player_id, rank in rows]


def test_it_shows_who_leads(client: Client, board: Board) -> None:
    score(board, "ada", 1200, name="Ada Lovelace", country="GB", team="Engines")
    score(board, "bob", 800)
    response = client.get("/boards/cup/")
    assert ranked(response) == [(1, "ada"), (2, "bob")]
    text = response.content.decode()
    for shown in ("Ada Lovelace", "GB", "Engines", "1,200", "Season"):
        assert shown in text


def test_it_has_an_empty_state(client: Client, board: Board) -> None:
    text = client.get("/boards/cup/").content.decode()
    assert "No score yet" in text
    assert "API key" not in text
    client.force_login(get_user_model().objects.create_superuser("root"))
    assert "from your game with an API key" in client.get("/boards/cup/").content.decode()


def test_a_season_that_is_over_points_to_its_standings(client: Client, board: Board) -> None:
    score(board, "ada", 3)
    close_season(board=board, actor=ACTOR)
    text = client.get("/boards/cup/").content.decode()
    assert "The season is over" in text
    assert "/boards/cup/seasons/" in text


def test_it_ranks_ties_in_the_boards_own_style(client: Client, db: None) -> None:
    board = make_board("ties", ranking="competition")
    for name, value in (("a", 5), ("b", 5), ("c", 1)):
        score(board, name, value)
    assert ranked(client.get("/boards/ties/")) == [(1, "a"), (1, "b"), (3, "c")]


def test_it_pages_without_losing_or_repeating_a_rank(client: Client, board: Board) -> None:
    submit_scores(board=board, rows=[Submission(f"p{n}", n) for n in range(120)])
    shown = [row for page in (1, 2, 3) for row in ranked(client.get(f"/boards/cup/?page={page}"))]
    assert [rank for rank, _ in shown] == list(range(1, 121))
    assert len({player_id for _, player_id in shown}) == 120
    assert client.get("/boards/cup/?page=4")["Location"] == "/boards/cup/?page=3"


def test_it_jumps_to_a_rank(client: Client, board: Board) -> None:
    submit_scores(board=board, rows=[Submission(f"p{n}", n) for n in range(120)])
    response = client.get("/boards/cup/?rank=101&q=")
    assert response["Location"] == "/boards/cup/?page=3"


@pytest.mark.parametrize("order", ["desc", "asc"])
def test_it_jumps_to_a_rank_that_many_share(client: Client, db: None, order: str) -> None:
    board = make_board("dense", ranking="dense", order=order, windows=["day"])
    submit_scores(board=board, rows=[Submission(f"p{n}", n // 10) for n in range(120)])
    for query in ("", "window=day&"):
        base = f"/boards/dense/?{query}"
        for rank, page in ((1, None), (5, None), (6, 2), (11, 3), (12, 3), (99, 3)):
            place = f"{base}page={page}" if page else base.rstrip("?&")
            response = client.get(f"{base}rank={rank}", follow=True)
            assert response.redirect_chain[-1][0] == place
            assert rank == 99 or rank in {shown for shown, _ in ranked(response)}


def test_it_filters_by_all_that_is_asked_for(client: Client, db: None) -> None:
    board = make_board("teams", groups=["country", "team"])
    for number, (country, team) in enumerate(
        [("DE", "Red"), ("DE", "Blue"), ("FR", "Red"), ("DE", "Red"), ("", "")]
    ):
        score(board, f"p{number}", 100 - number, country=country, team=team)
        make_player(f"p{number}", display_name=f"Player {number}")
    base = "/boards/teams/"
    assert ranked(client.get(f"{base}?country=de")) == [(1, "p0"), (2, "p1"), (3, "p3")]
    response = client.get(f"{base}?country=de&team=Red")
    assert ranked(response) == [(1, "p0"), (2, "p3")]
    assert "Ranked among themselves" in response.content.decode()
    assert "2 players" in response.content.decode()
    assert "Show everyone" in response.content.decode()
    # A search shows the ranks of the whole board.
    assert ranked(client.get(f"{base}?q=Player&team=Red")) == [(1, "p0"), (3, "p2"), (4, "p3")]
    assert "No players found" in client.get(f"{base}?country=FR&team=Blue").content.decode()


def test_a_combined_filter_says_where_it_stopped(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standings, "MOST_COMBINED", 2)
    board = make_board("teams", groups=["country", "team"])
    for number in range(3):
        score(board, f"p{number}", 100 - number, country="DE", team="Red")
    text = client.get("/boards/teams/?country=DE&team=Red").content.decode()
    assert "Only the best 2 players of the team were searched." in text


@pytest.mark.parametrize("query", ["page=0", "page=-1", "page=x", "rank=0", "page=9" * 20])
def test_it_knows_no_such_page(client: Client, board: Board, query: str) -> None:
    assert client.get(f"/boards/cup/?{query}").status_code == 404


def test_it_shows_windows_and_knows_no_other(client: Client, board: Board) -> None:
    score(board, "ada", 3)
    response = client.get("/boards/cup/?window=day")
    assert ranked(response) == [(1, "ada")]
    assert 'data-live="/live/boards/cup/?window=day"' in response.content.decode()
    assert client.get("/boards/cup/?window=month").status_code == 404


def test_it_finds_players_by_name_and_id(client: Client, board: Board) -> None:
    make_player("ada", display_name="Ada Lovelace")
    make_player("secret", display_name="Ada Secret", privacy="anonymous")
    for name, value in (("ada", 3), ("secret", 2), ("bob", 5)):
        score(board, name, value)
    assert ranked(client.get("/boards/cup/?q=lovel")) == [(2, "ada")]
    assert ranked(client.get("/boards/cup/?q=bob")) == [(1, "bob")]
    assert ranked(client.get("/boards/cup/?q=Secret")) == []
    assert "No players found" in client.get("/boards/cup/?q=" + "x" * 10_000).content.decode()


def test_it_shows_my_place_and_what_the_next_takes(client: Client, board: Board) -> None:
    client.force_login(make_player("me"))
    for name, value in (("a", 90), ("b", 50), ("me", 40), ("c", 10)):
        score(board, name, value)
    text = client.get("/boards/cup/").content.decode()
    assert "10 to reach b at rank 2." in text
    assert "of 4" in text
    assert 'data-me="me"' in text
    # A search does not change how many there are.
    assert "of 4" in client.get("/boards/cup/?q=me").content.decode()


def test_it_counts_one_player_as_one(client: Client, board: Board) -> None:
    score(board, "ada", 3)
    assert "<span data-size>1 player</span>" in client.get("/boards/cup/").content.decode()


def test_it_escapes_what_players_write(client: Client, board: Board) -> None:
    score(board, "x", 1, name="<script>alert(1)</script>", team="\u202egnp", avatar="javascript:1")
    text = client.get("/boards/cup/").content.decode()
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "javascript:1" not in text
    assert "<bdi>\u202egnp</bdi>" in text


def test_a_private_board_is_not_there_for_strangers(client: Client, db: None) -> None:
    board = make_board("secret", visibility="private")
    assert client.get("/boards/secret/").status_code == 404
    member = make_player("member")
    board.members.add(member)
    client.force_login(member)
    assert client.get("/boards/secret/").status_code == 200


def test_the_wall_is_behind_its_flag(client: Client, board: Board) -> None:
    Flag.objects.filter(name="wall").update(state=Flag.State.OFF)
    assert "display=wall" not in client.get("/boards/cup/").content.decode()
    assert client.get("/boards/cup/?display=wall").status_code == 404


@pytest.mark.parametrize(("top", "status"), [("3", 200), ("10", 200), ("11", 404), ("x", 404)])
def test_the_wall(client: Client, board: Board, top: str, status: int) -> None:
    Flag.objects.update_or_create(name="wall", defaults={"state": Flag.State.ON})
    response = client.get(f"/boards/cup/?display=wall&top={top}")
    assert response.status_code == status
    if status == 200:
        assert f'class="wall wall-{top}"' in response.content.decode()
        assert "No score yet" in response.content.decode()


WORDS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["0", "-1", "1e9", "day", "week", "wall", "9" * 30, "\x00", "%", "../", "'"]),
)
NAMES = st.sampled_from(["page", "rank", "q", "window", "display", "top", "country", "team", "x"])


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=st.dictionaries(NAMES, WORDS, max_size=4))
def test_no_query_string_breaks_it(board: Board, query: dict[str, Any]) -> None:
    response = Client(raise_request_exception=True).get("/boards/cup/", query)
    assert response.status_code in {200, 302, 404}
