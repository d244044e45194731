"""The names of all keys, and what each holds. Imports no Django.

`board` is a board's base key: `leaderboard:{slug}` for live boards, so that all keys of a board
share a slot on a cluster, or the key that a program gives the engine. `entries` is one of its
sorted sets: the board itself, a season or a window. Keys that belong to one sorted set begin with
its name, and are renamed, expired and deleted with it.

Functions get the base key and the sorted sets through KEYS and add the suffixes below themselves;
`docs/decisions/keys-in-functions.md` explains why.
"""

from __future__ import annotations

from collections.abc import Iterable

PLACEHOLDERS = {"board": "leaderboard:{<slug>}", "entries": "<entries>"}


def base(slug: str) -> str:
    """sorted set: a board without seasons, id → score; TTL none, it is the data; written by the
    engine."""
    return f"leaderboard:{{{slug}}}"


def season_entries(board: str, number: int | str) -> str:
    """sorted set: one season, stamp and id → score; TTL none, dropped after its archive is
    written; written by the engine."""
    return f"{board}:s{number}"


def window_entries(board: str, window: str, period: str) -> str:
    """sorted set: one window's period, stamp and id → score; TTL the period's end and the board's
    retention, none for `all`; written by the engine."""
    return f"{board}:w:{window}:{period}"


def stamps(entries: str) -> str:
    """hash: id → the bytes before the id in the sorted set and the score, on boards that rank ties
    by time or subscore; TTL as its sorted set; written by the engine."""
    return f"{entries}:at"


def hidden_entries(entries: str) -> str:
    """sorted set: the entries of hidden players; TTL as its sorted set; written by the engine."""
    return f"{entries}:aside"


def ranks(entries: str) -> str:
    """sorted set: for dense ranks each distinct score once, for competition ranks with a subscore
    each entry by its bytes; TTL as its sorted set; written by the engine."""
    return f"{entries}:ranks"


def group(entries: str, field: str) -> str:
    """sorted set: value, score, stamp and id, ordered by bytes, for each field in the rule
    `groups`; TTL as its sorted set; written by the engine."""
    return f"{entries}:by:{field}"


def group_ranks(entries: str, field: str) -> str:
    """sorted set: each value and distinct score once, with `groups` and dense ranks; TTL as its
    sorted set; written by the engine."""
    return f"{entries}:by:{field}:ranks"


def rebuilt(entries: str) -> str:
    """sorted set: the same entries, rebuilt from the score log; TTL none, swapped in or deleted at
    the end; written by a rebuild."""
    return f"{entries}:rebuilt"


def dropped(entries: str) -> str:
    """sorted set: a cleared board whose details are being deleted; TTL none, deleted at the
    end; written by the engine."""
    return f"{entries}:dropped"


def user(board: str, user_id: str) -> str:
    """hash: a player's details; TTL none while on the board itself, else as the player's last
    window; written by the engine."""
    return f"{board}:user:{user_id}"


def hidden(board: str) -> str:
    """set: ids of hidden players; TTL none, until unhidden; written by the engine."""
    return f"{board}:hidden"


def sequence(board: str) -> str:
    """string: number of accepted writes; TTL none, it never decreases; written by the engine."""
    return f"{board}:seq"


def quiet(board: str) -> str:
    """string: the last sequence that changed the board, and the newest one after it that did not;
    TTL none, it belongs to the sequence; written by the engine."""
    return f"{board}:quiet"


def changed_at(sequence: bytes | str | None, quiet: bytes | str | None) -> int:
    """The last sequence that changed the board, from the values of both keys."""
    newest = int(sequence or 0)
    if quiet:
        changed, until = map(int, quiet.split())
        if until == newest:
            return changed
    return newest


def events(board: str) -> str:
    """stream: accepted writes as JSON in the field `event`, capped; TTL none, the worker moves
    them to SQL; written by the engine."""
    return f"{board}:events"


def live(board: str) -> str:
    """channel: accepted writes in compact JSON, a line each; TTL none; written by the engine."""
    return f"{board}:live"


def feed(board: str) -> str:
    """list: who joined or took the lead and which season ended, as JSON, newest first, at most
    50; TTL 30 days after the last; written by `add_activity`."""
    return f"{board}:feed"


def feed_live(slug: str) -> str:
    """channel: the slug of a board with a new item in its feed; TTL none; written by
    `add_activity`."""
    # Without a hash tag, because a pattern cannot subscribe to sharded channels.
    return f"leaderboard:feed:{slug}"


def season_pointer(board: str) -> str:
    """hash: `number`, `state`, `opens`, `closes` of the running season, and `remake` and
    `reschedule` while they are unfinished; TTL none, it is the source of truth; written by
    seasons."""
    return f"{board}:season"


def ended_seasons(board: str) -> str:
    """hash: season number → its opens, closes and end, for seasons that wait for their archive;
    TTL none, a field is deleted when its season is archived; written by `move_season`."""
    return f"{board}:ended"


