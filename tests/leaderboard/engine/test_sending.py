"""A submission is sent once; what cannot have run is sent again."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from leaderboard import RedisLeaderboard
from tests.servers import redis_server

KEY = "leaderboard:{send}"


def test_it_outlives_a_restart_and_a_lost_library():
    impatient = Retry(NoBackoff(), 0)
    with redis_server(appendonly="yes") as server, server.client(retry=impatient) as client:
        board = RedisLeaderboard(client, KEY)
        board.increment_score("player", 1)
        server.stop()
        with pytest.raises(redis.ConnectionError):
            board.increment_score("player", 1)
        server.start()
        assert board.increment_score("player", 1)["score"] == 2.0
        client.function_flush()
        assert board.increment_score("player", 1)["score"] == 3.0


@pytest.mark.one_server  # on a cluster the client sends: see tests/scale/test_cluster.py
def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(redis_server):
    with (
        redis_server.client(socket_timeout=0.2, retry=Retry(NoBackoff(), 0)) as client,
        redis_server.client() as other,
    ):
        board = RedisLeaderboard(client, KEY)
        board.upsert_user("player", 1)
        other.client_pause(400, all=True)
        with pytest.raises(redis.TimeoutError):
            board.increment_score("player", 1)
        other.client_unpause()
        board = RedisLeaderboard(other, KEY)
        # The one attempt may have counted; a second was never made.
        assert board.get_user_entry("player")["score"] in (1.0, 2.0)
        assert RedisLeaderboard(client, KEY).get_rank("player") == 1


def test_an_error_leaves_the_connection_usable(redis_client):
    redis_client.rpush(KEY, "another type")
    board = RedisLeaderboard(redis_client, KEY)
    for _ in range(3):
        with pytest.raises(ValueError, match="another type"):
            board.upsert_user("player", 1)
    redis_client.delete(KEY)
    assert board.upsert_user("player", 1)["rank"] == 1


@pytest.mark.one_server  # a plain client's pool
@pytest.mark.parametrize("pool_type", [redis.ConnectionPool, redis.BlockingConnectionPool])
def test_a_small_pool_keeps_its_connections_for_all(redis_server, pool_type):
    pool = pool_type(host="127.0.0.1", port=redis_server.port, max_connections=1)
    with redis.Redis(connection_pool=pool) as client:
        board = RedisLeaderboard(client, KEY)
        for number in range(3):
            board.upsert_user("player", number)
            assert client.ping()
    pool.disconnect()


@pytest.mark.one_server  # a plain client's pool
def test_threads_and_other_commands_share_a_pool(redis_server):
    pool = redis.ConnectionPool(host="127.0.0.1", port=redis_server.port, max_connections=8)
    with redis.Redis(connection_pool=pool) as client, ThreadPoolExecutor(8) as threads:
        board = RedisLeaderboard(client, KEY)
        list(threads.map(lambda number: board.upsert_user(f"player-{number}", 1), range(400)))
        connections = [pool.get_connection() for _ in range(6)]  # two at most are kept
        for connection in connections:
            pool.release(connection)
        assert board.get_size() == 100
    pool.disconnect()


def test_a_child_process_does_not_use_its_parents_connections(redis_server):
    with redis_server.client() as client:
        board = RedisLeaderboard(client, KEY)
        board.upsert_user("player", 1)
        child = os.fork()
        if not child:
            good = all(board.increment_score("player", 1)["rank"] == 1 for _ in range(20))
            os._exit(0 if good else 1)
        ranks = {board.increment_score("player", 1)["rank"] for _ in range(20)}
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ranks == {1}
        assert board.get_user_entry("player")["score"] == 41.0
