from config.scripts import Script

DOUBLE = Script("double", "return tonumber(ARGV[1]) * 2")


def test_it_runs_a_script_the_server_has_never_seen(redis_client):
    redis_client.script_flush()
    assert DOUBLE(redis_client, [], [21]) == 42


def test_it_survives_a_flush_between_two_calls(redis_client):
    assert DOUBLE(redis_client, [], [1]) == 2
    redis_client.script_flush()
    assert DOUBLE(redis_client, [], [2]) == 4


async def test_the_async_twin_does_the_same(redis_server):
    async with redis_server.async_client() as client:
        await client.script_flush()
        assert await DOUBLE.acall(client, [], [21]) == 42
        assert await DOUBLE.acall(client, [], [4]) == 8
