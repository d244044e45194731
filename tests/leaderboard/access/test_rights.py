"""Who sees a board, and who submits to it."""

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User

from leaderboard.access import listing, rights
from leaderboard.models import Board, Player

pytestmark = pytest.mark.django_db


@pytest.fixture
def boards():
    return {
        kind: Board.objects.create(slug=kind, name=kind, visibility=kind)
        for kind in ("public", "unlisted", "private")
    }


def person(name, *permissions, staff=False):
    user = User.objects.create_user(name, is_staff=staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def listed(user):
    return {board.slug for board in listing.visible_boards(user)}


def test_a_visitor_is_shown_public_boards_and_may_open_unlisted_ones(boards):
    visitor = AnonymousUser()
    assert listed(visitor) == {"public"}
    assert listing.get_board("unlisted", visitor) == boards["unlisted"]
    with pytest.raises(Board.DoesNotExist):
        listing.get_board("private", visitor)


def test_a_private_board_is_for_its_members(boards):
    member, other = person("member"), person("other")
    boards["private"].members.add(member)
    assert listed(member) == {"public", "private"}
    assert listing.get_board("private", member) == boards["private"]
    assert listed(other) == {"public"}
    with pytest.raises(Board.DoesNotExist):
        listing.get_board("private", other)


def test_staff_see_all_boards_only_with_the_permission(boards):
    assert listed(person("clerk", "view_board", staff=True)) == set(boards)
    assert listed(person("new", staff=True)) == {"public"}
    assert listed(person("plain", "view_board")) == {"public"}


def test_players_submit_for_themselves_where_the_board_allows_it(boards):
    board, player = boards["public"], person("ada")
    Player.objects.create(id="ada-1", account=player)
    assert not rights.may_submit(player, board, "ada-1")
    board.submitters = "players"
    assert rights.may_submit(player, board, "ada-1")
    assert not rights.may_submit(player, board, "bob-1")
    assert not rights.may_submit(AnonymousUser(), board, "ada-1")
    assert not rights.may_submit(person("no-player"), board, "ada-1")


def test_anyone_submits_for_anyone_on_a_demo_board_they_may_see(boards):
    for board in boards.values():
        board.submitters = "demo"
    assert rights.may_submit(AnonymousUser(), boards["public"], "ada")
    assert rights.may_use_console(AnonymousUser(), boards["unlisted"])
    assert not rights.may_submit(AnonymousUser(), boards["private"], "ada")
    assert not rights.may_use_console(AnonymousUser(), boards["private"])


def test_moderators_submit_everywhere(boards):
    moderator = person("mod", "moderate_board", staff=True)
    assert rights.may_submit(moderator, boards["private"], "ada")
    assert rights.may_use_console(moderator, boards["public"])
    assert not rights.may_use_console(person("clerk", "view_board", staff=True), boards["public"])
