"""The admin saves in a transaction: Redis follows once it is committed, never before."""

import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse

from leaderboard.boards import marks
from leaderboard.closing import seasons
from leaderboard.models import Player, Restriction, Season
from tests.leaderboard.support import ACTOR, forget_seasons, ids, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


@pytest.fixture
def board():
    board = open_board()
    for player, score in [("ada", 30), ("bob", 20)]:
        submit(board, player, score)
    seasons.close_season(board=board, actor=ACTOR, open_next=True)
    submit(board, "ada", 30)
    Player.objects.create(pk="ada", display_name="Ada")
    return board


@pytest.fixture
def early(monkeypatch):
    """Commands that reached Redis while SQL had not committed."""
    commands = []

    def watched(method):
        def call(client, *args, **options):
            if connection.in_atomic_block:
                commands.append(args[:1] or "pipeline")
            return method(client, *args, **options)

        return call

    for owner, name in ((redis.Redis, "execute_command"), (redis.client.Pipeline, "execute")):
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    return commands


READING = {"GET", "HGET", "HMGET", "HGETALL", "ZCARD", "MEMORY USAGE", "EXISTS", "TIME"}


def post(admin_client, page, *args, **data):
    answer = admin_client.post(reverse(f"admin:{page}", args=args), data)
    assert answer.status_code == 302, answer.content.decode()


def restriction(player):
    return {"player": player, "kind": "hidden", "reason": "x", "board": ""}


def profile(**changes):
    return {
        name: getattr(Player.objects.get(pk="ada"), name)
        for name in ("display_name", "country", "team", "avatar", "bio", "privacy")
    } | changes


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("leaderboard_board_delete", lambda board: (board.pk, {"post": "yes"})),
        ("leaderboard_player_delete", lambda board: ("ada", {"post": "yes"})),
        ("leaderboard_player_change", lambda board: ("ada", profile(privacy="anonymous"))),
        ("leaderboard_restriction_add", lambda board: (None, restriction("ada"))),
        (
            "leaderboard_season_change",
            lambda board: (Season.objects.get(number=1).pk, {"name": "First"}),
        ),
        (
            "leaderboard_season_delete",
            lambda board: (Season.objects.get(number=1).pk, {"post": "yes"}),
        ),
        ("auth_user_delete", lambda board: (User.objects.get(username="bob").pk, {"post": "yes"})),
        (
            "sessions_app_flag_add",
            lambda board: (None, {"name": "new", "state": "off", "percentage": 0}),
        ),
    ],
)
def test_redis_is_written_after_the_commit(admin_client, board, early, name, data):
    User.objects.create_user("bob")
    which, values = data(board)
    early.clear()
    post(admin_client, name, *([which] if which is not None else []), **values)
    assert [command for command in early if command[0] not in READING] == []


def test_after_the_commit_it_is_done(admin_client, board, redis_client):
    post(admin_client, "leaderboard_restriction_add", **restriction("ada"))
    assert Restriction.objects.count() == 1
    assert ids(board.engine().get_top(9)) == []
    post(admin_client, "leaderboard_board_delete", board.pk, post="yes")
    assert not list(redis_client.scan_iter(f"{board.key}*"))
