"""Whatever starts: nobody else can read what it writes, and no log holds a link to a password."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config.logs import LineFormatter
from config.redis import embedded
from tests.servers import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
MAIL = """
from django.contrib.auth.models import User
from django.test import Client
User.objects.create_user("ann", "ann@example.com", "a long password")
Client(headers={"host": "localhost"}).post("/accounts/reset/", {"email": "ann@example.com"})
"""
JOIN = """
import sys
from pathlib import Path
from config.redis import embedded
embedded.join(Path(sys.argv[1]))
"""


def manage(var, *arguments):
    """As from a shell with the usual umask."""
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=clean | {"VAR_DIR": str(var)},
        capture_output=True,
        text=True,
        umask=0o022,
    )


def open_to_others(var):
    return [str(path) for path in (var, *var.rglob("*")) if path.lstat().st_mode & 0o077]


@pytest.mark.timeout(240)
def test_commands_alone_leave_nothing_open_to_others(tmp_path):
    var = tmp_path / "var"
    for command in (["migrate", "-v0"], ["seed", "-v0"], ["shell", "-v0", "-c", MAIL]):
        result = manage(var, *command)
        assert result.returncode == 0, result.stderr
        assert open_to_others(var) == []
    names = {path.name for path in var.rglob("*")}
    assert {"rostrum.sqlite3", "secret_key", "demo_password", "redis.log", "keeper.log"} <= names
    wait_for(lambda: list((var / "mail").glob("*")))
    (mail,) = (var / "mail").glob("*")
    assert "/accounts/reset/" in mail.read_text()
    assert open_to_others(var) == []
    assert "/accounts/reset/" not in result.stdout + result.stderr


def test_the_embedded_server_alone_leaves_nothing_open_to_others(tmp_path):
    var = tmp_path / "redis"
    subprocess.run([sys.executable, "-c", JOIN, str(var)], cwd=ROOT, umask=0o022, check=True)
    wait_for(lambda: not embedded._keeper_alive(var))
    assert open_to_others(var) == []
    assert (var / "dump.rdb").exists()


def test_a_link_to_a_new_password_is_never_in_a_log_line():
    formatter = LineFormatter()
    address = "/accounts/reset/MQ/c5w2ab-0123456789abcdef0123456789abcdef/"
    for record in (
        {"msg": "", "path": address},
        {"msg": "Internal Server Error: %s", "args": (address,)},
        {"msg": "x", "path": f"{address}?a=1 b"},
    ):
        line = formatter.format(logging.makeLogRecord({"name": "rostrum", **record}))
        assert "/accounts/reset/…" in line
        assert not re.search("MQ|c5w2ab", line)
    record = {"name": "rostrum", "msg": "", "path": "/accounts/reset/sent/"}
    line = formatter.format(logging.makeLogRecord(record))
    assert line.endswith("path=/accounts/reset/sent/")
