"""A board made again from the score log is the board that was."""

import json
import random
import threading

import pytest
from django.core.cache import cache

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import changing, marks, moderation
from leaderboard.closing import seasons
from leaderboard.errors import WouldLoseError
from leaderboard.log import consumer, rebuild
from leaderboard.log.consumer import Consumer
from leaderboard.models import Board, FinalStanding, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from tests.leaderboard.support import ACTOR, forget_seasons, ids, open_board, submit
from tests.servers import OWN_SERVER, wait_for

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    forget_seasons()
    marks._seen.clear()
    cache.clear()
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)


def picture(board):
    """Everything a reader can see, ties and details included."""
    engine = board.engine()
    views = {"season": list(engine.scan())}
    for window in board.windows:
        views[window] = list(engine.window(window).scan())
    return views


def play(board, count=120):
    chance = random.Random(7)
    second = bool(board.subscore_order)
    for _ in range(count):
        submit(
            board,
            f"p{chance.randint(1, 15)}",
            float(chance.randint(0, 6)),
            operator=chance.choice(["set", "best", "sum", None]),
            subscore=float(chance.randint(0, 3)) if second and chance.random() < 0.7 else None,
            details={"name": f"n{chance.randint(1, 9)}", "team": chance.choice(["a", "b", None])},
        )


def lose(board):
    changing.forget_keys(board.key)


def again(board, **options):
    return changing.rebuild_board(board=board, actor=ACTOR, **options)


@pytest.mark.parametrize(
    "rules",
    [
        {"windows": ["day", "all"], "groups": ["team"], "ranking": "dense"},
        {"order": "asc", "ties": "latest", "subscore_order": "desc", "windows": ["week"]},
        {"ties": "member", "ranking": "competition"},
        {"max_entries": 6},
    ],
)
@pytest.mark.django_db(transaction=True)
def test_after_the_keys_were_deleted_a_rebuild_gives_the_same_board(rules):
    board = open_board(**rules)
    play(board)
    first, second, *_ = ids(board.engine().get_top(9))
    moderation.remove_player(board=board, player_id=first, reason="x", actor=ACTOR)
    moderation.hide_player(board=board, player_id=second, reason="x", actor=ACTOR)
    play(board, 20)
    rebuild.drain(board, 5)
    before = picture(board)
    lose(board)
    report = again(board)
    assert report.swapped
    assert picture(board) == before
    assert again(board, check=True).count == 0
    assert pointer.read(board).is_open
    assert not list(get_redis().scan_iter("*rebuilt*"))
    moderation.unhide_player(board=board, player_id=second, reason="x", actor=ACTOR)
    play(board, 10)
    assert again(board, check=True).count == 0


def test_the_sequence_never_goes_back():
    board = open_board()
    last = submit(board, "ada", 1).sequence
    rebuild.drain(board, 5)
    lose(board)
    clock.Clock().tick()
    assert submit(board, "bob", 1).sequence > last
    again(board)
    assert ids(board.engine().get_top(9)) == ["ada", "bob"]


def test_a_check_reports_and_changes_nothing():
    board = open_board(ties="member")
    submit(board, "ada", 10)
    submit(board, "bob", 20)
    client = get_redis()
    client.zadd(board.engine().entries_key, {"ada": 99, "eve": 5})
    report = again(board, check=True)
    assert {one.player_id: (one.live, one.log) for one in report.differences} == {
        "ada": ({"score": 99.0}, {"score": 10.0}),
        "eve": ({"score": 5.0}, None),
    }
    assert not report.swapped
    assert board.engine().get_user_entry("eve")
    with pytest.raises(WouldLoseError, match=r"would lose 1 entry .*: eve"):
        again(board)
    assert board.engine().get_user_entry("eve")
    assert pointer.read(board).is_open
    assert again(board, allow_loss=True).count == 2
    assert ids(board.engine().get_top(9)) == ["bob", "ada"]


@pytest.mark.django_db(transaction=True)
def test_scores_go_on_while_a_board_is_rebuilt_and_none_is_lost():
    board = open_board(operator="sum", windows=["day"])
    play(board, 50)
    stop = threading.Event()
    sent = []

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            submit(board, f"w{number % 7}", 1.0, operator="sum")
            sent.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            assert again(board).swapped
    finally:
        stop.set()
        writer.join()
    total = sum(e["score"] for e in board.engine().list_all() if e["user_id"].startswith("w"))
    assert total == len(sent)
    assert again(board, check=True).count == 0


def test_the_log_of_a_board_that_never_rests_is_drained(monkeypatch):
    board = open_board(operator="sum")
    submit(board, "ada", 1)
    handle = consumer.Consumer.handle

    def and_another(self, board, events):
        handle(self, board, events)
        submit(board, "bob", 1)

    monkeypatch.setattr(consumer.Consumer, "handle", and_another)
    rebuild.drain(board, 5)
    assert ScoreEvent.objects.filter(player_id="ada").exists()


