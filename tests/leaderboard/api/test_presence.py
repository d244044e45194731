"""Who is online is said of those only whom the board shows."""

import pytest
from django.contrib.auth.models import User

from leaderboard.boards.moderation import ban_player, hide_player
from leaderboard.models import Player
from sessions_app import presence
from tests.leaderboard.support import ACTOR, open_board

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol():
    user = User.objects.create_user("carol")
    presence.touch([presence.account_viewer(user.pk)], "cup")
    return Player.objects.create(pk="carol", account=user)


@pytest.mark.parametrize("restrict", [hide_player, ban_player])
@pytest.mark.parametrize("everywhere", [True, False])
def test_hidden_and_banned_players_are_counted_and_not_named(
    board, stranger, carol, restrict, everywhere
):
    assert stranger.get("boards/cup/presence").json()["players"] == ["carol"]
    restrict(player_id="carol", reason="x", actor=ACTOR, board=None if everywhere else board)
    found = stranger.get("boards/cup/presence").json()
    assert (found["online"], found["players"]) == (1, [])


def test_a_restriction_on_another_board_hides_nobody_here(board, stranger, carol):
    ban_player(player_id="carol", reason="x", actor=ACTOR, board=open_board("other"))
    assert stranger.get("boards/cup/presence").json()["players"] == ["carol"]
