"""Who is here. Time passes by moving scores, never by waiting."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, User

from config.redis.connections import get_async_redis, get_redis
from leaderboard.models import Player
from sessions_app import keys, presence
from tests.sessions_app.test_backend import in_threads

count = sync_to_async(presence.count)
is_online = sync_to_async(presence.is_online)
touch = sync_to_async(presence.touch)


def move_back(client, key, seconds):
    """As if all of it had happened `seconds` earlier."""
    for member, score in client.zrange(key, 0, -1, withscores=True):
        client.zadd(key, {member: score - seconds})


def leaving_messages(pubsub):
    messages = []
    while message := pubsub.get_message(timeout=0.2):
        if message["type"] == "message":
            messages.append(json.loads(message["data"]))
    return messages


def test_who_is_touched_is_here_on_the_site_and_on_the_board():
    presence.touch(["u:1", "u:2", "v:abc"], "chess")
    presence.touch(["u:3"])
    assert presence.count() == 4
    assert presence.count("chess") == 3
    assert presence.counts(["chess", "go", None]) == {"chess": 3, "go": 0, None: 4}
    assert sorted(presence.online_ids("chess")) == [1, 2]
    assert presence.online_among([1, 2, 3], "chess") == {1, 2}
    assert presence.is_online(3)
    assert not presence.is_online(3, "chess")


async def test_the_asynchronous_twin_says_the_same():
    await touch(["u:1", "v:abc"], "chess")
    assert await presence.aonline_among([1, 2], "chess") == {1}


def test_two_tabs_count_once():
    presence.touch(["u:1"], "chess")
    presence.touch(["u:1", "u:1"], "chess")
    assert presence.count("chess") == 1


def test_without_a_sign_of_life_a_viewer_is_gone_after_a_minute(redis_client):
    presence.touch(["u:1"], "chess")
    place = keys.board_accounts("chess")
    move_back(redis_client, place, presence.HORIZON - 2)
    assert presence.is_online(1, "chess")
    move_back(redis_client, place, 3)
    assert presence.count("chess") == 0
    assert presence.online_ids("chess") == []
    assert not presence.is_online(1, "chess")


def test_the_next_touch_removes_those_who_are_gone(redis_client):
    presence.touch(["u:1", "v:a"], "chess")
    for key in redis_client.keys("presence:*"):
        move_back(redis_client, key, 100)
    presence.touch(["u:2"], "chess")
    assert redis_client.zrange(keys.board_accounts("chess"), 0, -1) == [b"u:2"]
    assert not redis_client.exists(keys.board_others("chess"))


def test_every_key_expires(redis_client):
    presence.touch(["u:1"], "chess")
    for key in redis_client.keys("presence:*"):
        assert redis_client.ttl(key) > 0


def test_who_leaves_is_gone_within_five_seconds(redis_client):
    presence.touch(["u:1"], "chess")
    presence.leave(["u:1"], "chess")
    for place in (keys.board_accounts("chess"), keys.site_accounts()):
        seen = redis_client.zscore(place, "u:1")
        left = seen + presence.HORIZON - redis_client.time()[0]
        assert left <= presence.GRACE
    move_back(redis_client, keys.board_accounts("chess"), presence.GRACE)
    assert not presence.is_online(1, "chess")


def test_leaving_brings_nobody_back(redis_client):
    presence.leave(["u:1"], "chess")
    assert redis_client.keys("presence:*") == []


def test_leaving_is_announced_to_the_other_processes(redis_client):
    presence.touch(["u:1"], "chess")
    with redis_client.pubsub() as pubsub:
        pubsub.subscribe(keys.presence_leaving())
        presence.leave(["u:1", "u:2"], "chess")
        # On a cluster the two come from two nodes, in any order.
        assert sorted(leaving_messages(pubsub), key=lambda message: message["board"]) == [
            {"board": "", "viewers": ["u:1"]},
            {"board": "chess", "viewers": ["u:1"]},
        ]


def test_the_last_visit_of_an_account_is_remembered_until_it_wants_to_be_forgotten():
    presence.touch(["u:1", "v:abc"])
    assert presence.last_seen(1) is not None
    assert presence.last_seen(2) is None
    presence.forget(1)
    assert presence.last_seen(1) is None
    assert not presence.is_online(1)


def test_naming_those_online_is_bounded_and_not_hidden_by_a_crowd():
    presence.touch([f"v:{number}" for number in range(500)] + ["u:1"])
    assert presence.online_ids(limit=10) == [1]
    presence.touch([f"u:{number}" for number in range(50)])
    assert len(presence.online_ids(limit=10)) == 10


def test_a_batch_of_a_thousand_is_one_round_trip(redis_client):
    presence.touch(["u:0"])  # the script is known from here on
    before = redis_client.info("stats")["total_reads_processed"]
    presence.touch([f"u:{number}" for number in range(1000)])
    # The question itself is one read; a large request may arrive in several pieces.
    assert presence.count() == 1000
    assert redis_client.info("stats")["total_reads_processed"] - before < 10


@pytest.mark.django_db
def test_an_account_that_hides_is_counted_but_not_named(rf, monkeypatch):
    shy = User.objects.create_user("shy")
    open_ = User.objects.create_user("open")
    monkeypatch.setattr(presence, "_hidden_when", [])
    presence.hide_when(lambda user: user.username == "shy")
    request = rf.get("/")
    viewers = []
    for request.user in (shy, open_, AnonymousUser()):
        viewers.append(presence.viewer_of(request))
    assert viewers[0].startswith("h:")
    assert viewers[1] == f"u:{open_.pk}"
    assert viewers[2].startswith("v:")
    presence.touch(viewers, "chess")
    assert presence.count("chess") == 3
    assert presence.online_ids("chess") == [open_.pk]
    request.user = shy
    assert presence.viewer_of(request) == viewers[0]


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class TestViewers:
    """The heartbeat of one process."""

    @pytest.fixture
    def clock(self):
        return Clock()

    @pytest.fixture
    def viewers(self, clock):
        return presence.Viewers(clock=clock)

    async def test_those_who_came_are_sent_at_the_next_tick(self, viewers):
        viewers.join("u:1", "chess")
        viewers.join("v:a", "go")
        assert await viewers.tick() == {"chess": 1, "go": 1}
        assert await viewers.tick() == {}
        assert await count() == 2

    async def test_all_are_sent_again_every_twenty_seconds_and_not_before(
        self, viewers, clock, redis_client
    ):
        viewers.join("u:1", "chess")
        await viewers.tick()
        place = keys.board_accounts("chess")
        move_back(redis_client, place, 30)
        noted = redis_client.zscore(place, "u:1")
        clock.now += presence.BEAT - 1
        await viewers.tick()
        assert redis_client.zscore(place, "u:1") == noted
        clock.now += 1
        await viewers.tick()
        assert redis_client.zscore(place, "u:1") >= noted + 30

    async def test_only_the_last_tab_takes_a_viewer_away(self, viewers, redis_client):
        viewers.join("u:1", "chess")
        viewers.join("u:1", "chess")
        await viewers.tick()
        viewers.leave("u:1", "chess")
        await viewers.tick()
        move_back(redis_client, keys.board_accounts("chess"), presence.GRACE)
        assert await is_online(1, "chess")
        viewers.leave("u:1", "chess")
        await viewers.tick()
        move_back(redis_client, keys.board_accounts("chess"), presence.GRACE)
        assert not await is_online(1, "chess")
        assert len(viewers) == 0

    async def test_who_moves_between_boards_stays_on_the_site(self, viewers, redis_client):
        viewers.join("u:1", "chess")
        await viewers.tick()
        viewers.leave("u:1", "chess")
        viewers.join("u:1", "go")
        await viewers.tick()
        for place in (keys.board_accounts("chess"), keys.site_accounts()):
            move_back(redis_client, place, presence.GRACE)
        assert await is_online(1)
        assert not await is_online(1, "chess")

    async def test_a_tab_in_another_process_keeps_the_viewer_here(self, clock, redis_client):
        here, there = presence.Viewers(clock=clock), presence.Viewers(clock=clock)
        here.join("u:1", "chess")
        there.join("u:1", "chess")
        await here.tick()
        await there.tick()
        async with get_async_redis().pubsub() as pubsub:
            await pubsub.subscribe(keys.presence_leaving())
            assert (await pubsub.get_message(timeout=5))["type"] == "subscribe"
            here.leave("u:1", "chess")
            await here.tick()
            for _ in range(2):  # the site and the board
                there.note_leaving((await pubsub.get_message(timeout=5))["data"])
        await there.tick()
        for place in (keys.board_accounts("chess"), keys.site_accounts()):
            move_back(redis_client, place, presence.GRACE)
        assert await is_online(1, "chess")
        assert await is_online(1)

    async def test_streams_opened_before_signing_in_count_as_the_account(self, viewers):
        viewers.join("v:home/a", "chess")
        viewers.join("v:home/a", "chess")
        viewers.join("v:office/b", "chess")
        assert await viewers.tick() == {"chess": 2}
        viewers.note_leaving(json.dumps({"board": "", "viewers": ["v:home/a"], "became": "u:1"}))
        viewers.join("u:1", "chess")
        await viewers.tick()
        assert await count("chess") == await count() == 2
        assert await is_online(1, "chess")
        for viewer in ("v:home/a", "v:home/a", "u:1", "v:office/b"):
            viewers.leave(viewer, "chess")
        assert len(viewers) == 0

    async def test_one_address_counts_once_whatever_it_says_of_itself(self, viewers, redis_client):
        for number in range(1000):
            viewers.join(f"v:home/{number}", "chess")
        viewers.join("v:office/1", "chess")
        assert await viewers.tick() == {"chess": 2}
        assert await count() == 2
        for number in range(999):
            viewers.leave(f"v:home/{number}", "chess")
        await viewers.tick()
        move_back(redis_client, keys.board_others("chess"), presence.GRACE)
        assert await count("chess") == 2
        viewers.leave("v:home/999", "chess")
        await viewers.tick()
        move_back(redis_client, keys.board_others("chess"), presence.GRACE)
        assert await count("chess") == 1

    async def test_who_stays_at_an_address_where_somebody_signs_in_stays_counted(self, viewers):
        viewers.join("v:home/a", "chess")
        viewers.join("v:home/b", "chess")
        await viewers.tick()
        news = {"board": "", "viewers": ["v:home/a"], "became": "u:1"}
        get_redis().zrem(keys.site_others(), "v:home")
        viewers.note_leaving(json.dumps(news))
        await viewers.tick()
        assert await count("chess") == await count() == 2
        viewers.leave("v:home/b", "chess")
        viewers.join("v:home/a", "chess")  # signed out again
        viewers.leave("v:home/a", "chess")
        viewers.leave("v:home/a", "chess")
        assert len(viewers) == 0

    async def test_what_could_not_be_sent_stays_due(self, clock):
        class Away:
            def pipeline(self, transaction):
                raise ConnectionError

        viewers = presence.Viewers(Away(), clock)
        viewers.join("u:1", "chess")
        with pytest.raises(ConnectionError):
            await viewers.tick()
        viewers._client = None
        assert await viewers.tick() == {"chess": 1}


@pytest.mark.django_db
class TestBeacon:
    """Pages without a stream."""

    def test_a_page_says_that_it_is_open_and_that_it_is_not(self, client, redis_client):
        user = User.objects.create_user("ann")
        client.force_login(user)
        assert client.post("/presence/").status_code == 204
        assert presence.is_online(user.pk)
        client.post("/presence/", {"leaving": "1"})
        move_back(redis_client, keys.site_accounts(), presence.GRACE)
        assert not presence.is_online(user.pk)

    def test_a_browser_without_an_account_counts_once(self, client):
        client.post("/presence/")
        client.post("/presence/")
        assert presence.count() == 1

    def test_one_client_cannot_be_many_viewers(self, client):
        for number in range(50):
            client.cookies["visitor"] = f"{number:022}"
            client.post("/presence/")
        assert presence.count() == 1
        client.post("/presence/", REMOTE_ADDR="203.0.113.7")
        assert presence.count() == 2

    def test_signing_in_does_not_count_a_person_twice(self, client):
        User.objects.create_user("ann", password="a long password")
        client.post("/presence/")
        client.post("/accounts/login/", {"username": "ann", "password": "a long password"})
        client.post("/presence/")
        assert presence.count() == 1

    def test_another_site_cannot_make_somebody_look_online(self, client):
        client.force_login(User.objects.create_user("ann"))
        response = client.post("/presence/", headers={"sec-fetch-site": "cross-site"})
        assert response.status_code == 403
        assert presence.count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize("privacy", ["shown", "anonymous", "opted_out"])
def test_who_hides_on_the_boards_is_not_named_as_online(rf, privacy):
    user = User.objects.create_user("ann")
    Player.objects.create(id="p1", account=user, privacy=privacy)
    request = rf.get("/")
    request.user = user
    assert presence.viewer_of(request).startswith("u:" if privacy == "shown" else "h:")


def test_many_processes_touch_at_once_and_everybody_counts_once():
    def touch(number):
        presence.touch([f"u:{person}" for person in range(number * 50, number * 50 + 100)], "chess")

    in_threads(touch)
    assert presence.count("chess") == 450
