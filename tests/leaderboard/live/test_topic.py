"""The ring behind the live stream: replay, snapshots, and no growth."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from leaderboard.live.topic import Picture, Row, Topic


class Board:
    """A source in memory: lines are (id, score) in order of rank."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = [("ada", 3), ("bob", 2)]
        self.season = 1
        self.encoded = 0

    async def read(self) -> Picture:
        rows = {name: Row(rank, score) for rank, (name, score) in enumerate(self.lines, start=1)}
        return Picture(self.season, len(rows), rows)

    def encode(self, before: Picture | None, after: Picture) -> bytes:
        self.encoded += 1
        known = before.rows if before else {}
        changed = [name for name, row in after.rows.items() if known.get(name) != row]
        return json.dumps(changed).encode()

    async def read_mine(self, player_ids: list[str]) -> dict[str, Any]:
        ranks = {name: rank for rank, (name, _) in enumerate(self.lines, start=1)}
        return {name: ranks[name] for name in player_ids if name in ranks}

    def encode_mine(self, mine: Any) -> bytes:
        return str(mine).encode()


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
async def topic(board: Board) -> Topic:
    topic = Topic(board, ring=4)
    await topic.open(10)
    return topic


async def change(topic: Topic, board: Board, sequence: int) -> None:
    board.lines = [(name, score + 1) for name, score in board.lines]
    await topic.refresh(sequence)


def events(chunk: bytes) -> list[tuple[str, str]]:
    """(event, id) of each event."""
    found = []
    for text in chunk.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        if fields.get("event"):
            found.append((fields["event"], fields.get("id", "")))
    return found


async def test_it_sends_a_newcomer_the_whole_board(topic: Topic) -> None:
    assert events(topic.take(topic.enter(None))) == [("snapshot", "10")]


async def test_it_sends_nothing_to_whoever_saw_everything(topic: Topic) -> None:
    assert events(topic.take(topic.enter(10))) == []


async def test_it_replays_exactly_what_a_viewer_missed(topic: Topic, board: Board) -> None:
    for sequence in (12, 15, 19):
        await change(topic, board, sequence)
    assert events(topic.take(topic.enter(12))) == [("rows", "15"), ("rows", "19")]
    # Another process gathered otherwise: 13 lies inside the step that ends at 15.
    assert events(topic.take(topic.enter(13))) == [("rows", "15"), ("rows", "19")]
    assert events(topic.take(topic.enter(10))) == [("rows", str(n)) for n in (12, 15, 19)]


async def test_it_sends_a_snapshot_after_a_gap(topic: Topic, board: Board) -> None:
    for sequence in range(11, 18):
        await change(topic, board, sequence)
    assert events(topic.take(topic.enter(12))) == [("snapshot", "17")]
    assert events(topic.take(topic.enter(9))) == [("snapshot", "17")]
    assert events(topic.take(topic.enter(99))) == [("snapshot", "17")]
    assert events(topic.take(topic.enter(14))) == [("rows", str(n)) for n in (15, 16, 17)]


async def test_a_slow_viewer_gets_a_snapshot_and_the_ring_stays_small(
    topic: Topic, board: Board
) -> None:
    slow = topic.enter(10)
    for sequence in range(11, 111):
        await change(topic, board, sequence)
    assert events(topic.take(slow)) == [("snapshot", "110")]
    assert len(topic._ring) == 4
    await change(topic, board, 111)
    assert events(topic.take(slow)) == [("rows", "111")]


async def test_it_renders_once_however_many_watch(topic: Topic, board: Board) -> None:
    viewers = [topic.enter(10) for _ in range(50)]
    for viewer in viewers:
        topic.take(viewer)
    await change(topic, board, 11)
    chunks = {id(topic.take(viewer)) for viewer in viewers}
    assert board.encoded == 1
    assert len(chunks) == 1
    for _ in range(50):
        topic.take(topic.enter(None))
    assert board.encoded == 2


async def test_it_says_nothing_when_nothing_changed(topic: Topic) -> None:
    viewer = topic.enter(10)
    topic.take(viewer)
    await topic.refresh(10)
    assert topic.take(viewer) == b""


async def test_it_moves_the_id_on_when_the_change_is_below_the_page(topic: Topic) -> None:
    viewer = topic.enter(10)
    await topic.refresh(11)
    assert events(topic.take(viewer)) == [("rows", "11")]


async def test_it_tells_when_the_season_turned(topic: Topic, board: Board) -> None:
    viewer = topic.enter(10)
    board.season = 2
    await topic.refresh(11)
    assert events(topic.take(viewer)) == [("season", "11")]


async def test_it_tells_a_player_only_when_their_own_line_changed(
    topic: Topic, board: Board
) -> None:
    viewer, stranger = topic.enter(10, "bob"), topic.enter(10)
    await topic.refresh_mine()
    assert events(topic.take(viewer)) == [("me", "")]
    await topic.refresh_mine()
    assert topic.take(viewer) == b""
    board.lines.reverse()
    await topic.refresh_mine()
    assert b"data: 1" in topic.take(viewer)
    assert events(topic.take(stranger)) == []


async def test_it_wakes_whoever_waits(topic: Topic, board: Board) -> None:
    viewer = topic.enter(10)
    waiting = asyncio.create_task(viewer.wait())
    await asyncio.sleep(0)
    await change(topic, board, 11)
    await waiting
    assert events(topic.take(viewer)) == [("rows", "11")]
