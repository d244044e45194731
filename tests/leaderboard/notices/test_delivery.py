"""Notices tell what somebody may know, and only what a player did."""

import pytest
from django.contrib.auth.models import Permission, User

from leaderboard.boards import changing, marks, moderation, profiles
from leaderboard.closing import seasons
from leaderboard.log import consumer
from leaderboard.models import Player, Season
from leaderboard.notices import delivery
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


def account(name, **values):
    user = User.objects.create_user(name, **values)
    Player.objects.create(pk=name, account=user, display_name=name.title())
    return user


def store(board):
    reader = consumer.Consumer("tests")
    reader.join(board)
    reader.run_once()


@pytest.fixture
def board():
    return open_board()


@pytest.fixture
def private():
    board = open_board(visibility="private")
    board.members.add(account("ada"))
    return board


def test_who_is_shown_again_has_overtaken_nobody(board):
    account("ada")
    submit(board, "ada", 10)
    submit(board, "cheat", 20)
    moderation.hide_player(board=board, player_id="cheat", reason="x", actor=ACTOR)
    store(board)
    before = len(delivery.latest("ada"))
    moderation.unhide_player(board=board, player_id="cheat", reason="x", actor=ACTOR)
    store(board)
    assert len(delivery.latest("ada")) == before


def test_former_members_of_a_private_board_are_not_notified(private):
    submit(private, "ada", 10)
    store(private)
    private.members.clear()
    submit(private, "bob", 20)
    store(private)
    seasons.close_season(board=private, actor=ACTOR)
    private.members.add(User.objects.get(username="ada"))
    assert delivery.latest("ada") == []
    assert delivery.unread_count("ada") == 0


def test_members_are_notified(private):
    submit(private, "ada", 10)
    store(private)
    submit(private, "bob", 20)
    store(private)
    delivery.season_ended(Season.objects.get())
    assert [notice.kind for notice in delivery.latest("ada")] == ["overtaken"]


def test_staff_are_notified_of_private_boards_that_they_may_see(private):
    for name in ("clerk", "guard"):
        account(name, is_staff=True)
    permission = Permission.objects.get(codename="view_board")
    User.objects.get(username="clerk").user_permissions.add(permission)
    for name in ("clerk", "guard"):
        submit(private, name, 10)
    store(private)
    submit(private, "bob", 20)
    store(private)
    assert len(delivery.latest("clerk")) == 1
    assert delivery.latest("guard") == []


@pytest.mark.parametrize("loss", ["membership", "publicity", "board"])
def test_old_notices_are_gone_with_the_right_to_see_the_board(loss):
    board = open_board(visibility="private" if loss == "membership" else "public")
    board.members.add(account("ada"))
    delivery.overtaken(board, "ada", by="bob", rank=2)
    assert delivery.unread_count("ada") == len(delivery.latest("ada")) == 1
    match loss:
        case "membership":
            board.members.clear()
        case "publicity":
            board.members.clear()
            changing.change_board(board=board, changes={"visibility": "private"}, actor=ACTOR)
        case "board":
            changing.delete_board(board=board, actor=ACTOR)
    assert delivery.latest("ada") == []
    assert delivery.unread_count("ada") == 0


@pytest.mark.parametrize("change", ["anonymous", "opted_out", "hidden", "banned", "deleted"])
def test_old_notices_do_not_name_who_is_not_to_be_named_since(board, change):
    account("ada")
    submit(board, "ada", 10)
    store(board)
    submit(board, "bob", 20, details={"name": "Bob"})
    store(board)
    (notice,) = delivery.latest("ada")
    assert notice.text == "Bob overtook you on Cup. You are now at rank 2."
    bob = Player.objects.get(pk="bob")
    match change:
        case "hidden":
            moderation.hide_player(board=board, player_id="bob", reason="x", actor=ACTOR)
        case "banned":
            moderation.ban_player(board=board, player_id="bob", reason="x", actor=ACTOR)
        case "deleted":
            profiles.delete_player(player=bob, actor=ACTOR)
        case _:
            profiles.update_profile(player=bob, privacy=change)
    (notice,) = delivery.latest("ada")
    assert notice.text == "Anonymous overtook you on Cup. You are now at rank 2."
