"""Players that programs watch by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from config.redis.connections import close_async_redis
from leaderboard.boards import standings
from leaderboard.live.players import PlayersReader
from leaderboard.models import Board
from tests.leaderboard.boards import open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def board() -> Any:
    def prepare() -> Board:
        board: Board = open_board()
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
    found = await asyncio.gather(*(PlayersReader.of(board, "").read(ids) for ids in wanted))
    assert len(reads) == 1
    for ids, answer in zip(wanted, found, strict=True):
        ranks = {entry["user_id"]: entry["rank"] for entry in answer.page.entries}
        assert ranks == {one: int(one[1:]) + 1 for one in ids if one != "nobody"}
        assert list(ranks.values()) == sorted(ranks.values())
        assert answer.page.size == 2
        assert answer.pointer is not None


async def test_it_asks_redis_in_portions(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.live.players.PER_CALL", 7)
    answer = await PlayersReader.of(board, "").read([f"p{number}" for number in range(30)])
    assert [entry["rank"] for entry in answer.page.entries] == list(range(1, 31))
