"""What staff see and do: the command, the admin page, the summary."""

import io

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.urls import reverse

from ratelimit import callers, guard, metrics, policies, selectors, services, sync
from ratelimit.models import PolicyOverride

ADA = "user:42"
PAGE = "admin:ratelimit_policyoverride_callers"


@pytest.fixture(autouse=True)
def _policies(settings):
    settings.RATE_LIMITS = {
        "two": "2/hour by user, fixed window",
        "door": "2/hour by ip+username, fixed window",
    }
    settings.RATE_LIMIT_PREFIXES = {}
    policies.configure()


def run(*words):
    out = io.StringIO()
    call_command("ratelimit", *words, stdout=out)
    return out.getvalue().strip()


def test_the_command_lists_policies():
    assert "two: 2/hour fixed window by user, open on failure" in run("list")


def test_the_command_peeks_without_charging():
    guard.hit("two", ADA)
    for _ in range(2):
        assert run("peek", "two", "user=42").startswith("2/hour fixed window: 1 of 2 left, full r")


def test_the_command_spells_hashed_callers_as_requests_do():
    caller = f"{callers.ip_name('2001:db8::1')}+{callers.field_name('username', 'ada')}"
    guard.hit("door", caller)
    assert "1 of 2 left" in run("peek", "door", "username=Ada", "ip=2001:0db8::1")


def test_the_command_resets():
    for _ in range(3):
        guard.hit("two", ADA)
    assert run("reset", "two", "user=42") == "Reset."
    assert guard.hit("two", ADA)


def test_the_command_blocks_and_unblocks(redis_client):
    assert run("block", "two", "user=42", "--for", "2h").startswith("Blocked until ")
    denied = guard.hit("two", ADA)
    assert not denied
    assert denied.reason == "block"
    assert 7190 < denied.retry_after <= 7200
    assert "blocked until" in run("peek", "two", "user=42")
    assert run("unblock", "two", "user=42") == "Unblocked."
    assert run("unblock", "two", "user=42") == "This caller was not blocked."
    assert guard.hit("two", ADA).remaining == 1  # blocked calls were not charged
    assert all(redis_client.ttl(key) > 0 for key in redis_client.scan_iter())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["peek", "three", "user=1"], "'three' is not in RATE_LIMITS; known: two, door."),
        (["peek", "door", "ip=1.2.3.4"], "expected ip=… username=…"),
        (["block", "two", "user=1", "--for", "soon"], "not a time such as 90s, 10m, 2h or 7d"),
        (["block", "two", "user=1", "--for", "900d"], "one second to a year"),
        ([], "required: verb"),
    ],
)
def test_a_wrong_argument_gets_a_clear_line(words, said):
    with pytest.raises(CommandError, match=said):
        run(*words)


def test_a_block_reaches_other_processes_with_their_next_sync():
    services.block_caller(policy="two", caller=ADA, seconds=60, actor="test")
    sync._blocks, sync._changes = {}, None  # as if another process had done it
    assert guard.hit("two", ADA)
    sync.read_blocks()
    assert not guard.hit("two", ADA)


def test_a_reset_elsewhere_clears_the_shield_with_the_next_sync(redis_client):
    sync.read_blocks()
    for _ in range(3):
        guard.hit("two", ADA)
    redis_client.delete(*policies.get("two").state_keys(ADA))
    redis_client.set("rl:changes", "by another process")
    sync.read_blocks()
    assert guard.hit("two", ADA)


def test_the_summary_shows_counts_and_callers():
    for _ in range(4):
        guard.hit("two", ADA)
    guard.hit("two", "user:7")
    services.block_caller(policy="door", caller="ip:abc+username:def", seconds=60, actor="test")
    summary = selectors.summary()
    row = next(row for row in summary.policies if row.policy.name == "two")
    assert row.outcomes == {"allowed": 3, "denied": 2}
    assert (row.hits, row.denied, row.shadow_denied, row.failed) == (5, 2, 0, 0)
    assert [(row.caller, row.count) for row in summary.busiest] == [(ADA, 4), ("user:7", 1)]
    assert [(row.caller, row.count) for row in summary.most_denied] == [(ADA, 2)]
    assert [(row.policy, row.caller) for row in summary.blocked] == [
        ("door", "ip:abc+username:def")
    ]


def test_what_a_process_remembers_of_callers_is_bounded(monkeypatch):
    monkeypatch.setattr(metrics, "MAX_CALLERS", 3)
    for number in range(5):
        guard.hit("two", f"user:{number}")
    tally = metrics.take_tally()
    assert len(tally.hits) == 3
    assert tally.outcomes["two:allowed"] == 5


def test_a_tally_is_written_once_and_expires(redis_client):
    guard.hit("two", ADA)
    sync.write_tally()
    sync.write_tally()
    assert selectors.summary().busiest[0].count == 1
    assert all(redis_client.ttl(key) > 0 for key in redis_client.scan_iter())


# ---- the admin -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_override_made_in_the_admin_is_in_force_here_at_once(admin_client):
    data = {"policy": "two", "sentence": "9/hour", "active": "on", "note": "a class of 30"}
    response = admin_client.post(reverse("admin:ratelimit_policyoverride_add"), data)
    assert response.status_code == 302
    assert policies.get("two").limits[0].count == 9
    listed = admin_client.get(reverse("admin:ratelimit_policyoverride_changelist"))
    assert "2/hour fixed window by user" in listed.content.decode()  # what the settings say
    override = PolicyOverride.objects.get()
    admin_client.post(
        reverse("admin:ratelimit_policyoverride_delete", args=[override.pk]), {"post": "yes"}
    )
    assert policies.get("two").limits[0].count == 2


@pytest.mark.django_db
def test_a_bad_override_is_refused_with_its_fault(admin_client):
    data = {"policy": "two", "sentence": "9/minit", "active": "on"}
    response = admin_client.post(reverse("admin:ratelimit_policyoverride_add"), data)
    assert "at &#x27;minit&#x27;: expected second, minute" in response.content.decode()
    assert not PolicyOverride.objects.exists()


@pytest.mark.django_db
def test_the_admin_page_peeks_resets_blocks_and_unblocks(admin_client):
    def act(verb):
        data = {"policy": "two", "caller": "user=42", "hours": "1", "verb": verb}
        response = admin_client.post(reverse(PAGE), data)
        assert response.status_code == 200
        return response.content.decode()

    for _ in range(3):
        guard.hit("two", ADA)
    assert "0 / 2" in act("peek")
    assert "2 / 2" in act("reset")
    assert "Blocked until" in act("block")
    assert not guard.hit("two", ADA)
    assert "The block was lifted" in act("unblock")
    assert guard.hit("two", ADA)
    assert ADA in admin_client.get(reverse(PAGE)).content.decode()


@pytest.mark.django_db
def test_who_may_only_look_cannot_act(client):
    user = User.objects.create_user("viewer", is_staff=True)
    client.force_login(user)
    assert client.get(reverse(PAGE)).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_policyoverride"))
    data = {"policy": "two", "caller": "user=42", "verb": "block"}
    assert client.post(reverse(PAGE), data | {"verb": "peek"}).status_code == 200
    assert client.post(reverse(PAGE), data).status_code == 403
    assert guard.hit("two", ADA)


@pytest.mark.django_db
def test_a_caller_that_is_not_spelled_out_is_asked_for(admin_client):
    data = {"policy": "door", "caller": "ip=1.2.3.4", "verb": "peek"}
    assert "username=…" in admin_client.post(reverse(PAGE), data).content.decode()
