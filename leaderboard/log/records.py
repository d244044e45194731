"""Update players' records in SQL from the details that games send with their API keys.

The first event of a player creates the record. Later events change it while no account belongs to
the player; afterwards they only fill in empty fields. This happens when the log is stored, so that
no score waits for it. An event that a dead worker left behind may come after a newer one; the next
details of that player correct it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice

from django.core.exceptions import ValidationError
from django.db.models import Field
from django.utils import timezone

from leaderboard.access import aliases
from leaderboard.log.events import Event
from leaderboard.models import Player
from leaderboard.models.bulk import insert_rows, storable, storable_time

# Changes made by a player. Others create no record, or a deleted player would come back.
PLAYED = frozenset({"score", "details"})
GAME = "key:"  # prefix of the source of events sent with an API key
NAMES = {"name": "display_name", "country": "country", "team": "team", "avatar": "avatar"}
LONGEST = {"display_name": 60, "team": 60}  # longer ones are cut; other fields are left out
LONGEST_CHECKED = 301  # one more than any field can hold
PLAYER_FIELDS = ("id", *NAMES.values(), "bio", "privacy", "created_at")
PORTION = 500  # ids in one query

Values = dict[str, str]


def store(events: Iterable[Event]) -> None:
    """Create a record for each new player, and update the others from the details of games."""
    first: dict[str, Values] = {}
    newest: dict[str, Values] = {}
    for event in events:
        player_id, news = event.player_id, event.news
        if not player_id or news.op not in PLAYED:
            continue
        values = known(news.details) if news.details else {}
        first.setdefault(player_id, {}).update(values)
        if values and news.source.startswith(GAME):
            newest.setdefault(player_id, {}).update(values)
    now = storable_time(timezone.now())
    insert_rows(
        Player,
        PLAYER_FIELDS,
        [
            (player_id, *[values.get(name, "") for name in NAMES.values()], "", "shown", now)
            for player_id, values in first.items()
        ],
        skip_known=True,
    )
    _follow(newest)


def known(details: Mapping[str, str | None]) -> Values:
    """The details that a record can hold. An empty detail empties its field."""
    if aliases.ALIAS in details:
        return {}  # the mask of an anonymous player
    values: Values = {}
    for name, field in NAMES.items():
        if name in details:
            value = storable(details[name] or "")
            if field in LONGEST:
                values[field] = value[: LONGEST[field]]
            elif (checked := _checked(field, value[:LONGEST_CHECKED])) is not None:
                values[field] = checked
    return values


@lru_cache(maxsize=1024)  # the same few countries and pictures come with every score
def _checked(name: str, value: str) -> str | None:
    """The value as the record holds it, or None if it is not valid."""
    field = Player._meta.get_field(name)
    assert isinstance(field, Field)
    value = value.upper() if name == "country" else value
    try:
        field.clean(value, None)
    except ValidationError:
        return None
    return value


def _follow(newest: Mapping[str, Values]) -> None:
    """Write values that differ. Ordered by id, so that two workers cannot deadlock."""
    ids = iter(sorted(newest))
    while portion := list(islice(ids, PORTION)):
        players = Player.objects.filter(pk__in=portion).order_by("pk")
        for player_id, account, *stored in players.values_list("pk", "account", *NAMES.values()):
            before = dict(zip(NAMES.values(), stored, strict=True))
            changed = {
                field: value for field, value in newest[player_id].items() if value != before[field]
            }
            one = Player.objects.filter(pk=player_id)
            if account is None and changed:
                one.filter(account=None).update(**changed)
            elif account is not None:
                for field, value in changed.items():
                    one.filter(**{field: ""}).update(**{field: value})
