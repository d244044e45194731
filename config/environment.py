"""Settings from the environment: a wrong value raises an error that names it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import environ
from django.core.management.utils import get_random_secret_key

from config.errors import ConfigurationError

_env = environ.Env()
T = TypeVar("T")


def read_file(path: Path) -> None:
    """Read `.env`; the real environment takes precedence."""
    if path.is_file():
        _env.read_env(str(path))


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def _read(name: str, default: T, expects: str, parse: Callable[[str], T]) -> T:
    raw = text(name)
    if not raw:
        return default
    try:
        return parse(raw)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise ConfigurationError(f"{name}={raw!r} is not valid: expected {expects}.") from error


def boolean(name: str, default: bool) -> bool:
    return _read(name, default, "true or false", _parse_boolean)


def _parse_boolean(raw: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    return words[raw.lower()]


def whole_number(name: str, default: int, *, minimum: int = 0) -> int:
    def parse(raw: str) -> int:
        number = int(raw)
        if number < minimum:
            raise ValueError
        return number

    return _read(name, default, f"a whole number, {minimum} or more", parse)


def words(name: str, default: list[str]) -> list[str]:
    return _read(
        name,
        default,
        "names separated by commas",
        lambda raw: [word.strip() for word in raw.split(",") if word.strip()],
    )


def time_zone(name: str, default: str) -> str:
    return _read(name, default, "a time zone such as Europe/Berlin", lambda raw: ZoneInfo(raw).key)


def email(name: str, folder: Path) -> dict[str, Any]:
    """Django's EMAIL_… settings from one address. By default, mail goes to files in `folder`."""

    def parse(raw: str) -> dict[str, Any]:
        scheme = raw.partition("://")[0]
        # The console's output is a log, and password reset links do not belong there.
        if scheme not in environ.Env.EMAIL_SCHEMES or scheme == "consolemail":
            raise ValueError(raw)
        parsed = environ.Env.email_url_config(raw)
        return {key: value for key, value in parsed.items() if value is not None}

    expects = "smtp+tls://user:password@mail.example.com:587, smtp://… or filemail:///folder"
    files = "django.core.mail.backends.filebased.EmailBackend"
    default = {"EMAIL_BACKEND": files, "EMAIL_FILE_PATH": str(folder)}
    return _read(name, default, expects, parse)


def database(name: str, default_path: Path) -> dict[str, Any]:
    """SQLite under `var/` unless the variable names a PostgreSQL server."""
    raw = text(name) or f"sqlite:///{default_path}"
    database: dict[str, Any] = {}
    if raw.partition("://")[0] in {"sqlite", "postgres", "postgresql"}:
        database = environ.Env.db_url_config(raw)
    engine = database.get("ENGINE")
    if engine == "django.db.backends.sqlite3":
        return database | {
            "OPTIONS": {
                # Readers never wait for the writer; a second writer waits, up to 60 s
                # (the archive of a million players takes a third of that), and takes its lock at
                # BEGIN, so that it cannot fail half way.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                "timeout": 60,
                "transaction_mode": "IMMEDIATE",
            }
        }
    if engine == "django.db.backends.postgresql":
        return database | {
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {
                # A server that vanishes is noticed within 15 s, not within hours.
                "connect_timeout": 5,
                "keepalives_idle": 5,
                "keepalives_interval": 5,
                "keepalives_count": 2,
                "tcp_user_timeout": 15_000,
                # The pool doubles its pauses between attempts, by default up to five minutes: after
                # an outage it would reconnect much too late.
                "pool": {"min_size": 1, "max_size": 8, "timeout": 5, "reconnect_timeout": 5},
            }
            | database.get("OPTIONS", {}),  # such as sslmode
        }
    # The value is not shown: it may hold a password.
    raise ConfigurationError(
        f"{name} is not valid: expected postgres://user:password@host:5432/name "
        "or sqlite:///path/to/file."
    )


def site_url(name: str, default: str) -> str:
    """Where this site is reached: scheme, host and port, without a path."""

    def parse(raw: str) -> str:
        parts = urlsplit(raw)
        # `port` raises a ValueError itself when it is not a number.
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            raise ValueError(raw)
        if parts.username or parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError(raw)
        return f"{parts.scheme}://{parts.netloc}"

    return _read(name, default, "an address such as https://scores.example.com", parse)


def keep_files_private() -> None:
    """Files that this process and its children create are readable by their owner only."""
    os.umask(0o077)


def private_folder(path: Path) -> Path:
    """The folder, created when missing, that only its owner may enter, whatever the umask."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid == os.getuid():
        path.chmod(0o700)
    return path


def local_secret(path: Path) -> str:
    """A key that is created once; when two processes start at once, both use the first."""
    if not path.exists():
        # Complete before it has its name: nobody reads half of it.
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(get_random_secret_key())  # readable by its owner only, by the umask
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()
