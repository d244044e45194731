"""What staff do to a board; those without the permission do not."""

import pytest

from leaderboard.closing import seasons
from leaderboard.errors import PlayerBannedError
from leaderboard.models import AuditEntry, Restriction, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from tests.leaderboard.admin.support import address, staff
from tests.leaderboard.support import ACTOR, ids, open_board, submit

# What happens after the commit is half of it, so commits are real here.
pytestmark = pytest.mark.django_db(transaction=True)


ACTIONS = {
    "standings": "view_board",
    "moderate": "moderate_board",
    "season": "manage_seasons",
    "open_season": "manage_seasons",
    "close_season": "manage_seasons",
    "reset": "reset_board",
    "rebuild": "reset_board",
    "export": "view_board",
}


@pytest.mark.parametrize(("action", "permission"), ACTIONS.items())
def test_without_the_permission_there_is_no_button_and_no_way_in(board, action, permission):
    client = staff("change_board", *(set(ACTIONS.values()) - {permission}))
    assert client.get(address(action, board)).status_code == 403
    if action != "moderate":
        page = client.get(address("change", board)).content.decode()
        assert address(action, board) not in page
    assert client.post(address(action, board)).status_code == 403


def test_with_the_permission_there_is_a_button(board):
    client = staff("change_board", "view_board", "manage_seasons")
    page = client.get(address("change", board)).content.decode()
    assert address("season", board) in page
    assert address("reset", board) not in page


def moderate(client, board, player, **values):
    return client.post(address("moderate", board, player=player), values)


def test_each_deed_has_a_reason_and_an_entry_in_the_log(board, admin_of_all):
    refused = moderate(admin_of_all, board, "c/y", action="remove")
    assert "This field is required" in refused.content.decode()
    moderate(admin_of_all, board, "c/y", action="score", score="99", reason="Typo")
    assert ids(board.engine().get_top(1)) == ["c/y"]
    moderate(admin_of_all, board, "c/y", action="remove", reason="Cheat")
    moderate(admin_of_all, board, "bob", action="hide", reason="Looking into it")
    moderate(admin_of_all, board, "ada", action="ban", reason="Bot", everywhere="on")
    assert board.engine().get_top(9) == []
    page = admin_of_all.get(address("standings", board)).content.decode()
    assert "Looking into it" in page
    moderate(admin_of_all, board, "bob", action="lift", reason="Fine")
    assert ids(board.engine().get_top(9)) == ["bob"]
    with pytest.raises(PlayerBannedError):
        submit(board, "ada", 1)
    log = AuditEntry.objects.exclude(action__in=["season.open", "board.create", "account.rights"])
    assert [(entry.action, entry.reason) for entry in log.order_by("pk")] == [
        ("player.score", "Typo"),
        ("player.remove", "Cheat"),
        ("player.hide", "Looking into it"),
        ("player.ban", "Bot"),
        ("restriction.lift", "Fine"),
    ]
    assert {entry.actor_name for entry in log} == {"clerk"}


def test_an_end_in_the_past_and_an_unknown_player_are_told_in_the_form(board, admin_of_all):
    past = {"until_0": "2020-01-01", "until_1": "10:00"}
    answer = moderate(admin_of_all, board, "ada", action="hide", reason="x", **past)
    assert "The end must be in the future." in answer.content.decode()
    answer = moderate(admin_of_all, board, "nobody", action="remove", reason="x")
    assert "This player is not on Cup." in answer.content.decode()
    assert not Restriction.objects.exists()


def test_a_season_is_closed_here_and_archived_by_the_worker(board, admin_of_all):
    page = admin_of_all.get(address("season", board), follow=True).content.decode()
    assert "cannot be undone" in page
    closing = {"number": 1, "open_next": ""}
    shown = admin_of_all.post(address("close_season", board), closing, follow=True)
    said = "Season 1 is closed with 3 players. No season follows until somebody opens one."
    assert said in shown.content.decode()
    assert Season.objects.get().state == "closing"
    assert clock.archive_waiting() == 1
    assert seasons.closing_sentence(Season.objects.get()) == said
    page = admin_of_all.get(address("season", board), follow=True).content.decode()
    assert "Open a season" in page
    admin_of_all.post(address("open_season", board), {"name": "Finals"})
    assert pointer.read(board).number == 2
    assert Season.objects.get(number=2).name == "Finals"


def test_a_page_left_open_does_not_do_the_opposite(board, admin_of_all):
    closing = {"number": 1, "open_next": ""}
    admin_of_all.post(address("close_season", board), closing)
    answer = admin_of_all.post(address("close_season", board), closing)
    assert "is already closed" in answer.content.decode()
    assert not pointer.read(board).is_open
    admin_of_all.post(address("open_season", board), {})
    answer = admin_of_all.post(address("open_season", board), {})
    assert "is still open; close it first" in answer.content.decode()
    answer = admin_of_all.post(address("close_season", board), closing)
    assert "is already closed" in answer.content.decode()
    assert pointer.read(board).is_open
    assert pointer.read(board).number == 2


def test_times_of_a_season_are_in_the_boards_zone(admin_of_all):
    board = open_board(time_zone="Asia/Kathmandu")
    seasons.close_season(board=board, actor=ACTOR)
    page = admin_of_all.get(address("open_season", board)).content.decode()
    assert "Time in Asia/Kathmandu." in page
    assert 'data-admin-utc-offset="20700"' in page
    values = {"closes_0": "2030-01-31", "closes_1": "18:00"}
    admin_of_all.post(address("open_season", board), values)
    assert pointer.read(board).closes_at.isoformat() == "2030-01-31T12:15:00+00:00"


def test_the_next_season_is_planned_while_one_runs(admin_of_all):
    board = open_board()
    seasons.close_season(board=board, actor=ACTOR)
    values = {"closes_0": "2030-01-31", "closes_1": "18:00"}
    admin_of_all.post(address("open_season", board), values)
    page = admin_of_all.get(address("close_season", board)).content.decode()
    assert address("open_season", board) in page
    early = {"opens_0": "2030-01-31", "opens_1": "17:00"}
    answer = admin_of_all.post(address("open_season", board), early)
    assert "would still run when the new one opens" in answer.content.decode()
    admin_of_all.post(address("open_season", board), {"opens_0": "2030-02-01", "opens_1": "0:00"})
    assert [season.state for season in Season.objects.order_by("number")] == [
        "closed",
        "open",
        "planned",
    ]


def test_a_reset_wants_the_boards_address(board, admin_of_all):
    answer = admin_of_all.post(address("reset", board), {"scope": "all", "slug": "cap"})
    assert "not this board&#x27;s address" in answer.content.decode()
    assert board.engine().get_size() == 3
    admin_of_all.post(address("reset", board), {"scope": "season", "slug": "cup"})
    assert board.engine().get_size() == 0


def test_a_rebuild_and_an_export(board, admin_of_all):
    answer = admin_of_all.post(address("rebuild", board), {}, follow=True)
    assert "0 entries differed" in answer.content.decode()
    text = admin_of_all.get(address("export", board)).getvalue().decode()
    assert text.splitlines()[1].startswith("1,ada,30")
    assert admin_of_all.get(address("export", board, format="pdf")).status_code == 404
