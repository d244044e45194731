"""Who came by: unique visitors and active accounts per day, and how many came back.

Visitors are counted in HyperLogLogs, which keep no visitor: 12 KiB a day, whatever their number,
with a standard error of 0.81 %. Accounts are bits at the place of their id, so that days can be
intersected. Neither holds an address, and programs that identify themselves are left out.

A page view is only noted; a thread sends the notes about once a second, so no page waits for it. A
process that is killed loses a second of visits.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from config.redis.calls import Batch, Call, Command, Steps
from config.redis.connections import OUTAGE_ERRORS, get_redis, perform
from sessions_app import keys, visitors
from sessions_app.functions import LIBRARY

RETURNED = LIBRARY["count_returned"]

KEPT = 70 * 24 * 3600  # a month, and the month after it for those who came back
STANDARD_ERROR = 0.0081  # of a HyperLogLog with 16,384 registers
FLUSH_SECONDS = 1.0
MOST_WAITING = 100_000  # while Redis is away; beyond it, visits are dropped
LARGEST_ID = 2**32 - 1  # a bitmap ends there
RETURN_AFTER = (1, 7, 30)

Note = tuple[str, str | int]  # a key, and a visitor or the id of an account

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
    """The accounts active on one day; `returned[n]` is None until n days later."""

    day: date
    active: int
    returned: dict[int, int | None]

    def share(self, days: int) -> float | None:
        returned = self.returned[days]
        return None if returned is None or not self.active else returned / self.active


class _Gathered:
    """Visits that were noted and not yet sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.notes: set[Note] = set()
        self.wake = threading.Event()
        self.thread: threading.Thread | None = None

    def add(self, notes: set[Note]) -> None:
        with self.lock:
            if len(self.notes) >= MOST_WAITING:
                return
            self.notes |= notes
            if settings.VISITS_IN_BACKGROUND and (
                self.thread is None or not self.thread.is_alive()
            ):
                self.thread = threading.Thread(target=self._run, name="visits", daemon=True)
                self.thread.start()
        self.wake.set()

    def take(self) -> set[Note]:
        with self.lock:
            taken, self.notes = self.notes, set()
        return taken

    def give_back(self, notes: set[Note]) -> None:
        with self.lock:
            self.notes |= notes

    def _run(self) -> None:
        while self.wake.wait():
            self.wake.clear()
            time.sleep(FLUSH_SECONDS)
            try:
                flush()
            except OUTAGE_ERRORS:
                self.wake.set()  # they were given back; the next round may succeed
            except Exception:
                logger.exception("Visits could not be counted")


_gathered = _Gathered()


@atexit.register
def _flush_the_rest() -> None:
    if _gathered.notes:
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
    today = timezone.localdate()
    notes: set[Note] = {(_visitors_key(place, today), visitor) for place in {None, board}}
    if account is not None and account <= LARGEST_ID:
        notes.add((_active_key(today), account))
    _gathered.add(notes)


def flush() -> None:
    """Send what was noted, in one round trip."""
    notes = _gathered.take()
    visitors_by_key: defaultdict[str, list[str]] = defaultdict(list)
    commands = []
    for key, value in notes:
        if isinstance(value, int):
            commands.append(Command("SETBIT", key, value, 1))
        else:
            visitors_by_key[key].append(value)
    commands += [Command("PFADD", key, *names) for key, names in visitors_by_key.items()]
    commands += [Command("EXPIRE", key, KEPT, "NX") for key in {key for key, _ in notes}]
    try:
        Batch(commands).send(get_redis())
    except Exception:
        _gathered.give_back(notes)
        raise


def discard() -> None:
    """Drop what was noted and not yet sent."""
    _gathered.take()


# Reading.


def _visitors_key(board: str | None, day: date) -> str:
    name = day.isoformat()
    return keys.site_visitors(name) if board is None else keys.board_visitors(board, name)


def _active_key(day: date) -> str:
    return keys.active_accounts(day.isoformat())


def _days_until(last: date | None, days: int) -> list[date]:
    last = last or timezone.localdate()
    return [last - timedelta(days=back) for back in reversed(range(days))]


def unique_steps(board: str | None, days: int, last: date | None) -> Steps[Estimate]:
    # PFCOUNT of several keys merges them and counts the result.
    day_keys = [_visitors_key(board, day) for day in _days_until(last, days)]
    return Estimate(int((yield Command("PFCOUNT", *day_keys))))


def unique(board: str | None = None, *, days: int = 1, last: date | None = None) -> Estimate:
    """Different visitors over the `days` until today (or `last`): 7 for a week, 30 for a month."""
    return perform(unique_steps(board, days, last))


def unique_by_day(
    board: str | None = None, *, days: int = 30, last: date | None = None
) -> dict[date, int]:
    chosen = _days_until(last, days)
    return _per_day(chosen, [Command("PFCOUNT", _visitors_key(board, day)) for day in chosen])


def active_by_day(*, days: int = 30, last: date | None = None) -> dict[date, int]:
    """Accounts that were here on each day."""
    chosen = _days_until(last, days)
    return _per_day(chosen, [Command("BITCOUNT", _active_key(day)) for day in chosen])


def _per_day(days: list[date], commands: list[Command]) -> dict[date, int]:
    return dict(zip(days, Batch(commands).send(get_redis()), strict=True))


def retention(*, days: int = 14, last: date | None = None) -> list[Cohort]:
    """For each day: how many accounts were active, and came back after 1, 7 and 30 days."""
    active = active_by_day(days=days, last=last)
    end = max(active)
    pairs = [
        (day, after)
        for day in active
        for after in RETURN_AFTER
        if day + timedelta(days=after) <= end
    ]
    calls = [_returned_call(day, day + timedelta(days=after)) for day, after in pairs]
    replies = Batch(calls).send(get_redis())
    returned = {pair: reply[1] for pair, reply in zip(pairs, replies, strict=True)}
    return [
        Cohort(day, number, {after: returned.get((day, after)) for after in RETURN_AFTER})
        for day, number in active.items()
    ]


def _returned_call(day: date, later: date) -> Call:
    both = keys.returned_accounts(day.isoformat(), later.isoformat())
    return Call(RETURNED, [_active_key(day), _active_key(later), both])
