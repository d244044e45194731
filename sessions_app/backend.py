"""Django's session store on Redis: one hash per session, only changed fields written.

| field      | holds                                                                    |
|------------|--------------------------------------------------------------------------|
| `.<name>`  | a value of the session, as JSON                                          |
| `started`  | seconds since 1970                                                       |
| `active`   | the last use, in seconds since 1970, written at most once a minute       |
| `agent`    | the browser's own description, cut to 300 characters                     |
| `address`  | the client's address without its last part                               |
| `user`     | id of the signed-in user                                                 |
| `indexed`  | the expiry under which the user's index knows the session                |

The hash is stored under the SHA-256 of the session id: who reads Redis cannot take over a session.
A session and its user's index live in different slots of a cluster, so no function can write both.
The index is written first and the session deleted first: what a crash can leave between the two
is an entry without a session, which the next look at the index drops, never a session that its
owner cannot see. At a sign-in or a rotation the entry is written twice: before the session with a
score one second too low, and afterwards with the right one. A reader that finds the first entry
without its session drops it only while it has that score.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import (
    VALID_KEY_CHARS,
    CreateError,
    SessionBase,
    UpdateError,
)
from django.contrib.sessions.exceptions import SessionInterrupted
from django.utils.crypto import get_random_string

from config.redis.calls import Call, Command, Steps
from config.redis.connections import aperform, perform
from sessions_app import keys
from sessions_app.encoding import UNCHANGING, decode, encode, encode_again, field_name
from sessions_app.functions import LIBRARY

SAVE = LIBRARY["save_session"]
DELETE = LIBRARY["delete_session"]
INDEX = LIBRARY["index_session"]
LIST = LIBRARY["list_sessions"]
DROP = LIBRARY["drop_sessions"]

ACTIVITY_STEP = 60  # seconds between two writes of `active`
# The index may name an expiry up to this much too late. Without it, every save of a signed-in
# session would cost a second round trip to move its score by seconds.
INDEX_SLACK = 24 * 3600
SESSIONS_PER_USER = 100

logger = logging.getLogger("django.security.SuspiciousSession")


def digest_of(session_key: str) -> str:
    """The name of a session in Redis."""
    return hashlib.sha256(session_key.encode()).hexdigest()


def end_session(digest: str, user_id: str = "") -> Steps[bool]:
    """Delete a session, publish that it ended, and remove it from its user's index."""
    owner = yield Call(DELETE, [keys.session(digest)], [digest, keys.sessions_ended(), user_id])
    if owner:
        yield Command("ZREM", keys.user_sessions(owner.decode()), digest)
    return owner is not None


def entries(reply: list[bytes]) -> list[tuple[str, str]]:
    """Digest and score of each entry of an index, from the flat reply of a function."""
    texts = [text.decode() for text in reply]
    return list(zip(texts[::2], texts[1::2], strict=True))


def parse_ended(message: bytes) -> str:
    """The digest in a message of the channel `keys.sessions_ended()`; compare with `digest_of`."""
    return message.decode("ascii")


