"""The session store: what ours promises beyond Django's contract."""

import inspect
import json
import threading
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted

from config.redis.connections import perform
from sessions_app import backend, keys
from sessions_app.backend import SessionStore


def saved(**data):
    session = SessionStore()
    session.update(data)
    session.save()
    return session


def again(session):
    return SessionStore(session.session_key)


def index_of(client, user_id):
    return [digest.decode() for digest in client.zrange(keys.user_sessions(user_id), 0, -1)]


@pytest.fixture
def commands(redis_client):
    """What the server was asked by our client since the last look, one entry per round trip."""

    class Commands:
        def __enter__(self):
            redis_client.config_resetstat()

        def __exit__(self, *error):
            calls = redis_client.info("commandstats")
            ours = {"hgetall", "fcall", "fcall_ro", "exists", "zrem", "hget", "del", "hset"}
            self.calls = {
                name.removeprefix("cmdstat_"): row["calls"]
                for name, row in calls.items()
                if name.removeprefix("cmdstat_") in ours
            }

    return Commands()


def test_every_method_of_the_base_that_asks_the_store_has_an_asynchronous_twin_of_our_own():
    asking = {"load", "save", "create", "delete", "exists", "cycle_key", "clear_expired"}
    for name in asking:
        assert getattr(SessionStore, name) is not getattr(SessionBase, name)
        assert inspect.iscoroutinefunction(getattr(SessionStore, f"a{name}"))
        assert getattr(SessionStore, f"a{name}") is not getattr(SessionBase, f"a{name}")


def test_two_tabs_do_not_lose_each_others_data():
    session = saved(cart=1, theme="light", old="x")
    first, second = again(session), again(session)
    first["cart"] = 2
    second["theme"] = "dark"
    del second["old"]
    first.save()
    second.save()
    assert again(session).load() == {"cart": 2, "theme": "dark"}


def test_a_change_inside_a_value_is_found():
    session = again(saved(cart={"apples": 1}))
    session["cart"]["apples"] = 2
    session.modified = True
    session.save()
    assert again(session)["cart"] == {"apples": 2}


def test_only_the_changed_field_is_sent(redis_server):
    session = again(saved(**{f"key{number}": "x" * 100 for number in range(10)}))
    session["key3"] = "y"
    key = f"session:{{{session.digest}}}"
    with redis_server.client_of(key) as client, client.monitor() as monitor:
        session.save()
        sent = next(line["command"] for line in monitor.listen() if "FCALL" in line["command"])
    assert ".key3" in sent
    assert ".key4" not in sent


def test_values_are_json_and_the_id_is_not_in_redis(redis_client):
    session = saved(score=[1, "ü"])
    digest = sha256(session.session_key.encode()).hexdigest()
    assert redis_client.hget(f"session:{{{digest}}}", ".score") == '[1,"ü"]'.encode()
    everything = b"".join(
        redis_client.dump(key) + key for key in redis_client.scan_iter("session:*")
    )
    assert session.session_key.encode() not in everything


@pytest.mark.parametrize(
    "value",
    [
        0,
        -0.0,
        1e16,
        1e400,
        10**30,
        True,
        None,
        "",
        "ü\u2028\x00\x1f\ud800",
        [],
        {"deep": [{"er": (1, 2.5, "x")}]},
    ],
)
def test_what_json_can_hold_comes_back_and_is_not_written_again(value, redis_client):
    session = again(saved(value=value))
    assert session["value"] == json.loads(json.dumps(value))
    before = redis_client.hget(keys.session(session.digest), ".value")
    session.save()
    assert redis_client.hget(keys.session(session.digest), ".value") == before


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), datetime.now(UTC)])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(TypeError):
        saved(value=value)


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0, False), ("1", 1)])
def test_a_change_of_type_alone_is_a_change(before, after):
    session = again(saved(value=before))
    session["value"] = after
    session.save()
    assert again(session)["value"] is after or type(again(session)["value"]) is type(after)


