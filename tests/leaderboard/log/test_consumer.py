"""Every accepted score is in SQL once."""

import logging

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.boards import moderation
from leaderboard.closing import seasons
from leaderboard.log import consumer
from leaderboard.log.consumer import Consumer
from leaderboard.models import Player, ScoreEvent
from leaderboard.notices import delivery
from tests.leaderboard.support import ACTOR, forget_seasons, open_board, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process():
    forget_seasons()


@pytest.fixture
def board():
    return open_board(operator="sum", subscore_order="asc")


@pytest.fixture
def claim_at_once(monkeypatch):
    monkeypatch.setattr(consumer, "CLAIM_AFTER", 0.0)


def store_all(name="one"):
    reader = Consumer(name)
    reader.run_once()  # joins the group
    while reader.run_once():
        pass
    return reader


def test_an_event_has_all_that_is_needed(board):
    submit(board, "ada", 10, subscore=3, details={"name": "Ada"}, source="api", idempotency_key="k")
    submit(board, "ada", 5)
    store_all()
    first, second = ScoreEvent.objects.order_by("sequence")
    assert (first.player_id, first.value, first.operator, first.score) == ("ada", 10, "sum", 10)
    assert (first.season, first.source, first.idempotency_key) == (1, "api", "k")
    assert first.data == {"details": {"name": "Ada"}, "given_subscore": 3}
    assert (second.value, second.score, second.subscore, second.rank) == (5, 15, 3, 1)
    assert second.at > first.at
    assert Player.objects.get().display_name == "Ada"


@pytest.mark.django_db(transaction=True)
def test_removing_and_hiding_are_in_the_log_too(board):
    submit(board, "ada", 10)
    moderation.hide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    moderation.unhide_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    moderation.remove_player(board=board, player_id="ada", reason="x", actor=ACTOR)
    store_all()
    assert [e.op for e in ScoreEvent.objects.order_by("sequence")] == [
        "score",
        "hide",
        "unhide",
        "remove",
    ]


def test_what_is_delivered_twice_is_stored_once(board, claim_at_once):
    for number in range(5):
        submit(board, f"p{number}", number)
    dead = Consumer("dead")
    dead.run_once()
    (_, events), *_ = dead.read([board], claiming=False)
    consumer.store_batch(board, events)  # and dies before it acknowledges
    assert consumer.lag(board) == 5
    store_all("alive")
    assert ScoreEvent.objects.count() == 5
    assert consumer.lag(board) == 0


def test_several_readers_share_the_work(board):
    Consumer("a").run_once()
    for number in range(20):
        submit(board, f"p{number}", number)
    first, second = Consumer("a"), Consumer("b")
    first.run_once()
    for number in range(20):
        submit(board, f"q{number}", number)
    second.run_once()
    assert ScoreEvent.objects.count() == 40
    assert consumer.lag(board) == 0


def test_an_event_that_cannot_be_stored_goes_to_the_dead_letters(board, claim_at_once, caplog):
    submit(board, "ada", 1)
    get_redis().xadd(keys.events(board.key), {"event": '{"op":"score","seq":"none"}'})
    submit(board, "bob", 1)
    with caplog.at_level(logging.WARNING):
        reader = store_all()
        for _ in range(consumer.MOST_FAILURES):
            reader._claim_at = 0
            reader.run_once()
    assert ScoreEvent.objects.count() == 2
    ((_, letter),) = get_redis().xrange(keys.dead_letters(board.key))
    assert b'"none"' in letter[b"event"]
    assert letter[b"reason"].startswith(b"ValidationError")
    assert consumer.lag(board) == 0
    assert not get_redis().exists(keys.failures(board.key))
    assert "dead letters" in caplog.text


def test_a_database_that_is_away_costs_no_event(board, claim_at_once, monkeypatch):
    submit(board, "ada", 1)

    def away(*args):
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(consumer, "store_batch", away)
        reader = Consumer("one")
        reader.run_once()
        for _ in range(consumer.MOST_FAILURES + 1):
            reader._claim_at = 0
            with pytest.raises(OperationalError):
                reader.run_once()
    store_all()
    assert ScoreEvent.objects.count() == 1
    assert not get_redis().exists(keys.dead_letters(board.key))


