"""Reads that topics share: the top in every language, and players that programs watch by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async

from config.redis.connections import close_async_redis
from leaderboard.boards import standings
from leaderboard.live.boards import watch_json, watch_page
from leaderboard.live.feed import Feed, Visitor, Watch
from leaderboard.live.shared import SharedReads
from leaderboard.models import Board
from tests.leaderboard.pages.conftest import make_player
from tests.leaderboard.support import open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def board() -> Any:
    def prepare() -> Board:
        board: Board = open_board()
        make_player("p1")  # whose account may be on the site
        for number in range(30):
            submit(board, f"p{number}", 100 - number)
        return board

    yield await sync_to_async(prepare)()
    await close_async_redis()


async def test_all_who_ask_at_once_are_read_together(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    asome = standings.asome

    async def counted(board: Board, player_ids: Any, **view: Any) -> Any:
        reads.append(player_ids)
        return await asome(board, player_ids, **view)

    monkeypatch.setattr(standings, "asome", counted)
    wanted = [(f"p{number}", f"p{29 - number}", "nobody") for number in range(15)]
    found = await asyncio.gather(*(SharedReads.of(board, "").players(ids) for ids in wanted))
    assert len(reads) == 1
    for ids, answer in zip(wanted, found, strict=True):
        ranks = {entry.player_id: entry.rank for entry in answer.page.entries}
        assert ranks == {one: int(one[1:]) + 1 for one in ids if one != "nobody"}
        assert list(ranks.values()) == sorted(ranks.values())
        assert answer.page.size == 2
        assert answer.pointer is not None


async def test_it_asks_redis_in_portions(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.live.shared.PER_CALL", 7)
    answer = await SharedReads.of(board, "").players([f"p{number}" for number in range(30)])
    assert [entry.rank for entry in answer.page.entries] == list(range(1, 31))


def page(board: Board, language: str, window: str = "") -> Watch:
    return watch_page(
        board,
        window=window,
        language=language,
        last_sequence=None,
        visitor=Visitor(player_id="p7"),
    )


def calls(client: redis.Redis) -> dict[str, int]:
    """How often Redis has run each command, those within functions too."""
    found = client.info("commandstats")
    return {name: one["calls"] for name, one in found.items() if name != "cmdstat_info"}


async def cost(board: Board, client: redis.Redis, watches: list[Watch]) -> dict[str, int]:
    """What one change costs Redis when each of these is watched by a player."""
    feed = Feed(board.slug)
    for watch in watches:
        topic = await feed.topic(watch)
        topic.enter(None, watch.visitor.player_id)
    before = calls(client)
    await feed.refresh()
    spent = {name: count - before.get(name, 0) for name, count in calls(client).items()}
    return {name: count for name, count in spent.items() if count}


async def test_one_read_serves_viewers_in_four_languages(
    board: Board, redis_client: redis.Redis
) -> None:
    alone = await cost(board, redis_client, [page(board, "en")])
    assert alone["cmdstat_hmget"] >= 1
    languages = [page(board, language) for language in ("en", "de", "es", "fr")]
    assert await cost(board, redis_client, languages) == alone
    programs = [watch_json(board), watch_json(board, with_ids=True)]
    assert await cost(board, redis_client, languages + programs) == alone


async def test_each_language_draws_what_was_read_for_all(board: Board) -> None:
    feed = Feed(board.slug)
    topics = [await feed.topic(page(board, language)) for language in ("en", "de")]
    viewers = [topic.enter(None) for topic in topics]
    for topic, viewer in zip(topics, viewers, strict=True):
        topic.take(viewer)
    await sync_to_async(submit)(board, "p5", 1234)
    feed.note_change(feed.sequence + 1, is_score=True)
    await feed.refresh()
    english, german = (topic.take(viewer) for topic, viewer in zip(topics, viewers, strict=True))
    assert b"1,234" in english
    assert b"1.234" in german
