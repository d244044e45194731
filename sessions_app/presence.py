"""Who is here: on the site, and on each board.

A viewer is a short text: `u:<account id>` for an account, `h:…` for one that does not want to be
named, `v:<address>/<visitor>` for a browser without an account. Those are counted by the address
alone: one client can send as many cookies as it likes. Two sorted sets per place, one of accounts
and one of viewers without a name, hold each once, whatever the number of tabs, scored by the second
last seen. Seen within a minute is online, so the viewers of a process that dies are offline within
a minute.

A clean leave shortens that to three seconds and is published to the other processes: one that still
has a tab of the same viewer touches again before the time is over (`Viewers.note_leaving`).
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from config.redis.calls import Batch, Call, Command, Steps
from config.redis.connections import aperform, get_async_redis, get_redis, perform
from ratelimit import callers
from sessions_app import keys, visitors
from sessions_app.functions import LIBRARY

TOUCH = LIBRARY["touch_present"]
LEAVE = LIBRARY["leave_present"]
COUNT = LIBRARY["count_present"]
LIST = LIBRARY["list_present"]
CHECK = LIBRARY["check_present"]

BEAT = 20  # seconds between two signs of life of an open page
HORIZON = 60  # seconds without one, after which a viewer is offline
GRACE = 3  # seconds until a viewer who left is offline
SEEN_FOR = 30 * 24 * 3600


Place = tuple[str, str]  # the name under which a viewer is counted, and the board they look at

# Viewers.

_hidden_when: list[Callable[[Any], bool]] = []


def hide_when(check: Callable[[Any], bool]) -> None:
    """Register a check of a user: when it is true, the user is counted but never named."""
    _hidden_when.append(check)


def account_viewer(user_id: int | str) -> str:
    return f"u:{user_id}"


def hidden_viewer(user_id: int | str) -> str:
    """The same for all tabs of an account, without a way back to the account."""
    return "h:" + salted_hmac("sessions_app.presence", str(user_id)).hexdigest()[:20]


def visiting_viewer(request: HttpRequest, visitor: str) -> str:
    address = callers.ip_name(callers.client_ip(request)).removeprefix("ip:")
    return f"v:{address}/{visitor}"


def counted(viewer: str) -> str:
    """The name under which a viewer counts: browsers without an account by their address."""
    return viewer.partition("/")[0]


def viewer_of(request: HttpRequest) -> str:
    """The viewer behind a request; may query SQL, so call it once per stream, not per event."""
    user = request.user
    if not user.is_authenticated:
        return visiting_viewer(request, visitors.visitor_id(request))
    if any(check(user) for check in _hidden_when):
        return hidden_viewer(user.pk)
    return account_viewer(user.pk)


# Writing.


def _accounts(board: str | None) -> str:
    return keys.site_accounts() if board is None else keys.board_accounts(board)


def _place(board: str | None) -> list[str]:
    return [_accounts(board), keys.site_others() if board is None else keys.board_others(board)]


def _touch_call(viewers: Iterable[str], board: str | None) -> Call:
    # On the site, accounts are remembered for longer: that is `last_seen`.
    memory = SEEN_FOR if board is None else HORIZON
    return Call(TOUCH, _place(board), [memory, HORIZON, *map(counted, viewers)])


def _leave_call(viewers: Iterable[str], board: str | None, grace: int = GRACE) -> Call:
    settings = [HORIZON, grace, keys.presence_leaving(), board or ""]
    return Call(LEAVE, _place(board), [*settings, *map(counted, viewers)])


def _count_call(board: str | None) -> Call:
    return Call(COUNT, _place(board), [HORIZON])


def touch(viewers: Collection[str], board: str | None = None) -> None:
    """They are here now: on the site, and on the board if one is named. One round trip."""
    Batch([_touch_call(viewers, place) for place in {None, board}]).send(get_redis())


def leave(viewers: Collection[str], board: str | None = None) -> None:
    """One tab of each was closed: offline in `GRACE` seconds unless another tab is open."""
    Batch([_leave_call(viewers, place) for place in {None, board}]).send(get_redis())


def forget(user_id: int) -> None:
    """Remove when an account was last here: it no longer wants to be named."""
    get_redis().zrem(keys.site_accounts(), account_viewer(user_id))


def sign_in(request: HttpRequest) -> None:
    """Stop counting the browser as a visitor: from now on its account counts."""
    known = visitors.known_id(request)
    if not known:
        return
    viewer = visiting_viewer(request, known)
    message = {"board": "", "viewers": [viewer], "became": viewer_of(request)}
    remove = Command("ZREM", keys.site_others(), counted(viewer))
    publish = Command("PUBLISH", keys.presence_leaving(), json.dumps(message))
    Batch([remove, publish]).send(get_redis())


# Reading.


def counts_steps(boards: Iterable[str | None]) -> Steps[dict[str | None, int]]:
    boards = list(boards)
    replies = yield Batch([_count_call(board) for board in boards])
    return dict(zip(boards, replies, strict=True))


def counts(boards: Iterable[str | None]) -> dict[str | None, int]:
    """How many are on each board, in one round trip; None is the site."""
    return perform(counts_steps(boards))


def count(board: str | None = None) -> int:
    """How many are here, in O(log N)."""
    return counts([board])[board]


def online_ids_steps(board: str | None, limit: int) -> Steps[list[int]]:
    found = yield Call(LIST, [_accounts(board)], [HORIZON, limit])
    return [int(viewer[2:]) for viewer in found]


def online_ids(board: str | None = None, limit: int = 100) -> list[int]:
    """Ids of accounts that are here, last seen first. Never those who do not want to be named."""
    return perform(online_ids_steps(board, limit))


def _online_among(user_ids: Iterable[int], board: str | None) -> Steps[set[int]]:
    user_ids = list(user_ids)
    if not user_ids:
        return set()
    viewers = [account_viewer(user_id) for user_id in user_ids]
    here = yield Call(CHECK, [_accounts(board)], [HORIZON, *viewers])
    return {user_id for user_id, is_here in zip(user_ids, here, strict=True) if is_here}


def online_among(user_ids: Iterable[int], board: str | None = None) -> set[int]:
    """Which of these accounts are here (and may be named), in one round trip."""
    return perform(_online_among(user_ids, board))


async def aonline_among(user_ids: Iterable[int], board: str | None = None) -> set[int]:
    return await aperform(_online_among(user_ids, board))


def is_online(user_id: int, board: str | None = None) -> bool:
    return bool(online_among([user_id], board))


def last_seen(user_id: int) -> datetime | None:
    """When an account was here last, within the last 30 days and while it could be named."""
    seconds = get_redis().zscore(keys.site_accounts(), account_viewer(user_id))
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


class Viewers:
    """The open streams of one process: the heartbeat for all of them.

    `join` and `leave` only record; `tick`, called about once a second, sends everything that is due
    in one round trip: who came, who left, every `BEAT` seconds all who are still here, and a count
    of the viewers of each board that somebody watches here. A stream without a board has "" for its
    board: its viewer is on the site, and watches none.
    """

    def __init__(self, client: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._tabs: dict[str, Counter[str]] = {}  # open streams by counted name and board
        self._browsers: dict[str, Counter[str]] = {}  # of those, the streams of each visitor
        self._due: set[Place] = set()
        self._gone: dict[Place, int] = {}  # with the seconds they get to come back
        self._became: dict[str, str] = {}  # account of each visitor who signed in meanwhile
        self._next_beat = clock() + BEAT
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        """How many viewers have a stream here."""
        return len(self._tabs)

    def join(self, viewer: str, board: str) -> None:
        """A stream was opened."""
        name = counted(viewer)
        if name != viewer:
            self._browsers.setdefault(viewer, Counter())[board] += 1
        self._tabs.setdefault(name, Counter())[board] += 1
        self._due.add((name, board))
        self._gone.pop((name, board), None)

    def leave(self, viewer: str, board: str) -> None:
        """A stream was closed; only the viewer's last one on the board here counts as leaving."""
        name = counted(viewer)
        if name != viewer:
            if board in self._browsers.get(viewer, ()):
                _take(self._browsers, viewer, board)
            else:
                name = self._became[viewer]
        self._close(name, board)

    def _close(self, name: str, board: str, tabs: int = 1, grace: int = GRACE) -> None:
        if _take(self._tabs, name, board, tabs):
            self._due.discard((name, board))
            self._gone[name, board] = grace
        if name not in self._tabs:
            self._became = {old: new for old, new in self._became.items() if new != name}

    def note_leaving(self, message: bytes) -> None:
        """A message of `keys.presence_leaving()`: touch those who still have a tab here."""
        leaving = json.loads(message)
        for viewer in leaving["viewers"]:
            if account := leaving.get("became"):
                self._rename(viewer, account)
            # Others at a visitor's address are still there.
            name = counted(viewer)
            for board in self._tabs.get(name, ()):
                if leaving["board"] in {"", board}:
                    self._due.add((name, board))

    def _rename(self, visitor: str, account: str) -> None:
        """After a sign-in: the streams opened before belong to the account, and the visitor, who is
        here under another name, gets no time to come back."""
        for board, tabs in self._browsers.pop(visitor, Counter[str]()).items():
            self._tabs.setdefault(account, Counter())[board] += tabs
            self._due.add((account, board))
            self._became[visitor] = account
            self._close(counted(visitor), board, tabs, grace=0)

    async def tick(self) -> dict[str, int]:
        """Send what is due; returns the number of viewers of each board where it changed.

        Raises when Redis is away; everything stays due then.
        """
        now = self._clock()
        beat = now >= self._next_beat
        here = {(name, board) for name, boards in self._tabs.items() for board in boards}
        due = here if beat else set(self._due)
        gone = dict(self._gone)
        boards = sorted({board for _, board in here if board})
        if not here and not gone:
            self._counts = {}
            return {}
        # Leaves first: who moved from one board to another stays on the site.
        writes = [*self._leaves(gone), *self._touches(due)]
        reads = [_count_call(board) for board in boards]
        replies = await Batch([*writes, *reads]).asend(self._client or get_async_redis())
        if beat:
            self._next_beat = now + BEAT
        self._due -= due
        for place in gone:
            self._gone.pop(place, None)
        before, self._counts = self._counts, dict(zip(boards, replies[len(writes) :], strict=True))
        return {
            board: number for board, number in self._counts.items() if before.get(board) != number
        }

    def _leaves(self, gone: dict[Place, int]) -> list[Call]:
        calls: list[Call] = []
        for grace in sorted(set(gone.values()), reverse=True):
            places = {place for place, seconds in gone.items() if seconds == grace}
            off_site = {name for name, _ in places if name not in self._tabs}
            if off_site:
                calls.append(_leave_call(off_site, None, grace))
            calls += [
                _leave_call(viewers, board, grace) for board, viewers in _by_board(places).items()
            ]
        return calls

    def _touches(self, due: set[Place]) -> list[Call]:
        calls = [_touch_call(viewers, board) for board, viewers in _by_board(due).items()]
        return [_touch_call({name for name, _ in due}, None), *calls] if due else []


def _take(streams: dict[str, Counter[str]], name: str, board: str, count: int = 1) -> bool:
    """Take streams away; True when they were the last of this name on this board."""
    boards = streams[name]
    boards[board] -= count
    if boards[board] > 0:
        return False
    del boards[board]
    if not boards:
        del streams[name]
    return True


def _by_board(places: Iterable[Place]) -> dict[str, list[str]]:
    viewers: dict[str, list[str]] = defaultdict(list)
    for viewer, board in places:
        if board:
            viewers[board].append(viewer)
    return viewers
