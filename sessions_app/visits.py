"""Who came by: unique visitors and active accounts per day, and how many came back.

Visitors are counted in HyperLogLogs, which keep no visitor: 12 KiB a day, whatever their number,
with a standard error of 0.81 %. Accounts are bits at the place of their id, so that days can be
laid over each other. Neither holds an address, and programs that say so are left out.

A page view only notes; a thread sends what came together, about once a second, so no page waits
for it. A process that is killed loses a second of visits, which no figure here would show.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from config.redis.calls import Batch, Call, Command, Steps, aperform, perform
from config.redis.connections import OUTAGE_ERRORS
from sessions_app import keys, visitors
from sessions_app.functions import LIBRARY

RETURNED = LIBRARY["count_returned"]

KEPT = 70 * 24 * 3600  # a month, and the month after it for those who came back
STANDARD_ERROR = 0.0081  # of a HyperLogLog with 16,384 registers
FLUSH_SECONDS = 1.0
MOST_WAITING = 100_000  # while Redis is away; beyond it, visits are dropped
LARGEST_ID = 2**32 - 1  # a bitmap ends there
RETURN_AFTER = (1, 7, 30)

logger = logging.getLogger("rostrum.visits")


@dataclass(frozen=True)
class Estimate:
    """A number of visitors, and by how much it is off, more or less, two times in three."""

    count: int

    @property
    def error(self) -> int:
        return round(self.count * STANDARD_ERROR)


@dataclass(frozen=True)
class Cohort:
    """The accounts active on one day; `returned[n]` is None while that day has not come."""

    day: date
    active: int
    returned: dict[int, int | None]

    def share(self, days: int) -> float | None:
        returned = self.returned[days]
        return None if returned is None or not self.active else returned / self.active


class _Gathered:
    """What was noted and not yet sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.members: defaultdict[str, set[str]] = defaultdict(set)
        self.bits: defaultdict[str, set[int]] = defaultdict(set)
        self.waiting = 0
        self.wake = threading.Event()
        self.thread: threading.Thread | None = None

    def add(self, members: dict[str, str], bits: dict[str, int]) -> None:
        with self.lock:
            if self.waiting >= MOST_WAITING:
                return
            self.waiting += len(members) + len(bits)
            for key, member in members.items():
                self.members[key].add(member)
            for key, bit in bits.items():
                self.bits[key].add(bit)
            if settings.VISITS_IN_BACKGROUND and (
                self.thread is None or not self.thread.is_alive()
            ):
                self.thread = threading.Thread(target=self._run, name="visits", daemon=True)
                self.thread.start()
        self.wake.set()

    def take(self) -> tuple[dict[str, set[str]], dict[str, set[int]]]:
        with self.lock:
            taken = dict(self.members), dict(self.bits)
            self.members.clear()
            self.bits.clear()
            self.waiting = 0
        return taken

    def give_back(self, members: dict[str, set[str]], bits: dict[str, set[int]]) -> None:
        with self.lock:
            for key, names in members.items():
                self.members[key] |= names
                self.waiting += len(names)
            for key, places in bits.items():
                self.bits[key] |= places
                self.waiting += len(places)

    def _run(self) -> None:
        pause = threading.Event()
        while self.wake.wait():
            self.wake.clear()
            pause.wait(FLUSH_SECONDS)
            try:
                flush()
            except OUTAGE_ERRORS:
                self.wake.set()  # they were given back; the next round may succeed
            except Exception:
                logger.exception("Visits could not be counted")


_gathered = _Gathered()


@atexit.register
def _flush_the_rest() -> None:
    if _gathered.waiting:
        try:
            flush()
        except Exception:
            logger.warning("The last visits could not be counted")


def record(request: HttpRequest, board: str | None = None) -> None:
    """Note a page view, of a board if one is named. Sends nothing; see `flush`."""
    if visitors.is_bot(request):
        return
    user = request.user
    account = user.pk if user.is_authenticated else None
    visitor = f"u:{account}" if account else visitors.visitor_id(request)
    day = _name(timezone.localdate())
    members = {keys.site_visitors(day): visitor}
    if board is not None:
        members[keys.board_visitors(board, day)] = visitor
    _gathered.add(members, _bit_of(account, day))


def note_active(user_id: int) -> None:
    """An account did something without opening a page, such as sending a score."""
    _gathered.add({}, _bit_of(user_id, _name(timezone.localdate())))


