"""The web server: granian, several processes, one origin. Started by `manage.py serve`."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.common import AbstractServer

from config.processes import Wakeup, exit_with_parent
from config.web.sending import end_stalled_connections

# Each live stream holds a place; granian's own default of about a thousand would let the
# thousand-and-first viewer hang everybody behind it.
PLACES = 20_000
LARGEST_HEAD = 16 * 1024  # bytes of request line and headers; more is 431


class Interrupt(Wakeup):
    """What granian's signal handlers set and its main loop waits for.

    The loop clears it after it has looked which signals came; one that came in between stays set.
    """

    def __init__(self, server: AbstractServer[Any]) -> None:
        super().__init__()
        self._server = server

    def clear(self) -> None:
        super().clear()
        if self._server.interrupt_signal:
            self.set()


def serve(
    host: str, port: int, processes: int, application: str = "config.asgi:application"
) -> None:
    exit_with_parent()
    build(host, port, processes, application).serve(target_loader=load)


def build(host: str, port: int, processes: int, application: str) -> AbstractServer[Any]:
    server = Granian(
        application,
        address=host,
        port=port,
        interface=Interfaces.ASGINL,  # Django knows no lifespan
        workers=processes,
        # No HTTP/2: one connection may hold 200 streams open with a window of 0, or reset them as
        # fast as it opens them, and granian has no limit for either. Browsers speak HTTP/2 only
        # over TLS, that is to a proxy in front, which has such limits.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(max_buffer_size=LARGEST_HEAD),
        websockets=False,
        backlog=4096,
        backpressure=PLACES,
        workers_kill_timeout=3,
        respawn_failed_workers=True,
        log_level=LogLevels.warning,
    )
    server.main_loop_interrupt = Interrupt(server)  # type: ignore[assignment]
    return server


def load(application: str) -> Any:
    """In each web process, before it listens."""
    end_stalled_connections()
    module, _, name = application.partition(":")
    return getattr(import_module(module), name)


if __name__ == "__main__":
    serve(
        os.environ["ROSTRUM_HOST"],
        int(os.environ["ROSTRUM_PORT"]),
        int(os.environ["ROSTRUM_PROCESSES"]),
    )
