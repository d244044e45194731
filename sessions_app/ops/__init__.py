"""The operations page: sections of facts, each with a sentence on what is good and what is not.

An app adds a section with `register`; the page shows them in the order of their `place`. What a
section reads from Redis must be bounded whatever the data, and is kept for a few seconds, so that
ten readers of the page cost as much as one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

KEPT = 5.0  # seconds
BOARDS = "leaderboard.view_board"  # the permission to see what names a board

logger = logging.getLogger("rostrum.ops")


@dataclass(frozen=True)
class Fact:
    """One figure. `warning` means that somebody should act; `meaning` explains what is good. With a
    `permission`, only users who have it see it."""

    name: str
    value: str
    meaning: str
    warning: bool = False
    permission: str = ""


@dataclass(frozen=True)
class Table:
    """Rows with a sentence on how to read them; `empty` is shown when there are none. With a
    `permission`, only users who have it see them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    meaning: str
    empty: str
    permission: str = ""


@dataclass(frozen=True)
class Plot:
    """A picture with a sentence on how to read it."""

    title: str
    picture: SafeString
    meaning: str


@dataclass(frozen=True)
class Section:
    """One part of the page. Sections with a smaller `place` come first."""

    title: str
    place: int
    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()

    @property
    def warnings(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.warning]

    def shown_to(self, user: Any) -> Section:
        """The section with what this user may see."""

        def may_see(part: Fact | Table) -> bool:
            return not part.permission or user.has_perm(part.permission)

        facts = [fact for fact in self.facts if may_see(fact)]
        return replace(self, facts=facts, tables=[one for one in self.tables if may_see(one)])


@dataclass(frozen=True)
class LivePart:
    """A part that the page loads by itself, and again with each event of a stream. `address` and
    `stream` are names of addresses; only staff with `permission` see it."""

    address: str
    stream: str
    permission: str


@dataclass
class _Page:
    live: LivePart | None = None
    sources: list[Callable[[], Section]] = field(default_factory=list)
    # By language: until when they hold, and the sections.
    kept: dict[str, tuple[float, list[Section]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_page = _Page()


def register(*sources: Callable[[], Section]) -> None:
    """Add sections; call it from an app's `ready`."""
    _page.sources += [source for source in sources if source not in _page.sources]
    forget()


def register_live(part: LivePart) -> None:
    """A page has one stream, so it has one such part."""
    _page.live = part


def live_part() -> LivePart | None:
    return _page.live


def sections() -> list[Section]:
    """All sections, at most `KEPT` seconds old."""
    with _page.lock:
        language = get_language() or ""
        until, made = _page.kept.get(language, (0.0, []))
        if time.monotonic() >= until:
            made = sorted(map(_make, _page.sources), key=lambda section: section.place)
            _page.kept[language] = (time.monotonic() + KEPT, made)
        return made


def forget() -> None:
    """Read everything again for the next page."""
    _page.kept.clear()


def _make(source: Callable[[], Section]) -> Section:
    """One section that fails must not take the others with it: the page is for bad days."""
    try:
        return source()
    except Exception as error:
        logger.exception("A section of the operations page failed")
        name = getattr(source, "__name__", "section").replace("_", " ").strip().capitalize()
        meaning = _("This part could not be read: %(error)s. The log has the details.")
        fact = Fact(_("State"), _("unknown"), meaning % {"error": type(error).__name__}, True)
        return Section(name, 0, [fact])