def test_an_event_that_is_stored_after_a_later_one_is_not_missed():
    board = open_board(operator="sum")
    for _ in range(2):
        submit(board, "ada", 1)
    whole = rebuild.drain(board, 5)
    for _ in range(3):
        submit(board, "ada", 1)
    rebuild.drain(board, 5)
    overtaken = ScoreEvent.objects.order_by("sequence")[3]
    ScoreEvent.objects.filter(pk=overtaken.pk).delete()
    build = rebuild.Build(board, pointer.read(board), whole)
    build.replay()
    assert not build.missed()
    overtaken.save(force_insert=True)
    assert build.missed()
    with pytest.raises(rebuild.StructuralChangeError):
        build.catch_up()
    assert again(board).count == 0
    assert board.engine().get_user_entry("ada")["score"] == 5


def test_another_rule_reorders_the_running_season():
    board = open_board(operator="set", ranking="ordinal")
    for player, score in [("ada", 10), ("bob", 10), ("cy", 5)]:
        submit(board, player, score, details={"team": "red"})
    changing.change_board(
        board=board,
        changes={"order": "asc", "ranking": "dense", "groups": ["team"], "windows": ["day"]},
        actor=ACTOR,
    )
    entries = board.engine().get_top(9)
    assert [(e["user_id"], e["rank"]) for e in entries] == [("cy", 1), ("ada", 2), ("bob", 2)]
    assert ids(board.engine().window("day").get_top(9)) == ["cy", "ada", "bob"]
    assert Board.objects.get().order == "asc"
    assert submit(board, "di", 1).rank == 1


def test_between_two_seasons_another_rule_makes_the_windows_again():
    board = open_board(windows=["week", "all"], groups=["team"])
    submit(board, "ada", 10, details={"team": "red"})
    submit(board, "bob", 20)
    seasons.close_season(board=board, actor=ACTOR)
    changing.change_board(board=board, changes={"ties": "member", "order": "asc"}, actor=ACTOR)
    assert not pointer.read(board).is_open
    assert board.engine().get_size() == 0
    for window in ("week", "all"):
        assert ids(board.engine().window(window).get_top(9)) == ["ada", "bob"]
    seasons.open_season(board=board, actor=ACTOR)
    forget_seasons()
    submit(board, "ada", 5)
    assert ids(board.engine().get_top(9)) == ["ada"]
    top = board.engine().window("all").get_top(9)
    assert [(entry["user_id"], entry["score"]) for entry in top] == [("ada", 5), ("bob", 20)]


