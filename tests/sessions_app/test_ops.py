"""The operations page."""

import contextlib
import datetime
import threading

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone
from redis.exceptions import ResponseError

from sessions_app import keys, ops, presence
from sessions_app.ops import Fact, Section, server
from sessions_app.ops.server import redis_servers
from tests.servers import OWN_SERVER

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    user = User.objects.create_user("root", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_board"))
    client.force_login(user)
    return client


def facts(section):
    """By name; on a cluster, each node has its own, and a test sets all of them alike."""
    return {fact.name.rpartition(" · ")[2]: fact for fact in section.facts}


def test_it_is_for_staff(client, staff):
    assert staff.get("/ops/").status_code == 200
    client.force_login(User.objects.create_user("ann"))
    refused = client.get("/ops/")
    assert refused.status_code == 403
    # Signing in once more would only lead back here.
    assert "You are signed in as ann." in refused.content.decode()
    assert "/accounts/login/" not in refused.content.decode()


def test_it_shows_every_part_with_what_it_means(staff, redis_client):
    day = timezone.localdate()
    for back in range(3):
        earlier = (day - datetime.timedelta(days=back)).isoformat()
        redis_client.pfadd(keys.site_visitors(earlier), "a", "b")
        redis_client.setbit(keys.active_accounts(earlier), 5, 1)
    presence.touch(["u:1", "v:2"])
    page = staff.get("/ops/").text
    for part in (
        "Version",
        "Role",
        "Memory",
        "Fragmentation",
        "Clients",
        "Hit rate",
        "Persistence",
        "Last snapshot",
        "Slow log",
        "Biggest boards",
        "Dead letters",
        "Score log",
        "Online now",
        "Visitors per day",
        "Active players per day",
        "Returning players",
    ):
        assert part in page
    assert page.count('<svg class="chart"') == 3
    for section in ops.sections():
        for fact in section.facts:
            assert fact.meaning.endswith(".")


def test_it_warns_when_persistence_is_off_and_when_eviction_is_on(redis_client):
    # The test server keeps nothing.
    assert facts(redis_servers())["Persistence"].warning
    assert not facts(redis_servers())["Eviction"].warning
    try:
        redis_client.config_set("appendonly", "yes")
        redis_client.config_set("maxmemory-policy", "allkeys-lru")
        found = facts(redis_servers())
        assert not found["Persistence"].warning
        assert found["Eviction"].warning
    finally:
        redis_client.config_set("appendonly", "no")
        redis_client.config_set("maxmemory-policy", "noeviction")


def test_the_slow_log_names_functions_and_never_shows_values(redis_client, monkeypatch):
    monkeypatch.setattr(server, "SLOW_ENTRIES", 100)  # every node's
    presence.touch(["u:1"])
    redis_client.slowlog_reset()
    redis_client.config_set("slowlog-log-slower-than", "0")
    try:
        presence.touch(["v:secret-visitor"])
        redis_client.set("plain", "secret value")
    finally:
        redis_client.config_set("slowlog-log-slower-than", "10000")
    (table,) = redis_servers().tables
    assert {"touch_present", "SET"} <= {row[2] for row in table.rows}
    assert keys.site_accounts() in [row[3] for row in table.rows]
    assert "secret" not in str(table.rows)


@pytest.mark.parametrize(
    ("command", "named", "first_key"),
    [
        (
            presence.TOUCH.words(["{site}:a", "{site}:b"], [60, 60, "u:1"]),
            "touch_present",
            "{site}:a",
        ),
        (["FCALL", "not_ours", 0], "not_ours", ""),
        (["EVAL", "return 'not ours'", 0], "EVAL", ""),
        (["XREAD", "COUNT", 1, "STREAMS", "{site}:s", "0"], "XREAD", "{site}:s"),
        (["OBJECT", "FREQ", "{site} key"], "OBJECT", "{site} key"),
        (["PING"], "PING", ""),
    ],
)
def test_the_slow_log_knows_the_real_first_key(command, named, first_key):
    with contextlib.closing(OWN_SERVER.client_of("{site}:a")) as client:
        client.slowlog_reset()
        client.config_set("slowlog-log-slower-than", "0")
        try:
            with contextlib.suppress(ResponseError):
                client.execute_command(*command)
        finally:
            client.config_set("slowlog-log-slower-than", "10000")
        rows = [(row[2], row[3]) for row in server._slow_log(client)]
    assert (named, first_key) in rows


def test_the_slow_log_names_functions(redis_client):
    words = ["FCALL", "submit_v1", "2", "leaderboard:{cup}", "leaderboard:{cup}:s1", "dem"]
    assert server._name(words) == "submit_v1"
    assert server._first_key(redis_client, words) == "leaderboard:{cup}"


def test_ten_who_look_cost_as_much_as_one(staff, monkeypatch):
    asked = []

    def source():
        asked.append(1)
        return Section("Mine", 1)

    monkeypatch.setattr(ops._page, "sources", [source])
    ops.forget()
    threads = [threading.Thread(target=ops.sections) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1


def test_a_section_that_fails_does_not_take_the_page_with_it(staff, monkeypatch):
    def broken_part():
        raise RuntimeError("secret detail")

    monkeypatch.setattr(ops._page, "sources", [broken_part, redis_servers])
    ops.forget()
    page = staff.get("/ops/")
    assert page.status_code == 200
    assert "Broken part" in page.text
    assert "secret detail" not in page.text
    assert "Fragmentation" in page.text


def test_markup_in_a_section_stays_text(staff, monkeypatch):
    section = Section("<b>", 1, [Fact("<i>", "<u>", "<s>.", warning=True)])
    monkeypatch.setattr(ops._page, "sources", [lambda: section])
    ops.forget()
    page = staff.get("/ops/").text
    assert not any(tag in page for tag in ("<b>", "<i>", "<u>", "<s>"))


def test_only_bounded_commands_are_asked(staff, redis_client):
    redis_client.config_resetstat()
    staff.get("/ops/")
    asked = {name.removeprefix("cmdstat_") for name in redis_client.info("commandstats")}
    unbounded = {"keys", "scan", "hgetall", "smembers", "lrange", "sort", "xrange", "flushall"}
    # A session's own hash is read whole, which is what it is for.
    assert asked & unbounded <= {"hgetall"}


def test_nodes_without_config_are_taken_at_their_word():
    class Managed:
        def config_get(self, name):
            raise server.ResponseError("unknown command 'CONFIG'")

    assert server._snapshots(Managed()) == "hidden"
