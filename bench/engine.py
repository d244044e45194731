"""The engine against raw commands and against the straightforward way, on one server.

`ENTRIES=1000,100000 make bench ARGS="engine"` measures smaller boards only.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import redis

from bench import floors, harness, others
from bench.harness import Comparison, Report, duration, own_server
from leaderboard import RedisLeaderboard, keys
from leaderboard.engine.windows import period_at

SIZES = [int(size) for size in os.environ.get("ENTRIES", "1000,100000,1000000").split(",")]
BATCH = 10_000
LIBRARY_ENTRIES = 100_000
HIGHEST = 1_000_000
TIME = 1_700_000_000_000_000

# What everything on may cost, against the bare calls of a plain board: four sorted sets grow there.
EVERYTHING_ON = {1000: 0.6, 100_000: 0.5, 1_000_000: 0.45}
Compare = Callable[..., Comparison]


def details(number: int) -> dict[str, str]:
    country = ("DE", "FR", "JP", "BR", "US", "IN")[number % 6]
    return {
        "name": f"Player {number}",
        "country": country,
        "avatar": f"/avatars/{number % 500}.png",
    }


def player(number: int) -> str:
    return f"player-{number:07}"


def rows(size: int) -> Iterator[tuple[str, float, float, int, int, list[str]]]:
    """As `fill` takes them: id, score, subscore, time, counter, details."""
    chance = random.Random(size)
    for number in range(size):
        flat = [text for pair in details(number).items() for text in pair]
        yield player(number), float(chance.randrange(HIGHEST)), 0.0, TIME + number, number, flat


def cost(client: redis.Redis, work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the wall, and bytes of the server's memory."""
    before, start = client.info("memory")["used_memory"], time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    return seconds, client.info("memory")["used_memory"] - before


