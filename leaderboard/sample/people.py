"""Made-up players with names from many countries, teams and pictures, the same for each seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

# Country, the Faker locale of its names, its share of the players, and a city of theirs.
_COUNTRIES = (
    ("US", "en_US", 14, (40.71, -74.01)),
    ("DE", "de_DE", 10, (52.52, 13.40)),
    ("BR", "pt_BR", 9, (-23.55, -46.63)),
    ("IN", "en_IN", 9, (19.08, 72.88)),
    ("GB", "en_GB", 7, (51.51, -0.13)),
    ("FR", "fr_FR", 7, (48.86, 2.35)),
    ("ES", "es_ES", 6, (40.42, -3.70)),
    ("IT", "it_IT", 5, (41.90, 12.50)),
    ("MX", "es_MX", 5, (19.43, -99.13)),
    ("NL", "nl_NL", 4, (52.37, 4.90)),
    ("SE", "sv_SE", 4, (59.33, 18.07)),
    ("JP", "ja_JP", 4, (35.68, 139.69)),
    ("ID", "id_ID", 4, (-6.21, 106.85)),
    ("TR", "tr_TR", 3, (41.01, 28.98)),
    ("UA", "uk_UA", 3, (50.45, 30.52)),
    ("FI", "fi_FI", 2, (60.17, 24.94)),
    ("NO", "no_NO", 2, (59.91, 10.75)),
    ("PT", "pt_PT", 2, (38.72, -9.14)),
)
CITIES = {country: city for country, _, _, city in _COUNTRIES}
_ADJECTIVES = tuple(
    "Amber Brave Calm Clever Cosmic Crimson Dapper Electric Frosty Gentle Golden Hidden Icy Jolly "  # noqa: SIM905
    "Lucky Lunar Mellow Mighty Misty Neon Nimble Noble Pixel Quick Quiet Rapid Rusty Shadow Silent "
    "Silver Sly Solar Stormy Swift Turbo Velvet Violet Wild Witty Zesty".split()
)
ANIMALS = tuple(
    "Badger Bear Beetle Bison Cobra Condor Crane Falcon Ferret Finch Fox Gecko Hare Hawk Heron "  # noqa: SIM905
    "Ibex Jackal Koala Lemur Lion Lynx Magpie Marten Moth Otter Owl Panda Panther Puffin Raven "
    "Salmon Shark Sparrow Stag Tiger Toad Viper Walrus Wolf Wren".split()
)
TEAMS = (
    "Alpine Foxes",
    "Byte Club",
    "Coral Reef",
    "Dune Riders",
    "Ember",
    "Fjord Nine",
    "Granite",
    "Harbour Lights",
)


class Person(NamedTuple):
    """A tuple, because a million of them are made."""

    id: str
    name: str
    country: str
    team: str
    avatar: str

    @property
    def details(self) -> dict[str, str]:
        """The details shown beside a score on every board."""
        return dict(zip(DETAILS, self[1:], strict=True))


DETAILS = Person._fields[1:]
# The administrator of a trial as a player on the sample boards.
ADMIN = Person("admin", "Robin Keeper", "GB", "Ember", "otter-84")
PLAYERS = 200  # of the first start
SEED = 1


def people(count: int, seed: int) -> Iterator[Person]:
    """`count` players; the first n are the same whatever the count."""
    chance = random.Random(seed)  # noqa: S311 sample scores, the same for the same seed
    names = {country: _names(locale) for country, locale, _, _ in _COUNTRIES}
    countries = [
        (country, *names[country]) for country, _, share, _ in _COUNTRIES for _ in range(share)
    ]
    animals = [animal.lower() for animal in ANIMALS]
    pick = chance.random
    # Lengths in local variables, and no call but the draw: this runs a million times.
    most_countries, most_teams = len(countries), len(TEAMS)
    most_adjectives, most_animals = len(_ADJECTIVES), len(ANIMALS)
    for number in range(1, count + 1):
        country, first, last = countries[int(pick() * most_countries)]
        if pick() < 0.35:
            name = _ADJECTIVES[int(pick() * most_adjectives)] + ANIMALS[int(pick() * most_animals)]
            if pick() < 0.5:
                name += str(int(pick() * 100))
        else:
            name = f"{first[int(pick() * len(first))]} {last[int(pick() * len(last))]}"
        yield Person(
            f"player-{number}",
            name,
            country,
            TEAMS[int(pick() * most_teams)],
            f"{animals[int(pick() * most_animals)]}-{int(pick() * 360)}",
        )


def _names(locale: str) -> tuple[list[str], list[str]]:
    """Faker's own lists: drawing from them is much faster than calling Faker for each name."""
    provider = import_module(f"faker.providers.person.{locale}").Provider
    return list(provider.first_names), list(provider.last_names)
