"""Time enough for any answer: a pause of a busy machine must not look like an outage."""

from __future__ import annotations

from config.redis import connections

PRODUCT_ANSWER_TIMEOUT = {name: time or 0.0 for name, time in connections.ANSWER_TIMEOUT.items()}
MORE = 25.0  # seconds


def be_patient() -> None:
    """For the clients that this process makes from now on."""
    connections.CONNECT_TIMEOUT = MORE
    for name, time in PRODUCT_ANSWER_TIMEOUT.items():
        connections.ANSWER_TIMEOUT[name] = time + MORE
