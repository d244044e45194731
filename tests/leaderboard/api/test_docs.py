"""Every snippet of docs/api.md runs as it stands, against a real server."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.servers import OWN_SERVER, free_port, new_database, wait_for

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text()

_SETUP = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from leaderboard.access.audit import Actor
from leaderboard.boards.changing import create_board
from leaderboard.models import ApiKey
create_board(actor=Actor("test"), slug="neon-drift", name="Neon Drift")
print(ApiKey.make("docs", ["read", "submit", "moderate"], all_boards=True)[1])
"""


def snippets(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def listens(port):
    import socket

    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture
def environment():
    """A server of its own on the test process's Redis."""
    with tempfile.TemporaryDirectory() as folder:
        values = os.environ | {
            "REDIS_URL": OWN_SERVER.url,
            "VAR_DIR": folder,
            "DATABASE_URL": new_database(Path(folder)),
            "DEBUG": "",
            "LOG_LEVEL": "WARNING",
            "PYTHONWARNINGS": "ignore",
        }
        values.pop("DJANGO_SETTINGS_MODULE", None)
        made = subprocess.run(
            [sys.executable, "-c", _SETUP], cwd=ROOT, env=values, check=True, capture_output=True
        )
        port = free_port()
        code = f"from config.web.server import serve; serve('127.0.0.1', {port}, 1)"
        server = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=values)
        try:
            wait_for(lambda: listens(port), timeout=60)
            yield values | {
                "ROSTRUM": f"http://127.0.0.1:{port}/api/v1",
                "KEY": made.stdout.decode().split()[-1],
                "BOARD": "neon-drift",
            }
        finally:
            server.terminate()
            server.wait()


def run(environment, *command):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_snippets_work_as_they_stand(environment):
    exports, submit, around = snippets("sh")
    assert exports.count("export") == 3
    curl = shutil.which("curl")
    if curl:
        answer = json.loads(run(environment, "sh", "-c", submit))
        assert (answer["player"], answer["rank"], answer["score"]) == ("ada", 1, 9000000.0)
        shown = json.loads(snippets("json")[0])
        assert set(shown) == set(answer)
        assert json.loads(run(environment, "sh", "-c", around))["entries"][0]["player"] == "ada"
    output = run(environment, sys.executable, "-c", "\n".join(snippets("python")))
    assert output.splitlines() == ["lin is at rank 1", "100 accepted, 0 refused", "100 removed"]
    node = shutil.which("node")
    if node:
        program = "\n".join(snippets("js"))
        output = run(environment, node, "--input-type=module", "-e", program)
        assert output.splitlines() == ["kai is at rank 2", "true"]
