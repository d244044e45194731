import threading

import pytest

import config.settings
from config.errors import ConfigurationError
from ratelimit import policies, sync
from ratelimit.models import PolicyOverride
from tests.servers import wait_for

NAMED = [
    "login",
    "signup",
    "password_reset",
    "score_submit",
    "api_key",
    "search",
    "live_stream",
]


def test_the_product_has_a_policy_for_each_of_its_doors():
    assert set(NAMED) <= set(policies.names())


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("5/minit by ip", "at 'minit': expected second, minute, hour, day, week"),
        ("5/minute by nobody", "at 'nobody': expected ip, user, session"),
        ("5/minute by ip, cost no.such.function", "at 'no.such.function': expected a number"),
        (5, "at '5': expected a sentence"),
    ],
)
def test_a_bad_policy_stops_the_start_with_a_line_that_points_at_it(settings, sentence, said):
    settings.RATE_LIMITS = {"good": "1/minute", "door": sentence}
    with pytest.raises(ConfigurationError) as error:
        policies.configure()
    message = str(error.value)
    assert message.startswith(f"RATE_LIMITS['door'] = {sentence!r} is not valid, at ")
    assert said in message
    assert "\n" not in message


def test_a_prefix_without_a_policy_stops_the_start(settings):
    settings.RATE_LIMIT_PREFIXES = {"/": "nothing"}
    with pytest.raises(ConfigurationError, match="'nothing' is not in RATE_LIMITS"):
        policies.configure()


@pytest.mark.django_db
def test_an_override_is_in_force_after_a_sync_and_gone_with_its_row():
    override = PolicyOverride.objects.create(policy="signup", sentence="2/day, shadow")
    sync.once()
    changed = policies.get("signup")
    assert (changed.limits[0].count, changed.limits[0].window, changed.shadow) == (2, 86400, True)
    assert changed.by == policies.configured("signup").by
    override.active = False
    override.save()
    sync.once()
    assert policies.get("signup") == policies.configured("signup")


@pytest.mark.django_db
def test_an_override_that_no_longer_fits_is_left_aside(caplog):
    PolicyOverride.objects.create(policy="gone", sentence="2/day")
    PolicyOverride.objects.create(policy="signup", sentence="nonsense")
    PolicyOverride.objects.create(policy="search", sentence="7/minute")
    sync.once()
    assert policies.get("search").limits[0].count == 7
    assert policies.get("signup") == policies.configured("signup")
    assert [record.policy for record in caplog.records] == ["gone", "signup"]


@pytest.mark.django_db(transaction=True)
def test_every_process_takes_an_override_over_by_itself(settings, monkeypatch):
    """The thread, with its own database connection."""
    settings.RATE_LIMIT_SYNC_SECONDS = 0.05
    monkeypatch.setattr(sync, "_stopping", threading.Event())
    thread = threading.Thread(target=sync._run)
    thread.start()
    try:
        PolicyOverride.objects.create(policy="signup", sentence="2/day")
        wait_for(lambda: policies.get("signup").limits[0].count == 2)
        PolicyOverride.objects.all().delete()
        wait_for(lambda: policies.get("signup").limits[0].count != 2)
    finally:
        sync._stopping.set()
        thread.join()


def test_overrides_are_in_force_within_five_seconds():
    assert config.settings.RATE_LIMIT_SYNC_SECONDS < 5
