"""Libraries of functions: sent to a server that has them not, by every kind of client."""

import asyncio
import contextlib
import itertools
import re
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from config.redis import functions
from config.redis.functions import Library, is_unknown
from leaderboard.engine.functions import LIBRARY as LEADERBOARD
from ratelimit.functions import LIBRARY as RATELIMIT
from sessions_app.functions import LIBRARY as SESSIONS
from tests import optional
from tests.servers import redis_cluster, redis_server, wait_for
from tests.topologies import replicated

ROOT = Path(__file__).resolve().parent.parent.parent.parent

NUMBERS = """
function numbers.double(number) return 2 * number end

local function double(keys, args) return numbers.double(args[1]) end

register('double', double)

local function write(keys, args) return call('SET', keys[1], args[1]) end

register_read('forbidden', write)
register('write', write)

local function read(keys) return call('GET', keys[1]) end

register_read('read', read)
"""


def library(**modules):
    return Library("tests", {"numbers": NUMBERS} | modules)


DOUBLE = library()["double"]
WRITE, READ = DOUBLE.library["write"], DOUBLE.library["read"]


@pytest.fixture
def without(redis_client):
    """The server has no function at all."""
    redis_client.function_flush()
    yield redis_client
    redis_client.function_flush()


# ---- what a library is ---------------------------------------------------------------------------


def test_names_carry_the_version_which_is_the_content():
    one, same, other = library(), library(), library(more="-- another module\n")
    assert one.name == same.name == f"rostrum_tests_{one.version}"
    assert one["double"].full_name == f"rostrum_{one.version}_double"
    assert other.version != one.version


def test_modules_call_each_other_in_any_order(without):
    first = "register('first', function() return last.value() end)\n"
    last = "local kept = 7\nfunction last.value() return kept end\n"
    found = Library("tests", {"first": first, "last": last})["first"]
    assert found(without, []) == 7


def test_what_a_file_declares_local_is_its_own(without):
    modules = {"one": "local kept = 7\n", "two": "register('peep', function() return kept end)\n"}
    with pytest.raises(ResponseError, match="kept"):
        Library("tests", modules)["peep"](without, [])


def test_an_unknown_name_is_found_out_at_import():
    with pytest.raises(KeyError):
        library()["tripel"]


def test_a_read_cannot_write_and_is_called_as_a_read(without):
    assert (READ.command, WRITE.command) == ("FCALL_RO", "FCALL")
    WRITE(without, ["key"], ["value"])
    assert READ(without, ["key"]) == b"value"
    with pytest.raises(ResponseError, match="Write commands are not allowed"):
        DOUBLE.library["forbidden"](without, ["key"], ["value"])


FOLDERS = [ROOT / "leaderboard/engine/functions", ROOT / "ratelimit/functions"]
FOLDERS += [ROOT / "sessions_app/functions"]
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.lua"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.parent.name}/{path.name}")
def test_each_function_of_the_product_has_its_header(path):
    lines = path.read_text().splitlines()
    for line in lines:
        if match := re.fullmatch(r"register(?:_read)?\('(\w+)', (\w+)\)", line):
            name, callback = match.groups()
            at = next(n for n, one in enumerate(lines) if f"local function {callback}(" in one)
            header = itertools.takewhile(lambda one: one.startswith("--"), reversed(lines[:at]))
            text = "\n".join(header)
            assert "-- KEYS" in text, name
            assert "-- Returns" in text or "Returns as" in text, name
        assert not line.startswith("register") or match, line
        assert len(line) <= 105


@pytest.mark.parametrize("server", [None, "redis-server"])
def test_the_libraries_of_the_product_load_and_have_the_functions_they_list(server):
    binary = optional.need(optional.redis_server, "redis-server") if server else None
    with redis_server(binary) as one, one.client(decode_responses=True) as client:
        functions.load_all(client)
        functions.load_all(client)  # a second time changes nothing
        found = str(client.function_list())
    for app in (LEADERBOARD, RATELIMIT, SESSIONS):
        assert app.functions
        assert [name for name in app.functions if f"'{app[name].full_name}'" not in found] == []


# ---- servers that do not have it -----------------------------------------------------------------


def test_a_call_loads_the_library_where_it_is_missing(without):
    assert DOUBLE(without, [], [21]) == 42


def test_it_survives_a_flush_between_two_calls(without):
    assert DOUBLE(without, [], [1]) == 2
    without.function_flush()
    assert DOUBLE(without, [], [2]) == 4


async def test_the_async_twin_does_the_same(without, redis_server):
    async with redis_server.async_client() as client:
        assert await DOUBLE.acall(client, [], [21]) == 42
        assert await DOUBLE.acall(client, [], [4]) == 8


