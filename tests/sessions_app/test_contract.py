"""What Django's documentation promises of `request.session`, compared with a plain dict.

Every statement holds for the synchronous methods and for their asynchronous twins: each test runs
with both, through `Session`.
"""

import asyncio
from datetime import timedelta

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.utils import timezone
from hypothesis import settings as Settings  # noqa: N812 pytest has a `settings` too
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from config.redis.connections import close_async_redis
from sessions_app.backend import SessionStore

UNKNOWN = "nobodyhasthiskeyofthirtytwochars"
NAMES = st.sampled_from(["cart", "theme", "x", "with space", "ü", "_private"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


class Sync:
    def run(self, session, method, *args, **kwargs):
        method = {"set": "__setitem__"}.get(method, method)
        return getattr(session, method)(*args, **kwargs)

    def close(self):
        pass


class Async:
    """The twin of a method has an `a` before its name."""

    def __init__(self):
        self.runner = asyncio.Runner()

    def run(self, session, method, *args, **kwargs):
        return self.runner.run(getattr(session, f"a{method}")(*args, **kwargs))

    def close(self):
        self.runner.run(close_async_redis())
        self.runner.close()


WAYS = {"sync": Sync, "async": Async}


class Session:
    """One session store; each method goes the way it was given."""

    def __init__(self, way, key=None):
        self.way, self.store = way, SessionStore(key)

    def __getattr__(self, method):
        return lambda *args, **kwargs: self.way.run(self.store, method, *args, **kwargs)

    @property
    def key(self):
        return self.store.session_key

    def again(self):
        """The session as the next request of the same browser opens it."""
        return Session(self.way, self.key)

    def untouched(self):
        self.store.accessed = self.store.modified = False
        return self


@pytest.fixture(params=WAYS)
def session(request):
    way = WAYS[request.param]()
    session = Session(way)
    yield session
    session.delete()
    way.close()


# ---- the dictionary ------------------------------------------------------------------------------


class SessionAndDict(RuleBasedStateMachine):
    """Requests of one browser, one after the other, and a dict that hears the same."""

    way = Sync

    @initialize()
    def open(self):
        self.channel = self.way()
        self.session = Session(self.channel)
        self.data = {}

    @rule(name=NAMES, value=VALUES)
    def set(self, name, value):
        self.session.set(name, value)
        self.data[name] = value

    @rule(name=NAMES)
    def pop(self, name):
        assert self.session.pop(name, "nothing") == self.data.pop(name, "nothing")

    @rule(name=NAMES)
    def pop_without_a_default(self, name):
        if name in self.data:
            assert self.session.pop(name) == self.data.pop(name)
        else:
            with pytest.raises(KeyError):
                self.session.pop(name)

    @rule(name=NAMES, value=VALUES)
    def setdefault(self, name, value):
        assert self.session.setdefault(name, value) == self.data.setdefault(name, value)

    @rule(values=st.dictionaries(NAMES, VALUES, max_size=3))
    def update(self, values):
        self.session.update(values)
        self.data.update(values)

    @rule(name=NAMES)
    def get(self, name):
        assert self.session.get(name) == self.data.get(name)
        assert self.session.get(name, 5) == self.data.get(name, 5)
        assert self.session.has_key(name) == (name in self.data)

    @rule()
    def clear(self):
        self.session.store.clear()  # has no twin: it asks nobody
        self.data.clear()

    @rule()
    def next_request(self):
        self.session.save()
        self.session = self.session.again()

    @rule()
    def sign_in(self):
        """The key changes, so that nobody who knew the old one is in; the data stays."""
        before = self.session.key
        self.session.cycle_key()
        assert self.session.key != before
        assert not (before and self.session.exists(before))

    @rule()
    def sign_out(self):
        """Key and data are gone."""
        before = self.session.key
        self.session.flush()
        assert self.session.key is None
        assert not (before and self.session.exists(before))
        self.data.clear()

    @invariant()
    def they_agree(self):
        if not hasattr(self, "session"):
            return
        assert dict(self.session.items()) == self.data
        assert set(self.session.keys()) == set(self.data)
        assert len(list(self.session.values())) == len(self.data)

    def teardown(self):
        if hasattr(self, "session"):
            self.session.delete()
            self.channel.close()


@pytest.mark.parametrize("way", WAYS)
def test_it_behaves_like_a_dict_that_outlives_the_request(way):
    machine = type(way, (SessionAndDict,), {"way": WAYS[way]})
    run_state_machine_as_test(
        machine, settings=Settings(max_examples=25, stateful_step_count=25, deadline=None)
    )


def test_square_brackets_work_too():
    session = SessionStore()
    session["cart"] = [1]
    assert "cart" in session
    assert session["cart"] == [1]
    del session["cart"]
    assert "cart" not in session
    with pytest.raises(KeyError):
        session["cart"]


@pytest.mark.parametrize("read", ["get", "has_key", "pop"])
def test_reading_is_noticed_and_changes_nothing(session, read):
    arguments = ["cart", None] if read == "pop" else ["cart"]
    getattr(session.untouched(), read)(*arguments)
    assert session.store.accessed
    assert not session.store.modified


@pytest.mark.parametrize(
    ("write", "arguments"),
    [("set", ["cart", 1]), ("update", [{"cart": 1}]), ("setdefault", ["cart", 1])],
)
def test_a_change_is_noticed_so_that_the_middleware_saves_it(session, write, arguments):
    getattr(session.untouched(), write)(*arguments)
    assert session.store.accessed
    assert session.store.modified


def test_a_new_session_is_untouched(session):
    assert not session.store.accessed
    assert not session.store.modified


# ---- keys ----------------------------------------------------------------------------------------


def test_a_session_exists_from_its_first_save_until_it_is_deleted(session):
    session.save()
    assert session.exists(session.key)
    session.delete(session.key)
    assert not session.exists(session.key)


def test_a_key_that_we_did_not_give_out_is_not_taken_over(session):
    """Or an attacker could choose the key of somebody's session."""
    chosen = Session(session.way, UNKNOWN)
    assert chosen.load() == {}
    assert chosen.key is None
    chosen.set("cart", 1)
    chosen.save()
    assert chosen.key != UNKNOWN
    assert not session.exists(UNKNOWN)
    chosen.delete()


def test_a_session_that_was_signed_out_elsewhere_does_not_come_back(session):
    session.save()
    other = session.again()
    other.set("cart", 1)
    session.delete()
    with pytest.raises(UpdateError):
        other.save()
    assert session.again().load() == {}


@pytest.mark.parametrize("key", ["", "short"])
def test_a_key_that_can_be_guessed_is_none(key):
    assert SessionStore(key).session_key is None


def test_a_key_cannot_be_chosen():
    with pytest.raises(AttributeError):
        SessionStore().session_key = UNKNOWN


# ---- expiry --------------------------------------------------------------------------------------


def test_without_an_expiry_of_its_own_it_lasts_as_the_settings_say(session, settings):
    settings.SESSION_COOKIE_AGE = 1234
    assert session.get_expiry_age() == 1234
    session.set_expiry(10)
    session.set_expiry(None)
    assert session.get_expiry_age() == 1234


@pytest.mark.parametrize("form", ["seconds", "moment", "span"])
def test_an_expiry_counts_from_the_last_change(session, form, monkeypatch):
    changed = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: changed)
    span = timedelta(minutes=5)
    session.set_expiry({"seconds": 300, "moment": changed + span, "span": span}[form])
    assert session.get_expiry_age(modification=changed) == 300
    assert session.get_expiry_date(modification=changed) == changed + span


@pytest.mark.parametrize("default", [True, False])
def test_the_end_of_the_browser_is_an_expiry_too(session, settings, default):
    settings.SESSION_EXPIRE_AT_BROWSER_CLOSE = default
    assert session.get_expire_at_browser_close() is default
    session.set_expiry(0)
    assert session.get_expire_at_browser_close() is True
    session.set_expiry(60)
    assert session.get_expire_at_browser_close() is False


def test_what_has_expired_is_gone(session):
    session.set("cart", 1)
    session.set_expiry(-timedelta(seconds=10))
    session.save()
    assert session.again().load() == {}


def test_there_is_nothing_to_clear_because_redis_forgets_by_itself(session):
    session.save()
    session.clear_expired()
    assert session.exists(session.key)


# ---- the rest of the interface -------------------------------------------------------------------


def test_the_test_cookie_shows_that_cookies_work(session):
    session.set_test_cookie()
    session.save()
    later = session.again()
    assert later.test_cookie_worked()
    later.delete_test_cookie()
    assert not later.test_cookie_worked()


def test_encoded_data_comes_back_and_tampered_data_is_nothing():
    store = SessionStore()
    encoded = store.encode({"cart": [1, "ü"]})
    assert store.decode(encoded) == {"cart": [1, "ü"]}
    assert store.decode(encoded[:-2]) == {}
