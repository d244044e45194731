"""Data for a server under test: `python -m tests.browser.prepare`, with its environment."""

from __future__ import annotations

from typing import Any

PASSWORD = "correct horse battery staple"
ADA = 1000  # the number of the account "ada"
COUNTRIES = ("DE", "BR", "JP", "", "US")


def main() -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from leaderboard.access.audit import Actor
    from leaderboard.boards.changing import create_board
    from leaderboard.boards.scores import submit_scores
    from leaderboard.closing.seasons import close_season
    from leaderboard.models import Player
    from sessions_app.models import Flag

    actor = Actor("tests")
    call_command("migrate", verbosity=0)
    for name in ("nearby", "wall"):
        Flag.objects.update_or_create(name=name, defaults={"state": Flag.State.ON})
    users = get_user_model().objects
    users.create_superuser("root", password=PASSWORD)
    ada = users.create_user("ada", password=PASSWORD, id=ADA)
    Player.objects.create(id="p30", account=ada, display_name="Ada Lovelace", country="GB")
    arena = create_board(
        actor=actor,
        slug="arena",
        name="Arena",
        description="Best score of the season counts.",
        operator="set",
        windows=["day", "week"],
        groups=["country", "team"],
        submitters="demo",
        unit="pts",
    )
    submit_scores(board=arena, rows=[_row(number) for number in range(60)])
    past = create_board(actor=actor, slug="past", name="Past Glory", submitters="players")
    submit_scores(board=past, rows=[_row(number) for number in range(12)])
    close_season(board=past, actor=actor)
    final = create_board(actor=actor, slug="final", name="Final", operator="set")
    submit_scores(board=final, rows=[_row(number) for number in range(12)])


def _row(number: int) -> Any:
    from leaderboard.engine import Submission

    details = {
        "name": f"Player {number}",
        "team": ("Owls", "Foxes")[number % 2],
        "country": COUNTRIES[number % len(COUNTRIES)],
    }
    return Submission(f"p{number}", 1000 + 10 * number, metadata=details)


if __name__ == "__main__":
    main()
