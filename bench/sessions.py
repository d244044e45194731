"""Sessions, presence and visitors: what they cost in time, round trips and memory."""

from __future__ import annotations

import os
from typing import Any

import django
from django.apps import apps

from bench.harness import Report, compare, duration, own_server

# Ten keys, as a signed-in player's session has them.
DATA: dict[str, Any] = {
    "_auth_user_id": "7",
    "_auth_user_backend": "django.contrib.auth.backends.ModelBackend",
    "_auth_user_hash": "c5a5f2a8e3d44b1db1c9a0f6a2e4b7d8" * 2,
    "_session_expiry": 1209600,
    "seen": 0,
    "language": "en",
    "last_board": "harbour-hackathon",
    "filters": {"country": "DE", "team": "", "window": "week"},
    "recent": ["campus-quiz", "neon-drift", "sales-floor"],
    "draft": {"score": 1200, "details": {"level": 7, "weapon": "none"}},
}
PEOPLE = 100_000
BATCH = 1_000
VISITORS = 1_000_000


def run(report: Report) -> None:
    with own_server() as server:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ.setdefault("REDIS_URL", server.url)
        if not apps.ready:
            django.setup()
        from django.test.utils import override_settings

        from config.redis.connections import cache_settings

        with override_settings(CACHES=cache_settings(server.url, "")), server.client() as client:
            sessions(report, client)
            presence(report, client)
            visitors(report, client)


def sessions(report: Report, client: Any) -> None:
    """Both stores over django-redis connections to the same server, with the same ten keys."""
    from django.contrib.sessions.backends.cache import SessionStore as CacheStore

    from sessions_app.backend import SessionStore

    stores = {"rostrum": SessionStore, "django cache": CacheStore}
    session_keys = {}
    for name, store in stores.items():
        session = store()
        session.describe_client = lambda: {"agent": "Firefox", "address": "192.0.2.…"}
        session.update(DATA)
        session.save()
        session_keys[name] = session.session_key

    def read_and_save(name: str) -> Any:
        turn = iter(range(10**9))

        def once() -> None:
            session = stores[name](session_keys[name])
            session["seen"] = next(turn)
            session.save()

        return once

    def read(name: str) -> Any:
        return lambda: stores[name](session_keys[name])["seen"]

    saving = compare({name: read_and_save(name) for name in stores}, rounds=45)
    reading = compare({name: read(name) for name in stores})
    rows = [
        [
            name,
            duration(saving.median(name)),
            round_trips(client, read_and_save(name)),
            duration(reading.median(name)),
            round_trips(client, read(name)),
        ]
        for name in stores
    ]
    columns = ["store", "load, change one key, save", "round trips", "load", "round trips"]
    report.table(columns, rows)
    ratio = saving.speed_ratio("rostrum", "django cache")
    trips = round_trips(client, read("rostrum"))
    report.table(
        ["mark", "value"],
        [
            ["load and save, times as fast", report.verdict("save", ratio, at_least=1.3)],
            ["round trips of a read", report.verdict("round trips", trips, at_most=1)],
        ],
    )


def round_trips(client: Any, call: Any) -> int:
    """Commands of ours that the server saw; what a function calls inside costs no trip."""
    call()
    client.config_resetstat()
    call()
    asked = client.info("commandstats")
    sent = {"get", "set", "hgetall", "fcall", "exists", "zadd", "expire", "pexpire"}
    inside = asked.get("cmdstat_fcall", {}).get("calls", 0)
    return sum(
        row["calls"]
        for command, row in asked.items()
        if command.removeprefix("cmdstat_") in ({"fcall", "hgetall"} if inside else sent)
    )


def presence(report: Report, client: Any) -> None:
    from sessions_app import keys
    from sessions_app import presence as module

    people = [f"u:{number}" for number in range(PEOPLE)]
    for start in range(0, PEOPLE, BATCH):
        module.touch(people[start : start + BATCH], "cup")
    few = [f"u:{number}" for number in range(100)]
    module.touch(few, "small")
    assert module.count("cup") == PEOPLE
    batch = people[:BATCH]
    calls = {
        "touch of 1,000": lambda: module.touch(batch, "cup"),
        "count of 100,000": lambda: module.count("cup"),
        "count of 100": lambda: module.count("small"),
    }
    measured = compare(calls)
    report.table(
        ["presence", "takes", "round trips"],
        [[name, duration(measured.median(name)), 1] for name in calls],
    )
    memory = client.memory_usage(keys.board_accounts("cup"), samples=0) / PEOPLE
    slower = measured.speed_ratio("count of 100", "count of 100,000")
    report.table(
        ["mark", "value"],
        [
            ["bytes a person on a board", f"{memory:.0f}"],
            # O(log N): a thousand times as many people, hardly any slower.
            [
                "count of 100,000 against 100, times as long",
                report.verdict("count", slower, at_most=1.5),
            ],
        ],
    )


def visitors(report: Report, client: Any) -> None:
    from sessions_app import keys

    key = keys.site_visitors("2026-01-01")
    for start in range(0, VISITORS, 10_000):
        client.pfadd(key, *(f"visitor-{number}" for number in range(start, start + 10_000)))
    size, counted = client.strlen(key), client.pfcount(key)
    error = 100 * abs(counted - VISITORS) / VISITORS
    report.table(
        ["a day with a million visitors", "value"],
        [
            # 16,384 registers of six bits are 12 KiB; Redis puts 16 bytes before them.
            [
                "KiB, without the 16 bytes of the header",
                report.verdict("visitors' memory", (size - 16) / 1024, at_most=12),
            ],
            ["counted", f"{counted:,}"],
            ["error in %", report.verdict("visitors' error", error, at_most=2)],
        ],
    )
