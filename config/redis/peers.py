"""Other processes of this machine: who is behind a unix socket, and signals that reach nobody else.
Imports no Django.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

# Of <sys/un.h> on macOS, where Linux has SO_PEERCRED.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2


@dataclass(frozen=True)
class Peer:
    """The process that listens on a socket, by the kernel's word and not by its own."""

    pid: int
    user_id: int


def peer_at(path: Path) -> Peer | None:
    """Who answers at this socket; None for nobody, or where the kernel cannot be asked."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        connection.connect(str(path))
        return _peer_of(connection)
    return None


def _peer_of(connection: socket.socket) -> Peer | None:
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, user_id, _ = struct.unpack("3i", credentials)
        return Peer(pid, user_id)
    elif sys.platform == "darwin":  # noqa: RET505 mypy follows these as one statement
        pid = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        return Peer(pid, struct.unpack_from("2I", credentials)[1])
    else:
        return None


class Process:
    """A process that may be signalled. On Linux it is held by a descriptor, so that a signal never
    reaches another that got its number later."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid) if sys.platform == "linux" else -1

    def is_alive(self) -> bool:
        if self._descriptor >= 0:
            return not select.select([self._descriptor], [], [], 0)[0]
        with contextlib.suppress(ChildProcessError):
            ended, _ = os.waitpid(self.pid, os.WNOHANG)
            return ended == 0
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return True

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._descriptor >= 0:
                signal.pidfd_send_signal(self._descriptor, number)
            elif self.is_alive():
                os.kill(self.pid, number)
