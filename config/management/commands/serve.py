"""`manage.py serve`: the whole of Rostrum, from a fresh folder to a page in the browser."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from types import FrameType
from typing import IO, Any

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from redis.exceptions import ResponseError

from config import addresses, trial
from config.errors import ConfigurationError
from config.processes import PARENT_LOCK, AlreadyRunningError, FileLock
from config.redis import embedded, functions, locks
from config.redis.connections import OUTAGE_ERRORS, get_redis

logger = logging.getLogger("rostrum.serve")

# Children get this long to finish what they do; a visitor who waits longer is cut off.
STOP_TIMEOUT = 4.5
LARGEST_LOG = 10 * 1024 * 1024


class Command(BaseCommand):
    help = "Start Rostrum: migrate, seed on the first run, then web server and worker."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = (
            "examples:\n"
            "  manage.py serve                      everything, on http://127.0.0.1:8000\n"
            "  manage.py serve --port 9000          on another port\n"
            "  manage.py serve --no-worker          web only; run `manage.py worker` elsewhere\n"
            "  manage.py serve --build              static files only, for an image\n"
        )
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", default=8000, type=int, help="port to listen on")
        parser.add_argument(
            "--processes",
            type=int,
            default=min(4, os.cpu_count() or 1),
            help="web processes (default: one per core, up to four)",
        )
        parser.add_argument("--no-worker", action="store_true", help="do not start the worker")
        parser.add_argument("--no-seed", action="store_true", help="no sample data on first run")
        parser.add_argument(
            "--no-demo", action="store_true", help="sample players do not score by themselves"
        )
        parser.add_argument("--build", action="store_true", help="prepare static files and exit")
        parser.add_argument(
            "--logs",
            choices=("files", "terminal"),
            default="terminal" if settings.PRODUCTION else "files",
            help="where the logs go: var/log/ or this terminal",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["build"]:
            self.collect_static()
            return
        host, port = options["host"], options["port"]
        try:
            only_copy = FileLock(settings.VAR_DIR / "serve.lock")
        except AlreadyRunningError:
            raise CommandError(
                "Rostrum is already running in this folder; stop it first."
            ) from None
        self.check_port(host, port)
        self.check_redis()
        first_run = self.migrate()
        self.collect_static()
        if first_run and not options["no_seed"] and not settings.PRODUCTION:
            self.say("Creating sample boards …")
            call_command("seed", verbosity=0)
        serving = Serving(host, port, options)
        try:
            serving.run(lambda: self.announce(host, port, options))
        finally:
            only_copy.release()

    def check_port(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise CommandError(
                f"Cannot listen on {host}:{port} ({error}); choose another with PORT=8001."
            ) from None

    def check_redis(self) -> None:
        try:
            functions.load_all(get_redis())
        except OUTAGE_ERRORS as error:
            raise CommandError(f"Redis does not answer at REDIS_URL ({error}).") from None
        except ResponseError as error:
            raise CommandError(
                f"Redis does not accept our functions ({error}). It must be Redis or Valkey 7.0 or "
                "later, with the permissions listed in docs/deploying.md."
            ) from None

    def migrate(self) -> bool:
        """Bring the database up to date; True when it was empty before.

        Under a lock, because several machines may start at once on one database.
        """
        with locks.hold("migrate", timeout=60, wait=600):
            executor = MigrationExecutor(connection)
            first_run = not executor.loader.applied_migrations
            if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                self.say("Preparing the database …")
                call_command("migrate", verbosity=0, interactive=False)
        return first_run

    def collect_static(self) -> None:
        """Hash and compress the static files, unless they are those of the last start."""
        stamp = settings.STATIC_ROOT / ".collected"
        fingerprint = static_fingerprint()
        if stamp.is_file() and stamp.read_text() == fingerprint:
            return
        call_command(
            "collectstatic",
            verbosity=0,
            interactive=False,
            clear=True,
            ignore_patterns=["redoc*"],  # three megabytes of Ninja's that no page of ours uses
        )
        stamp.write_text(fingerprint)

    def announce(self, host: str, port: int, options: dict[str, Any]) -> None:
        lines = [f"Rostrum is up: {addresses.url(addresses.local(host), port)}"]
        others = addresses.for_others(host, port)
        if others and not settings.PRODUCTION:
            lines.append(f"On other machines, open {' or '.join(others)}")
        lines += self.sample_lines(moving=plays_demo(options))
        if options["logs"] == "files":
            lines.append("Logs are in var/log/, mail is in var/mail/.")
        lines.append("Stop with Ctrl-C.")
        self.say("\n".join(lines))

    def sample_lines(self, *, moving: bool) -> list[str]:
        """How to sign in and what to see, as long as the sample data exists."""
        lines = []
        if password := trial.valid_password():
            lines.append(f"Sign in as {trial.ADMIN} with the password {password}")
        if not apps.get_model("leaderboard", "Board").objects.filter(submitters="demo").exists():
            return lines
        if password:
            players = apps.get_model("leaderboard", "Player").objects
            player = players.filter(account__username=trial.ADMIN).first()
            if player is not None:
                name = player.display_name or player.pk
                lines.append(f"On the sample boards the administrator plays as {name}.")
        if moving:
            lines.append("Open a board: the sample players score while you watch.")
        return lines

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def plays_demo(options: dict[str, Any]) -> bool:
    """Whether sample players score while somebody looks at a board."""
    return not (options["no_demo"] or settings.PRODUCTION)


def static_fingerprint() -> str:
    """Changes when any static file does, without reading them."""
    digest = hashlib.sha256(b"1")
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            stat = Path(storage.path(path)).stat()
            digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


class Serving:
    """The child processes, which are stopped together within five seconds."""

    def __init__(self, host: str, port: int, options: dict[str, Any]) -> None:
        self.host, self.port, self.options = host, port, options
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.stopped_by: int | None = None

    def run(self, announce: Any) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.note_signal)
        lock_path = settings.VAR_DIR / "children.lock"
        alive = FileLock(lock_path)
        environment = os.environ | self.environment() | {PARENT_LOCK: str(lock_path)}
        try:
            self.start("web", ["-m", "config.web.server"], environment)
            if not self.options["no_worker"]:
                self.start("worker", ["manage.py", "worker"], environment)
            if self.wait_until_up():
                announce()
                if plays_demo(self.options):
                    # Scores on the sample boards, only while somebody looks at one.
                    self.start("demo", ["manage.py", "simulate", "--while-watched"], environment)
            failed = self.watch()
        finally:
            alive.release()  # open streams end now
            self.stop_children()
        if failed:
            hint = "; see var/log/" if self.options["logs"] == "files" else ""
            raise CommandError(f"The {failed} process stopped unexpectedly{hint}.")

    def note_signal(self, number: int, frame: FrameType | None) -> None:
        self.stopped_by = number

    def environment(self) -> dict[str, str]:
        metrics = settings.VAR_DIR / "metrics"
        shutil.rmtree(metrics, ignore_errors=True)  # what dead processes counted
        metrics.mkdir(parents=True)
        values = {
            "ROSTRUM_HOST": self.host,
            "ROSTRUM_PORT": str(self.port),
            "ROSTRUM_PROCESSES": str(max(1, self.options["processes"])),
            "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        }
        if settings.PRODUCTION:
            return values
        others = addresses.for_others(self.host, self.port)
        if not os.environ.get("SITE_URL"):
            own = addresses.url(addresses.local(self.host), self.port)
            values["SITE_URL"] = others[0] if others else own
        loopback = not others and self.host not in addresses.EVERYWHERE
        if not (loopback or os.environ.get("ALLOWED_HOSTS")):
            # A trial that listens on other addresses also serves them.
            values["ALLOWED_HOSTS"] = "*" if self.host in addresses.EVERYWHERE else self.host
        return values

    def start(self, name: str, arguments: list[str], environment: dict[str, str]) -> None:
        output = self.open_log(name) if self.options["logs"] == "files" else None
        with output or contextlib.nullcontext():
            self.children[name] = subprocess.Popen(  # noqa: S603 our own command, no shell
                [sys.executable, *arguments],
                cwd=settings.BASE_DIR,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C reaches this process alone, which then ends the children in order.
                start_new_session=True,
            )

    def open_log(self, name: str) -> IO[bytes]:
        path = settings.VAR_DIR / "log" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size > LARGEST_LOG:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def wait_until_up(self) -> bool:
        """However long it takes on a busy machine; False when it was stopped or a child ended."""
        host = addresses.local(self.host)
        while self.stopped_by is None and not self.ended():
            with contextlib.suppress(OSError):
                if answers(host, self.port):
                    return True
            time.sleep(0.05)
        return False

    def ended(self) -> str:
        """The name of a child that has ended; the demo may end."""
        gone = (name for name, child in self.children.items() if child.poll() is not None)
        return next((name for name in gone if name != "demo"), "")

    def watch(self) -> str:
        """Wait for a signal (empty) or for a child that ends by itself (its name)."""
        threading.Thread(target=revive_embedded, name="embedded watch", daemon=True).start()
        while self.stopped_by is None:
            if name := self.ended():
                return name
            time.sleep(0.1)
        return ""

    def stop_children(self) -> None:
        for child in self.children.values():
            child.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        for child in self.children.values():
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                # With its own children: the session it leads.
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def revive_embedded() -> None:
    """Start the embedded server again whenever it has died. In a thread of its own: with much data
    a start takes a minute, and so does waiting for another process that starts it."""
    while True:
        try:
            embedded.revive()
        except (ConfigurationError, OSError):
            logger.exception("The embedded server does not start; retrying")
        time.sleep(0.1)


def answers(host: str, port: int) -> bool:
    with socket.create_connection((host, port), timeout=2) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return client.recv(5) == b"HTTP/"
