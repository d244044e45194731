"""Many threads on one board: afterwards all parts of it agree."""

import contextlib
import json
import random
import threading

from leaderboard import RedisLeaderboard
from tests.leaderboard.engine.model import Model

KEY = "leaderboard:{busy}"
THREADS, CONNECTIONS, STEPS = 32, 8, 50
PLAYERS = [f"player-{number}" for number in range(60)]
LIMIT = 20


def hammer(board, lock, seed):
    chance = random.Random(seed)
    for step in range(STEPS):
        user_id = chance.choice(PLAYERS)
        details = {"name": user_id, "step": str(step)} if chance.random() < 0.5 else None
        action = chance.random()
        with lock:
            if action < 0.8:
                board.submit(user_id, chance.randrange(100), metadata=details, operator="sum")
            elif action < 0.9:
                board.submit(user_id, chance.randrange(1000), metadata=details, operator="set")
            elif action < 0.94:
                board.delete_user(user_id)
            elif action < 0.97:
                board.hide(user_id)
            else:
                board.unhide(user_id)


def test_threads_leave_a_board_that_agrees_with_its_events(backend):
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(contextlib.closing(backend.client())) for _ in range(CONNECTIONS)
        ]
        # One at a time per connection, so that there are eight of them and no more.
        locks = [threading.Lock() for _ in clients]
        rules = {"ties": "earliest", "ranking": "dense", "groups": ("name",), "events": True}
        boards = [RedisLeaderboard(client, KEY, LIMIT, **rules) for client in clients]
        threads = [
            threading.Thread(
                target=hammer, args=(boards[n % CONNECTIONS], locks[n % CONNECTIONS], n)
            )
            for n in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        board, client = boards[0], clients[0]
        replayed = replay(client.xrange(f"{KEY}:events"))
        entries = board.list_all()
        assert entries == replayed.entries()
        assert board.get_size() == len(entries) <= LIMIT
        stored = {
            name.decode().partition(":user:")[2] for name in client.scan_iter(f"{KEY}:user:*")
        }
        assert stored == {user_id for user_id, kept in replayed.details.items() if kept}
        standing = {one["user_id"] for one in entries} | set(replayed.asides[0])
        assert stored <= standing
        assert client.hlen(f"{KEY}:at") == len(standing)
        assert client.zcard(f"{KEY}:aside") == len(replayed.asides[0])
        assert client.zcard(f"{KEY}:ranks") == len({one["score"] for one in entries})
        named = sum(1 for one in entries if one["metadata"].get("name"))
        assert client.zcard(f"{KEY}:by:name") == named


def replay(events):
    """The board as the events tell it."""
    model = Model(
        order="desc",
        operator="set",
        ties="earliest",
        ranking="dense",
        subscore=None,
        limit=LIMIT,
        groups=("name",),
        lowest=None,
        highest=None,
        largest_step=None,
        windows=0,
    )
    numbers = []
    for _, fields in events:
        event = json.loads(fields[b"event"])
        numbers.append(event["seq"])
        if event["op"] == "score":
            details, value = event.get("details"), event["value"]
            answer = model.submit(event["id"], value, event["operator"], None, details, None)
            assert answer["score"] == event["score"]
        else:
            action = {"remove": model.delete, "hide": model.hide, "unhide": model.unhide}
            action[event["op"]](event["id"])
    assert numbers == list(range(1, len(numbers) + 1))
    return model
