"""Players, restrictions and the audit log in the admin."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboard.boards import changing, moderation
from leaderboard.closing import seasons
from leaderboard.log import rebuild
from leaderboard.models import AuditEntry, Player, Restriction
from tests.leaderboard.admin.support import address, form_values
from tests.leaderboard.support import ACTOR, ids, submit

# What happens after the commit is half of it, so commits are real here.
pytestmark = pytest.mark.django_db(transaction=True)


def test_players_are_found_by_name_and_by_id(board, admin_of_all):
    rebuild.drain(board, 5)
    page = admin_of_all.get(address("standings", board)).content.decode()
    assert page.index("Ada") < page.index("Bob")
    for query in ("bob", "Bob"):
        page = admin_of_all.get(address("standings", board, q=query)).content.decode()
        assert "Bob" in page
        assert "Ada" not in page
    assert admin_of_all.get(address("standings", board, page="x")).status_code == 200


def test_a_restriction_made_in_its_own_list_holds(board, admin_of_all):
    Player.objects.create(id="ada")
    admin_of_all.post(
        reverse("admin:leaderboard_restriction_add"),
        {"player": "ada", "kind": "banned", "reason": "Bot", "board": ""},
    )
    assert ids(board.engine().get_top(9)) == ["bob", "c/y"]
    restriction = Restriction.objects.get()
    lift = {"action": "lift", "_selected_action": [restriction.pk]}
    admin_of_all.post(reverse("admin:leaderboard_restriction_changelist"), lift)
    assert ids(board.engine().get_top(9)) == ["ada", "bob", "c/y"]


def test_a_restriction_that_is_over_before_it_begins_is_told_in_the_form(board, admin_of_all):
    Player.objects.create(id="ada")
    values = {"player": "ada", "kind": "banned", "reason": "Bot", "board": ""}
    past = {"until_0": "2020-01-01", "until_1": "10:00"}
    answer = admin_of_all.post(reverse("admin:leaderboard_restriction_add"), values | past)
    assert "The end must be in the future." in answer.content.decode()
    assert not Restriction.objects.exists()


def test_a_deleted_player_is_off_every_board_and_may_come_back(board, admin_of_all):
    rebuild.drain(board, 5)
    moderation.ban_player(player_id="ada", reason="x", actor=ACTOR)
    url = reverse("admin:leaderboard_player_delete", args=["ada"])
    admin_of_all.post(url, {"post": "yes"})
    rebuild.drain(board, 5)
    assert not Player.objects.filter(pk="ada").exists()
    assert ids(board.engine().get_top(9)) == ["bob", "c/y"]
    assert changing.rebuild_board(board=board, actor=ACTOR, check=True).count == 0
    assert AuditEntry.objects.get(action="player.delete").player_id == "ada"
    assert submit(board, "ada", 5).rank == 3


def test_a_refused_change_is_not_said_to_be_made(board, admin_of_all):
    seasons.close_season(board=board, actor=ACTOR)
    seasons.open_season(board=board, actor=ACTOR, opens=timezone.now() + timedelta(days=1))
    values = form_values(board, schedule="daily") | {"_confirmed": "1"}
    answer = admin_of_all.post(address("change", board), values, follow=True)
    assert [str(message)[:25] for message in answer.context["messages"]] == [
        "Not changed: Season 2 is "
    ]
    answer = admin_of_all.post(address("change", board), form_values(board, name="N"), follow=True)
    assert "was changed successfully" in str(next(iter(answer.context["messages"])))


def test_a_players_name_is_written_through_to_the_boards(board, admin_of_all):
    Player.objects.create(id="c/y", display_name="Cy")
    url = reverse("admin:leaderboard_player_change", args=["c/y"])
    admin_of_all.post(url, {"display_name": "Cyrus", "privacy": "shown", "country": "SE"})
    assert board.engine().get_user_metadata("c/y")["name"] == "Cyrus"


def test_the_audit_log_is_read_only(board, admin_of_all):
    entry = AuditEntry.objects.first()
    url = reverse("admin:leaderboard_auditentry_change", args=[entry.pk])
    assert admin_of_all.get(url).status_code == 200
    assert admin_of_all.post(url, {"action": "nothing"}).status_code == 403
    assert admin_of_all.get(reverse("admin:leaderboard_auditentry_add")).status_code == 403
    seasons.close_season(board=board, actor=ACTOR)
    for name in ("season", "restriction", "player", "auditentry"):
        assert admin_of_all.get(reverse(f"admin:leaderboard_{name}_changelist")).status_code == 200


def test_signing_out_somebodys_devices_stands_in_the_audit_log(client):
    staff, ann = User.objects.create_superuser("root"), User.objects.create_user("ann")
    Player.objects.create(id="p7", account=ann)
    phone = Client()
    phone.force_login(ann)
    client.force_login(staff)
    address = f"/admin/auth/user/{ann.pk}/devices/"
    client.post(address)
    client.post(address)  # nobody is left to sign out
    (entry,) = AuditEntry.objects.filter(action="devices.sign_out")
    assert (entry.actor, entry.player_id) == (staff, "p7")
    assert entry.data == {"account": "ann", "devices": 1}
    page = client.get(reverse("admin:leaderboard_auditentry_changelist")).text
    assert "devices.sign_out" in page
