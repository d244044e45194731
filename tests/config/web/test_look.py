"""The frame of every page: theme, forms, page links, error pages."""

from __future__ import annotations

import pytest
from django import forms
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from config.web.errors import error_response
from config.web.paging import Pages

STATUSES = [400, 403, 404, 405, 413, 429, 500, 503]


@pytest.fixture
def page(db: None, client: Client) -> HttpResponse:
    return client.get("/")


def test_it_runs_nothing_inline_and_loads_nothing_from_elsewhere(page: HttpResponse) -> None:
    text = page.content.decode()
    assert "style=" not in text
    assert "onclick" not in text
    assert "<script>" not in text
    assert 'src="http' not in text
    assert "unsafe-inline" not in page["Content-Security-Policy"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_keeps_the_chosen_theme(db: None, client: Client, theme: str) -> None:
    response = client.post("/look/theme/", {"theme": theme, "next": "/?page=2"})
    assert response["Location"] == "/?page=2"
    assert f'data-theme="{theme}"' in client.get("/").content.decode()
    client.post("/look/theme/", {"theme": "system"})
    assert "data-theme=" not in client.get("/").content.decode()


@pytest.mark.parametrize("target", ["https://else.example/", "//else.example", "javascript:1"])
def test_it_never_sends_the_reader_elsewhere(client: Client, target: str) -> None:
    assert client.post("/look/theme/", {"theme": "dark", "next": target})["Location"] == "/"


def test_it_ignores_an_unknown_theme(db: None, client: Client) -> None:
    client.cookies["theme"] = '"><script>alert(1)</script>'
    assert "alert(1)" not in client.get("/").content.decode()


@pytest.mark.parametrize("status", STATUSES)
def test_every_error_has_a_page_that_asks_for_no_user(rf: RequestFactory, status: int) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> None:
            raise AssertionError(f"The page asked for {name}.")

    request: HttpRequest = rf.get("/somewhere/?a=1")
    request.user = Untouchable()  # type: ignore[assignment]
    request.session = Untouchable()  # type: ignore[assignment]
    response = error_response(request, status, "code", "What <happened>.")
    text = response.content.decode()
    assert response.status_code == status
    assert f">{status}<" in text
    assert "What &lt;happened&gt;." in text
    assert 'class="band"' in text


def test_it_draws_forms_with_their_errors_tied_to_the_fields(db: None) -> None:
    class Sample(forms.Form):
        name = forms.CharField(help_text="As others see it.")
        bio = forms.CharField(required=False)
        agree = forms.BooleanField(required=False)

    text = str(Sample({"name": ""}))
    assert 'aria-describedby="id_name_helptext id_name_error"' in text
    assert 'id="id_name_helptext"' in text
    assert 'id="id_name_error"' in text
    assert "(optional)" in text
    assert 'class="field field-check"' in text


@pytest.mark.parametrize(
    ("number", "last", "shown"),
    [
        (1, 1, [1]),
        (1, 3, [1, 2, 3]),
        (5, 40, [1, 0, 3, 4, 5, 6, 7, 0, 40]),
        (40, 40, [1, 0, 38, 39, 40]),
    ],
)
def test_it_shows_pages_around_the_current_one(
    rf: RequestFactory, number: int, last: int, shown: list[int]
) -> None:
    pages = Pages(rf.get("/boards/x/"), number, last)
    assert [link.number for link in pages.links()] == shown
    assert bool(pages.previous) == (number > 1)
    assert bool(pages.next) == (number < last)


def test_page_links_keep_the_rest_of_the_address(rf: RequestFactory) -> None:
    pages = Pages(rf.get("/boards/x/", {"q": "a&b", "page": "2"}), 2, 3)
    assert pages.next == "/boards/x/?q=a%26b&page=3"
    assert pages.previous == "/boards/x/?q=a%26b"
