"""Commands before the first start: one clear line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import OWN_CACHE, OWN_SERVER, new_database

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.mark.parametrize(
    "command",
    [
        "seed",
        "seed --remove",
        "reset --yes",
        "season list",
        "rebuild cup",
        "export cup",
        "import_scores cup scores.csv",
        "simulate --count 1",
        "worker",
    ],
)
def test_a_command_before_the_first_start_names_what_to_do(command, tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "VAR_DIR": str(tmp_path / "var"),
        "DATABASE_URL": new_database(tmp_path),
        "REDIS_URL": OWN_SERVER.url,
    }
    if OWN_CACHE:
        environment["CACHE_URL"] = OWN_CACHE.url
    ended = subprocess.run(
        [sys.executable, "manage.py", *command.split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == (
        "CommandError: The database has no tables yet. Start Rostrum once with `make run`, or run "
        "`manage.py migrate`.\n"
    )
