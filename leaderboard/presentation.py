"""How entries of a board are shown, on pages and in live streams: the score in the board's format
and the reader's language, the name, the picture."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from config.web.charts import compact_number
from leaderboard.entries import Entry
from leaderboard.models import Board
from leaderboard.models.player import ANONYMOUS

COLOURS = 8  # classes .avatar-0 to .avatar-7
LONGEST_NAME = 60
LONGEST_DESCRIPTION = 500
SMALL_BOARD = 20  # players; with fewer, one place is more than five percent
# A double has up to 309 digits before the point.
_ANY_SIZE = Context(prec=330, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class Line:
    """One player on a board, ready to be shown."""

    id: str
    rank: int
    name: str
    country: str
    team: str
    avatar_url: str
    initials: str
    colour: int
    score: float
    score_text: str
    url: str
    online: bool = False


def score_text(board: Board, score: float) -> str:
    """The score as the board shows it, without its unit."""
    if board.score_format == Board.ScoreFormat.DURATION:
        return duration_text(score, board.score_decimals)
    if board.score_format == Board.ScoreFormat.DECIMALS:
        shown = rounded(score, board.score_decimals)
        return number_format(shown, board.score_decimals, use_l10n=True, force_grouping=True)
    # Points are usually whole. Others are not rounded to a whole number, which is another score.
    whole = int(score) if float(score).is_integer() else round(score, 6)
    return number_format(whole, use_l10n=True, force_grouping=True)


def rounded(score: float, decimals: int) -> Decimal:
    """Half-even rounding of the decimal notation: Django's `number_format` only truncates."""
    found = Decimal(repr(float(score))).quantize(Decimal(1).scaleb(-decimals), context=_ANY_SIZE)
    return found if found else found.copy_abs()  # no "-0.00"


def duration_text(seconds: float, decimals: int) -> str:
    """62.345 → 1:02.345; an hour more → 1:01:02.345."""
    unit = 10**decimals
    if not math.isfinite(seconds * unit):
        return number_format(seconds, use_l10n=True)  # too large for a clock
    total = int(rounded(abs(seconds), decimals) * unit)
    minutes, rest = divmod(total, 60 * unit)
    hours, minutes = divmod(minutes, 60)
    whole, fraction = divmod(rest, unit)
    text = f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"
    if decimals:
        text += f"{number_format(0, 1, use_l10n=True)[1]}{fraction:0{decimals}}"
    return f"-{text}" if seconds < 0 and total else text


def axis_text(board: Board, score: float) -> str:
    """The score in few characters, for the axis of a plot."""
    if board.score_format == Board.ScoreFormat.DURATION:
        return duration_text(score, 0)
    return compact_number(score)


def number_text(number: int) -> str:
    return number_format(number, use_l10n=True, force_grouping=True)


def players_text(number: int) -> str:
    text = ngettext("%(count)s player", "%(count)s players", number)
    return text % {"count": number_text(number)}


def initials(name: str) -> str:
    """Two letters for the picture: of the first and the last word, or of the only one."""
    words = [word for word in name.split() if word[0].isalnum()]
    if not words:
        return "?"
    if len(words) == 1:
        return words[0][:2]
    return words[0][0] + words[-1][0]


def safe_avatar(avatar: str) -> str:
    """The address of a picture, or "" if one is drawn. Only https: others could run a script."""
    return avatar if avatar.startswith("https://") else ""


def line(board: Board, entry: Entry, *, online: bool = False, home: Board | None = None) -> Line:
    """The line links to the player's page on the board, or on `home`."""
    details, player_id = entry.details, entry.player_id
    name = str(details.get("name") or player_id)[:LONGEST_NAME]
    if name == ANONYMOUS:
        name = gettext("Anonymous")
    avatar = str(details.get("avatar") or "")
    return Line(
        id=player_id,
        rank=entry.rank,
        name=name,
        country=_country(str(details.get("country") or "")),
        team=str(details.get("team") or "")[:LONGEST_NAME],
        avatar_url=safe_avatar(avatar),
        initials=initials(name),
        colour=zlib.crc32((avatar or player_id).encode()) % COLOURS,
        score=entry.score,
        score_text=score_text(board, entry.score),
        url=player_url(home or board, player_id) if entry.has_page else "",
        online=online,
    )


def description(entry: Entry) -> str:
    """The description in an entry's details, for the player's page."""
    return str(entry.details.get("description") or "").strip()[:LONGEST_DESCRIPTION]


def _country(text: str) -> str:
    """Two capital letters or nothing: details of games are not validated."""
    return text if len(text) == 2 and text.isascii() and text.isalpha() and text.isupper() else ""


def player_url(board: Board, player_id: str) -> str:
    return reverse("player", args=[board.slug, player_id])


def top_text(share: float, size: int) -> str:
    """Such as "Top 3 %", rounded up. Empty for a small board, where the rank is enough."""
    if size < SMALL_BOARD:
        return ""
    places = 1 if share < 1 else 0
    shown = number_format(math.ceil(share * 10**places) / 10**places, places, use_l10n=True)
    return gettext("Top %(share)s %%") % {"share": shown}
