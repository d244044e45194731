"""Hidden, banned, lifted; and what is swept away when its time is over."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import marks, moderation
from leaderboard.closing import seasons
from leaderboard.errors import NotOnBoardError, PlayerBannedError, ServiceError
from leaderboard.log import rebuild
from leaderboard.models import AuditEntry, Board, Restriction, ScoreEvent, Season
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, end_time, forget_seasons, ids, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


@pytest.fixture
def board():
    board = open_board()
    for player, score in [("ada", 30), ("bob", 20), ("cy", 10)]:
        submit(board, player, score)
    return board


def end(restriction):
    past = timezone.now() - timedelta(hours=1)
    Restriction.objects.filter(pk=restriction.pk).update(
        created_at=past - timedelta(hours=1), until=past
    )


def test_a_hidden_player_keeps_score_and_the_others_move_up(board):
    moderation.hide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    assert [(e["user_id"], e["rank"]) for e in board.engine().get_top(9)] == [
        ("bob", 1),
        ("cy", 2),
    ]
    submit(board, "ada", 50)
    moderation.unhide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    assert board.engine().get_user_entry("ada")["score"] == 50


def test_an_expired_ban_lifts_by_itself(board):
    until = timezone.now() + timedelta(hours=1)
    ban = moderation.ban_player(board=board, player_id="ada", reason="x", actor=ACTOR, until=until)
    clock.sweep()
    with pytest.raises(PlayerBannedError):
        submit(board, "ada", 99)
    end(ban)
    clock.sweep()
    assert ids(board.engine().get_top(9)) == ["ada", "bob", "cy"]
    assert submit(board, "ada", 99).rank == 1
    assert AuditEntry.objects.filter(action="restriction.lift", actor_name="worker").exists()


def test_a_ban_everywhere_holds_on_boards_made_later(board):
    moderation.ban_player(player_id="ada", reason="x", actor=ACTOR)
    later = open_board("later")
    with pytest.raises(PlayerBannedError):
        submit(later, "ada", 1)
    assert ids(board.engine().get_top(9)) == ["bob", "cy"]


def test_lifting_one_restriction_leaves_the_other(board):
    moderation.ban_player(player_id="ada", reason="x", actor=ACTOR)
    moderation.hide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    moderation.unhide_player(player_id="ada", reason="x", actor=ACTOR)
    assert ids(board.engine().get_top(9)) == ["bob", "cy"]
    assert submit(board, "ada", 99).rank is None
    moderation.unhide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    assert ids(board.engine().get_top(1)) == ["ada"]


def test_a_hidden_player_who_is_removed_stays_hidden(board):
    moderation.hide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    moderation.remove_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    submit(board, "ada", 99)
    assert ids(board.engine().get_top(9)) == ["bob", "cy"]


def test_somebody_who_stands_only_in_a_window_can_be_removed():
    board = open_board(windows=["week"])
    submit(board, "ada", 10)
    seasons.close_season(board=board, actor=ACTOR, open_next=True)
    moderation.remove_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    assert board.engine().window("week").get_top(9) == []
    assert AuditEntry.objects.filter(action="player.remove", player_id="ada").count() == 1
    with pytest.raises(NotOnBoardError):
        moderation.remove_player(board=board, player_id="ada", reason="x", actor=ACTOR)


def test_a_restriction_everywhere_is_lifted_everywhere(board):
    moderation.ban_player(player_id="ada", reason="x", actor=ACTOR)
    with pytest.raises(NotOnBoardError, match="lift it on every board"):
        moderation.unhide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    moderation.unhide_player(player_id="ada", reason="x", actor=ACTOR)
    assert submit(board, "ada", 31).rank == 1


def test_of_two_who_lift_a_restriction_one_is_in_the_log(board):
    moderation.ban_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    restriction = Restriction.objects.get()
    for _ in range(2):
        moderation.lift_restriction(restriction=restriction, reason="x", actor=ACTOR)
    assert AuditEntry.objects.filter(action="restriction.lift").count() == 1


@pytest.mark.parametrize(
    "deed", [moderation.hide_player, moderation.ban_player, moderation.remove_player]
)
def test_a_deed_without_a_reason_is_not_done(board, deed):
    with pytest.raises(ServiceError, match="reason"):
        deed(board=board, player_id="ada", reason=" ", actor=ACTOR)
    assert board.engine().get_size() == 3


def test_single_scores_are_forgotten_only_of_seasons_that_ended_long_ago():
    board = open_board(schedule="daily", history_days=30)
    for player in ("ada", "bob", "cy"):
        submit(board, player, 1)
        seasons.close_season(board=board, actor=ACTOR)
    submit(board, "di", 1)
    rebuild.drain(board, 5)
    long_ago = timezone.now() - timedelta(days=31)
    Season.objects.filter(board=board, number__in=[1, 4]).update(
        opens=long_ago - timedelta(days=1), closed_at=long_ago
    )
    clock.sweep()
    assert set(ScoreEvent.objects.values_list("season", flat=True)) == {2, 3, 4}
    Board.objects.update(history_days=None)
    clock.sweep()
    assert ScoreEvent.objects.count() == 3


def test_hiding_holds_in_the_season_that_has_just_begun():
    board = open_board(schedule="daily")
    submit(board, "cheat", 5)
    engine = board.engine()  # as somebody has it who looked before the season's end
    end_time(board)
    submit(board, "cheat", 9)
    engine.hide("cheat")
    assert ids(board.engine().get_top(5)) == []
    engine.unhide("cheat")
    assert ids(board.engine().get_top(5)) == ["cheat"]
    engine.delete_user("cheat")
    assert ids(board.engine().get_top(5)) == []


def test_hiding_again_moves_what_is_on_the_wrong_side(board):
    engine = board.engine()
    engine.hide("ada")
    engine.load([{"user_id": "ada", "score": 30, "at": 1, "counter": 1}])
    get_redis().zadd(engine.entries_key, {_member(engine, "ada"): 30})
    engine.hide("ada")
    assert ids(engine.get_top(9)) == ["bob", "cy"]


def _member(engine, player_id):
    stamp = get_redis().hget(keys.stamps(engine.entries_key), player_id)
    return stamp[: engine.rules.prefix_length] + player_id.encode()


def test_the_log_has_the_true_old_score_of_a_hidden_player(board):
    moderation.hide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    moderation.edit_score(board=board, player_id="ada", score=12, reason="x", actor=ACTOR)
    (entry,) = AuditEntry.objects.filter(action="player.score")
    assert (entry.data["before"], entry.data["after"]) == (30, 12)


def test_a_restriction_that_is_rolled_back_hides_nobody(board):
    with transaction.atomic():
        moderation.hide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
        transaction.set_rollback(True)
    assert ids(board.engine().get_top(9)) == ["ada", "bob", "cy"]
