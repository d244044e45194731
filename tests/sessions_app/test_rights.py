"""Who may hand out rights in the admin: superusers alone."""

import pytest
from django.contrib.auth.models import Group, Permission, User

pytestmark = pytest.mark.django_db
PASSWORD = "quite a long password 1"
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


def permissions(*names):
    return Permission.objects.filter(codename__in=names)


@pytest.fixture
def clerk(client):
    """Staff who look after accounts and groups, and nothing else."""
    user = User.objects.create_user("clerk", password=PASSWORD, is_staff=True)
    user.user_permissions.set(
        permissions(
            *(f"{verb}_{what}" for what in ("user", "group") for verb in ("add", "change")),
            "view_user",
            "view_group",
            "delete_user",
            "delete_group",
        )
    )
    client.force_login(user)
    return user


@pytest.fixture
def root():
    return User.objects.create_superuser("root", "root@example.com", PASSWORD)


def address(user, page="change"):
    return f"/admin/auth/user/{user.pk}/{page}/"


def forged(user, **values):
    """The form with all that a superuser could set."""
    return {
        "username": user.username,
        "email": user.email,
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "is_active": "on",
        "is_staff": "on",
        "is_superuser": "on",
        "groups": [group.pk for group in Group.objects.all()],
        "user_permissions": [one.pk for one in permissions("delete_board", "change_board")],
        **values,
    }


@pytest.mark.parametrize("who", ["clerk", "ann"])
def test_a_forged_form_promotes_nobody(client, clerk, who):
    user = User.objects.get_or_create(username=who)[0]
    Group.objects.create(name="Chiefs").permissions.set(permissions("delete_board"))
    before = set(user.user_permissions.all())
    answer = client.post(address(user), forged(user, email="new@example.com"))
    assert answer.status_code == 302
    user.refresh_from_db()
    assert user.email == "new@example.com"
    assert (user.is_staff, user.is_superuser) == (who == "clerk", False)
    assert not user.groups.exists()
    assert set(user.user_permissions.all()) == before


def test_rights_are_shown_to_superusers_alone(client, clerk, root):
    form = client.get(address(clerk)).text
    assert not [name for name in RIGHTS if f'name="{name}"' in form]
    listed = client.get("/admin/auth/user/")
    assert "is_staff" not in listed.text
    assert "is_superuser" not in listed.text
    # Nor by asking the list who has them.
    assert client.get("/admin/auth/user/?is_superuser__exact=1").status_code == 400
    assert client.get("/admin/auth/user/?groups__id__exact=1").status_code == 400
    client.force_login(root)
    form = client.get(address(clerk)).text
    assert [name for name in RIGHTS if f'name="{name}"' in form] == list(RIGHTS)
    assert client.get("/admin/auth/user/?is_superuser__exact=1").status_code == 200


def test_a_superuser_sets_them(client, clerk, root):
    client.force_login(root)
    assert client.post(address(clerk), forged(clerk)).status_code == 302
    clerk.refresh_from_db()
    assert clerk.is_superuser


@pytest.mark.parametrize("is_active", [True, False])
@pytest.mark.parametrize("rights", ["superuser", "permission", "group"])
def test_accounts_with_more_rights_cannot_be_taken_over(client, clerk, rights, is_active):
    chief = User.objects.create_user("chief", "chief@example.com", PASSWORD, is_active=is_active)
    if rights == "superuser":
        chief.is_superuser = True
        chief.save()
    elif rights == "permission":
        chief.user_permissions.set(permissions("delete_board"))
    else:
        group = Group.objects.create(name="Chiefs")
        group.permissions.set(permissions("delete_board"))
        chief.groups.add(group)
    before = User.objects.values().get(pk=chief.pk)
    new = {"password1": "another long password 2", "password2": "another long password 2"}
    assert client.post(address(chief), forged(chief, email="me@example.com")).status_code == 403
    password = {"usable_password": "true", **new}
    assert client.post(address(chief, "password"), password).status_code == 403
    assert client.post(address(chief, "devices")).status_code == 403
    assert client.post(address(chief, "delete"), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [chief.pk], "post": "yes"}
    client.post("/admin/auth/user/", chosen)
    assert User.objects.values().get(pk=chief.pk) == before
    # The account can be looked at.
    page = client.get(address(chief))
    assert page.status_code == 200
    assert "chief@example.com" in page.text
    assert 'name="email"' not in page.text


def test_an_account_with_as_many_rights_can_be_changed(client, clerk):
    other = User.objects.create_user("other", password=PASSWORD, is_staff=True)
    other.user_permissions.set(permissions("change_user"))
    assert client.post(address(other), forged(other, first_name="Lin")).status_code == 302
    other.refresh_from_db()
    assert other.first_name == "Lin"


def test_groups_are_changed_by_superusers_alone(client, clerk, root):
    group = Group.objects.create(name="Helpers")
    clerk.groups.add(group)
    page = f"/admin/auth/group/{group.pk}/change/"
    form = {"name": "Helpers", "permissions": [one.pk for one in permissions("delete_board")]}
    assert client.get(page).status_code == 200
    assert client.post(page, form).status_code == 403
    assert client.post("/admin/auth/group/add/", form).status_code == 403
    assert client.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 403
    assert not group.permissions.exists()
    client.force_login(root)
    assert client.post(page, form).status_code == 302
    assert group.permissions.exists()