async def test_many_who_find_it_missing_at_once_all_succeed(without, redis_server):
    async with redis_server.async_client() as client:
        answers = await asyncio.gather(*(DOUBLE.acall(client, [], [n]) for n in range(50)))
    assert answers == [2 * number for number in range(50)]


def test_an_error_of_the_function_is_raised_and_not_repeated(without):
    broken = Library("tests", {"one": "register('broken', function() return nothing end)\n"})
    with pytest.raises(ResponseError, match="nothing") as raised:
        broken["broken"](without, [])
    assert not is_unknown(raised.value)


def test_two_releases_run_side_by_side(without):
    older = library()
    newer = Library("tests", {"numbers": NUMBERS.replace("2 * number", "3 * number")})
    for _ in range(2):
        assert older["double"](without, [], [1]) == 2
        assert newer["double"](without, [], [1]) == 3


def test_the_libraries_of_others_stay_as_they_are(without):
    theirs = "#!lua name=theirs\nredis.register_function('double', function() return 'theirs' end)"
    without.function_load(theirs)
    assert DOUBLE(without, [], [4]) == 8
    assert without.fcall("double", 0) == b"theirs"


def test_a_backup_of_an_older_release_is_restored_and_the_newer_one_goes_on(without):
    older = Library("tests", {"numbers": NUMBERS.replace("2 *", "1 *")})
    assert older["double"](without, [], [4]) == 4
    nodes = without.get_primaries() if hasattr(without, "get_primaries") else [None]
    servers = [without.get_redis_connection(node) if node else without for node in nodes]
    backups = [server.function_dump() for server in servers]
    assert DOUBLE(without, [], [4]) == 8
    for server, backup in zip(servers, backups, strict=True):
        server.function_restore(backup, "FLUSH")
    assert DOUBLE(without, [], [4]) == 8
    assert older["double"](without, [], [4]) == 4


def test_a_restart_keeps_the_library_and_a_server_without_its_data_gets_it_again(tmp_path):
    with redis_server(appendonly="yes") as server, server.client() as client:
        assert DOUBLE(client, [], [4]) == 8
        server.stop()
        server.start()
        assert len(client.function_list()) == 1
    with redis_server() as server, server.client() as client:
        assert DOUBLE(client, [], [4]) == 8
        server.stop(kill=True)
        server.forget_saved()
        server.start()
        assert DOUBLE(client, [], [4]) == 8


# ---- several servers -----------------------------------------------------------------------------


@pytest.mark.cluster
def test_every_primary_of_a_cluster_has_it_after_one_call():
    with redis_cluster() as servers:
        client = redis.RedisCluster(host="127.0.0.1", port=servers[0].port)
        WRITE(client, ["key:{1}"], ["value"])
        for server in servers:
            with server.client() as node:
                assert len(node.function_list()) == 1
                node.function_flush()
        for number in range(20):
            key = f"key:{{{number}}}"
            WRITE(client, [key], [number])
            assert READ(client, [key]) == str(number).encode()
        client.close()


@pytest.mark.cluster
async def test_an_asynchronous_client_of_a_cluster_too():
    with redis_cluster() as servers:
        client = redis.asyncio.RedisCluster(host="127.0.0.1", port=servers[0].port)
        for number in range(20):
            await WRITE.acall(client, [f"key:{{{number}}}"], [number])
            assert await READ.acall(client, [f"key:{{{number}}}"]) == str(number).encode()
        await client.aclose()


@pytest.mark.xdist_group("sentinel functions")
def test_a_replica_that_takes_over_has_it_or_gets_it():
    with replicated(replicas=1, sentinels=1) as topology:
        sentinels = [("127.0.0.1", one.port) for one in topology.sentinels]
        sentinel = redis.sentinel.Sentinel(sentinels)
        client = sentinel.master_for("rostrum", socket_timeout=5)
        WRITE(client, ["key"], ["before"])
        (replica,) = topology.replicas
        with replica.client() as node:
            wait_for(lambda: node.get("key"))
            assert READ(node, ["key"]) == b"before", "it came with replication, and reads run there"
        wait_for(lambda: _fails_over(topology.sentinels[0]), timeout=60)
        wait_for(lambda: topology.current_primary() is replica, timeout=60)
        wait_for(lambda: _writes(replica), timeout=60)
        with replica.client() as node:
            node.function_flush()  # as if it had lagged behind
        WRITE(client, ["key"], ["after"])
        assert READ(client, ["key"]) == b"after"


def _fails_over(sentinel):
    """Whether it has begun to; it may not have heard of the replica lately enough."""
    with sentinel.client() as watcher, contextlib.suppress(ResponseError):
        watcher.sentinel_failover("rostrum")
        return True


def _writes(server):
    with server.client() as client:
        return client.info("replication")["role"] == "master"
