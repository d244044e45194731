"""What a player chooses to show is shown everywhere, and nothing else is."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases
from leaderboard.boards import changing, marks, profiles, scores
from leaderboard.closing import seasons
from leaderboard.log import consumer, rebuild
from leaderboard.models import Player
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


@pytest.fixture
def ada():
    return Player.objects.create(pk="ada", display_name="Ada Lovelace", team="Engine")


def in_a_past_day(board):
    past = (timezone.now() - timedelta(days=3)).date().isoformat()
    window = board.engine().window("day", past)
    details = {"name": "Ada Lovelace", "team": "Engine", "mail": "ada@example.org"}
    row = {"user_id": "ada", "score": 5, "at": 1, "counter": 1, "metadata": details}
    window.load([row])
    return window


def names(client, board):
    return client.get(f"/boards/{board.slug}/").content.decode()


def test_who_has_only_an_entry_of_a_past_day_becomes_anonymous_there(client, ada):
    board = open_board(windows=["day"], groups=["team"])
    past = in_a_past_day(board)
    assert past.get_group("team", "Engine")["size"] == 1
    profiles.update_profile(player=ada, privacy="anonymous")
    (entry,) = past.get_top(1)
    assert entry["metadata"]["name"] == "Anonymous"
    assert "mail" not in entry["metadata"]
    assert past.get_group("team", "Engine")["size"] == 0
    submit(board, "ada", 9)
    assert "Ada Lovelace" not in names(client, board)


def test_details_of_a_past_day_go_with_it(ada):
    board = open_board(windows=["day"])
    past = board.engine().window("day", (timezone.now() - timedelta(days=3)).date().isoformat())
    past.load([{"user_id": "ada", "score": 5, "at": 1, "counter": 1}])
    profiles.update_profile(player=ada, team="Loom")
    user, entries = keys.user(board.key, "ada"), past.entries_key
    assert get_redis().hget(user, "team") == b"Loom"
    assert get_redis().pexpiretime(user) == get_redis().pexpiretime(entries) > 0


def test_between_two_seasons_an_anonymous_player_loses_the_name(client, ada):
    board = open_board()
    submit(board, "ada", 5, details={"name": "Ada Lovelace"})
    seasons.close_season(board=board, actor=ACTOR, archive_now=False)
    profiles.update_profile(player=ada, privacy="anonymous")
    clock.archive_waiting()
    seasons.open_season(board=board, actor=ACTOR)
    submit(board, "ada", 9)
    assert "Ada Lovelace" not in names(client, board)
    assert "Ada Lovelace" not in client.get(f"/boards/{board.slug}/seasons/1/").content.decode()


def test_who_is_shown_again_is_named_again(client, ada):
    board = open_board()
    submit(board, "ada", 5)
    profiles.update_profile(player=ada, privacy="anonymous")
    profiles.update_profile(player=ada, privacy="shown")
    assert "Ada Lovelace" in names(client, board)
    details = board.engine().get_user_entry("ada")["metadata"]
    assert details == {"name": "Ada Lovelace", "country": "", "team": "Engine", "avatar": ""}


def test_a_rebuild_after_a_loss_keeps_an_anonymous_player_anonymous(client, ada):
    board = open_board()
    submit(board, "ada", 5, details={"name": "Ada Lovelace"})
    profiles.update_profile(player=ada, privacy="anonymous")
    rebuild.drain(board, 5)
    get_redis().delete(keys.user(board.key, "ada"))
    changing.rebuild_board(board=board, actor=ACTOR)
    assert "Ada Lovelace" not in names(client, board)


def test_a_profile_that_is_rolled_back_changes_no_board(ada):
    board = open_board()
    submit(board, "ada", 5, details={"name": "Ada Lovelace"})
    with transaction.atomic():
        profiles.update_profile(player=ada, display_name="Countess")
        transaction.set_rollback(True)
    assert board.engine().get_user_metadata("ada")["name"] == "Ada Lovelace"


def test_nobody_can_give_themselves_an_alias():
    board = open_board()
    submit(board, "bob", 5, details={"name": "Bob", "~alias": "anonymous-x"})
    scores.update_details(board=board, player_id="bob", details={"~alias": "y", "team": "A"})
    assert board.engine().get_user_metadata("bob") == {"name": "Bob", "team": "A"}


@pytest.mark.parametrize("details", [{"name": "Ada Lovelace", "mail": "ada@example.org"}, None])
def test_a_first_score_written_with_old_marks_is_masked_by_the_worker(client, ada, details):
    board = open_board(windows=["day"])
    submit(board, "bob", 1)
    before = dict(marks._seen)
    profiles.update_profile(player=ada, privacy="anonymous")
    marks._seen.update(before)  # as in another process, which keeps them for a second
    submit(board, "ada", 9, details=details)
    reader = consumer.Consumer("tests")
    reader.join(board)
    reader.run_once()
    masked = aliases.anonymous_details(board, "ada")
    assert board.engine().get_user_metadata("ada") == masked
    for page in ("", "?window=day"):
        shown = client.get(f"/boards/{board.slug}/{page}").content.decode()
        assert "Ada Lovelace" not in shown
        assert "players/ada" not in shown
