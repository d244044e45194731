"""Data for a server under test: `python -m tests.browser.prepare`, with its environment."""

from __future__ import annotations

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402

from leaderboard.engine import Submission  # noqa: E402
from leaderboard.models import Player  # noqa: E402
from leaderboard.services import Actor, close_season, create_board, submit_scores  # noqa: E402

PASSWORD = "correct horse battery staple"
ACTOR = Actor("tests")
COUNTRIES = ("DE", "BR", "JP", "", "US")


def main() -> None:
    call_command("migrate", verbosity=0)
    users = get_user_model().objects
    users.create_superuser("root", password=PASSWORD)
    ada = users.create_user("ada", password=PASSWORD)
    Player.objects.create(id="p30", account=ada, display_name="Ada Lovelace", country="GB")
    arena = create_board(
        actor=ACTOR,
        slug="arena",
        name="Arena",
        description="Best score of the season counts.",
        operator="set",
        windows=["day", "week"],
        groups=["country"],
        submitters="demo",
        unit="pts",
    )
    submit_scores(board=arena, rows=[_row(number) for number in range(60)])
    past = create_board(actor=ACTOR, slug="past", name="Past Glory", submitters="players")
    submit_scores(board=past, rows=[_row(number) for number in range(12)])
    close_season(board=past, actor=ACTOR)


def _row(number: int) -> Submission:
    details = {
        "name": f"Player {number}",
        "team": ("Owls", "Foxes")[number % 2],
        "country": COUNTRIES[number % len(COUNTRIES)],
    }
    return Submission(f"p{number}", 1000 + 10 * number, metadata=details)


if __name__ == "__main__":
    main()
