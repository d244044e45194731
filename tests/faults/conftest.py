"""The faults: minutes, not seconds, so they run only when asked for (`make test-faults`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ROWS: list[tuple[str, ...]] = []
COLUMNS = ("fault", "longest pause", "acknowledged", "answers meanwhile", "lost", "then", "test")


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Add a row to the table that ends the run; `docs/reliability.md` shows one."""

    def add(fault: str, ledger, lost: int | str, then: str = "") -> None:
        answers = ", ".join(
            f"{count} x {status}"
            for status, count in sorted(ledger.answers.items())
            if not status.startswith("2")
        )
        ROWS.append(
            (
                fault,
                f"{ledger.longest_gap():.1f} s",
                str(ledger.total),
                answers or "none",
                str(lost),
                then,
                f"`{request.node.path.name}::{request.node.name}`",
            )
        )

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ROWS:
        terminalreporter.section("What each fault did")
        for row in (COLUMNS, ("---",) * len(COLUMNS), *ROWS):
            terminalreporter.write_line("| " + " | ".join(row) + " |")
