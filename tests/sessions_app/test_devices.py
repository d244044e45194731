"""Where one is signed in, and signing out from afar."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from config.redis.connections import get_redis
from sessions_app import devices, keys
from sessions_app.backend import SessionStore, digest_of
from sessions_app.devices import name_client, shorten_address

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"
)


@pytest.fixture
def ann():
    return User.objects.create_user("ann", password="x")


def browser(user, agent=FIREFOX, address="203.0.113.77"):
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    client.force_login(user)
    client.get("/accounts/devices/")
    return client


def digest(client):
    return digest_of(client.cookies["sessionid"].value)


def is_signed_in(client):
    return client.get("/accounts/devices/").status_code == 200


def sign_out(client, **form):
    return client.post("/accounts/devices/sign-out/", form)


def test_the_page_lists_each_device_with_this_one_first(ann):
    phone, laptop = browser(ann, SAFARI, "2001:db8:1:2::3"), browser(ann)
    page = laptop.get("/accounts/devices/").text
    assert page.count("This device") == 1
    assert page.index("Firefox 143") < page.index("This device") < page.index("Mobile Safari 18")
    assert "203.0.113.…" in page
    assert "203.0.113.77" not in page
    assert "2001:0db8:0001:…" in page
    first, second = devices.list_devices(ann.pk, current=digest(laptop))
    assert first.is_current
    assert second.digest == digest(phone)
    assert first.started <= first.active


def test_neither_page_nor_redis_shows_the_session_id_or_the_whole_address(ann, redis_client):
    client = browser(ann)
    session_id = client.cookies["sessionid"].value
    assert session_id not in client.get("/accounts/devices/").text
    for key in redis_client.scan_iter("session:*"):
        kept = key + redis_client.dump(key)
        assert session_id.encode() not in kept
        assert b"203.0.113.77" not in kept


def test_markup_in_a_user_agent_stays_text(ann):
    client = browser(ann, "<script>alert(1)</script> Firefox/<b>143</b>")
    page = client.get("/accounts/devices/").text
    assert "<script>alert" not in page
    assert "<b>143" not in page


def test_a_user_agent_of_any_size_is_cut(ann, redis_client):
    client = browser(ann, "Firefox/143 " + "x" * 100_000)
    assert len(redis_client.hget(keys.session(digest(client)), "agent")) == devices.LONGEST_AGENT


def test_one_device_is_signed_out(ann):
    laptop, phone = browser(ann), browser(ann)
    assert sign_out(laptop, device=digest(phone)).url == "/accounts/devices/"
    assert not is_signed_in(phone)
    assert is_signed_in(laptop)
    assert sign_out(laptop, device=digest(phone)).status_code == 404


def test_nobody_signs_out_somebody_elses_device(ann):
    mine, theirs = browser(ann), browser(User.objects.create_user("bob"))
    assert sign_out(mine, device=digest(theirs)).status_code == 404
    assert is_signed_in(theirs)


def test_all_others_are_signed_out(ann):
    laptop, *others = [browser(ann) for _ in range(4)]
    response = laptop.post("/accounts/devices/sign-out/", {"scope": "others"}, follow=True)
    assert "3 other devices were signed out" in response.text
    assert is_signed_in(laptop)
    assert not any(is_signed_in(other) for other in others)


@pytest.mark.parametrize("form", [{"scope": "all"}, {"device": "mine"}])
def test_signing_out_everywhere_or_here_ends_this_session_too(ann, redis_client, form):
    laptop, phone = browser(ann), browser(ann)
    if "device" in form:
        form = {"device": digest(laptop)}
    assert sign_out(laptop, **form).url == "/accounts/login/"
    assert not is_signed_in(laptop)
    assert is_signed_in(phone) is ("device" in form)


def test_an_entry_without_a_session_is_dropped_at_the_next_look(ann, redis_client):
    client = browser(ann)
    redis_client.zadd(keys.user_sessions(ann.pk), {"0" * 64: 9e9})
    assert len(devices.list_devices(ann.pk)) == 1
    assert redis_client.zrange(keys.user_sessions(ann.pk), 0, -1) == [digest(client).encode()]


def test_signing_out_everywhere_catches_a_session_that_rotates_meanwhile(ann, redis_client):
    """The new key enters the index after the first look, before the old one is deleted."""
    client = browser(ann)
    store = SessionStore(client.cookies["sessionid"].value)
    store.get("x")
    steps = devices._sign_out_all(str(ann.pk), "")
    server = get_redis()
    first_look = steps.send(None).send(server)
    store.cycle_key()
    try:
        step = steps.send(first_look)
        while True:
            step = steps.send(step.send(server))
    except StopIteration:
        pass
    assert redis_client.keys("session:*") == []


def test_last_use_is_noted_without_a_write_per_request(ann, redis_client):
    client = browser(ann)
    key = keys.session(digest(client))
    redis_client.hset(key, "active", 1)
    client.get("/accounts/devices/")
    noted = redis_client.hget(key, "active")
    assert noted != b"1"
    redis_client.config_resetstat()
    for _ in range(3):
        client.get("/accounts/devices/")
    assert redis_client.hget(key, "active") == noted
    assert "cmdstat_hset" not in redis_client.info("commandstats")


@pytest.mark.parametrize(
    ("address", "shown"),
    [("203.0.113.77", "203.0.113.…"), ("2001:db8::1", "2001:0db8:0000:…"), ("unknown", "")],
)
def test_addresses_are_shortened(address, shown):
    assert shorten_address(address) == shown


@pytest.mark.parametrize(
    ("agent", "named"),
    [
        (FIREFOX, ("Firefox 143", "Linux")),
        (SAFARI, ("Mobile Safari 18", "iOS")),
        ("nonsense", ("", "")),
    ],
)
def test_browsers_are_named(agent, named):
    assert name_client(agent) == named


@pytest.mark.django_db(transaction=True)
async def test_an_asynchronous_request_notes_the_device_too(async_client, redis_client):
    user = await User.objects.acreate_user("ann")
    await async_client.aforce_login(user)
    await async_client.get("/accounts/devices/", headers={"user-agent": FIREFOX})
    (device,) = await sync_to_async(devices.list_devices)(user.pk)
    assert device.browser == "Firefox 143"


class TestAdmin:
    @pytest.fixture
    def staff(self, client):
        client.force_login(User.objects.create_superuser("root"))
        return client

    def test_staff_sees_and_signs_out_a_users_devices_and_it_is_noted(self, staff, ann):
        phone, laptop = browser(ann), browser(ann, SAFARI)
        address = f"/admin/auth/user/{ann.pk}/devices/"
        assert address in staff.get(f"/admin/auth/user/{ann.pk}/change/").text
        assert "Firefox 143 on Linux" in staff.get(address).text
        staff.post(address, {"device": digest(phone)})
        assert not is_signed_in(phone)
        assert is_signed_in(laptop)
        staff.post(address)
        assert not is_signed_in(laptop)
        notes = LogEntry.objects.filter(object_id=ann.pk).order_by("pk")
        assert [note.change_message for note in notes] == ["Signed out 1 device."] * 2
        assert all(note.user.username == "root" for note in notes)

    def test_without_permission_there_is_no_such_page(self, client, ann):
        client.force_login(User.objects.create_user("clerk", is_staff=True))
        assert client.get(f"/admin/auth/user/{ann.pk}/devices/").status_code == 403
        assert client.post(f"/admin/auth/user/{ann.pk}/devices/").status_code == 403

    def test_an_unknown_user_is_not_found(self, staff):
        assert staff.get("/admin/auth/user/4711/devices/").status_code == 404