def _bit_of(user_id: int | None, day: str) -> dict[str, int]:
    if user_id is None or user_id > LARGEST_ID:
        return {}
    return {keys.active_accounts(day): user_id}


def flush() -> None:
    """Send what was noted, in one round trip."""
    members, bits = _gathered.take()
    try:
        perform(_flush(members, bits))
    except Exception:
        _gathered.give_back(members, bits)
        raise


def discard() -> None:
    """Forget what was noted and not yet sent."""
    _gathered.take()


def _flush(members: dict[str, set[str]], bits: dict[str, set[int]]) -> Steps[None]:
    commands = [Command("PFADD", key, *sorted(names)) for key, names in members.items()]
    commands += [
        Command("SETBIT", key, place, 1) for key, places in bits.items() for place in places
    ]
    commands += [Command("EXPIRE", key, KEPT, "NX") for key in [*members, *bits]]
    if commands:
        yield Batch(commands)


# Asking.


def _name(day: date) -> str:
    return day.isoformat()


def _days_until(last: date | None, days: int) -> list[date]:
    last = last or timezone.localdate()
    return [last - timedelta(days=back) for back in reversed(range(days))]


def _visitors_key(board: str | None, day: date) -> str:
    if board is None:
        return keys.site_visitors(_name(day))
    return keys.board_visitors(board, _name(day))


def _unique(board: str | None, days: int, last: date | None) -> Steps[Estimate]:
    # PFCOUNT of several keys merges them and counts the result.
    several = [_visitors_key(board, day) for day in _days_until(last, days)]
    return Estimate(int((yield Command("PFCOUNT", *several))))


def unique(board: str | None = None, *, days: int = 1, last: date | None = None) -> Estimate:
    """Different visitors over the `days` until today (or `last`): 7 for a week, 30 for a month."""
    return perform(_unique(board, days, last))


async def aunique(board: str | None = None, *, days: int = 1, last: date | None = None) -> Estimate:
    return await aperform(_unique(board, days, last))


def _unique_today(boards: Sequence[str]) -> Steps[dict[str, int]]:
    today = timezone.localdate()
    replies = yield Batch([Command("PFCOUNT", _visitors_key(board, today)) for board in boards])
    return dict(zip(boards, replies, strict=True))


def unique_today(boards: Sequence[str]) -> dict[str, int]:
    """Today's visitors of each board, in one round trip."""
    return perform(_unique_today(boards))


async def aunique_today(boards: Sequence[str]) -> dict[str, int]:
    return await aperform(_unique_today(boards))


def _per_day(command: str, day_keys: dict[date, str]) -> Steps[dict[date, int]]:
    replies: list[Any] = yield Batch([Command(command, key) for key in day_keys.values()])
    return dict(zip(day_keys, replies, strict=True))


def unique_by_day(
    board: str | None = None, *, days: int = 30, last: date | None = None
) -> dict[date, int]:
    chosen = _days_until(last, days)
    return perform(_per_day("PFCOUNT", {day: _visitors_key(board, day) for day in chosen}))


def active_by_day(*, days: int = 30, last: date | None = None) -> dict[date, int]:
    """Accounts that were here on each day."""
    chosen = _days_until(last, days)
    return perform(_per_day("BITCOUNT", {day: keys.active_accounts(_name(day)) for day in chosen}))


def _retention(days: int, last: date | None) -> Steps[list[Cohort]]:
    chosen = _days_until(last, days)
    end = chosen[-1]
    pairs = [
        (day, after)
        for day in chosen
        for after in RETURN_AFTER
        if day + timedelta(days=after) <= end
    ]
    replies = yield Batch(
        [
            *[Command("BITCOUNT", keys.active_accounts(_name(day))) for day in chosen],
            *[_returned_call(day, day + timedelta(days=after)) for day, after in pairs],
        ]
    )
    active = dict(zip(chosen, replies, strict=False))
    returned = {pair: reply[1] for pair, reply in zip(pairs, replies[len(chosen) :], strict=True)}
    return [
        Cohort(day, active[day], {after: returned.get((day, after)) for after in RETURN_AFTER})
        for day in chosen
    ]


def _returned_call(day: date, later: date) -> Call:
    first, second = _name(day), _name(later)
    places = [
        keys.active_accounts(first),
        keys.active_accounts(second),
        keys.returned_accounts(first, second),
    ]
    return Call(RETURNED, places)


def retention(*, days: int = 14, last: date | None = None) -> list[Cohort]:
    """For each day: how many accounts were active, and came back after 1, 7 and 30 days."""
    return perform(_retention(days, last))
