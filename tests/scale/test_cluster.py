"""Our clients on a real cluster: nothing is sent twice, nothing that is published goes unheard."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import redis.asyncio
from redis.cluster import key_slot

from config.redis.cluster import AsyncCautiousCluster, CautiousCluster, ClusterAwayError
from config.redis.connections import OUTAGE_ERRORS, Address, ConnectionFactory
from config.redis.functions import Library
from config.redis.listening import listener
from leaderboard import AsyncRedisLeaderboard, RedisLeaderboard, keys
from tests.servers import free_port, redis_cluster, wait_for
from tests.topologies import cluster_url, freeze, move_slot, replace, thaw

pytestmark = pytest.mark.xdist_group("cluster with replicas")


def options(cluster, library):
    nodes = [library.cluster.ClusterNode("127.0.0.1", server.port) for server in cluster]
    return {"startup_nodes": nodes, "socket_timeout": 1.0, "socket_connect_timeout": 1.0}


@pytest.fixture
def client(cluster):
    client = CautiousCluster(**options(cluster, redis), retry=None)
    yield client
    client.close()


@pytest.fixture
async def async_client(cluster):
    client = AsyncCautiousCluster(**options(cluster, redis.asyncio), retry=None)
    yield client
    await client.close_all()


def primary_of(cluster, client, key):
    port = client.get_node_from_key(key).port
    return next(server for server in cluster if server.port == port)


def test_what_may_have_run_is_not_sent_again(cluster, client):
    key = "counted:{once}"
    client.set(key, 0)
    holder = primary_of(cluster, client, key)
    freeze(holder)
    try:
        with pytest.raises(OUTAGE_ERRORS):
            client.incr(key)
    finally:
        thaw(holder)
    # It had arrived, and runs once.
    wait_for(lambda: client.get(key) == b"1")


async def test_nor_by_the_asynchronous_twin(cluster, client, async_client):
    key = "counted:{once again}"
    await async_client.set(key, 0)
    holder = primary_of(cluster, client, key)
    freeze(holder)
    try:
        with pytest.raises(OUTAGE_ERRORS):
            await async_client.incr(key)
    finally:
        thaw(holder)
    wait_for(lambda: client.get(key) == b"1")


def test_a_cluster_that_is_away_is_an_outage():
    nodes = [redis.cluster.ClusterNode("127.0.0.1", free_port())]
    with pytest.raises(ClusterAwayError) as raised:
        CautiousCluster(startup_nodes=nodes, retry=None)
    assert isinstance(raised.value, OUTAGE_ERRORS)


def test_keys_of_two_slots_in_one_call_are_a_mistake_not_an_outage(client):
    with pytest.raises(Exception, match="slot") as raised:
        client.execute_command("EVAL", "return 1", 2, "{a}", "{b}")
    assert not isinstance(raised.value, OUTAGE_ERRORS)


async def next_message(hearing):
    for _ in range(50):
        message = await hearing.get_message(timeout=0.2)
        if message is not None and message["type"] == "message":
            return message["channel"], message["data"]
    raise AssertionError("Nothing was heard.")


async def test_one_listener_hears_boards_on_every_node_and_what_is_for_all(async_client, client):
    hearing = listener(async_client)
    channels = [keys.live(keys.base(f"board-{number}")) for number in range(9)]
    await hearing.subscribe("for all", *channels)
    assert len({key_slot(channel.encode()) // 5462 for channel in channels}) == 3
    for channel in channels:
        client.execute_command("SPUBLISH", channel, "news", target_nodes=node_of(client, channel))
        assert await next_message(hearing) == (channel.encode(), b"news")
    client.publish("for all", "hello")
    assert await next_message(hearing) == (b"for all", b"hello")
    await hearing.aclose()


def node_of(client, key):
    return client.get_node_from_key(key)


async def test_a_listener_tells_that_a_channel_has_moved(cluster, async_client, client):
    key = keys.base("wanders")
    hearing = listener(async_client)
    await hearing.subscribe(keys.live(key))
    holder = primary_of(cluster, client, key)
    target = next(server for server in cluster[:3] if server is not holder)
    move_slot(cluster, key_slot(key.encode()), to=target)
    with pytest.raises(redis.exceptions.ConnectionError, match="moved"):
        await next_message(hearing)
    await hearing.aclose()
    # Another one finds it at its new place.
    hearing = listener(async_client)
    await hearing.subscribe(keys.live(key))
    board = AsyncRedisLeaderboard(async_client, key, notices=True)
    await board.upsert_user("ada", 5)
    channel, _ = await next_message(hearing)
    assert channel == keys.live(key).encode()
    await hearing.aclose()


@pytest.mark.parametrize("slug", ["one", "two", "three"])
def test_replicated_writes_find_the_node_that_holds_the_board(client, slug):
    board = RedisLeaderboard(client, keys.base(slug), durability="replicated")
    assert board.upsert_user("ada", 5)["rank"] == 1
    assert board.get_rank("ada") == 1


def test_a_replicated_write_follows_a_slot_that_moves(cluster, client):
    key = keys.base("follows")
    board = RedisLeaderboard(client, key, durability="replicated")
    board.increment_score("ada", 1)
    holder = primary_of(cluster, client, key)
    target = next(server for server in cluster[:3] if server is not holder)
    slot = key_slot(key.encode())
    with holder.client(decode_responses=True) as old, target.client(decode_responses=True) as new:
        old_id, new_id = (str(one.execute_command("CLUSTER", "MYID")) for one in (old, new))
        new.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", old_id)
        old.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", new_id)
    # Half way: a board without keys yet is made at its new place.
    other = RedisLeaderboard(client, key + ":new", durability="replicated")
    assert other.increment_score("ada", 1)["score"] == 1
    move_slot(cluster, slot, to=target)
    assert board.increment_score("ada", 1)["score"] == 2


def test_no_node_is_asked_which_keys_a_function_or_a_reader_of_a_stream_has(cluster, client):
    def asked():
        total = 0
        for server in cluster:
            with server.client() as node:
                stats = node.info("commandstats")
                total += stats.get("cmdstat_command|getkeys", {}).get("calls", 0)
        return total

    text = "register('echo', function(keys, args) return args[1] end)\n"
    echo = Library("tests", {"echoes": text})["echo"]
    echo.library.load(client)
    before = asked()
    with client.pipeline(transaction=False) as pipe:
        for number in range(3):
            pipe.execute_command(*echo.words([f"key:{{{number}}}"], [number]))
        assert pipe.execute() == [b"0", b"1", b"2"]
        for number in range(3):
            # Words of the command itself, to be told from the names.
            pipe.xgroup_create(f"log:{{{number}}}", "STREAMS", mkstream=True)
            pipe.xreadgroup("STREAMS", "BLOCK", {f"log:{{{number}}}": ">"}, count=9, noack=True)
        assert pipe.execute() == [True, []] * 3
    assert asked() == before


def test_the_death_of_the_default_node_stops_no_reader_of_a_stream_elsewhere():
    # redis-py asks its default node for keys that have no fixed place in a command, and stays with
    # it even when it is dead and another has taken its slots.
    with redis_cluster(primaries=3, replicas=1) as servers:
        client = CautiousCluster(**options(servers, redis) | {"socket_timeout": 30.0}, retry=None)
        default = client.get_default_node()
        dead = next(server for server in servers if server.port == default.port)
        names = [f"log:{{{number}}}" for number in range(50)]
        name = next(one for one in names if node_of(client, one) != default)
        client.xgroup_create(name, "readers", mkstream=True)
        client.rpush(f"{name}:numbers", 2, 1)
        dead.stop(kill=True)
        replace(servers, dead)

        def read():
            pipe = client.pipeline(transaction=False)
            return pipe.xreadgroup("readers", "ada", {name: ">"}).execute()

        assert read() == [[]]
        # With a command that needs to ask, one failure is enough to find a living node.
        with pytest.raises(OUTAGE_ERRORS):
            client.sort(f"{name}:numbers")
        assert client.sort(f"{name}:numbers") == [b"1", b"2"]
        client.close()


def test_threads_that_connect_at_the_same_moment_share_one_client(cluster):
    # One of its own would learn of a failover only by its own failures.
    url, together = cluster_url(cluster), threading.Barrier(4)

    def connect(_):
        together.wait()
        return ConnectionFactory({"ALIAS": "data"}).connect(url)

    try:
        with ThreadPoolExecutor(4) as threads:
            assert len(set(threads.map(connect, range(4)))) == 1
    finally:
        ConnectionFactory._clients.pop(("data", Address.parse(url))).close()
