"""The same on a cluster, where a script reaches one slot only, and on Redis 7.0."""

from datetime import date, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import UpdateError

from config.redis.connections import aperform, cache_settings, close_async_redis, get_redis
from leaderboard import keys as leaderboard_keys
from leaderboard.models import Board
from leaderboard.pages.ops import boards
from sessions_app import devices, flags, keys, presence, visits
from sessions_app.backend import SessionStore
from sessions_app.models import Flag
from sessions_app.ops.server import redis_servers
from tests import optional
from tests.servers import OWN_CACHE, OWN_SERVER, redis_cluster, redis_server

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("sessions servers")]


@pytest.fixture(scope="module", params=["cluster", "redis 7.0"])
def address(request):
    if request.param == "cluster":
        with redis_cluster() as servers:
            yield "redis+cluster://" + ",".join(f"127.0.0.1:{one.port}" for one in servers)
        return
    binary = optional.need(optional.redis_server, "redis-server")
    with redis_server(binary) as server:
        yield server.url


@pytest.fixture
def server(address, settings):
    """The whole app on that server; the cache stays where it is."""
    settings.CACHES = cache_settings(address, (OWN_CACHE or OWN_SERVER).url)
    flags.forget()
    return get_redis()


def test_sessions_and_their_index(server):
    phone, laptop = SessionStore(), SessionStore()
    for session in (phone, laptop):
        session.update({SESSION_KEY: "7", "a": 1})
        session.save()
        session.cycle_key()
    other = SessionStore(phone.session_key)
    other["b"] = 2
    other.save()
    assert SessionStore(phone.session_key).load() == {SESSION_KEY: "7", "a": 1, "b": 2}
    found = {device.digest for device in devices.list_devices(7)}
    assert found == {phone.digest, laptop.digest}
    assert devices.sign_out_all(7, keep=laptop.digest) == 1
    with pytest.raises(UpdateError):
        phone.save()
    assert devices.sign_out(7, laptop.digest)
    assert devices.list_devices(7) == []


async def test_the_asynchronous_side(server):
    session = SessionStore()
    await session.aset(SESSION_KEY, "8")
    await session.asave()
    await session.acycle_key()
    assert len(await sync_to_async(devices.list_devices)(8)) == 1
    viewers = presence.Viewers()
    for board in ("go", "chess", "darts"):
        viewers.join("u:8", board)
    await viewers.tick()
    counts = await aperform(presence.counts_steps(["go", "chess", "darts"]))
    assert counts == {"go": 1, "chess": 1, "darts": 1}
    viewers.leave("u:8", "darts")
    await viewers.tick()
    assert await sync_to_async(devices.sign_out_all)(8) == 1
    await close_async_redis()


def test_presence(server):
    presence.touch([f"u:{number}" for number in range(3000)] + ["v:x"], "cup")
    presence.touch(["u:1"], "league")
    assert presence.counts(["cup", "league"]) == {"cup": 3001, "league": 1}
    assert presence.is_online(2999, "cup")
    presence.leave(["u:1"], "league")
    assert len(presence.online_ids("cup", limit=5)) == 5


def test_visits(server):
    last = date(2026, 3, 2)
    for back in range(2):
        day = (last - timedelta(days=back)).isoformat()
        notes = {(keys.site_visitors(day), name) for name in ("a", f"b{back}")}
        notes |= {(keys.board_visitors(f"board{number}", day), "a") for number in range(5)}
        notes |= {(keys.active_accounts(day), account) for account in (1, 2 + back)}
        visits._gathered.give_back(notes)
        visits.flush()
    assert visits.unique(days=7, last=last).count == 3
    assert visits.unique("board3", days=2, last=last).count == 1
    cohort = visits.retention(days=2, last=last)[0]
    assert (cohort.active, cohort.returned[1]) == (2, 1)


@pytest.mark.django_db
def test_flags(server, rf):
    Flag.objects.update_or_create(name="nearby", defaults={"state": "on"})
    flags.publish()
    assert flags.current()["nearby"].state == "on"


@pytest.mark.django_db
def test_operations_of_boards(server):
    for number in range(3):
        board = Board.objects.create(slug=f"board-{number}", name=f"Board {number}")
        server.zadd(board.key, {f"player{player}": player for player in range(10 * number + 1)})
    server.xadd(leaderboard_keys.dead_letters(board.key), {"a": "b"})
    section = boards()
    troubles, table = section.tables
    assert troubles.rows == []
    assert [(row[0], row[1]) for row in table.rows] == [
        ("Board 2", "21"),
        ("Board 1", "11"),
        ("Board 0", "1"),
    ]
    assert [fact.name for fact in section.warnings] == ["Dead letters"]
    server.delete(leaderboard_keys.dead_letters(board.key))


def test_operations(server):
    names = [fact.name for fact in redis_servers().facts]
    assert len([name for name in names if name.endswith("Version")]) == (
        3 if hasattr(server, "get_primaries") else 1
    )
