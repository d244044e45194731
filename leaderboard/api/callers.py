"""Who calls: an API key, or somebody without one, and what they may do.

Keys live in SQL. Each process remembers what it looked up for `REMEMBER` seconds, so that a hot
path asks SQL once in a while and a key that was revoked or changed is known everywhere in time.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from django.db.models import Q, QuerySet
from django.utils import timezone

from config.sql import Shared
from leaderboard.api.errors import ApiError, board_not_found
from leaderboard.models import ApiKey, Board
from leaderboard.models.api_key import POLICY, PREFIX
from ratelimit import callers, policies
from ratelimit.policy import Policy, PolicyError

if TYPE_CHECKING:
    from leaderboard.access.audit import Actor

logger = logging.getLogger("rostrum.api")

REMEMBER = 3.0  # seconds; with the longest look-up, a change is effective within 5
MOST_REMEMBERED = 10_000
LAST_USED_STEP = timedelta(minutes=1)

ANONYMOUS_POLICY = "api_anonymous"

READ, SUBMIT, MODERATE, ADMIN = ApiKey.Scope.values


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is who is counted by the limits; `boards` None is every board."""

    name: str
    policy: Policy
    key_id: int | None = None
    key_name: str = ""
    scopes: frozenset[str] = frozenset()
    boards: frozenset[int] | None = frozenset()
    expires_at: datetime | None = None
    refused: tuple[str, str] | None = None  # code and sentence, when the key given is no good
    by_ticket: bool = False  # a browser that the holder of the key let in

    @property
    def source(self) -> str:
        """How events name who sent a score."""
        return f"key:{self.key_id}" if self.key_id is not None else "api"

    @property
    def actor(self) -> Actor:
        from leaderboard.access.audit import Actor

        return Actor(f"API key {self.key_name}")

    def holds(self, board: Board) -> bool:
        return self.boards is None or board.pk in self.boards

    def knows_ids(self, board: Board) -> bool:
        """Whether anonymous players are shown by their ids and not by their aliases."""
        return self.key_id is not None and not self.by_ticket and self.holds(board)


_UNKNOWN = ("key_unknown", "This API key is unknown.")
_REVOKED = ("key_revoked", "This API key was revoked.")
_EXPIRED = ("key_expired", "This API key has expired.")
_WITHOUT_MAKER = ("key_stopped", "The account that created this API key is closed.")


def check(caller: Caller) -> None:
    """Raise when a key was sent that does not open anything."""
    refused = caller.refused
    if refused is None and caller.expires_at is not None and caller.expires_at <= timezone.now():
        refused = _EXPIRED
    if refused is not None:
        raise ApiError(401, *refused, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


def check_scope(caller: Caller, scope: str) -> None:
    """Raise unless the caller has the scope at all."""
    if caller.key_id is None:
        raise ApiError(
            401,
            "key_required",
            "This needs an API key: send Authorization: Bearer rk_….",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if scope not in caller.scopes:
        raise ApiError(403, "scope_missing", f"This API key does not have the scope {scope!r}.")


def check_board(caller: Caller, board: Board, scope: str) -> None:
    """Raise unless the caller may do this with this board.

    Public and unlisted boards are read by everyone. A private one does not exist for whoever has
    no key for it.
    """
    private = board.visibility == Board.Visibility.PRIVATE
    if private and not caller.holds(board):
        raise board_not_found()
    if scope == READ and not private:
        return
    check_scope(caller, scope)
    if not caller.holds(board):
        raise ApiError(403, "board_not_allowed", "This API key has no access to this board.")


class Keyring:
    """What this process knows about the keys it was shown."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._known: dict[bytes, tuple[float, Caller]] = {}

    def remembered(self, authorization: bytes) -> Caller | None:
        """The caller behind this header, if it was looked up a moment ago."""
        found = self._known.get(hashlib.sha256(authorization).digest())
        return found[1] if found is not None and self._clock() < found[0] else None

    def look_up(self, authorization: bytes, address: str) -> Caller:
        """Ask SQL. Costs one or two queries; `address` is counted when the key is no good."""
        asked = self._clock()
        caller = _find(authorization, address)
        # A wrong key is remembered too, but not by the address it came from first.
        if caller.refused is None:
            if len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[hashlib.sha256(authorization).digest()] = (asked + REMEMBER, caller)
        return caller

    def forget(self) -> None:
        self._known.clear()


keyring = Keyring()
_BY_ID = secrets.token_bytes(16)
_asking: WeakKeyDictionary[asyncio.AbstractEventLoop, Shared[Caller]] = WeakKeyDictionary()


def identify(authorization: bytes | None, address: str) -> Caller:
    """The caller of a request with this Authorization header from this address."""
    if authorization is None:
        return anonymous(address)
    return keyring.remembered(authorization) or keyring.look_up(authorization, address)


async def aidentify(authorization: bytes | None, address: str) -> Caller:
    """The asynchronous twin; leaves the event loop only to ask SQL."""
    if authorization is None:
        return anonymous(address)
    caller = keyring.remembered(authorization)
    if caller is None:
        # A busy key is forgotten under the eyes of all its callers.
        asking = _asking.setdefault(asyncio.get_running_loop(), Shared())
        caller = await asking.ask(authorization, keyring.look_up, authorization, address)
        if caller.refused is not None:
            caller = anonymous(address, caller.refused)  # not by the address of whoever was first
    return caller


def anonymous(address: str, refused: tuple[str, str] | None = None) -> Caller:
    return Caller(callers.ip_name(address), policies.get(ANONYMOUS_POLICY), refused=refused)


def credential(key_id: int) -> bytes:
    """In place of the header: a key whose id a ticket has proved. No client can
    send it: it begins with a secret of this process."""
    return _BY_ID + str(key_id).encode()


def _find(authorization: bytes, address: str) -> Caller:
    if authorization.startswith(_BY_ID):
        key_id = int(authorization.removeprefix(_BY_ID))
        return replace(_caller(ApiKey.objects.filter(pk=key_id), address), by_ticket=True)
    scheme, _, token = authorization.partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token.startswith(PREFIX.encode()):
        return anonymous(address, ("key_malformed", "Send the key as Authorization: Bearer rk_… ."))
    digest = hashlib.sha256(token).hexdigest()
    return _caller(ApiKey.objects.filter(digest=digest), address)


def _caller(keys: QuerySet[ApiKey], address: str) -> Caller:
    key = keys.select_related("created_by").prefetch_related("boards").first()
    if key is None:
        return anonymous(address, _UNKNOWN)
    if key.revoked_at is not None:
        return anonymous(address, _REVOKED)
    if not key.has_maker:
        return anonymous(address, _WITHOUT_MAKER)
    _touch(key)
    return Caller(
        name=f"key:{key.pk}",
        policy=_policy(key),
        key_id=key.pk,
        key_name=key.name,
        scopes=frozenset(key.scopes),
        boards=None if key.all_boards else frozenset(board.pk for board in key.boards.all()),
        expires_at=key.expires_at,
    )


def _policy(key: ApiKey) -> Policy:
    """The form refuses a senseless rate. A row from elsewhere that has one gets the usual limit."""
    try:
        return key.policy()
    except PolicyError:
        logger.warning("The rate of an API key is not valid", extra={"key": key.pk})
        return policies.get(POLICY)


def _touch(key: ApiKey) -> None:
    """Note the use, at most once a minute."""
    now = timezone.now()
    if key.last_used_at is not None and now - key.last_used_at < LAST_USED_STEP:
        return
    unused = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_STEP)
    ApiKey.objects.filter(unused, pk=key.pk).update(last_used_at=now)
