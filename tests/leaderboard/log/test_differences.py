"""A rebuild compares everything it makes again, and loses nothing without being allowed to."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard.boards import changing, marks
from leaderboard.closing import seasons
from leaderboard.errors import WouldLoseError
from leaderboard.log import rebuild
from leaderboard.models import Board, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, forget_seasons, ids, open_board, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    forget_seasons()
    marks._seen.clear()
    cache.clear()
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)


def again(board, **options):
    return changing.rebuild_board(board=board, actor=ACTOR, **options)


@pytest.mark.parametrize("window", ["day", "all"])
def test_a_check_finds_a_window_that_is_gone(window):
    board = open_board(windows=["day", "all"])
    submit(board, "ada", 10)
    live = board.engine().window(window)
    get_redis().delete(live.entries_key)
    report = again(board, check=True)
    assert [str(one).partition(" ")[0] for one in report.differences] == ["ada"]
    assert report.differences[0].view.startswith(window)
    assert again(board).count == 1
    assert live.get_rank("ada") == 1
    assert again(board, check=True).count == 0


def test_windows_of_a_limited_board_are_compared_by_their_size():
    board = open_board(windows=["day"], max_entries=3, operator="sum")
    for number in range(40):
        submit(board, f"p{number % 7}", number % 5)
    assert again(board, check=True).count == 0
    get_redis().delete(board.engine().window("day").entries_key)
    assert again(board, check=True).count == 3


def forgotten(**rules):
    """A board for all time that has forgotten the single scores of its first season."""
    board = open_board(schedule="daily", windows=["all"], operator="sum", **rules)
    submit(board, "ada", 10)
    submit(board, "bob", 5)
    seasons.close_season(board=board, actor=ACTOR)
    submit(board, "bob", 1)
    rebuild.drain(board, 5)
    Board.objects.update(history_days=30)
    Season.objects.filter(number=1).update(closed_at=timezone.now() - timedelta(days=31))
    clock.sweep()
    assert ScoreEvent.objects.filter(season=1).count() == 0
    return Board.objects.get()


def all_time(board):
    return {one["user_id"]: one["score"] for one in board.engine().window("all").list_all()}


def test_a_rebuild_that_would_lose_entries_names_them_and_does_nothing():
    board = forgotten()
    report = again(board, check=True)
    assert (report.count, report.lost_count) == (2, 2)
    assert report.warnings == (
        "The log no longer has every score of season 1, so it cannot restore all of: all.",
    )
    with pytest.raises(WouldLoseError, match=r"2 entries .*: ada \(all\), bob \(all\)"):
        again(board)
    assert all_time(board) == {"ada": 10, "bob": 6}
    assert pointer.read(board).is_open
    assert again(board, allow_loss=True).lost_count == 2
    assert all_time(board) == {"bob": 1}
    assert again(board).swapped


def test_a_change_of_rules_loses_no_entries_either():
    board = forgotten()
    with pytest.raises(WouldLoseError, match="ada"):
        changing.change_board(board=board, changes={"ties": "member"}, actor=ACTOR)
    board = Board.objects.get()
    assert (board.ties, all_time(board)) == ("earliest", {"ada": 10, "bob": 6})
    changing.change_board(board=board, changes={"windows": ["day"]}, actor=ACTOR)
    assert ids(board.engine().window("day").get_top(9)) == ["bob"]


def test_the_admin_refuses_a_rebuild_that_would_lose_entries_until_it_is_allowed(admin_client):
    board = open_board()
    for player in ("ada", "bob"):
        submit(board, player, 1)
    rebuild.drain(board, 5)
    ScoreEvent.objects.filter(player_id="ada").delete()
    address = reverse("admin:leaderboard_board_rebuild", args=[board.pk])
    page = admin_client.post(address, {}).content.decode()
    assert "would lose 1 entry that the score log does not have: ada." in page
    assert board.engine().get_size() == 2
    admin_client.post(address, {"allow_loss": "on"})
    assert ids(board.engine().get_top(9)) == ["bob"]
