"""Group commit: together when there is company, alone when there is none, each with its own end."""

import asyncio

import pytest

from leaderboard.api.hot.gather import Gather


class Recorder:
    """Flies when told to; remembers who was on board."""

    def __init__(self):
        self.flights = []
        self.go = asyncio.Event()
        self.go.set()

    async def fly(self, items):
        self.flights.append(list(items))
        await self.go.wait()
        return [ValueError(item) if item == "bad" else item * 2 for item in items]


async def test_one_call_flies_alone():
    recorder = Recorder()
    assert await Gather(recorder.fly).add(1) == 2
    assert recorder.flights == [[1]]


async def test_calls_of_one_turn_fly_together():
    recorder = Recorder()
    gather = Gather(recorder.fly)
    assert await asyncio.gather(*[gather.add(number) for number in range(5)]) == [0, 2, 4, 6, 8]
    assert recorder.flights == [[0, 1, 2, 3, 4]]


async def test_calls_that_come_during_a_flight_leave_together_after_it():
    recorder = Recorder()
    recorder.go.clear()
    gather = Gather(recorder.fly)
    first = gather.add(1)
    await asyncio.sleep(0)
    others = [gather.add(number) for number in (2, 3)]
    await asyncio.sleep(0)
    assert recorder.flights == [[1]]
    recorder.go.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6]
    assert recorder.flights == [[1], [2, 3]]


async def test_each_caller_gets_its_own_error():
    gather = Gather(Recorder().fly)
    good, bad = gather.add("a"), gather.add("bad")
    assert await good == "aa"
    with pytest.raises(ValueError, match="bad"):
        await bad


async def test_an_error_of_the_flight_is_everybodys():
    async def fly(items):
        raise ConnectionError("gone")

    gather = Gather(fly)
    results = await asyncio.gather(gather.add(1), gather.add(2), return_exceptions=True)
    assert [str(result) for result in results] == ["gone", "gone"]


async def test_a_caller_who_left_does_not_disturb_the_others():
    recorder = Recorder()
    gather = Gather(recorder.fly)
    leaving, staying = gather.add(1), gather.add(2)
    leaving.cancel()
    assert await staying == 4


async def test_a_flight_has_a_largest_size():
    recorder = Recorder()
    gather = Gather(recorder.fly, most=2)
    await asyncio.gather(*[gather.add(number) for number in range(5)])
    assert [len(flight) for flight in recorder.flights] == [2, 2, 1]


async def test_two_flights_abreast():
    recorder = Recorder()
    recorder.go.clear()
    gather = Gather(recorder.fly, abreast=2)
    calls = [gather.add(1)]
    await asyncio.sleep(0)
    calls.append(gather.add(2))
    await asyncio.sleep(0)
    calls.append(gather.add(3))
    await asyncio.sleep(0)
    assert recorder.flights == [[1], [2]]
    recorder.go.set()
    assert await asyncio.gather(*calls) == [2, 4, 6]


async def test_whoever_comes_as_a_flight_ends_is_not_left_behind():
    recorder = Recorder()
    gather = Gather(recorder.fly, abreast=2)

    async def one_after_another(number):
        for step in range(50):
            assert await gather.add(step) == step * 2
            if (number + step) % 3 == 0:
                await asyncio.sleep(0)

    async with asyncio.timeout(10):
        await asyncio.gather(*[one_after_another(number) for number in range(7)])
    assert sum(len(flight) for flight in recorder.flights) == 350
