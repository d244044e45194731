"""The progress of a long command: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

# Takes how much is done, and the total or None.
Report = Callable[[int, int | None], None]


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Report]:
    """`with progress("Archiving") as report: report(done, total)`."""
    if quiet:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        with _only_warnings(), bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        tenth = 0

        def report(done: int, total: int | None) -> None:
            """Write a line at every further tenth."""
            nonlocal tenth
            if total and done * 10 // total > tenth:
                tenth = done * 10 // total
                sys.stderr.write(f"{title}: {done:,} of {total:,}\n")
                sys.stderr.flush()

        yield report


@contextmanager
def _only_warnings() -> Iterator[None]:
    """A line of the log would break the bar, and the command reports its result itself."""
    logger = logging.getLogger("rostrum")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
