"""`durability="replicated"`: acknowledged means that a replica has it."""

import pytest
import redis.asyncio

from config.redis.connections import OUTAGE_ERRORS
from config.redis.replication import NotReplicatedError
from leaderboard import AsyncRedisLeaderboard, RedisLeaderboard
from tests.servers import RedisServer, redis_server, wait_for
from tests.topologies import follows, freeze, thaw

pytestmark = pytest.mark.xdist_group("replicas")


@pytest.fixture(scope="module")
def pair():
    """A primary and one replica."""
    with redis_server(**{"repl-diskless-sync-delay": "0"}) as primary:
        replica = RedisServer(replicaof=f"127.0.0.1 {primary.port}")
        try:
            replica.start()
            wait_for(lambda: follows(replica))
            yield primary, replica
        finally:
            replica.remove()


@pytest.fixture
def board(pair, request):
    primary, _ = pair
    with primary.client() as client:
        yield RedisLeaderboard(
            client, f"leaderboard:{{{request.node.name}}}", events=True, durability="replicated"
        )


@pytest.fixture
def deaf_replica(pair):
    """The replica stands still: it is connected and confirms nothing."""
    _, replica = pair
    freeze(replica)
    yield replica
    thaw(replica)


def test_a_write_is_on_the_replica_when_it_returns(board, pair):
    _, replica = pair
    with replica.client() as client:
        for number in range(50):
            board.upsert_user("ada", number)
            assert client.zscore(board.key, "ada") == number


async def test_the_asynchronous_twin_waits_too(pair):
    primary, replica = pair
    key = "leaderboard:{twin}"
    async with redis.asyncio.Redis(port=primary.port) as client:
        board = AsyncRedisLeaderboard(client, key, durability="replicated")
        with replica.client() as there:
            for number in range(50):
                await board.upsert_user("ada", number)
                assert there.zscore(key, "ada") == number


def test_without_a_confirmation_it_is_an_outage_and_the_key_counts_once(board, deaf_replica):
    with pytest.raises(NotReplicatedError) as raised:
        board.submit("ada", 5, operator="sum", idempotency_key="one")
    assert isinstance(raised.value, OUTAGE_ERRORS)
    # Told again, it is not counted again, and still not confirmed.
    with pytest.raises(NotReplicatedError):
        board.submit("ada", 5, operator="sum", idempotency_key="one")
    thaw(deaf_replica)
    result = board.submit("ada", 5, operator="sum", idempotency_key="one")
    assert (result["score"], result["replayed"]) == (5, True)
    with deaf_replica.client() as client:
        assert client.zscore(board.key, "ada") == 5


def test_reads_do_not_wait(board, deaf_replica):
    assert board.get_top(3) == []


def test_a_server_that_lost_the_library_gets_it_again(board, pair):
    primary, _ = pair
    with primary.client() as client:
        client.function_flush()
    assert board.increment_score("ada", 1)["score"] == 1
    assert board.increment_score("ada", 1)["score"] == 2
