"""The audit log knows who got which rights and which keys are gone, whichever door was used."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.urls import reverse

from leaderboard.models import ApiKey, AuditEntry

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client):
    user = User.objects.create_superuser("root")
    client.force_login(user)
    AuditEntry.objects.all().delete()
    return user


def entries(action):
    return [
        (entry.actor_name, entry.data)
        for entry in AuditEntry.objects.filter(action=action).order_by("pk")
    ]


def permission(name):
    return Permission.objects.get(codename=name)


def test_deleting_a_key_is_noted_by_either_way_of_the_admin(client, root):
    keys = [ApiKey.make(f"Server {number}", ["read"])[0] for number in range(3)]
    hints = [key.hint for key in keys]
    first = reverse("admin:leaderboard_apikey_delete", args=[keys[0].pk])
    client.post(first, {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [key.pk for key in keys[1:]]}
    client.post(reverse("admin:leaderboard_apikey_changelist"), chosen | {"post": "yes"})
    assert not ApiKey.objects.exists()
    found = entries("delete_api_key")
    assert {who for who, _ in found} == {"root"}
    assert {data["begins_with"] for _, data in found} == set(hints)


def test_a_promotion_in_the_admin_is_noted_with_who_did_it(client, root):
    ann, group = User.objects.create_user("ann"), Group.objects.create(name="Helpers")
    form = {
        "username": "ann",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "is_active": "on",
        "is_staff": "on",
        "groups": [group.pk],
        "user_permissions": [permission("delete_board").pk],
    }
    assert client.post(f"/admin/auth/user/{ann.pk}/change/", form).status_code == 302
    expected = [
        {"account": "ann", "is_staff": True},
        {"account": "ann", "change": "added", "to": ["Helpers"]},
        {"account": "ann", "change": "added", "to": ["leaderboard.delete_board"]},
    ]
    found = entries("account.rights")
    assert {who for who, _ in found} == {"root"}
    assert len(found) == len(expected)
    assert all(data in expected for _, data in found)
    entry = AuditEntry.objects.filter(action="account.rights").first()
    assert entry.actor == root
    # And back.
    form |= {"groups": [], "user_permissions": []}
    del form["is_staff"]
    client.post(f"/admin/auth/user/{ann.pk}/change/", form)
    changes = [data.get("change", data.get("is_staff")) for _, data in entries("account.rights")]
    assert sorted(map(str, changes[3:])) == ["False", "removed", "removed"]


def test_a_change_of_something_else_is_no_promotion(client, root):
    ann = User.objects.create_user("ann")
    ann.first_name = "Ann"
    ann.save()
    client.force_login(ann)
    assert not AuditEntry.objects.exists()


def test_a_groups_permissions_are_noted(client, root):
    group = Group.objects.create(name="Helpers")
    form = {"name": "Helpers", "permissions": [permission("delete_board").pk]}
    client.post(f"/admin/auth/group/{group.pk}/change/", form)
    noted = {"group": "Helpers", "change": "added", "to": ["leaderboard.delete_board"]}
    assert entries("group.rights") == [("root", noted)]
    client.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"})
    assert entries("group.delete") == [("root", {"group": "Helpers"})]


def test_rights_given_by_a_command_or_from_the_other_side_are_noted(db):
    call_command("createsuperuser", "--noinput", username="chief", email="c@example.com")
    assert entries("account.rights") == [
        ("manage.py", {"account": "chief", "is_staff": True, "is_superuser": True})
    ]
    AuditEntry.objects.all().delete()
    ann, group = User.objects.create_user("ann"), Group.objects.create(name="Helpers")
    group.user_set.add(ann)
    group.user_set.remove(ann)
    ann.groups.add(group)
    ann.groups.clear()
    added, removed, _, cleared = [data for _, data in entries("account.rights")]
    assert added == {"group": "Helpers", "change": "added", "to": ["ann"]}
    assert removed == {"group": "Helpers", "change": "removed", "to": ["ann"]}
    assert cleared == {"account": "ann", "change": "cleared", "to": []}
