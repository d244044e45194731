"""Group commit: together when there is company, alone when there is none, each with its own end."""

import asyncio

import pytest

from config.redis.group_commit import GroupCommit


class Recorder:
    """Flushes when allowed to; remembers the batches."""

    def __init__(self):
        self.batches = []
        self.go = asyncio.Event()
        self.go.set()

    async def flush(self, items):
        self.batches.append(list(items))
        await self.go.wait()
        return [ValueError(item) if item == "bad" else item * 2 for item in items]


async def test_one_item_is_flushed_alone():
    recorder = Recorder()
    assert await GroupCommit(recorder.flush).add(1) == 2
    assert recorder.batches == [[1]]


async def test_items_of_one_turn_are_flushed_together():
    recorder = Recorder()
    group = GroupCommit(recorder.flush)
    assert await asyncio.gather(*[group.add(number) for number in range(5)]) == [0, 2, 4, 6, 8]
    assert recorder.batches == [[0, 1, 2, 3, 4]]


async def test_items_that_come_during_a_flush_are_flushed_together_after_it():
    recorder = Recorder()
    recorder.go.clear()
    group = GroupCommit(recorder.flush)
    first = group.add(1)
    await asyncio.sleep(0)
    others = [group.add(number) for number in (2, 3)]
    await asyncio.sleep(0)
    assert recorder.batches == [[1]]
    recorder.go.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6]
    assert recorder.batches == [[1], [2, 3]]


async def test_each_caller_gets_its_own_error():
    group = GroupCommit(Recorder().flush)
    good, bad = group.add("a"), group.add("bad")
    assert await good == "aa"
    with pytest.raises(ValueError, match="bad"):
        await bad


async def test_an_error_of_the_flush_goes_to_every_caller():
    async def flush(items):
        raise ConnectionError("gone")

    group = GroupCommit(flush)
    results = await asyncio.gather(group.add(1), group.add(2), return_exceptions=True)
    assert [str(result) for result in results] == ["gone", "gone"]


async def test_a_caller_who_left_does_not_disturb_the_others():
    recorder = Recorder()
    group = GroupCommit(recorder.flush)
    leaving, staying = group.add(1), group.add(2)
    leaving.cancel()
    assert await staying == 4


async def test_a_batch_has_a_largest_size():
    recorder = Recorder()
    group = GroupCommit(recorder.flush, most=2)
    await asyncio.gather(*[group.add(number) for number in range(5)])
    assert [len(batch) for batch in recorder.batches] == [2, 2, 1]


async def test_two_flushes_at_once():
    recorder = Recorder()
    recorder.go.clear()
    group = GroupCommit(recorder.flush, concurrency=2)
    calls = [group.add(1)]
    await asyncio.sleep(0)
    calls.append(group.add(2))
    await asyncio.sleep(0)
    calls.append(group.add(3))
    await asyncio.sleep(0)
    assert recorder.batches == [[1], [2]]
    recorder.go.set()
    assert await asyncio.gather(*calls) == [2, 4, 6]


async def test_an_item_that_comes_as_a_flush_ends_is_not_left_behind():
    recorder = Recorder()
    group = GroupCommit(recorder.flush, concurrency=2)

    async def one_after_another(number):
        for step in range(50):
            assert await group.add(step) == step * 2
            if (number + step) % 3 == 0:
                await asyncio.sleep(0)

    async with asyncio.timeout(10):
        await asyncio.gather(*[one_after_another(number) for number in range(7)])
    assert sum(len(batch) for batch in recorder.batches) == 350


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_no_caller_waits_for_ever_when_a_closing_loop_cancels_the_flush(turns):
    """Before it began, while it runs, and with another item behind it."""
    recorder = Recorder()
    recorder.go.clear()
    group = GroupCommit(recorder.flush)
    futures = [group.add(1)]
    for _ in range(turns):
        await asyncio.sleep(0)
        futures.append(group.add(2))
    for task in list(group._tasks):
        task.cancel()
    async with asyncio.timeout(10):
        results = await asyncio.gather(*futures, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * len(futures)
    recorder.go.set()
    assert await group.add(3) == 6
