"""The database itself refuses what makes no sense."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from leaderboard.models import Board, FinalStanding, Player, Restriction, ScoreEvent, Season

pytestmark = pytest.mark.django_db


def make_board(**values):
    return Board.objects.create(**{"slug": "cup", "name": "Cup"} | values)


def refused(make, **values):
    with pytest.raises((IntegrityError, DataError)), transaction.atomic():
        make(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"slug": "Summer Cup"},
        {"slug": "a{b}"},
        {"slug": ""},
        {"slug": "-cup"},
        {"name": ""},
        {"max_entries": 0},
        {"lowest_score": 5.0, "highest_score": 4.0},
        {"largest_step": -1.0},
        {"schedule": "cron"},
        {"cron": "0 0 * * *"},
        {"order": "up"},
        {"operator": "min"},
        {"ties": "coin"},
        {"ranking": "odd"},
        {"visibility": "secret"},
        {"submitters": "cats"},
        {"history_days": 0},
    ],
)
def test_a_senseless_board_is_refused_by_the_database(values):
    refused(make_board, **values)
    assert not Board.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("slug", "a b", "lowercase letters"),
        ("time_zone", "Europe/Atlantis", "not a time zone"),
        ("windows", ["hour"], "Choose from"),
        ("windows", "day", "Choose from"),
        ("groups", ["planet"], "Choose from"),
    ],
)
def test_a_form_says_which_field_is_wrong(field, value, message):
    with pytest.raises(ValidationError) as refusal:
        Board(**{"slug": "cup", "name": "Cup", field: value}).full_clean()
    assert message in str(refusal.value.message_dict[field])


@pytest.mark.parametrize("line", ["every day", "0 0 30 2 *", "61 * * * *", "* * * *", ""])
def test_a_bad_cron_line_is_refused(line):
    with pytest.raises(ValidationError) as refusal:
        Board(slug="cup", name="Cup", schedule="cron", cron=line).full_clean()
    assert "cron line" in str(refusal.value.message_dict["cron"])


def test_a_board_has_one_open_season():
    board, now = make_board(), timezone.now()
    Season.objects.create(board=board, number=1, name="One", opens=now)
    refused(Season.objects.create, board=board, number=2, name="Two", opens=now)
    refused(Season.objects.create, board=board, number=1, name="One", opens=now, state="planned")


@pytest.mark.parametrize(
    "values",
    [
        {"closes": timezone.now() - timedelta(days=1)},
        {"number": 0},
        {"state": "asleep"},
        {"state": "closed"},
    ],
)
def test_a_senseless_season_is_refused(values):
    season = {"board": make_board(), "number": 1, "name": "One", "opens": timezone.now()}
    refused(Season.objects.create, **season | values)


def test_a_player_stands_once_in_a_season_and_each_position_is_taken_once():
    season = Season.objects.create(board=make_board(), number=1, name="One", opens=timezone.now())
    standing = {"season": season, "position": 1, "rank": 1, "player_id": "ada", "score": 9.0}
    FinalStanding.objects.create(**standing)
    refused(FinalStanding.objects.create, **standing | {"position": 2})
    refused(FinalStanding.objects.create, **standing | {"player_id": "bob"})
    refused(
        FinalStanding.objects.create, **standing | {"player_id": "bob", "position": 2, "rank": 3}
    )


def test_an_event_is_stored_once():
    event = {"board": make_board(), "season": 1, "sequence": 1, "stream_id": "1-0", "at": 1}
    ScoreEvent.objects.create(**event, op="score")
    refused(ScoreEvent.objects.create, **event, op="score")


def test_a_player_has_one_restriction_at_a_time_on_a_board():
    board, player = make_board(), Player.objects.create(id="ada")
    ban = {"player": player, "kind": "banned", "reason": "Bot"}
    first = Restriction.objects.create(**ban, board=board)
    Restriction.objects.create(**ban)
    refused(Restriction.objects.create, **ban, board=board)
    refused(Restriction.objects.create, **ban)
    first.lifted_at = timezone.now()
    first.save()
    Restriction.objects.create(**ban, board=board)
    refused(
        Restriction.objects.create, player=Player.objects.create(id="b"), kind="hidden", reason=""
    )


def test_a_restriction_is_active_until_its_end():
    now = timezone.now()
    player = Player.objects.create(id="ada")
    ban = Restriction.objects.create(
        player=player, kind="banned", reason="Bot", until=now + timedelta(hours=1)
    )
    assert list(Restriction.objects.active()) == [ban]
    Restriction.objects.update(created_at=now - timedelta(hours=2), until=now - timedelta(hours=1))
    assert not Restriction.objects.active()
    assert list(Restriction.objects.expired()) == [ban]


@pytest.mark.parametrize("country", ["Germany", "de", "D1", "D", "ÄÖ"])
def test_a_country_is_two_letters(country):
    refused(Player.objects.create, id="ada", country=country)


@pytest.mark.parametrize("avatar", ["javascript:alert(1)", "http://x.example/a.png", "data:x"])
def test_an_avatar_is_https_or_a_word(avatar):
    with pytest.raises(ValidationError):
        Player(id="ada", avatar=avatar).full_clean()
    Player(id="ada", avatar="https://x.example/a.png").full_clean()
    Player(id="ada", avatar="fox-7").full_clean()