def test_names_that_are_not_text_become_text_as_json_makes_them():
    session = SessionStore()
    session[1], session[None] = "one", "nothing"
    session.save()
    assert again(session).load() == {"1": "one", "null": "nothing"}


def test_a_session_of_thousands_of_fields_is_stored_and_replaced():
    data = {f"field{number}": number for number in range(5000)}
    session = saved(**data)
    assert again(session).load() == data
    other = again(session)
    other.clear()
    other["only"] = 1
    other.save()
    assert again(session).load() == {"only": 1}


def test_the_time_to_live_follows_the_expiry(redis_client, settings):
    session = saved(a=1)
    key = keys.session(session.digest)
    assert settings.SESSION_COOKIE_AGE - 5 < redis_client.ttl(key) <= settings.SESSION_COOKIE_AGE
    session.set_expiry(600)
    session.save()
    assert 595 <= redis_client.ttl(key) <= 600
    session.set_expiry(0)  # until the browser closes, which we cannot see
    session.save()
    assert redis_client.ttl(key) > settings.SESSION_COOKIE_AGE - 5


def test_a_field_that_cannot_be_read_is_left_out(redis_client, caplog):
    session = saved(good=1, bad=2)
    redis_client.hset(keys.session(session.digest), ".bad", "{")
    assert again(session).load() == {"good": 1}
    assert "could not be read" in caplog.text


def test_a_read_costs_one_round_trip_and_a_save_one_more(commands):
    session = SessionStore()
    session.describe_client = lambda: {"agent": "Firefox", "address": "192.0.2.x"}
    session.update({SESSION_KEY: "7", "a": 1})
    session.save()
    session = again(session)
    with commands:
        assert session["a"] == 1
        session.touch()
    assert commands.calls == {"hgetall": 1}
    session["a"] = 2
    with commands:
        session.save()
    assert commands.calls.get("fcall") == 1


def test_activity_is_written_at_most_once_a_minute(redis_client, monkeypatch):
    session = again(saved(**{SESSION_KEY: "7"}))
    key = keys.session(session.digest)
    redis_client.hset(key, "active", 1)
    session.describe_client = lambda: {"agent": "Firefox", "address": "192.0.2.x"}
    session.load()
    session.touch()
    assert int(redis_client.hget(key, "active")) > 1
    assert redis_client.hget(key, "agent") == b"Firefox"
    redis_client.hset(key, "active", 1)
    session.touch()
    assert redis_client.hget(key, "active") == b"1"


def test_touching_never_revives_a_deleted_session(redis_client):
    session = again(saved(**{SESSION_KEY: "7"}))
    session.load()
    session._active = 0
    again(session).delete()
    session.touch()
    assert not redis_client.exists(keys.session(session.digest))


def test_the_index_follows_sign_in_rotation_and_sign_out(redis_client):
    session = saved(a=1)
    assert redis_client.keys("session:user:*") == []
    session[SESSION_KEY] = "7"
    session.save()
    assert index_of(redis_client, "7") == [session.digest]
    assert redis_client.ttl(keys.user_sessions("7")) > 0
    before = session.digest
    session.cycle_key()
    assert session.digest != before
    assert index_of(redis_client, "7") == [session.digest]
    session.flush()
    assert index_of(redis_client, "7") == []


async def test_the_index_follows_the_asynchronous_methods_too(redis_client):
    session = SessionStore()
    await session.aset(SESSION_KEY, "7")
    await session.asave()
    await session.acycle_key()
    assert index_of(redis_client, "7") == [session.digest]
    await session.aflush()
    assert index_of(redis_client, "7") == []


def test_the_index_follows_a_session_from_one_user_to_another(redis_client):
    session = saved(**{SESSION_KEY: "7"})
    session[SESSION_KEY] = "8"
    session.save()
    assert index_of(redis_client, "7") == []
    assert index_of(redis_client, "8") == [session.digest]
    del session[SESSION_KEY]
    session.save()
    assert index_of(redis_client, "8") == []


