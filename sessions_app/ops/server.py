"""The state of Redis: from INFO, CONFIG GET and the slow log, which cost it microseconds each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from redis.exceptions import ResponseError

from config.redis import functions
from config.redis.connections import get_redis
from sessions_app.ops import BOARDS, Fact, Section, Table

INFO_PARTS = ("server", "memory", "clients", "stats", "persistence", "replication")
SLOW_ENTRIES = 10
SCRIPT_CALLS = frozenset({"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"})
FUNCTION_CALLS = frozenset({"FCALL", "FCALL_RO"})
MANY_CLIENTS = 0.8  # of maxclients
FULL = 0.8  # of maxmemory
# A small server always looks fragmented: its own code uses more memory than the data.
FRAGMENTATION_MATTERS_FROM = 256 * 1024 * 1024
GOOD_FRAGMENTATION = 1.5
OLD_SAVE = 24 * 3600


def redis_servers() -> Section:
    facts: list[Fact] = []
    slow: list[list[object]] = []
    found = list(_nodes())
    for name, client in found:
        info = client.info(*INFO_PARTS)
        prefix = f"{name} · " if len(found) > 1 else ""
        facts += [
            Fact(prefix + fact.name, fact.value, fact.meaning, fact.warning)
            for fact in (*_identity(info), *_memory(info), *_traffic(info), *_keeping(client, info))
        ]
        slow += _slow_log(client)
    slow.sort(key=lambda row: str(row[0]), reverse=True)
    table = Table(
        _("Slow log"),
        [_("When"), _("Duration"), _("What"), _("First key")],
        slow[:SLOW_ENTRIES],
        _(
            "Commands that took more than 10 ms, by default. A few after a start are normal; "
            "new ones every minute mean that something reads too much at once."
        ),
        _("Nothing has been slow since the start."),
        BOARDS,  # keys have their names
    )
    return Section("Redis", 10, facts, [table])


def _nodes() -> Iterator[tuple[str, Any]]:
    """One server, or every primary of a cluster."""
    client = get_redis()
    if not hasattr(client, "get_primaries"):
        yield "", client
        return
    for node in client.get_primaries():
        yield f"{node.host}:{node.port}", client.get_redis_connection(node)


def _identity(info: dict[str, Any]) -> Iterator[Fact]:
    product = "Valkey" if info.get("server_name") == "valkey" else "Redis"
    version = str(info.get("valkey_version") or info["redis_version"])
    started = datetime.fromtimestamp(
        info["server_time_usec"] / 1e6 - info["uptime_in_seconds"], UTC
    )
    yield Fact(
        _("Version"),
        f"{product} {version}",
        _("7.0 or newer is needed. Up for %(time)s.") % {"time": timesince(started)},
    )
    is_primary = info["role"] == "master"
    replicas = info["connected_slaves"]
    yield Fact(
        _("Role"),
        _("primary") if is_primary else _("replica"),
        _(
            "A primary accepts writes; it has %(count)d replicas. Without a replica, the data "
            "is in one place only."
        )
        % {"count": replicas}
        if is_primary
        else _("A replica refuses writes: check REDIS_URL."),
        warning=not is_primary,
    )


def _memory(info: dict[str, Any]) -> Iterator[Fact]:
    used, limit = info["used_memory"], info["maxmemory"]
    of_limit = _(" of %(limit)s") % {"limit": filesizeformat(limit)} if limit else ""
    yield Fact(
        _("Memory"),
        filesizeformat(used) + of_limit,
        _(
            "Peak %(peak)s. Beyond the limit Redis refuses writes; without a limit the machine's "
            "memory is the limit."
        )
        % {"peak": filesizeformat(info["used_memory_peak"])},
        warning=bool(limit) and used > FULL * limit,
    )
    ratio = info["mem_fragmentation_ratio"]
    yield Fact(
        _("Fragmentation"),
        number_format(ratio, 2),
        _(
            "System memory per byte of data: 1.0 to 1.5 is good. Above that, a restart or "
            "activedefrag frees memory; below 1, the system is swapping. Small servers look "
            "worse than they are."
        ),
        warning=used > FRAGMENTATION_MATTERS_FROM and not 1.0 <= ratio <= GOOD_FRAGMENTATION,
    )
    policy = info["maxmemory_policy"]
    evicted = info["evicted_keys"]
    yield Fact(
        _("Eviction"),
        f"{policy}, " + _("%(count)s evicted") % {"count": number_format(evicted)},
        _(
            "Must be noeviction: any other policy may delete boards and sessions when memory is "
            "short."
        ),
        warning=policy != "noeviction" or evicted > 0,
    )


def _traffic(info: dict[str, Any]) -> Iterator[Fact]:
    clients, limit = info["connected_clients"], info.get("maxclients", 0)
    yield Fact(
        _("Clients"),
        number_format(clients),
        _(
            "Of %(limit)s allowed; %(blocked)s are waiting for a stream. The number should not "
            "grow with the number of visitors."
        )
        % {"limit": number_format(limit), "blocked": number_format(info["blocked_clients"])},
        warning=bool(limit) and clients > MANY_CLIENTS * limit,
    )
    hits, misses = info["keyspace_hits"], info["keyspace_misses"]
    lookups = hits + misses
    yield Fact(
        _("Hit rate"),
        f"{number_format(100 * hits / lookups, 1)} %" if lookups else _("none yet"),
        _(
            "Lookups that found their key. More than half is usual here; it is low after a "
            "start and when many visitors have no session."
        ),
    )
    yield Fact(
        _("Commands"),
        _("%(rate)s per second") % {"rate": number_format(info["instantaneous_ops_per_sec"])},
        _("One server handles about 100,000 per second; stay well below half of that."),
    )


def _keeping(client: Any, info: dict[str, Any]) -> Iterator[Fact]:
    append_only = bool(info["aof_enabled"])
    snapshots = _snapshots(client)
    kinds = [_("append-only file")] * append_only + [_("snapshots")] * bool(snapshots)
    failed = info["aof_last_write_status"] != "ok" or info["rdb_last_bgsave_status"] != "ok"
    yield Fact(
        _("Persistence"),
        _("failing") if failed else ", ".join(kinds) or _("off"),
        _(
            "If the machine fails, the append-only file loses at most a second, snapshots lose "
            "minutes, and “off” loses every board and session."
        ),
        warning=failed or not kinds,
    )
    saved = datetime.fromtimestamp(info["rdb_last_save_time"], UTC)
    age = info["server_time_usec"] / 1e6 - info["rdb_last_save_time"]
    yield Fact(
        _("Last snapshot"),
        _time(saved),
        _("%(count)s changes since. With the append-only file on, its age does not matter.")
        % {"count": number_format(info["rdb_changes_since_last_save"])},
        warning=bool(snapshots) and not append_only and age > OLD_SAVE,
    )


def _snapshots(client: Any) -> str:
    try:
        return str(client.config_get("save").get("save", ""))
    except ResponseError:  # services that disable CONFIG manage snapshots themselves
        return "hidden"


def _slow_log(client: Any) -> Iterator[list[object]]:
    # redis-py's `slowlog_get` joins the arguments with spaces, and a script's text has spaces too.
    for _number, started, microseconds, arguments, *_client in client.execute_command(
        "SLOWLOG", "GET", SLOW_ENTRIES
    ):
        when = datetime.fromtimestamp(started, UTC)
        words = [word.decode(errors="replace") for word in arguments]
        took = _("%(time)s ms") % {"time": number_format(microseconds / 1000, 1)}
        yield [_time(when), took, _name(words), _first_key(client, words)[:60]]


def _time(at: datetime) -> str:
    """In the reader's own zone, as on every page."""
    return render_to_string("components/time.html", {"at": at})


def _name(words: list[str]) -> str:
    """The command, or the function that it calls."""
    name = words[0].upper()[:40]
    if name in FUNCTION_CALLS and len(words) > 1:
        return functions.short_name(words[1]) or words[1][:60]
    return name


def _first_key(client: Any, words: list[str]) -> str:
    """Never a value: it may be somebody's session."""
    if words[0].upper() in SCRIPT_CALLS | FUNCTION_CALLS:
        return words[3] if len(words) > 3 and words[2] != "0" else ""
    try:
        # Only Redis knows where the keys of each command are.
        first, *_others = client.command_getkeys(*words)
    except ResponseError:  # a command without keys, or one that the slow log has cut short
        return ""
    return first.decode(errors="replace") if isinstance(first, bytes) else str(first)
