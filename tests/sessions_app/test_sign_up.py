"""How many may sign up: a class does, a robot does not."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

pytestmark = pytest.mark.django_db
PAGE = "/accounts/signup/"
PASSWORD = "correct horse battery"
MISTAKE = {"username": "", "password1": "", "password2": ""}


def form(username):
    return {"username": username, "password1": PASSWORD, "password2": PASSWORD}


def attempts_until_refused(client, change=lambda client: None):
    for count in range(1000):
        change(client)
        if client.post(PAGE, MISTAKE).status_code == 429:
            return count
    return None


def test_a_class_of_forty_behind_one_address_joins():
    for number in range(40):
        browser = Client()
        browser.get(PAGE)
        assert browser.post(PAGE, MISTAKE).status_code == 200
        assert browser.post(PAGE, form(f"pupil-{number}")).status_code == 302
    assert get_user_model().objects.count() == 40


def test_a_robot_with_one_browser_is_refused():
    robot = Client()
    robot.get(PAGE)
    assert attempts_until_refused(robot) == 20


def test_robots_without_a_cookie_count_together():
    assert attempts_until_refused(Client(), lambda client: client.cookies.clear()) == 20


def test_a_robot_that_pretends_to_be_many_browsers_meets_the_bound_of_its_address():
    robot = Client()

    def change(client):
        client.cookies.clear()
        client.get(PAGE)

    assert attempts_until_refused(robot, change) == 200
    assert get_user_model().objects.count() == 0


def test_a_refused_robot_takes_nothing_from_the_others_at_its_address():
    robot = Client()
    for _ in range(250):
        robot.post(PAGE, MISTAKE)
    browser = Client()
    browser.get(PAGE)
    assert browser.post(PAGE, form("ann")).status_code == 302
