"""Past seasons come from SQL, once."""

import sys
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache

from leaderboard.models import Board, FinalStanding, Season
from leaderboard.seasons import history
from leaderboard.seasons.history import forget_season_list

pytestmark = pytest.mark.django_db

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def board():
    cache.clear()
    return Board.objects.create(slug="cup", name="Cup")


def close(board, number, players):
    season = Season.objects.create(
        board=board,
        number=number,
        name=f"Season {number}",
        state="closed",
        opens=BEGIN + timedelta(days=number),
        closed_at=BEGIN + timedelta(days=number + 1),
        entries=len(players),
    )
    FinalStanding.objects.bulk_create(
        FinalStanding(
            season=season, position=n, rank=n, player_id=f"p{name}", name=name, score=100.0 - n
        )
        for n, name in enumerate(players, 1)
    )
    forget_season_list(board.pk)
    return season


def test_seasons_are_listed_newest_first_with_their_podium(board):
    close(board, 1, ["Ada", "Bob", "Cy", "Di"])
    close(board, 2, [])
    Season.objects.create(board=board, number=3, name="Now", opens=BEGIN)
    seasons = history.season_list(board)
    assert [season["number"] for season in seasons] == [2, 1]
    assert [row["name"] for row in seasons[1]["podium"]] == ["Ada", "Bob", "Cy"]
    assert seasons[1]["closed_at"] == BEGIN + timedelta(days=2)


def test_who_read_the_list_before_it_changed_does_not_bring_the_old_one_back(board, monkeypatch):
    close(board, 1, ["ada"])
    history = sys.modules["leaderboard.seasons.history"]  # not the function of that name
    real = history._load_seasons

    def overtaken(board):
        old = real(board)
        close(board, 2, ["bob"])
        forget_season_list(board.pk)
        return old

    monkeypatch.setattr(history, "_load_seasons", overtaken)
    assert [season["number"] for season in history.season_list(board)] == [1]
    monkeypatch.undo()
    assert [season["number"] for season in history.season_list(board)] == [2, 1]


def test_a_second_reader_asks_sql_for_nothing_but_the_season(board, django_assert_num_queries):
    close(board, 1, ["Ada"])
    history.season_list(board)
    history.season_page(board, 1)
    with django_assert_num_queries(1):
        history.season_list(board)
        history.season_page(board, 1)


@pytest.mark.parametrize(
    ("asked", "given", "first"), [(1, 1, 1), (2, 2, 51), (99, 3, 101), (0, 1, 1)]
)
def test_pages_are_cut_by_position_and_stay_in_range(board, asked, given, first):
    close(board, 1, [f"n{n}" for n in range(120)])
    page = history.season_page(board, 1, page=asked)
    assert (page.page, page.pages, page.total) == (given, 3, 120)
    assert page.rows[0]["position"] == first
    assert page.podium[0]["position"] == 1


def test_a_search_finds_names_and_whole_ids(board):
    close(board, 1, ["Ada", "Adam", "Bob"])
    assert [r["name"] for r in history.season_page(board, 1, search="ada").rows] == [
        "Ada",
        "Adam",
    ]
    assert [r["name"] for r in history.season_page(board, 1, search="pBob").rows] == ["Bob"]
    assert history.season_page(board, 1, search="x" * 10_000).total == 0


def test_a_running_season_has_no_page_of_final_standings(board):
    Season.objects.create(board=board, number=1, name="Now", opens=BEGIN)
    with pytest.raises(Season.DoesNotExist):
        history.season_page(board, 1)


def test_a_players_seasons_leave_out_boards_that_are_not_public(board):
    close(board, 1, ["Ada"])
    hidden = Board.objects.create(slug="hidden", name="Hidden", visibility="private")
    close(hidden, 1, ["Ada"])
    assert [s.season.board for s in history.player_seasons("pAda")] == [board]
    assert [s.season.board for s in history.player_seasons("pAda", hidden)] == [hidden]
