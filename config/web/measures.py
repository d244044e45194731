"""Values measured when /metrics is read, such as those of a worker that may be down."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from config.web.outages import OUTAGES

Measure = Callable[[], None]

_measures: list[Measure] = []


def register(measure: Measure) -> None:
    """Call `measure` before each answer of /metrics; call this from an app's `ready`."""
    if measure not in _measures:
        _measures.append(measure)


def take_all() -> None:
    """A measure that fails during an outage keeps its old value; the others are still useful."""
    for measure in _measures:
        with suppress(*OUTAGES):
            measure()
