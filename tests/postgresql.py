"""A PostgreSQL of the tests' own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.waiting import free_port, wait_for


class PostgresServer:
    """A PostgreSQL of the tests' own: temporary folder, free port, no password, no fsync."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="rostrum-postgres-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root; Debian's package brings a user for it.
        self.user = "postgres" if os.getuid() == 0 else None

    @staticmethod
    def binaries() -> Path | None:
        """Where initdb and postgres are, the newest version first; None when not installed."""
        installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
        found = sorted(installed, key=lambda path: int(path.parent.parent.name))
        if found:
            return found[-1].parent
        in_path = shutil.which("initdb")
        return Path(in_path).resolve().parent if in_path else None

    @property
    def url(self) -> str:
        return f"postgres://rostrum@127.0.0.1:{self.port}/postgres"

    def new_database(self) -> str:
        """The address of an empty database beside the tests' own."""
        import psycopg

        name = f"beside_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgres://rostrum@127.0.0.1:{self.port}/{name}"

    def start(self) -> PostgresServer:
        binaries = self.binaries()
        assert binaries, "PostgreSQL is not installed (Debian: postgresql)"
        if self.user:
            shutil.chown(self.directory, self.user)
        data = self.directory / "data"
        if not data.exists():
            subprocess.run(
                [binaries / "initdb", "-D", data, "-U", "rostrum", "-A", "trust", "-E", "UTF8"],
                user=self.user,
                cwd=self.directory,
                stdout=subprocess.DEVNULL,
                check=True,
            )
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.directory,
            "fsync": "off",
            "full_page_writes": "off",
        }
        arguments = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [binaries / "postgres", "-D", data, *arguments],
                user=self.user,
                cwd=self.directory,
                stdout=log,
                stderr=log,
            )
        wait_for(self.answers, timeout=60)
        return self

    def answers(self) -> bool:
        import psycopg

        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url):
            return True
        return False

    def stop(self, *, kill: bool = False) -> None:
        if self.process is not None:
            # SIGINT is PostgreSQL's fast shutdown.
            self.process.send_signal(signal.SIGQUIT if kill else signal.SIGINT)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop(kill=True)
        shutil.rmtree(self.directory, ignore_errors=True)
