"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

# Done so far, and in all; None when that is unknown.
Report = Callable[[int, int | None], None]


@contextmanager
def progress(title: str, *, stream: TextIO | None = None, quiet: bool = False) -> Iterator[Report]:
    """`with progress("Archiving") as report: report(done, total)`."""
    stream = stream or sys.stderr
    if quiet:
        yield lambda done, total: None
    elif stream.isatty():
        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(file=stream), transient=True)
        with _without_news(), bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield _Lines(title, stream).report


@contextmanager
def _without_news() -> Iterator[None]:
    """The command says itself what was done; a line of the log would tear the bar."""
    logger = logging.getLogger("rostrum")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


class _Lines:
    """A line at the start and at every further tenth."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self.title, self.stream, self.tenth = title, stream, 0

    def report(self, done: int, total: int | None) -> None:
        if total and (tenth := done * 10 // total) > self.tenth:
            self.tenth = tenth
            self.stream.write(f"{self.title}: {done:,} of {total:,}\n")
            self.stream.flush()
