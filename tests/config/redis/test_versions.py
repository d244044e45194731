"""Versions of the libraries that nobody uses any more are deleted; those in use never are."""

import pytest

from config import keys
from config.redis import functions, versions
from config.redis.functions import Library
from leaderboard.engine.functions import LIBRARY
from leaderboard.worker.duties import Worker

DAY = 86_400


@pytest.fixture
def client(redis_client):
    redis_client.function_flush()
    functions.load_all(redis_client)
    yield redis_client
    redis_client.function_flush()


@pytest.fixture
def older(client):
    """A library of an older release."""
    library = Library("leaderboard", {"one": "register('submit', function() return 1 end)\n"})
    library.load(client)
    return library


def use(client, name, ago):
    client.hset(keys.libraries_used(), name, client.time()[0] - ago)


def has(client, library):
    return library.name in str(client.function_list())


def test_a_version_unused_for_a_day_is_deleted(client, older):
    use(client, older.name, DAY + 5)
    assert versions.delete_unused(client) == [older.name]
    assert not has(client, older)
    assert has(client, LIBRARY)
    assert not client.hexists(keys.libraries_used(), older.name)


def test_one_that_another_process_uses_stays(client, older):
    use(client, older.name, DAY - 60)
    assert versions.delete_unused(client) == []
    assert has(client, older)


def test_one_that_came_from_a_backup_counts_as_used_now(client, older):
    assert versions.delete_unused(client) == []
    assert has(client, older)
    use(client, older.name, DAY + 5)
    assert versions.delete_unused(client) == [older.name]


def test_our_own_stays_even_when_nobody_has_noted_it(client):
    use(client, LIBRARY.name, 30 * DAY)
    assert versions.delete_unused(client) == []
    assert has(client, LIBRARY)


def test_the_libraries_of_others_are_left_alone(client):
    names = ("theirs", "rostrum_like_theirs")
    for name in names:
        client.function_load(
            f"#!lua name={name}\nredis.register_function('{name}', function() return 1 end)"
        )
        use(client, name, 30 * DAY)
    assert versions.delete_unused(client) == []
    assert all(name in str(client.function_list()) for name in names)


def test_whoever_still_calls_a_deleted_version_gets_it_back(client, older):
    use(client, older.name, DAY + 5)
    versions.delete_unused(client)
    assert older["submit"](client, ["any"]) == 1


def test_a_process_notes_its_libraries_once_a_minute(client, monkeypatch):
    monkeypatch.setattr(versions, "_note_at", 0.0)
    versions.note_use(client)
    noted = client.hgetall(keys.libraries_used())
    assert {name.decode() for name in noted} == set(functions.libraries)
    assert 0 < client.ttl(keys.libraries_used()) <= versions.MEMORY
    client.delete(keys.libraries_used())
    versions.note_use(client)
    assert not client.exists(keys.libraries_used())


@pytest.mark.django_db
def test_the_worker_sweeps_them(client, older, monkeypatch):
    monkeypatch.setattr("leaderboard.worker.duties.SWEEP", 0.0)
    use(client, older.name, DAY + 5)
    Worker().sweep()
    assert not has(client, older)
