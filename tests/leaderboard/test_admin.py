"""Staff make boards, change rules and moderate; those without the permission do not."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboard.boards import changing, marks, moderation
from leaderboard.closing import seasons
from leaderboard.errors import PlayerBannedError
from leaderboard.log import rebuild
from leaderboard.models import AuditEntry, Board, Player, Restriction, Season
from leaderboard.seasons import history, pointer
from leaderboard.worker import clock
from tests.leaderboard.boards import ACTOR, forget_seasons, ids, open_board, submit

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


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    forget_seasons()
    marks._seen.clear()
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)


@pytest.fixture
def board():
    board = open_board()
    for player, score in [("ada", 30), ("bob", 20), ("c/y", 10)]:
        submit(board, player, score, details={"name": player.title()})
    return board


def staff(*permissions, superuser=False):
    user = User.objects.create_user("clerk", is_staff=True, is_superuser=superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def admin_of_all():
    return staff(superuser=True)


def address(name, board, **query):
    return reverse(f"admin:leaderboard_board_{name}", args=[board.pk], query=query or None)


def form_values(board, **changes):
    fields = [f.name for f in Board._meta.fields if f.editable and f.name != "id"]
    values = {name: getattr(board, name) for name in fields} | changes
    return {name: value for name, value in values.items() if value not in (None, [])}


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


def test_players_are_found_by_name_and_by_id(board, admin_of_all):
    rebuild.drain(board, 5)
    page = admin_of_all.get(address("standings", board)).content.decode()
    assert page.index("Ada") < page.index("Bob")
    for query in ("bob", "Bob"):
        page = admin_of_all.get(address("standings", board, q=query)).content.decode()
        assert "Bob" in page
        assert "Ada" not in page
    assert admin_of_all.get(address("standings", board, page="x")).status_code == 200


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


def test_a_deleted_board_leaves_redis_too(board, admin_of_all):
    admin_of_all.post(address("delete", board), {"post": "yes"})
    assert not Board.objects.exists()
    assert pointer.read(board) is None


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
