"""Features for some."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpResponse
from django.template import Context, Template

from sessions_app import flags, keys
from sessions_app.flags import flag_enabled, flag_required
from sessions_app.models import Flag
from sessions_app.visitors import COOKIE
from tests.servers import ON_CLUSTER

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(rf):
    def ask(name, user=None, visitor="a" * 22):
        request = rf.get("/")
        request.COOKIES[COOKIE] = visitor
        request.user = user or AnonymousUser()
        return flag_enabled(name, request)

    return ask


@pytest.fixture
def save(django_capture_on_commit_callbacks):
    def save(name, users=(), **fields):
        with django_capture_on_commit_callbacks(execute=True):
            flag, _ = Flag.objects.update_or_create(name=name, defaults=fields)
            flag.users.set(users)
        return flag

    return save


def test_the_first_flags_are_there_and_off(ask):
    # By hand, because a test that truncates tables may have run before.
    import_module("sessions_app.migrations.0002_first_flags").create(apps, None)
    assert not ask("nearby")
    assert not ask("wall")
    assert set(flags.current()) == {"nearby", "wall"}


def test_an_unknown_flag_is_off(ask):
    assert not ask("nobody-made-this")


def test_on_is_for_everybody(ask, save):
    save("nearby", state="on")
    assert ask("nearby")
    save("nearby", state="off")
    assert not ask("nearby")


def test_named_users_have_it_and_others_do_not(ask, save):
    ann, bob = (User.objects.create_user(name) for name in ("ann", "bob"))
    save("nearby", state="users", users=[ann])
    assert ask("nearby", ann)
    assert not ask("nearby", bob)
    assert not ask("nearby")


def test_the_bits_are_those_that_redis_reads(save, redis_client):
    users = [User.objects.create_user(f"user{number}") for number in range(12)]
    save("nearby", state="users", users=users[::3])
    for user in users:
        bit = redis_client.getbit(keys.flag_users("nearby"), user.pk)
        assert bit == (user in users[::3])


def test_a_percentage_is_stable_grows_by_adding_and_is_about_right(ask, save):
    visitors = [f"{number:022d}" for number in range(400)]
    save("nearby", state="percentage", percentage=30)
    some = {visitor for visitor in visitors if ask("nearby", visitor=visitor)}
    assert 80 <= len(some) <= 160
    assert some == {visitor for visitor in visitors if ask("nearby", visitor=visitor)}
    save("nearby", state="percentage", percentage=60)
    assert some < {visitor for visitor in visitors if ask("nearby", visitor=visitor)}
    save("wall", state="percentage", percentage=30)
    assert some != {visitor for visitor in visitors if ask("wall", visitor=visitor)}


def test_a_signed_in_user_has_the_same_answer_on_every_device(ask, save):
    ann = User.objects.create_user("ann")
    save("nearby", state="percentage", percentage=50)
    assert len({ask("nearby", ann, visitor=letter * 22) for letter in "abcdefgh"}) == 1


def test_the_named_have_it_whatever_the_percentage(ask, save):
    ann = User.objects.create_user("ann")
    save("nearby", state="percentage", percentage=0, users=[ann])
    assert ask("nearby", ann)


def test_asking_again_costs_nothing(ask, save, django_assert_num_queries, redis_client):
    save("nearby", state="on")
    ask("nearby")
    before = redis_client.info("stats")["total_commands_processed"]
    with django_assert_num_queries(0):
        for _ in range(100):
            assert ask("nearby")
    # The first INFO itself, one to each node.
    nodes = 3 if ON_CLUSTER else 1
    assert redis_client.info("stats")["total_commands_processed"] - before <= nodes


def test_another_process_sees_a_change_after_three_seconds(ask, save, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(flags.time, "monotonic", lambda: now)
    assert not ask("nearby")
    known, until = flags._known.flags, flags._known.until
    save("nearby", state="on")
    # As it is in a process that did not make the change.
    flags._known.flags, flags._known.until = known, until
    now += flags.FRESH_FOR - 0.1
    assert not ask("nearby")
    now += 0.2
    assert flags.FRESH_FOR < 5
    assert ask("nearby")


def test_a_lost_copy_is_made_from_sql(ask, save, redis_client):
    save("nearby", state="on")
    redis_client.flushall()
    flags.forget()
    assert ask("nearby")
    assert redis_client.ttl(keys.flags()) > 0
    assert redis_client.ttl(keys.flag_users("nearby")) > 0


def test_without_any_flag_sql_is_not_asked_each_time(ask, django_assert_num_queries):
    Flag.objects.all().delete()
    ask("nearby")
    flags.forget()
    with django_assert_num_queries(0):
        assert not ask("nearby")


def test_a_deleted_flag_is_off(ask, save, django_capture_on_commit_callbacks):
    flag = save("new-thing", state="on")
    assert ask("new-thing")
    with django_capture_on_commit_callbacks(execute=True):
        flag.delete()
    assert not ask("new-thing")


def test_the_decorator_hides_a_page(rf, save):
    @flag_required("nearby")
    def page(request):
        return HttpResponse("here")

    request = rf.get("/")
    request.user = AnonymousUser()
    with pytest.raises(Http404):
        page(request)
    save("nearby", state="on")
    assert page(request).content == b"here"


def test_the_template_tag(rf, save):
    save("wall", state="on")
    template = Template('{% load flags %}{% flag "wall" as wall %}{{ wall|yesno }}')
    request = rf.get("/")
    request.user = AnonymousUser()
    assert template.render(Context({"request": request})) == "yes"
    assert template.render(Context({})) == "no"


def test_staff_switches_a_flag_in_the_admin(client, ask, django_capture_on_commit_callbacks):
    client.force_login(User.objects.create_superuser("root"))
    ann = User.objects.create_user("ann")
    flag = Flag.objects.create(name="new-thing")
    assert not ask("new-thing", ann)
    form = {"description": "", "state": "users", "percentage": "0", "users": [ann.pk]}
    with django_capture_on_commit_callbacks(execute=True):
        response = client.post(f"/admin/sessions_app/flag/{flag.pk}/change/", form)
    assert response.status_code == 302
    assert ask("new-thing", ann)
    form["percentage"] = "101"
    assert client.post(f"/admin/sessions_app/flag/{flag.pk}/change/", form).status_code == 200