def test_a_change_between_two_seasons_that_dies_leaves_no_key_of_the_old_rules(monkeypatch):
    board = open_board(windows=["all"])
    submit(board, "ada", 10)
    seasons.close_season(board=board, actor=ACTOR)

    def die(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(rebuild.Build, "swap", die)
    with pytest.raises(KeyboardInterrupt):
        changing.change_board(board=board, changes={"ties": "member"}, actor=ACTOR)
    monkeypatch.undo()
    board = Board.objects.get()
    assert board.ties == "member"
    assert board.engine().window("all").get_top(9) == []


def test_a_season_that_waits_is_archived_by_the_rules_it_was_played_by():
    board = open_board(schedule="daily")
    submit(board, "bob", 20)
    submit(board, "ada", 20)
    seasons.close_season(board=board, actor=ACTOR, archive_now=False)
    changing.change_board(board=board, changes={"ties": "member"}, actor=ACTOR)
    season = Season.objects.get(number=1)
    assert season.state == "closed"
    assert [row.player_id for row in season.standings.order_by("position")] == ["bob", "ada"]


def test_a_rebuild_that_died_is_finished_by_the_clock():
    board = open_board()
    submit(board, "ada", 10)
    get_redis().hset(keys.season_pointer(board.key), "state", "paused")
    clock.Clock().tick()
    assert pointer.read(board).is_open
    assert submit(board, "bob", 20).rank == 1


def test_another_schedule_moves_the_end_of_the_season():
    board = open_board()
    assert pointer.read(board).closes is None
    changing.change_board(board=board, changes={"schedule": "daily"}, actor=ACTOR)
    assert pointer.read(board).closes
    assert Season.objects.get(board=board).closes


def full_board():
    board = open_board(schedule="daily", windows=["all"])
    submit(board, "ada", 10)
    seasons.close_season(board=board, actor=ACTOR)
    submit(board, "bob", 10)
    rebuild.drain(board, 5)
    return board


def test_a_reset_of_the_season_keeps_the_past():
    board = full_board()
    changing.reset_board(board=board, actor=ACTOR, season_only=True)
    assert board.engine().get_size() == 0
    assert FinalStanding.objects.count() == 1
    assert pointer.read(board).number == 2
    rebuild.drain(board, 5)
    again(board)
    assert board.engine().get_size() == 0


def test_a_reset_that_keeps_the_archive_forgets_the_log():
    board = full_board()
    changing.reset_board(board=board, actor=ACTOR, keep_archive=True)
    assert (FinalStanding.objects.count(), ScoreEvent.objects.count()) == (1, 0)
    assert submit(board, "cy", 1).season == 2


def test_a_full_reset_leaves_a_board_as_new():
    board = full_board()
    before = int(get_redis().get(keys.sequence(board.key)))
    changing.reset_board(board=board, actor=ACTOR)
    assert (FinalStanding.objects.count(), ScoreEvent.objects.count()) == (0, 0)
    result = submit(board, "cy", 1)
    assert (result.season, result.rank) == (1, 1)
    assert result.sequence > before


def test_what_a_worker_has_in_hand_does_not_outlive_a_reset(monkeypatch):
    board = open_board()
    submit(board, "ada", 10)
    reader = Consumer("slow")
    reader.join(board)
    ((_, events),) = reader.read([board], claiming=False)
    monkeypatch.setattr(rebuild.time, "sleep", lambda _: reader.handle(board, events))
    changing.reset_board(board=board, actor=ACTOR)
    report = changing.rebuild_board(board=board, actor=ACTOR, check=True)
    assert (report.entries, report.count) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_knew_a_deleted_board_leaves_no_key_either():
    board = open_board()
    submit(board, "ada", 10)
    reader = Consumer("slow")
    reader.join(board)
    ((_, events),) = reader.read([board], claiming=False)
    gone = Board.objects.get()
    changing.delete_board(board=board, actor=ACTOR)
    reader.handle(gone, events)
    list(reader.read([gone], claiming=True))
    assert not list(get_redis().scan_iter(match=f"{gone.key}*"))


@pytest.mark.django_db(transaction=True)
def test_a_deleted_board_leaves_no_key():
    board = full_board()
    changing.delete_board(board=board, actor=ACTOR)
    assert not list(get_redis().scan_iter("leaderboard:*"))
    assert not Board.objects.exists()


def test_open_pages_hear_of_a_rebuild():
    board = open_board()
    play(board, 5)
    with (
        OWN_SERVER.client_of(keys.live(board.key)) as client,
        client.pubsub(ignore_subscribe_messages=True) as listener,
    ):
        listener.ssubscribe(keys.live(board.key))
        listener.get_message(timeout=5)
        again(board)

        def heard():
            message = listener.get_message(timeout=1)
            return message and json.loads(message["data"])["op"] == "reset"

        wait_for(heard)


def lost_with_the_primary(board, event, **differently):
    """The log knows an event that the new primary never had, whose number it gives again."""
    event.pk = None
    milliseconds, _, number = event.stream_id.partition("-")
    event.stream_id = f"{int(milliseconds) - 5000}-{number}"
    event.at -= 5_000_000
    for name, value in differently.items():
        setattr(event, name, value)
    event.save(force_insert=True)


def test_a_score_sent_again_after_a_failover_counts_once():
    board = open_board(operator="sum", windows=["all"])
    submit(board, "ada", 3, idempotency_key="first")
    submit(board, "ada", 4, idempotency_key="second")
    rebuild.drain(board, 5)
    for event in ScoreEvent.objects.filter(board=board, op="score"):
        lost_with_the_primary(board, event)
    # Another player's key, and one used again after more than a day, are other scores.
    event = ScoreEvent.objects.filter(board=board, idempotency_key="first").first()
    lost_with_the_primary(board, event, player_id="bob", stream_id="2-0")
    lost_with_the_primary(board, event, at=event.at - 86_400_000_000, stream_id="1-0")
    again(board)
    for view in (board.engine(), board.engine().window("all")):
        assert view.get_user_entry("ada")["score"] == 7.0
        assert view.get_user_entry("bob")["score"] == 6.0


def test_what_a_failover_lost_comes_before_what_took_its_number():
    board = open_board(operator="set")
    for score in (1, 2, 3):
        submit(board, "ada", score)
    rebuild.drain(board, 5)
    events = list(ScoreEvent.objects.filter(board=board, op="score").order_by("sequence"))
    for event, value in zip(events, (10, 20, 30), strict=True):
        lost_with_the_primary(board, event, value=value, score=value)
    again(board)
    assert board.engine().get_user_entry("ada")["score"] == 3.0
    assert submit(board, "bob", 1).sequence > events[-1].sequence
