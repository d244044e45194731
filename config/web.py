"""The web server: granian, several processes, one origin. Started by `manage.py serve`."""

from __future__ import annotations

import os

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from config.processes import exit_with_parent

# Each live stream holds a place; granian's own default of about a thousand would let the
# thousand-and-first viewer hang everybody behind it.
PLACES = 20_000


def serve(
    host: str, port: int, processes: int, application: str = "config.asgi:application"
) -> None:
    exit_with_parent()
    Granian(
        application,
        address=host,
        port=port,
        interface=Interfaces.ASGINL,  # Django knows no lifespan
        workers=processes,
        http=HTTPModes.auto,  # HTTP/1.1 and HTTP/2 on the same port
        websockets=False,
        backlog=4096,
        backpressure=PLACES,
        workers_kill_timeout=3,
        respawn_failed_workers=True,
        log_level=LogLevels.warning,
    ).serve()


if __name__ == "__main__":
    serve(
        os.environ["ROSTRUM_HOST"],
        int(os.environ["ROSTRUM_PORT"]),
        int(os.environ["ROSTRUM_PROCESSES"]),
    )