def test_the_index_names_an_expiry_that_is_never_too_early(redis_client):
    session = saved(**{SESSION_KEY: "7"})
    session.set_expiry(30 * 24 * 3600)
    session.save()
    score = redis_client.zscore(keys.user_sessions("7"), session.digest)
    assert score >= redis_client.expiretime(keys.session(session.digest))


def test_the_index_forgets_what_has_expired_and_does_not_grow_for_ever(redis_client, monkeypatch):
    key = keys.user_sessions("7")
    redis_client.zadd(key, {"long gone": 5})
    monkeypatch.setattr(backend, "SESSIONS_PER_USER", 3)
    sessions = []
    for number in range(5):
        session = SessionStore()
        session[SESSION_KEY] = "7"
        session.set_expiry(1000 + number)
        session.save()
        sessions.append(session)
    assert index_of(redis_client, "7") == [session.digest for session in sessions[2:]]
    assert not again(sessions[0]).exists(sessions[0].session_key)


def test_a_rotation_does_not_outlive_a_sign_out_that_came_between(redis_client, monkeypatch):
    session = again(saved(**{SESSION_KEY: "7"}))
    end_session = backend.end_session

    def signed_out_a_moment_before(digest, user_id=""):
        perform(end_session(digest))
        return (yield from end_session(digest, user_id))

    monkeypatch.setattr(backend, "end_session", signed_out_a_moment_before)
    with pytest.raises(SessionInterrupted):
        session.cycle_key()
    assert redis_client.keys("session:*") == []


def test_of_many_who_create_one_id_one_succeeds():
    key = "a" * 32
    results = []

    def create():
        session = SessionStore(key)
        try:
            session.save(must_create=True)
            results.append("created")
        except Exception as error:
            results.append(type(error).__name__)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["CreateError"] * 7 + ["created"]


def test_savers_and_a_deleter_at_the_same_time_leave_nothing_behind(redis_client):
    session = saved(a=0)
    started = threading.Barrier(5)
    outcomes = []

    def keep_saving(number):
        mine = again(session)
        assert mine["a"] == 0
        started.wait()
        try:
            for value in range(200):
                mine[f"writer{number}"] = value
                mine.save()
        except UpdateError:
            outcomes.append("refused")

    threads = [threading.Thread(target=keep_saving, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    again(session).delete()
    for thread in threads:
        thread.join()
    assert redis_client.keys("session:*") == []
    assert outcomes == ["refused"] * 4


def test_a_deleted_session_of_a_user_is_announced(redis_client):
    session = saved(**{SESSION_KEY: "7"})
    anonymous = saved(a=1)
    with redis_client.pubsub() as pubsub:
        pubsub.subscribe(keys.sessions_ended())
        assert pubsub.get_message(timeout=5)["type"] == "subscribe"
        anonymous.delete()
        session.delete()
        message = pubsub.get_message(timeout=5)
    assert backend.parse_ended(message["data"]) == session.digest


def in_threads(work, count=8):
    """Run `work(number)` in so many threads that start together; returns what they returned."""
    started = threading.Barrier(count)
    results = [None] * count

    def run(number):
        started.wait()
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_many_who_delete_one_session_one_is_told_so():
    session = saved(**{SESSION_KEY: "7"})
    results = in_threads(lambda _: perform(backend.end_session(session.digest, "7")))
    assert sorted(results) == [False] * 7 + [True]


def test_many_sign_ins_at_once_leave_an_index_of_what_exists(redis_client, monkeypatch):
    monkeypatch.setattr(backend, "SESSIONS_PER_USER", 5)

    def sign_in(number):
        for _ in range(5):
            session = saved(**{SESSION_KEY: "7"})
        return session

    in_threads(sign_in, count=4)
    # One that was being written while it was found to be too much may be left over until the next.
    sign_in(0)
    indexed = set(index_of(redis_client, "7"))
    existing = {
        key.decode().partition("{")[2].rstrip("}")
        for key in redis_client.keys("session:*")
        if not key.startswith(b"session:user:")
    }
    assert existing <= indexed  # nobody is signed in where they cannot see it
    assert len(indexed) <= 5