@dataclass
class Boards:
    """A plain board and one with everything on, both of one size."""

    size: int
    client: redis.Redis
    plain: RedisLeaderboard
    full: RedisLeaderboard
    chance: random.Random

    @classmethod
    def filled(cls, client: redis.Redis, size: int, report: Report) -> Boards:
        plain = RedisLeaderboard(client, f"plain:{{{size}}}", None)
        full = RedisLeaderboard(
            client,
            f"every:{{{size}}}",
            None,
            ties="earliest",
            windows=("day", "week", "month", "all"),
            events=True,
            notices=True,
        )
        plain_seconds, _ = cost(client, lambda: plain.fill(rows(size)))
        full_seconds, _ = cost(client, lambda: full.fill(rows(size)))
        report.line(
            f"- {size:,} players filled in: plain {duration(plain_seconds)}, "
            f"`earliest` {duration(full_seconds)}"
        )
        for window in ("day", "week", "month"):
            period = period_at(window, full.now(), full.rules.zone)
            entries = keys.window_entries(full.key, window, period.name)
            client.copy(full.entries_key, entries, replace=True)
            client.copy(keys.stamps(full.entries_key), keys.stamps(entries), replace=True)
        chance = random.Random(1)
        return cls(size, client, plain, full, chance)

    def anybody(self) -> int:
        return self.chance.randrange(self.size)

    # ---- ours -----------------------------------------------------------------------------------

    def upsert(self) -> Any:
        number = self.anybody()
        score = self.chance.randrange(HIGHEST)
        return self.plain.upsert_user(player(number), score, details(number))

    def upsert_full(self) -> Any:
        number = self.anybody()
        score = self.chance.randrange(HIGHEST)
        return self.full.upsert_user(player(number), score, details(number))

    def top(self) -> Any:
        return self.plain.get_top(100)

    def around(self) -> Any:
        return self.plain.get_around_rank(self.size // 2, 11)

    def rank(self) -> Any:
        return self.plain.get_rank(player(self.anybody()))

    # ---- the same, by hand ----------------------------------------------------------------------

    def bare(self) -> Any:
        number = self.anybody()
        user_id = player(number)
        flat = itertools.chain.from_iterable(details(number).items())
        names = [self.plain.key, f"{self.plain.key}:user:{user_id}"]
        return floors.BARE(self.client, names, [self.chance.randrange(HIGHEST), user_id, *flat])

    def calls_alone(self) -> Any:
        names, _ = self.full._keys_now()
        user_id = player(self.anybody())
        return floors.ONE(self.client, names, [user_id, self.chance.randrange(HIGHEST)])

    def straightforward_upsert(self) -> Any:
        """Three round trips: write, look whether to trim, read the entry back."""
        number = self.anybody()
        user_id, board = player(number), self.plain.key
        with self.client.pipeline() as pipeline:
            pipeline.zadd(board, {user_id: self.chance.randrange(HIGHEST)})
            pipeline.hset(f"{board}:user:{user_id}", mapping=details(number))
            pipeline.execute()
        if self.client.zcard(board) > HIGHEST * 10:
            raise AssertionError("the board is far too large")
        with self.client.pipeline() as pipeline:
            pipeline.zscore(board, user_id)
            pipeline.zrevrank(board, user_id)
            pipeline.hgetall(f"{board}:user:{user_id}")
            score, rank, found = pipeline.execute()
        return {
            "rank": rank + 1,
            "user_id": user_id,
            "score": score,
            "metadata": {name.decode(): value.decode() for name, value in found.items()},
        }

    def straightforward_range(self, first: int, last: int) -> Any:
        board = self.plain.key
        found = self.client.zrange(board, first, last, desc=True, withscores=True)
        with self.client.pipeline() as pipeline:
            for user_id, _ in found:
                pipeline.hgetall(f"{board}:user:{user_id.decode()}")
            return [
                {
                    "rank": rank,
                    "user_id": user_id.decode(),
                    "score": score,
                    "metadata": {name.decode(): value.decode() for name, value in one.items()},
                }
                for rank, ((user_id, score), one) in enumerate(
                    zip(found, pipeline.execute(), strict=True), first + 1
                )
            ]

    def straightforward_top(self) -> Any:
        return self.straightforward_range(0, 99)

    def straightforward_around(self) -> Any:
        size = self.client.zcard(self.plain.key)
        start = max(0, min(self.size // 2 - 1 - 5, size - 11))
        return self.straightforward_range(start, start + 10)


def run(report: Report) -> None:
    with own_server() as server, server.client() as client:
        assert server.process is not None
        compare = partial(harness.compare, clock=harness.processor_clock(server.process.pid))
        boards = [Boards.filled(client, size, report) for size in SIZES]
        report.line()
        single_calls(report, compare, boards)
        batches(report, compare, boards[0])
        if len(boards) > 1:
            growth(report, compare, boards[0], boards[-1])
            ties_at_scale(report, compare, client, boards[-1].size)
    beside_a_library(report)
    memory(report, SIZES[-1])


def single_calls(report: Report, compare: Compare, boards: list[Boards]) -> None:
    table = []
    for board in boards:
        assert board.straightforward_top() == board.top()
        assert board.straightforward_around() == board.around()
        upsert = compare(
            {
                "ours": board.upsert,
                "everything on": board.upsert_full,
                "calls alone": board.calls_alone,
                "bare": board.bare,
                "straightforward": board.straightforward_upsert,
            }
        )
        top = compare({"ours": board.top, "straightforward": board.straightforward_top})
        around = compare({"ours": board.around, "straightforward": board.straightforward_around})
        judge = ratio_judge(report, table, board.size)
        judge("upsert, plain", upsert, "ours", "bare", 0.75)
        judge("upsert, plain", upsert, "ours", "straightforward", 2.2)
        judge(
            "upsert, everything on", upsert, "everything on", "bare", EVERYTHING_ON.get(board.size)
        )
        judge("upsert, everything on", upsert, "everything on", "calls alone", 0.93)
        judge("its 25 calls, deciding nothing", upsert, "calls alone", "bare", None)
        judge("top 100 with details", top, "ours", "straightforward", 2)
        judge("11 around the middle", around, "ours", "straightforward", 2)
    report.table(("operation", "entries", "time", "against", "times as fast"), table)


def ratio_judge(report: Report, table: list[Any], size: int) -> Callable[..., None]:
    def judge(
        what: str, found: Comparison, name: str, against: str, at_least: float | None
    ) -> None:
        ratio = found.speed_ratio(name, against)
        verdict = f"{ratio:.2f}"
        if at_least is not None:
            verdict = report.verdict(
                f"{what}, {size:,} entries, {against}", ratio, at_least=at_least
            )
        other = f"{against}, {duration(found.median(against))}"
        table.append((what, f"{size:,}", duration(found.median(name)), other, verdict))

    return judge


def batches(report: Report, compare: Compare, board: Boards) -> None:
    client = board.client
    submissions = [
        {"user_id": player(n), "score": (n * 7919) % HIGHEST, "metadata": details(n)}
        for n in range(BATCH)
    ]

    def raw() -> None:
        for start in range(0, BATCH, 1000):
            pipeline = client.pipeline(transaction=False)
            for row in submissions[start : start + 1000]:
                pipeline.zadd("raw", {row["user_id"]: row["score"]})
                pipeline.hset(f"raw:user:{row['user_id']}", mapping=row["metadata"])
            pipeline.execute()

    plain = RedisLeaderboard(client, "{many}", None)
    timed = RedisLeaderboard(client, "{timed}", None, ties="earliest", events=True, notices=True)
    found = compare(
        {
            "raw": raw,
            "plain": lambda: plain.submit_many(submissions),
            "timed": lambda: timed.submit_many(submissions),
        },
        rounds=7,
    )
    table: list[Any] = []
    judge = ratio_judge(report, table, BATCH)
    judge("submit_many, plain", found, "plain", "raw", 0.5)
    judge("submit_many, earliest, events, notices", found, "timed", "raw", None)
    report.table(("operation", "rows", "time", "against", "times as fast"), table)


def growth(report: Report, compare: Compare, small: Boards, large: Boards) -> None:
    table = []
    # Everything on may grow as its own calls do, which decide nothing, and a tenth more.
    names = {"upsert": 1.5, "calls_alone": None, "upsert_full": 1.1, "rank": 1.5, "around": 1.5}
    for name, at_most in names.items():
        found = compare({"small": getattr(small, name), "large": getattr(large, name)})
        factor = 1 / found.speed_ratio("large", "small")
        if name == "calls_alone":
            verdict, calls = f"{factor:.2f}", factor
        elif name == "upsert_full":
            verdict = report.verdict(
                f"growth of {name} against its calls", factor / calls, at_most=1.1
            )
        else:
            verdict = report.verdict(f"growth of {name}", factor, at_most=at_most)
        medians = (duration(found.median("small")), duration(found.median("large")))
        table.append((name, *medians, verdict))
    columns = ("operation", f"{small.size:,} entries", f"{large.size:,} entries", "times as slow")
    report.table(columns, table)


def ties_at_scale(report: Report, compare: Compare, client: redis.Redis, size: int) -> None:
    """Ranks with ten distinct scores must cost no more than with a million."""
    table = []
    boards = {
        ranking: RedisLeaderboard(client, "{ties}", None, ranking=ranking)
        for ranking in ("ordinal", "competition", "dense")
    }
    # The others need less than dense ranks, and can read the same entries.
    boards["dense"].fill((player(n), float(n % 10), 0.0, 0, 0, []) for n in range(size))
    boards["competition, subscore"] = RedisLeaderboard(
        client, "{second}", None, ranking="competition", subscore="desc"
    )
    boards["competition, subscore"].fill(
        (player(n), float(n % 10), float(n % 3), 0, 0, []) for n in range(size)
    )
    chance = random.Random(2)
    for ranking, board in boards.items():
        found = compare(
            {
                "rank": lambda board=board: board.get_rank(player(chance.randrange(size))),
                "page": lambda board=board: board.get_page(chance.randrange(size), 10),
            },
            rounds=9,
        )
        table.append((ranking, duration(found.median("rank")), duration(found.median("page"))))
    report.table((f"ranking, {size:,} entries, ten scores", "rank", "page of 10"), table)


def beside_a_library(report: Report) -> None:
    """The library most people find first. It asks for another redis-py, so that each is measured
    against a bare ZADD on the client it uses."""
    with own_server() as server, server.client() as client:
        board = RedisLeaderboard(client, "{ours}", None)
        board.fill(rows(LIBRARY_ENTRIES))
        chance = random.Random(3)

        def anybody() -> int:
            return chance.randrange(LIBRARY_ENTRIES)

        def upsert() -> Any:
            number = anybody()
            return board.upsert_user(player(number), chance.randrange(HIGHEST), details(number))

        contestants: dict[str, Callable[[], Any]] = {
            "bare": lambda: client.zadd("bare", {f"player-{anybody() % 1000}": anybody()}),
            "upsert": upsert,
            "top": lambda: board.get_top(100),
            "around": lambda: board.get_around_user(player(anybody()), 11),
        }
        found = harness.compare(contestants)
        theirs = others.measured("boards", server.port, harness.ROUNDS)["leaderboard"]
    table = []
    for name, what in (
        ("upsert", "upsert with 3 details, and the rank"),
        ("top", "top 100 with details"),
        ("around", "11 around a player, with details"),
    ):
        ours = found.speed_ratio(name, "bare")
        ratio = f"{ours / theirs[name]:.2f}"
        table.append((what, f"{ours:.2f}", f"{theirs[name]:.2f}", ratio))
    columns = (f"{LIBRARY_ENTRIES:,} entries, beside a bare ZADD", "ours", "leaderboard 3.7")
    report.table((*columns, "times as fast"), table)


def memory(report: Report, size: int) -> None:
    """Each kind on a server of its own: tables that grow with all keys would count for the last."""

    def bare(client: redis.Redis) -> None:
        waiting = rows(size)
        while batch := list(itertools.islice(waiting, 1000)):
            pipeline = client.pipeline(transaction=False)
            pipeline.zadd("board", {row[0]: row[1] for row in batch})
            for row in batch:
                pipeline.hset(f"board:user:{row[0]}", items=row[5])
            pipeline.execute()

    def plain(client: redis.Redis) -> None:
        RedisLeaderboard(client, "board", None).fill(rows(size))

    def earliest(client: redis.Redis) -> None:
        RedisLeaderboard(client, "board", None, ties="earliest").fill(rows(size))

    table, bytes_bare = [], 0.0
    for kind, fill, at_most in (
        ("sorted set and hashes, bare", bare, None),
        ("plain board", plain, 1.05),
        ("earliest board", earliest, 1.6),
    ):
        with own_server() as server, server.client() as client:
            _, used = cost(client, lambda fill=fill, client=client: fill(client))
        bytes_bare = bytes_bare or used
        verdict = ""
        if at_most:
            verdict = report.verdict(f"memory, {kind}", used / bytes_bare, at_most=at_most)
        table.append((kind, f"{used / size:.0f} bytes", verdict))
    report.table((f"memory at {size:,} players", "per player", "times the bare one"), table)
