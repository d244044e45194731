"""The examples in docs/engine.md run, and no operation is missing there."""

import re
from pathlib import Path

import pytest

from leaderboard import RedisLeaderboard
from leaderboard.engine.base import Board

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "engine.md").read_text()


@pytest.mark.one_server  # the guide's keys have no braces
def test_the_examples_run(redis_server, monkeypatch):
    client = redis_server.client()
    monkeypatch.setattr("redis.Redis", lambda: client)
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) > 15
    scope = {}
    for example in examples:
        exec(example, scope)
    client.close()


def test_every_operation_is_described():
    names = set(dir(RedisLeaderboard)) - set(dir(Board))
    operations = {name for name in names if not name.startswith("_")}
    assert len(operations) > 30
    missing = {name for name in operations if not re.search(rf"\b{name}\b", PAGE)}
    assert missing <= {"clear", "drop_season"}  # said in other words; the product's own
    assert "clear the board" in PAGE
