"""The behaviour Django asks of every session store, as its own suite states it: once for the
synchronous and once for the asynchronous methods. A store's test class adds `backend`."""

from __future__ import annotations

import base64
from datetime import timedelta
from unittest import mock

import pytest
from django.conf import settings
from django.contrib.sessions.backends.base import UpdateError
from django.test import override_settings
from django.utils import timezone


class SessionTestsMixin:
    # No TestCase here: a mixin is not collected by itself.
    backend = None

    def setUp(self):
        self.session = self.backend()
        self.addCleanup(lambda: self.session.delete())

    def pretend_untouched(self):
        self.session.accessed = False
        self.session.modified = False

    def test_new_session(self):
        assert not self.session.modified
        assert not self.session.accessed

    def test_get_empty(self):
        assert self.session.get("cat") is None

    async def test_get_empty_async(self):
        assert await self.session.aget("cat") is None

    def test_store(self):
        self.session["cat"] = "dog"
        assert self.session.modified
        assert self.session.pop("cat") == "dog"

    async def test_store_async(self):
        await self.session.aset("cat", "dog")
        assert self.session.modified
        assert await self.session.apop("cat") == "dog"

    def test_pop(self):
        self.session["some key"] = "exists"
        self.pretend_untouched()
        assert self.session.pop("some key") == "exists"
        assert self.session.accessed
        assert self.session.modified
        assert self.session.get("some key") is None

    async def test_pop_async(self):
        await self.session.aset("some key", "exists")
        self.pretend_untouched()
        assert await self.session.apop("some key") == "exists"
        assert self.session.accessed
        assert self.session.modified
        assert await self.session.aget("some key") is None

    def test_pop_default(self):
        assert self.session.pop("some key", "does not exist") == "does not exist"
        assert self.session.accessed
        assert not self.session.modified

    async def test_pop_default_async(self):
        assert await self.session.apop("some key", "does not exist") == "does not exist"
        assert self.session.accessed
        assert not self.session.modified

    def test_pop_default_named_argument(self):
        assert self.session.pop("some key", default="does not exist") == "does not exist"
        assert not self.session.modified

    def test_pop_no_default_key_error_raised(self):
        with pytest.raises(KeyError):
            self.session.pop("some key")

    async def test_pop_no_default_key_error_raised_async(self):
        with pytest.raises(KeyError):
            await self.session.apop("some key")

    def test_setdefault(self):
        assert self.session.setdefault("foo", "bar") == "bar"
        assert self.session.setdefault("foo", "baz") == "bar"
        assert self.session.accessed
        assert self.session.modified

    async def test_setdefault_async(self):
        assert await self.session.asetdefault("foo", "bar") == "bar"
        assert await self.session.asetdefault("foo", "baz") == "bar"
        assert self.session.accessed
        assert self.session.modified

    def test_update(self):
        self.session.update({"update key": 1})
        assert self.session.accessed
        assert self.session.modified
        assert self.session.get("update key") == 1

    async def test_update_async(self):
        await self.session.aupdate({"update key": 1})
        assert self.session.accessed
        assert self.session.modified
        assert await self.session.aget("update key") == 1

    def test_has_key(self):
        self.session["some key"] = 1
        self.pretend_untouched()
        assert "some key" in self.session
        assert self.session.has_key("some key")
        assert self.session.accessed
        assert not self.session.modified

    async def test_has_key_async(self):
        await self.session.aset("some key", 1)
        self.pretend_untouched()
        assert await self.session.ahas_key("some key")
        assert self.session.accessed
        assert not self.session.modified

    def test_keys_values_items(self):
        assert list(self.session.values()) == []
        assert self.session.accessed
        self.session["x"] = 1
        self.pretend_untouched()
        assert list(self.session.keys()) == ["x"]
        assert list(self.session.values()) == [1]
        assert list(self.session.items()) == [("x", 1)]
        assert self.session.accessed
        assert not self.session.modified

    async def test_keys_values_items_async(self):
        assert list(await self.session.avalues()) == []
        assert self.session.accessed
        await self.session.aset("x", 1)
        self.pretend_untouched()
        assert list(await self.session.akeys()) == ["x"]
        assert list(await self.session.avalues()) == [1]
        assert list(await self.session.aitems()) == [("x", 1)]
        assert self.session.accessed
        assert not self.session.modified

    def test_clear(self):
        self.session["x"] = 1
        self.pretend_untouched()
        assert list(self.session.items()) == [("x", 1)]
        self.session.clear()
        assert list(self.session.items()) == []
        assert self.session.accessed
        assert self.session.modified

    def test_save(self):
        self.session.save()
        assert self.session.exists(self.session.session_key)

    async def test_save_async(self):
        await self.session.asave()
        assert await self.session.aexists(self.session.session_key)

    def test_delete(self):
        self.session.save()
        self.session.delete(self.session.session_key)
        assert not self.session.exists(self.session.session_key)

    async def test_delete_async(self):
        await self.session.asave()
        await self.session.adelete(self.session.session_key)
        assert not await self.session.aexists(self.session.session_key)

    def test_flush(self):
        self.session["foo"] = "bar"
        self.session.save()
        previous = self.session.session_key
        self.session.flush()
        assert not self.session.exists(previous)
        assert self.session.session_key is None
        assert self.session.modified
        assert self.session.accessed

    async def test_flush_async(self):
        await self.session.aset("foo", "bar")
        await self.session.asave()
        previous = self.session.session_key
        await self.session.aflush()
        assert not await self.session.aexists(previous)
        assert self.session.session_key is None
        assert self.session.modified
        assert self.session.accessed

    def test_cycle(self):
        self.session["a"], self.session["b"] = "c", "d"
        self.session.save()
        previous, data = self.session.session_key, list(self.session.items())
        self.session.cycle_key()
        assert not self.session.exists(previous)
        assert self.session.session_key != previous
        assert list(self.session.items()) == data

    async def test_cycle_async(self):
        await self.session.aupdate({"a": "c", "b": "d"})
        await self.session.asave()
        previous, data = self.session.session_key, list(await self.session.aitems())
        await self.session.acycle_key()
        assert not await self.session.aexists(previous)
        assert self.session.session_key != previous
        assert list(await self.session.aitems()) == data

    def test_cycle_with_no_session_cache(self):
        self.session["a"], self.session["b"] = "c", "d"
        self.session.save()
        data = sorted(self.session.items())
        self.session = self.backend(self.session.session_key)
        assert not hasattr(self.session, "_session_cache")
        self.session.cycle_key()
        assert sorted(self.session.items()) == data

    async def test_cycle_with_no_session_cache_async(self):
        await self.session.aupdate({"a": "c", "b": "d"})
        await self.session.asave()
        data = sorted(await self.session.aitems())
        self.session = self.backend(self.session.session_key)
        assert not hasattr(self.session, "_session_cache")
        await self.session.acycle_key()
        assert sorted(await self.session.aitems()) == data

    def test_save_does_not_clear_data(self):
        self.session["a"] = "b"
        self.session.save()
        assert self.session["a"] == "b"

    async def test_save_does_not_clear_data_async(self):
        await self.session.aset("a", "b")
        await self.session.asave()
        assert await self.session.aget("a") == "b"

    def test_invalid_key(self):
        # An id that was guessed or has expired gives way to a new one.
        session = self.backend("1")
        session.save()
        assert session.session_key != "1"
        assert session.get("cat") is None
        session.delete()

    async def test_invalid_key_async(self):
        session = self.backend("1")
        await session.asave()
        assert session.session_key != "1"
        assert await session.aget("cat") is None
        await session.adelete()

    def test_session_key_empty_string_invalid(self):
        self.session._session_key = ""
        assert self.session.session_key is None

    def test_session_key_too_short_invalid(self):
        self.session._session_key = "1234567"
        assert self.session.session_key is None

    def test_session_key_valid_string_saved(self):
        self.session._session_key = "12345678"
        assert self.session.session_key == "12345678"

    def test_session_key_is_read_only(self):
        with pytest.raises(AttributeError):
            self.session.session_key = self.session._get_new_session_key()

    def test_default_expiry(self):
        assert self.session.get_expiry_age() == settings.SESSION_COOKIE_AGE
        # Closing the browser ends it sooner; the store keeps it as long as any other.
        self.session.set_expiry(0)
        assert self.session.get_expiry_age() == settings.SESSION_COOKIE_AGE

    async def test_default_expiry_async(self):
        assert await self.session.aget_expiry_age() == settings.SESSION_COOKIE_AGE
        await self.session.aset_expiry(0)
        assert await self.session.aget_expiry_age() == settings.SESSION_COOKIE_AGE

    def test_custom_expiry_seconds(self):
        modification = timezone.now()
        self.session.set_expiry(10)
        self.check_ten_seconds(modification)

    def test_custom_expiry_timedelta(self):
        modification = timezone.now()
        with mock.patch.object(timezone, "now", return_value=modification):
            self.session.set_expiry(timedelta(seconds=10))
        self.check_ten_seconds(modification)

    def test_custom_expiry_datetime(self):
        modification = timezone.now()
        self.session.set_expiry(modification + timedelta(seconds=10))
        self.check_ten_seconds(modification)

    def check_ten_seconds(self, modification):
        date = self.session.get_expiry_date(modification=modification)
        assert date == modification + timedelta(seconds=10)
        assert self.session.get_expiry_age(modification=modification) == 10

    async def test_custom_expiry_async(self):
        modification = timezone.now()
        for value in (10, modification + timedelta(seconds=10)):
            await self.session.aset_expiry(value)
            date = await self.session.aget_expiry_date(modification=modification)
            assert date == modification + timedelta(seconds=10)
            assert await self.session.aget_expiry_age(modification=modification) == 10

    def test_custom_expiry_reset(self):
        self.session.set_expiry(None)
        self.session.set_expiry(10)
        self.session.set_expiry(None)
        assert self.session.get_expiry_age() == settings.SESSION_COOKIE_AGE

    async def test_custom_expiry_reset_async(self):
        await self.session.aset_expiry(None)
        await self.session.aset_expiry(10)
        await self.session.aset_expiry(None)
        assert await self.session.aget_expiry_age() == settings.SESSION_COOKIE_AGE

    def test_get_expire_at_browser_close(self):
        for default in (False, True):
            with override_settings(SESSION_EXPIRE_AT_BROWSER_CLOSE=default):
                self.session.set_expiry(10)
                assert self.session.get_expire_at_browser_close() is False
                self.session.set_expiry(0)
                assert self.session.get_expire_at_browser_close() is True
                self.session.set_expiry(None)
                assert self.session.get_expire_at_browser_close() is default

    async def test_get_expire_at_browser_close_async(self):
        await self.session.aset_expiry(0)
        assert await self.session.aget_expire_at_browser_close() is True
        await self.session.aset_expiry(None)
        assert await self.session.aget_expire_at_browser_close() is False

    def test_decode(self):
        data = {"a test key": "a test value"}
        assert self.session.decode(self.session.encode(data)) == data

    def test_decode_failure_logged_to_security(self):
        for encoded in (base64.b64encode(b"flaskdj:alkdjf").decode(), "bad:encoded:value"):
            with self.assertLogs("django.security.SuspiciousSession", "WARNING") as logs:
                assert self.session.decode(encoded) == {}
            assert "Session data corrupted" in logs.output[0]

    def test_actual_expiry(self):
        self.session["foo"] = "bar"
        self.session.set_expiry(-timedelta(seconds=10))
        self.session.save()
        # With an expiry in the past the session is over at once.
        assert "foo" not in self.backend(self.session.session_key)

    async def test_actual_expiry_async(self):
        await self.session.aset("foo", "bar")
        await self.session.aset_expiry(-timedelta(seconds=10))
        await self.session.asave()
        assert not await self.backend(self.session.session_key).ahas_key("foo")

    def test_session_load_does_not_create_record(self):
        # An unknown id is not taken over, or anybody could choose the id of their victim.
        session = self.backend("someunknownkey")
        session.load()
        assert session.session_key is None
        assert session.exists(session.session_key) is False
        assert not self.session.exists("someunknownkey")

    async def test_session_load_does_not_create_record_async(self):
        session = self.backend("someunknownkey")
        await session.aload()
        assert session.session_key is None
        assert await session.aexists(session.session_key) is False

    def test_session_save_does_not_resurrect_session_logged_out_in_other_context(self):
        self.session.create()
        key = self.session.session_key
        mine, other = self.backend(key), self.backend(key)
        mine["test_data"] = "value1"
        other["test_data"] = "value2"
        other.save()
        mine.delete()
        with pytest.raises(UpdateError):
            other.save()
        assert self.backend(key).load() == {}

    async def test_save_does_not_resurrect_async(self):
        await self.session.acreate()
        other = self.backend(self.session.session_key)
        await other.aset("test_data", "value")
        await self.session.adelete()
        with pytest.raises(UpdateError):
            await other.asave()
        assert await self.backend(other.session_key).aload() == {}

    async def test_clear_expired(self):
        await self.session.asave()
        self.backend.clear_expired()
        await self.backend.aclear_expired()
        assert await self.session.aexists(self.session.session_key)
