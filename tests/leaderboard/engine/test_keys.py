"""Scripts add suffixes to the keys they are given; each is one that `docs/redis-keys.md` lists."""

import re
from pathlib import Path

from leaderboard import RedisLeaderboard

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "redis-keys.md").read_text()
KEY = "leaderboard:{k}"


def listed_patterns():
    section = PAGE.partition("## leaderboard\n")[2]
    for pattern in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE):
        pattern = pattern.replace("<entries>", "leaderboard:{<slug>}<set>")
        yield re.compile(re.sub(r"<[^>]+>", ".*", re.escape(pattern).replace("\\<", "<")))


def test_scripts_write_only_keys_that_are_listed(redis_client):
    redis_client.hset(f"{KEY}:season", mapping={"number": 1, "state": "open", "closes": ""})
    board = RedisLeaderboard(
        redis_client,
        KEY,
        5,
        ties="earliest",
        ranking="dense",
        subscore="asc",
        windows=("day", "week", "month", "all"),
        groups=("team",),
        season=1,
        events=True,
        notices=True,
    )
    for number in range(8):
        board.submit(
            f"p{number}", number, subscore=1, metadata={"team": "red"}, idempotency_key="k"
        )
    board.hide("p7")
    board.union([board.window("day")])
    names = {name.decode() for name in redis_client.scan_iter()}
    patterns = list(listed_patterns())
    assert len(names) > 40
    unlisted = {name for name in names if not any(one.fullmatch(name) for one in patterns)}
    assert unlisted == set()