class SessionStore(SessionBase):
    """What `SESSION_ENGINE = "sessions_app.backend"` gives to every request as `request.session`.

    Each method of SessionBase that talks to the store exists here twice, as one line each around
    the same generator: see `config.redis.calls`.
    """

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key)
        self._digest = ("", "")  # a session id and its digest
        # Describes the browser, set by the middleware; called only when it is about to be written.
        self.describe_client: Callable[[], dict[str, str]] = dict
        self._forget()

    def _forget(self) -> None:
        # The data fields as Redis has them, encoded; None: not known, so a save replaces all.
        self._stored: dict[str, bytes] | None = None
        # The same, decoded: an immutable value that is still the same object has not changed.
        self._loaded: dict[str, Any] = {}
        self._user = ""
        self._indexed = 0.0
        self._active = 0.0

    @property
    def digest(self) -> str:
        """The SHA-256 of the session id; empty when there is no session yet."""
        session_key = self.session_key
        if not session_key:
            return ""
        if self._digest[0] != session_key:
            self._digest = (session_key, digest_of(session_key))
        return self._digest[1]

    # Loading: one round trip.

    def _load(self) -> Steps[dict[str, Any]]:
        if self.session_key is None:
            return {}
        reply = yield Command("HGETALL", keys.session(self.digest), may_repeat=True)
        if not reply:
            self._session_key = None
            self._forget()
            return {}
        stored = self._stored = {}
        data: dict[str, Any] = {}
        for field, value in reply.items():
            if field[:1] != b".":
                continue
            name = field[1:].decode()
            stored[name] = value
            try:
                data[name] = decode(value)
            except ValueError:
                logger.warning("A session field could not be read and was left out")
        self._loaded = data.copy()
        self._user = reply.get(b"user", b"").decode()
        self._indexed = float(reply.get(b"indexed", 0))
        # A session that was made outside a request gets its description at first use.
        self._active = float(reply.get(b"active", 0)) if b"agent" in reply else 0.0
        return data

    def load(self) -> dict[str, Any]:
        return perform(self._load())

    def read_as_empty(self) -> None:
        """Read as empty for the rest of this request, because Redis is away. It keeps its key, and
        so the browser keeps its cookie."""
        self._session_cache: dict[str, Any] = {}

    async def aload(self) -> dict[str, Any]:
        return await aperform(self._load())

    # Saving: one round trip, and a second one when the user's index changes.

    def _data(self, no_load: bool) -> Steps[dict[str, Any]]:
        self.accessed = True
        if not hasattr(self, "_session_cache"):
            self._session_cache = {} if no_load else (yield from self._load())
        data: dict[str, Any] = self._session_cache
        return data

    def _save(self, must_create: bool = False) -> Steps[None]:
        if self.session_key is None:
            return (yield from self._create())
        data = yield from self._data(no_load=must_create)
        if self.session_key is None:  # it was gone when we looked
            raise UpdateError
        known = {} if must_create or self._stored is None else self._stored
        encoded: dict[str, bytes] = {}
        changes: list[Any] = []
        loaded = self._loaded
        for key, value in data.items():
            name = key if type(key) is str else field_name(key)
            before_save = known.get(name)
            if before_save is None:
                text = encode(value)
            elif type(value) in UNCHANGING and loaded.get(name) is value:
                text = before_save
            else:
                text = encode_again(value, before_save)
            encoded[name] = text
            if text != before_save:
                changes += ("." + name, text)
        removed = ["." + name for name in known if name not in encoded]
        age = self._age(data.get("_session_expiry"))

        now = time.time()
        user = str(data.get(SESSION_KEY) or "")
        before = self._user
        is_new_to_index = bool(user) and (must_create or user != before)
        if is_new_to_index or (user and now + age > self._indexed):
            indexed = math.ceil(now + age) + INDEX_SLACK
            yield from self._add_to_index(user, indexed - is_new_to_index)
            changes += ("user", user, "indexed", indexed)
            self._indexed = indexed
        elif not user and (before or self._stored is None):
            removed += ["user", "indexed"]
        if must_create:
            changes += ("started", int(now))
        if must_create or now - self._active >= ACTIVITY_STEP:
            changes += self._activity(now)

        mode = "create" if must_create else "replace" if self._stored is None else "update"
        arguments = [mode, int(age * 1000), len(removed), *removed, *changes]
        if not (yield Call(SAVE, [keys.session(self.digest)], arguments)):
            raise CreateError if must_create else UpdateError
        if is_new_to_index:
            yield Command("ZADD", keys.user_sessions(user), self._indexed, self.digest)
        if before and before != user and not must_create:
            yield Command("ZREM", keys.user_sessions(before), self.digest)
        self._stored = encoded
        self._loaded = data.copy()
        self._user = user

    def _age(self, expiry: Any) -> float:
        """As `get_expiry_age`, which reads the clock even when it does not need it."""
        if isinstance(expiry, str | datetime):
            return self.get_expiry_age(expiry=expiry)
        return expiry or self.get_session_cookie_age()

    def _add_to_index(self, user: str, expiry: int) -> Steps[None]:
        index = [keys.user_sessions(user)]
        surplus = yield Call(INDEX, index, [self.digest, expiry, SESSIONS_PER_USER])
        for digest, score in entries(surplus):
            if not (yield from end_session(digest, user)):
                yield Call(DROP, index, [digest, score])

    def _activity(self, now: float) -> list[Any]:
        self._active = now
        fields: list[Any] = ["active", int(now)]
        for name, value in self.describe_client().items():
            fields += (name, value)
        return fields

    def save(self, must_create: bool = False) -> None:
        perform(self._save(must_create))

    async def asave(self, must_create: bool = False) -> None:
        await aperform(self._save(must_create))

    def _touch(self) -> Steps[None]:
        now = time.time()
        if self._stored is not None and self._user and now - self._active >= ACTIVITY_STEP:
            fields = self._activity(now)
            yield Call(SAVE, [keys.session(self.digest)], ["update", "", 0, *fields])

    def touch(self) -> None:
        """Note that a signed-in session is in use; writes at most once a minute."""
        perform(self._touch())

    # Creating and rotating.

    def _get_new_session_key(self) -> str:
        # 165 random bits, and the function refuses one that exists: no need to check first.
        return get_random_string(32, VALID_KEY_CHARS)

    async def _aget_new_session_key(self) -> str:
        return self._get_new_session_key()

    def _create(self) -> Steps[None]:
        while True:
            self._session_key = self._get_new_session_key()
            try:
                yield from self._save(must_create=True)
            except CreateError:
                continue
            self.modified = True
            return

    def create(self) -> None:
        perform(self._create())

    async def acreate(self) -> None:
        await aperform(self._create())

    def _cycle_key(self) -> Steps[None]:
        data = yield from self._data(no_load=self.session_key is None)
        old, was_signed_in = self.digest, bool(self._user)
        yield from self._create()
        self._session_cache = data
        if old and not (yield from end_session(old)) and was_signed_in:
            # Signed out elsewhere while we rotated: the new key must not outlive that.
            yield from end_session(self.digest)
            self._session_key = None
            self._forget()
            raise SessionInterrupted("The session was signed out while its key was changed.")

    def cycle_key(self) -> None:
        perform(self._cycle_key())

    async def acycle_key(self) -> None:
        await aperform(self._cycle_key())

    # Checking and deleting.

    def _exists(self, session_key: str | None) -> Steps[bool]:
        if not session_key:
            return False
        key = keys.session(digest_of(session_key))
        return bool((yield Command("EXISTS", key, may_repeat=True)))

    def exists(self, session_key: str | None) -> bool:
        return perform(self._exists(session_key))

    async def aexists(self, session_key: str | None) -> bool:
        return await aperform(self._exists(session_key))

    def _delete(self, session_key: str | None) -> Steps[None]:
        session_key = session_key or self.session_key
        if session_key:
            yield from end_session(digest_of(session_key))

    def delete(self, session_key: str | None = None) -> None:
        perform(self._delete(session_key))

    async def adelete(self, session_key: str | None = None) -> None:
        await aperform(self._delete(session_key))

    def flush(self) -> None:
        super().flush()
        self._forget()

    async def aflush(self) -> None:
        await super().aflush()
        self._forget()

    def clear(self) -> None:
        super().clear()
        # What Redis holds may never have been loaded: the next save replaces all of it.
        self._stored = None

    @classmethod
    def clear_expired(cls) -> None:
        """Redis removes expired sessions by itself."""

    @classmethod
    async def aclear_expired(cls) -> None:
        """The asynchronous twin."""
