"""Page links: which ones to show, and addresses that keep the rest of the query string."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True)
class PageLink:
    """A page to go to; a gap between two of them has no address."""

    number: int = 0
    url: str = ""
    current: bool = False


@dataclass(frozen=True)
class Pages:
    """For `components/pagination.html`: page `number` of `last`, addresses on `request`'s path."""

    request: HttpRequest
    number: int
    last: int
    parameter: str = "page"
    drop: tuple[str, ...] = ()  # further parameters that make no sense on another page

    def url(self, number: int) -> str:
        """Page 1 is the address without a number, so that each page has one address only."""
        query = self.request.GET.copy()
        for name in (self.parameter, *self.drop):
            query.pop(name, None)
        if number > 1:
            query[self.parameter] = str(number)
        text = query.urlencode()
        return f"{self.request.path}?{text}" if text else self.request.path

    @property
    def previous(self) -> str:
        return self.url(self.number - 1) if self.number > 1 else ""

    @property
    def next(self) -> str:
        return self.url(self.number + 1) if self.number < self.last else ""

    def links(self) -> Iterator[PageLink]:
        """The first, the last, and two on either side of the current one."""
        shown = {1, self.last, *range(self.number - 2, self.number + 3)}
        before = 0
        for number in sorted(number for number in shown if 1 <= number <= self.last):
            if number - before > 1:
                yield PageLink()
            yield PageLink(number, self.url(number), current=number == self.number)
            before = number