def test_only_what_is_stored_is_trimmed(board, monkeypatch):
    monkeypatch.setattr(consumer, "KEPT_STORED", 3)
    reader = Consumer("one")
    reader.run_once()
    for number in range(10):
        submit(board, f"p{number}", number)
    assert consumer.trim_stored(board) == 0
    list(reader.read([board], claiming=False))  # delivered, not stored
    assert consumer.trim_stored(board) == 0
    assert get_redis().xlen(keys.events(board.key)) == 10
    monkeypatch.setattr(consumer, "CLAIM_AFTER", 0.0)
    store_all("two")
    assert get_redis().xlen(keys.events(board.key)) == 1
    assert ScoreEvent.objects.count() == 10


def test_a_stream_beyond_its_bound_is_warned_about_and_kept(board, monkeypatch, caplog):
    monkeypatch.setattr(consumer, "STREAM_BOUND", 2)
    for number in range(5):
        submit(board, f"p{number}", number)
    with caplog.at_level(logging.WARNING):
        Consumer("one").look_after(board)
    assert "falls behind" in caplog.text
    assert get_redis().xlen(keys.events(board.key)) == 5


def test_the_lag_is_measured_while_no_worker_runs(board, client):
    submit(board, "ada", 1)
    submit(board, "bob", 2)
    line = f'rostrum_score_log_lag{{board="{board.pk}"}}'
    assert f"{line} 2.0" in client.get("/metrics").text
    store_all()
    assert f"{line} 0.0" in client.get("/metrics").text


def test_readers_that_ended_are_forgotten(board):
    store_all("old")
    consumer.forget_idle_readers(board, idle=-1)
    assert get_redis().xinfo_consumers(keys.events(board.key), consumer.GROUP) == []


def account(player_id):
    user = User.objects.create_user(player_id)
    return Player.objects.create(id=player_id, account=user)


def test_a_signed_in_player_is_told_who_overtook_them(board):
    account("ada")
    submit(board, "ada", 10)
    submit(board, "bob", 5, details={"name": "Bob"})
    store_all()
    assert delivery.latest("ada") == []
    submit(board, "bob", 20)
    store_all()
    (notice,) = delivery.latest("ada")
    assert notice.data["by"] == "Bob"
    assert notice.text == "Bob overtook you on Cup. You are now at rank 2."
    assert delivery.unread_count("ada") == 1
    delivery.mark_read("ada", notice.id)
    assert delivery.unread_count("ada") == 0
    assert delivery.latest("bob") == []


def test_whoever_stood_below_already_is_not_told(board):
    for player, score in [("ada", 10), ("bob", 20), ("cy", 30)]:
        account(player)
        submit(board, player, score)
    store_all()
    before = {player: len(delivery.latest(player)) for player in ("ada", "bob", "cy")}
    submit(board, "bob", 5)  # 25, still second
    store_all()
    assert before == {player: len(delivery.latest(player)) for player in ("ada", "bob", "cy")}


def test_being_overtaken_many_times_a_minute_is_one_notice(board):
    account("ada")
    submit(board, "ada", 10)
    store_all()
    for number in range(4):
        submit(board, f"p{number}", 20 + number)
        store_all()
    assert len(delivery.latest("ada")) == 1


def test_the_end_of_a_season_is_told_once_to_each_who_took_part(board):
    account("ada")
    account("away")
    submit(board, "ada", 10)
    season = seasons.close_season(board=board, actor=ACTOR)
    delivery.season_ended(season)
    (notice,) = delivery.latest("ada")
    assert notice.text == "Season 1 of Cup has ended. You finished at rank 1."
    assert delivery.latest("away") == []


def test_notices_are_heard_by_open_pages(board):
    account("ada")
    subscription = get_redis().pubsub(ignore_subscribe_messages=True)
    subscription.subscribe(keys.notices_live())
    subscription.get_message(timeout=1)
    delivery.overtaken(board, "ada", by="bob", rank=2)
    message = subscription.get_message(timeout=5)
    assert b'"player":"ada"' in message["data"]
    subscription.close()


def test_a_group_at_the_end_of_its_stream_lags_behind_nothing(board):
    for score in range(3):
        submit(board, "ada", score + 1)
    store_all()
    # What a promoted replica believes that the group has read.
    client, stream = get_redis(), keys.events(board.key)
    last = client.xrevrange(stream, count=1)[0][0]
    client.xgroup_setid(stream, consumer.GROUP, last, entries_read=1)
    assert client.xinfo_groups(stream)[0]["lag"] == 2
    assert consumer.lag(board) == 0
    submit(board, "ada", 9)
    assert consumer.lag(board) > 0
