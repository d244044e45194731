"""Whatever is killed when: nothing is lost, nothing is doubled, the end is the same."""

import json
import os
import subprocess
import sys

import pytest

from tests.leaderboard.killing import CHECKS
from tests.servers import new_database

POINTS = {what: list(points) for what, (points, _) in CHECKS.items()}
RUN = "import django; django.setup(); from tests.leaderboard.killing import main; main({!r})"


@pytest.mark.parametrize("what", POINTS)
def test_killed_after_each_step_and_started_again(what, redis_server, tmp_path):
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": new_database(tmp_path),
        "REDIS_URL": redis_server.url,
        "LOG_LEVEL": "ERROR",
    }
    run = subprocess.run(
        [sys.executable, "-c", RUN.format(what)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == 0, run.stderr
    reports = [json.loads(line) for line in run.stdout.splitlines()]
    assert [report.pop("point") for report in reports] == POINTS[what]
    for point, report in zip(POINTS[what], reports, strict=True):
        assert all(report.values()), (point, report, run.stderr)
