"""What a newcomer reads when a trial starts."""

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from config.management.commands.serve import Command
from leaderboard.models import Board

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def seeded(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    call_command("seed", boards=1, players=5, verbosity=0)


def sample_text(*, moving=True):
    return "\n".join(Command().sample_lines(moving=moving))


def test_the_first_password_is_printed_while_it_is_valid(tmp_path):
    password = (tmp_path / "demo_password").read_text().strip()
    assert f"Sign in as admin with the password {password}" in sample_text()
    assert "Robin Keeper" in sample_text()


def test_a_password_that_was_changed_is_never_printed_again(tmp_path):
    password = (tmp_path / "demo_password").read_text().strip()
    admin = User.objects.get(username="admin")
    admin.set_password("another one, and longer")
    admin.save()
    assert "Sign in" not in sample_text()
    assert not (tmp_path / "demo_password").exists()
    admin.set_password(password)
    admin.save()
    assert password not in sample_text()


@pytest.mark.parametrize("change", [{"is_active": False}, {"username": "root"}])
def test_an_administrator_who_cannot_sign_in_gets_no_password(change):
    User.objects.filter(username="admin").update(**change)
    assert "Sign in" not in sample_text()


def test_sample_players_are_promised_only_when_they_play():
    promise = "the sample players score while you watch"
    assert promise in sample_text()
    assert promise not in sample_text(moving=False)
    Board.objects.update(submitters="api")
    assert sample_text().count("\n") == 0