def marks(board: str) -> str:
    """hash: id → `banned` or `anonymous`, for players whose submissions need a second check; TTL
    none, as long as the restriction; written by moderation."""
    return f"{board}:marks"


def aliases(board: str) -> str:
    """hash: alias → id of each anonymous player; TTL none, as long as the player is anonymous;
    written by moderation."""
    return f"{board}:aliases"


def once(board: str, id_length: int | str, user_id: str, idempotency_key: str) -> str:
    """string: the first answer to this idempotency key; TTL one day; written by the engine."""
    return f"{board}:once:{id_length}:{user_id}:{idempotency_key}"


def places(board: str) -> str:
    """sorted set: places that players shared, as a geo set, rounded to a kilometre; TTL 30 days
    after the last; written by nearby."""
    return f"{board}:geo"


def places_shared(board: str) -> str:
    """sorted set: player id → when the place was shared, in seconds; TTL 30 days after the last;
    written by nearby."""
    return f"{board}:geo:at"


def request(board: str, caller_and_key: str) -> str:
    """string: the fingerprint of the API request with this Idempotency-Key, and its answer where
    the engine does not keep it; TTL one day; written by the API."""
    return f"{board}:request:{caller_and_key}"


def union(board: str, digest: str) -> str:
    """sorted set: a union of boards or seasons, id → score; TTL one minute unless given; written
    by the engine."""
    return f"{board}:union:{digest}"


def union_source(board: str, digest: str) -> str:
    """sorted set: a past season, or another board, for unions with this one, id → score; TTL ten
    minutes; written by `together`."""
    return f"{board}:union:from:{digest}"


def dead_letters(board: str) -> str:
    """stream: events that could not be stored after five attempts; TTL none, kept for the
    operator; written by `bury_event`."""
    return f"{board}:dead"


def failures(board: str) -> str:
    """hash: event id → how often storing it failed; TTL none, a field is deleted with its event;
    written by the worker."""
    return f"{board}:failures"


def import_progress(board: str, digest: str) -> str:
    """string: how many lines of a file are submitted, to which season and in which run, `digest`
    being the file's; TTL a week; written by `import_scores`."""
    return f"{board}:import:{digest}"


def troubles() -> str:
    """hash: duty and slug → error and time, for boards for which a duty of the worker fails;
    TTL none, a field is deleted when the duty succeeds; written by the worker."""
    return "leaderboard:troubles"


def notices(player: str) -> str:
    """stream: a player's notices, `player` being a digest of the id; TTL 30 days after the last
    one; written by `add_notice`."""
    return f"leaderboard:notices:{{{player}}}"


def notice_sent(player: str, what: str) -> str:
    """string: the player was recently notified of this; TTL a minute for overtaking, a day for a
    season's end; written by `add_notice`."""
    return f"leaderboard:notices:{{{player}}}:sent:{what}"


def notices_read(player: str) -> str:
    """string: id of the last notice the player has read; TTL 30 days; written by `notices`."""
    return f"leaderboard:notices:{{{player}}}:read"


def notices_live() -> str:
    """channel: JSON of each notice with its player; TTL none; written by `add_notice`."""
    return "leaderboard:notices"


def union_part(board: str, digest: str, builder: str) -> str:
    """sorted set: a union while it is built, and copies of its sources; TTL at most one hour,
    deleted when it is ready; written by the engine."""
    return f"{union(board, digest)}:building:{builder}"


# ---- in the cache, where Django prefixes each with `cache:1:` ------------------------------------


def cached_names() -> str:
    """string: a number that changes with the set of named players; TTL none, it is small; written
    by `history.forget_names`."""
    return "seasons:version"


def cached_list_version(board_id: int) -> str:
    """string: a number that changes with each change of a board's past seasons; TTL none, it is
    small; written by `history.forget_season_list`."""
    return f"seasons:{board_id}:version"


def cached_season_list(board_id: int, version: str) -> str:
    """string: the past seasons of a board with their podiums; TTL an hour; written by
    `history.season_list`."""
    return f"seasons:{board_id}:{version}"


def cached_season_page(season_id: int, version: str, page: str) -> str:
    """string: a page of final standings; TTL an hour, a minute for a search; written by
    `history.season_page`."""
    return f"season:{season_id}:{version}:{page}"


def cached_spread(slug: str, window: str) -> str:
    """string: how the scores of a board or window are spread; TTL 1 s; written by
    `standings.spread`."""
    return f"spread:{slug}:{window}"


def cached_together(digest: str) -> str:
    """string: the key of a union of seasons or boards; TTL 10 s; written by `together.page`."""
    return f"together:{digest}"


def entries_keys(entries: str, groups: Iterable[str] = ()) -> list[str]:
    """The keys that are renamed, expired and deleted together with one sorted set."""
    names = [entries, stamps(entries), hidden_entries(entries), ranks(entries)]
    for field in groups:
        names += [group(entries, field), group_ranks(entries, field)]
    return names
