"""Names that others would take for somebody else's."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from sessions_app import names
from sessions_app.models import NameLook
from tests.sessions_app.test_sign_up import PAGE, form

pytestmark = pytest.mark.django_db
MIXED = "mixes letters of several alphabets"
ALIKE = "looks like one that is taken"
TAKEN = "This name is taken"

# Of the names below, those with a Cyrillic, Greek or Latin letter that looks like another's.
CYRILLIC_A_IN_ANNA = "\u0430nna"
CYRILLIC_POCA = "\u0420\u043e\u0441\u0430"
LATIN_ALPHA_NN = "\u0251nn"


@pytest.mark.parametrize(
    ("there", "chosen", "said"),
    [
        ("anna", CYRILLIC_A_IN_ANNA, MIXED),
        ("somebody", CYRILLIC_A_IN_ANNA, MIXED),
        ("poca", CYRILLIC_POCA, ALIKE),
        (CYRILLIC_POCA, "poca", ALIKE),
        ("ann", LATIN_ALPHA_NN, ALIKE),
        ("paul", "pauI", ALIKE),
        ("paul", "pau1", ALIKE),
        ("BOB", "b0b", ALIKE),
        (
            "\u0418\u0432\u0430\u043d",
            "\u0438\u0432\u0430\u043d",
            "taken",
        ),  # SQLite folds ASCII alone
        ("ann", "ANN", TAKEN),
        ("ann", "\uff41nn", TAKEN),
    ],
)
def test_a_look_alike_cannot_sign_up(client, there, chosen, said):
    User.objects.create_user(there)
    answer = client.post(PAGE, form(chosen))
    assert answer.status_code == 200
    assert said in answer.text
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ("kim", "kirn"),
        ("mall", "mali"),
        ("jose", "jos\u00e9"),
        ("ann", "ken\u7530\u4e2d"),
        ("ann", "\u0418\u0432\u0430\u043d"),
        ("pupil-1", "pupil-11"),
    ],
)
def test_names_that_differ_are_welcome(client, there, chosen):
    User.objects.create_user(there)
    assert client.post(PAGE, form(chosen)).status_code == 302
    assert User.objects.filter(username=chosen).exists()


def test_staff_cannot_rename_an_account_to_a_look_alike_or_make_one(client):
    client.force_login(User.objects.create_superuser("root"))
    User.objects.create_user("poca")
    ann = User.objects.create_user("ann")
    page = f"/admin/auth/user/{ann.pk}/change/"
    rename = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on"}
    for name, said in (
        (CYRILLIC_POCA, ALIKE),
        (CYRILLIC_A_IN_ANNA, MIXED),
        ("Poca", TAKEN),
    ):
        assert said in client.post(page, rename | {"username": name}).text
        new = form(name) | {"usable_password": "true"}
        assert said in client.post("/admin/auth/user/add/", new).text
    assert client.post(page, rename | {"username": "Ann"}).status_code == 302
    assert client.post(page, rename | {"username": "anja"}).status_code == 302
    # The old name is free again, with all that looks like it.
    assert not NameLook.objects.filter(look="ann").exists()
    assert client.post("/admin/auth/user/add/", form("ann") | {"usable_password": "true"})
    assert User.objects.filter(username="ann").exists()


def test_an_account_with_an_old_name_can_still_be_changed(client):
    client.force_login(User.objects.create_superuser("root"))
    old = User.objects.create_user(CYRILLIC_A_IN_ANNA)
    values = {
        "username": CYRILLIC_A_IN_ANNA,
        "first_name": "Anna",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    assert client.post(f"/admin/auth/user/{old.pk}/change/", values).status_code == 302


def test_accounts_that_are_there_already_count_too():
    User.objects.bulk_create([User(username="poca"), User(username="ann")])
    assert not NameLook.objects.exists()
    import_module("sessions_app.migrations.0003_name_looks").note_looks(apps, None)
    assert set(NameLook.objects.values_list("look", flat=True)) == {"poca", "ann"}


def test_a_long_name_has_a_look_that_can_be_stored():
    User.objects.create_user("\u0390" * 150)  # three characters each, when its case is folded
    assert max(map(len, names.looks_of("\u0390" * 150))) <= names.LONGEST_LOOK
