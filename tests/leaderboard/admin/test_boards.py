"""Staff make boards, change rules and moderate; those without the permission do not."""

import pytest
from django.urls import reverse

from leaderboard.closing import seasons
from leaderboard.models import AuditEntry, Board, Season
from leaderboard.seasons import history, pointer
from tests.leaderboard.admin.support import address, form_values
from tests.leaderboard.support import ACTOR, ids, open_board, submit

# What happens after the commit is half of it, so commits are real here.
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_new_board_is_live_the_moment_it_is_saved(admin_of_all):
    page = admin_of_all.get(reverse("admin:leaderboard_board_add")).content.decode()
    assert "Who ranks higher when two players have the same score." in page
    values = form_values(Board(), slug="summer-cup", name="Summer Cup", windows=["day"])
    answer = admin_of_all.post(reverse("admin:leaderboard_board_add"), values)
    assert answer.status_code == 302
    board = Board.objects.get()
    assert board.windows == ["day"]
    assert submit(board, "ada", 1).rank == 1
    assert AuditEntry.objects.filter(action="board.create", actor_name="clerk").exists()


def test_every_rule_of_a_board_can_be_set(admin_of_all, board):
    page = admin_of_all.get(address("change", board)).content.decode()
    fields = [f.name for f in Board._meta.fields if f.editable and f.name not in ("id", "slug")]
    assert [name for name in fields if f'name="{name}"' not in page] == []
    values = form_values(board, durability="replicated")
    assert admin_of_all.post(address("change", board), values).status_code == 302
    board.refresh_from_db()
    assert board.durability == "replicated"


def test_a_season_is_listed_by_the_boards_own_clock(admin_of_all):
    board = open_board(time_zone="Pacific/Auckland")
    Season.objects.update(opens="2026-01-31T12:00:00Z", closes="2026-02-28T12:00:00Z")
    page = admin_of_all.get(reverse("admin:leaderboard_season_changelist")).content.decode()
    assert board.name in page
    assert "02/01/2026" in page
    assert "03/01/2026" in page
    assert '<td class="field-players">-</td>' in page  # no final standings yet


@pytest.mark.parametrize(
    ("language", "shown"), [("de", "Tabelle"), ("es", "Marcador"), ("fr", "Classement")]
)
def test_it_names_things_in_the_readers_language(admin_of_all, language, shown):
    headers = {"Accept-Language": language}
    page = admin_of_all.get(reverse("admin:index"), headers=headers).content.decode()
    assert shown in page
    assert ">Boards<" not in page


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"slug": "Odd Slug"}, "lowercase letters"),
        ({"time_zone": "Mars/Olympus"}, "not a time zone"),
        ({"schedule": "cron", "cron": "now and then"}, "is not a cron line"),
        ({"schedule": "cron"}, "needs a cron line"),
        ({"lowest_score": 5, "highest_score": 1}, "above the highest"),
    ],
)
def test_a_senseless_board_gets_one_clear_message(admin_of_all, values, message):
    values = form_values(Board(), **{"slug": "cup", "name": "Cup"} | values)
    page = admin_of_all.post(reverse("admin:leaderboard_board_add"), values)
    assert message in page.content.decode()
    assert not Board.objects.exists()


def test_the_list_shows_size_memory_and_season(board, admin_of_all):
    page = admin_of_all.get(reverse("admin:leaderboard_board_changelist")).content.decode()
    assert '<td class="field-players">3</td>' in page
    assert '<td class="field-season">1, open</td>' in page
    assert "bytes" in page
    assert 'href="/boards/cup/"' in page


def test_a_rule_that_reorders_asks_first_and_then_does_it(board, admin_of_all):
    values = form_values(board, order="asc")
    page = admin_of_all.post(address("change", board), values).content.decode()
    assert "with 3 players is rebuilt" in page
    assert Board.objects.get().order == "desc"
    answer = admin_of_all.post(address("change", board), values | {"_confirmed": "1"})
    assert answer.status_code == 302
    board = Board.objects.get()
    assert board.order == "asc"
    assert ids(board.engine().get_top(9)) == ["c/y", "bob", "ada"]
    assert AuditEntry.objects.get(action="board.change").data["after"] == {"order": "asc"}


def test_a_smaller_limit_says_who_leaves(board, admin_of_all):
    values = form_values(board, max_entries=2)
    page = admin_of_all.post(address("change", board), values).content.decode()
    assert "the last 1 players are removed" in page
    admin_of_all.post(address("change", board), values | {"_confirmed": "1"})
    assert ids(Board.objects.get().engine().get_top(9)) == ["ada", "bob"]


def test_a_new_name_is_saved_without_a_question(board, admin_of_all):
    answer = admin_of_all.post(address("change", board), form_values(board, name="Winter Cup"))
    assert answer.status_code == 302
    assert Board.objects.get().name == "Winter Cup"


def test_the_address_of_a_board_cannot_be_changed(board, admin_of_all):
    admin_of_all.post(address("change", board), form_values(board, slug="other"))
    assert Board.objects.get().slug == "cup"


def test_a_deleted_board_leaves_redis_too(board, admin_of_all):
    admin_of_all.post(address("delete", board), {"post": "yes"})
    assert not Board.objects.exists()
    assert pointer.read(board) is None


def test_a_season_is_deleted_without_a_list_of_all_who_played(board, admin_of_all):
    season = seasons.close_season(board=board, actor=ACTOR)
    assert [one["number"] for one in history.season_list(board)] == [1]
    url = reverse("admin:leaderboard_season_delete", args=[season.pk])
    page = admin_of_all.get(url).content.decode()
    assert "Final standings: 3" in page
    assert "#1 Ada" not in page
    admin_of_all.post(url, {"post": "yes"})
    assert not Season.objects.exists()
    assert history.season_list(board) == []
