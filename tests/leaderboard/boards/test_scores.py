"""Scores land in exactly one season, and nowhere when they may not."""

import threading
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import current, marks, moderation, profiles, scores
from leaderboard.engine import LeaderboardError, RowsRefusedError, Submission
from leaderboard.errors import PlayerBannedError, SeasonClosedError
from leaderboard.models import Player
from leaderboard.seasons import pointer
from tests.leaderboard.support import ACTOR, end_time, forget_seasons, ids, open_board, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()
    marks._seen.clear()


def test_a_score_is_on_the_board_with_its_details():
    board = open_board()
    first = submit(board, "ada", 10, details={"name": "Ada"})
    assert (first.rank, first.score, first.season, first.changed) == (1, 10.0, 1, True)
    assert board.engine().get_user_metadata("ada") == {"name": "Ada"}
    second = submit(board, "bob", 20)
    assert (second.rank, second.previous_rank, second.sequence) == (1, None, first.sequence + 1)
    assert ids(board.engine().get_top(9)) == ["bob", "ada"]


def test_a_score_touches_no_sql(django_assert_num_queries):
    board = open_board()
    with django_assert_num_queries(0):
        submit(board, "ada", 10)


def test_the_operator_of_a_call_wins_over_the_boards():
    board = open_board(operator="best")
    submit(board, "ada", 10)
    assert submit(board, "ada", 5).score == 10
    assert submit(board, "ada", 5, operator="sum").score == 15
    assert submit(board, "ada", 5, operator="set").score == 5


def test_the_same_key_counts_once():
    board = open_board(operator="sum")
    assert not submit(board, "ada", 10, idempotency_key="a").replayed
    again = submit(board, "ada", 10, idempotency_key="a")
    assert again.replayed
    assert again.score == 10


@pytest.mark.parametrize(
    ("score", "code"),
    [(float("nan"), "not_finite"), (101, "score_too_high"), ("x", "not_a_number")],
)
def test_a_bad_score_is_refused_and_nothing_is_written(score, code):
    board = open_board(highest_score=100)
    with pytest.raises(LeaderboardError) as refusal:
        submit(board, "ada", score)
    assert refusal.value.code == code
    assert board.engine().get_size() == 0


def test_many_rows_have_a_result_each():
    board = open_board(highest_score=100)
    good, bad, last = scores.submit_scores(
        board=board,
        rows=[Submission("ada", 1), Submission("bob", 101), Submission("cy", 3)],
    )
    assert (good.player_id, good.score, last.rank) == ("ada", 1.0, 1)
    assert bad.code == "score_too_high"
    with pytest.raises(RowsRefusedError):
        scores.submit_scores(
            board=board, rows=[Submission("di", 1), Submission("e", 101)], all_or_nothing=True
        )
    assert board.engine().get_rank("di") is None


def test_the_first_score_after_the_end_opens_the_next_season():
    board = open_board(schedule="daily")
    submit(board, "ada", 10)
    end = end_time(board)
    result = submit(board, "bob", 20)
    assert result.season == 2
    assert ids(board.engine().get_top(9)) == ["bob"]
    assert ids(board.engine(1).get_top(9)) == ["ada"]
    (past,) = pointer.read_ended(board)
    assert (past.number, past.ended) == (1, pointer.microseconds(end))
    now = pointer.read(board)
    assert now.closes > pointer.microseconds(end)


def test_after_a_long_silence_the_season_that_runs_now_opens():
    board = open_board(schedule="daily")
    end_time(board, ago=timedelta(days=9))
    submit(board, "ada", 10)
    at = pointer.read(board)
    assert at.number == 2
    assert at.opens_at <= timezone.now() < at.closes_at
    assert at.closes_at - at.opens_at <= timedelta(hours=25)


def test_a_season_by_hand_ends_at_its_time_and_refuses_scores():
    board = open_board()
    submit(board, "ada", 10)
    end_time(board)
    for _ in range(2):
        with pytest.raises(SeasonClosedError):
            submit(board, "bob", 20)
    assert ids(board.engine(1).get_top(9)) == ["ada"]


