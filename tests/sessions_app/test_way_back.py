"""Sign in and Join lead back to the page where somebody clicked them."""

import re
from html import escape, unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth import get_user_model

from leaderboard.access.audit import Actor
from leaderboard.boards.changing import create_board

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


def header_links(page):
    """The addresses of Sign in and Join in the header."""
    header = page.text.partition("</header>")[0]
    return [
        unescape(one) for one in re.findall(r'href="(/accounts/(?:login|signup)/[^"]*)"', header)
    ]


def test_the_header_brings_people_back_to_where_they_were(client):
    get_user_model().objects.create_user("ann", password=PASSWORD)
    create_board(actor=Actor("tests"), slug="cup", name="Cup", windows=["day"])
    where = "/boards/cup/?window=day&q=ann"
    sign_in, join = header_links(client.get(where))
    assert f'value="{escape(where)}"' in client.get(join).text
    # From one form to the other and back, with a mistake on the way.
    sign_in = header_links(client.get(join))[0]
    form = {"username": "ann", "next": parse_qs(urlsplit(sign_in).query)["next"][0]}
    mistaken = client.post("/accounts/login/", form | {"password": "wrong"})
    assert header_links(mistaken) == [sign_in, join]
    assert client.post("/accounts/login/", form | {"password": PASSWORD}).url == where


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/accounts/reset/"])
def test_the_header_has_no_way_back_where_there_is_none(client, path):
    assert header_links(client.get(path)) == ["/accounts/login/", "/accounts/signup/"]


def test_the_header_passes_no_other_site_on(client):
    page = client.get("/accounts/login/?next=https://evil.example/")
    assert header_links(page) == ["/accounts/login/", "/accounts/signup/"]
