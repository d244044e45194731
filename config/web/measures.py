"""What is measured when somebody looks: it must be right when whoever causes it is away."""

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
    """During an outage the other numbers are worth having: those stay as they were."""
    for measure in _measures:
        with suppress(*OUTAGES):
            measure()