def test_another_process_that_believes_in_an_old_season_learns_the_new_one():
    board = open_board(schedule="weekly")
    submit(board, "ada", 10)
    end_time(board)
    submit(board, "bob", 20)
    current.note_season(board, 1)
    assert submit(board, "cy", 30).season == 2
    current.note_season(board, 7)
    assert submit(board, "di", 40).season == 2


def test_a_lost_pointer_is_put_back_from_sql():
    board = open_board(schedule="monthly")
    before = pointer.read(board)
    get_redis().delete(keys.season_pointer(board.key))
    assert submit(board, "ada", 10).season == 1
    assert pointer.read(board) == before


def test_many_writers_at_the_end_of_a_season_open_one_next_and_lose_nothing():
    board = open_board(schedule="daily", operator="sum", ties="member")
    begin = threading.Barrier(9)
    seasons_of = [[] for _ in range(8)]

    def write(writer):
        begin.wait()
        for number in range(60):
            seasons_of[writer].append(submit(board, f"p{writer}-{number}", 1).season)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    begin.wait()
    end_time(board)
    for thread in threads:
        thread.join()
    assert board.engine(1).get_size() + board.engine(2).get_size() == 480
    assert pointer.read(board).number == 2
    for seen in seasons_of:
        assert seen == sorted(seen)


@pytest.mark.django_db(transaction=True)
def test_a_banned_player_is_refused_at_once_and_the_others_are_not():
    board = open_board()
    submit(board, "bot", 99)
    moderation.ban_player(board=board, player_id="bot", reason="Bot", actor=ACTOR)
    with pytest.raises(PlayerBannedError):
        submit(board, "bot", 100)
    refused, good = scores.submit_scores(
        board=board, rows=[Submission("bot", 1), Submission("ada", 1)]
    )
    assert refused.code == "player_banned"
    assert good.rank == 1


@pytest.mark.django_db(transaction=True)
def test_details_from_outside_do_not_unmask_the_anonymous():
    board = open_board()
    player = Player.objects.create(id="ada", display_name="Ada")
    submit(board, "ada", 10, details={"name": "Ada"})
    profiles.update_profile(player=player, privacy="anonymous")
    submit(board, "ada", 20, details={"name": "Ada"})
    scores.update_details(board=board, player_id="ada", details={"name": "Ada"})
    assert board.engine().get_user_metadata("ada")["name"] == "Anonymous"


@pytest.mark.django_db(transaction=True)
def test_a_new_name_shows_on_every_board_at_once():
    boards = [open_board("one"), open_board("two"), open_board("three")]
    for board in boards[:2]:
        submit(board, "ada", 10, details={"name": "Ada", "level": "3"})
    player = Player.objects.create(id="ada", display_name="Ada")
    profiles.update_profile(player=player, display_name="Countess", country="GB")
    for board in boards[:2]:
        details = board.engine().get_user_metadata("ada")
        assert (details["name"], details["country"], details["level"]) == ("Countess", "GB", "3")
    assert boards[2].engine().get_user_metadata("ada") == {}


@pytest.mark.django_db(transaction=True)
def test_who_opts_out_is_not_shown_and_comes_back_with_the_score():
    board = open_board()
    player = Player.objects.create(id="ada")
    submit(board, "ada", 10)
    profiles.update_profile(player=player, privacy="opted_out")
    assert board.engine().get_top(9) == []
    submit(board, "ada", 30)
    profiles.update_profile(player=player, privacy="shown")
    assert board.engine().get_user_entry("ada")["score"] == 30


@pytest.mark.django_db(transaction=True)
async def test_the_asynchronous_twin_rolls_seasons_too():
    board = await sync_to_async(open_board)(schedule="daily")
    (first,) = await scores.asubmit_scores(board=board, rows=[Submission("ada", 10)])
    await sync_to_async(end_time)(board)
    second, bad = await scores.asubmit_scores(
        board=board, rows=[Submission("bob", 20), Submission("", 1)]
    )
    assert (first.season, second.season, bad.code) == (1, 2, "empty_id")
    engine = current.async_engine(board, 2)
    assert ids(await engine.get_top(9)) == ["bob"]
