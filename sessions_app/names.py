"""Names that look alike: on a board, one player could pass for another.

Unicode lists the characters that people confuse (UTS 39, confusables). Each set of them becomes one
character here, so that two names that look alike have a look in common. Sets of several characters,
such as rn for m, are left out: Kirn and Kim are two people.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Scripts that are written together; any other mixture serves to deceive (UTS 39, section 5.2).
_TOGETHER = (
    {"LATIN", "HAN", "HIRAGANA", "KATAKANA"},
    {"LATIN", "HAN", "BOPOMOFO"},
    {"LATIN", "HAN", "HANGUL"},
)
_ANY_SCRIPT = {"COMMON", "INHERITED"}
LONGEST_LOOK = 450  # characters; folding the case makes up to three of one


def looks_of(name: str) -> set[str]:
    """How the name looks, as it is written and in lower case."""
    name = unicodedata.normalize("NFKC", name)
    return {_look(name), _look(name.casefold())}


def mixes_alphabets(name: str) -> bool:
    # Loads a megabyte of tables, so only at a sign-up.
    from confusable_homoglyphs import categories

    scripts = categories.unique_aliases(unicodedata.normalize("NFKC", name)) - _ANY_SCRIPT
    return len(scripts) > 1 and not any(scripts <= allowed for allowed in _TOGETHER)


def _look(name: str) -> str:
    return "".join(map(_shared, name)).casefold()[:LONGEST_LOOK]


@lru_cache(maxsize=4096)
def _shared(character: str) -> str:
    """One character for all that look like this one: a plain letter where there is one."""
    from confusable_homoglyphs.confusables import confusables_data

    # The tables lead from a character to the set's first, and from that to all others.
    alike = {character}
    for _ in range(2):
        alike |= {found["c"] for one in alike for found in confusables_data.get(one, ())}
    return min(
        (one for one in alike if len(one) == 1),
        key=lambda one: (not one.isascii(), not one.isalpha(), not one.islower(), one),
    )
