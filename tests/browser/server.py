"""The web process as `manage.py serve` runs it, on a Redis and a database of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from leaderboard import RedisLeaderboard, keys
from tests.servers import ON_CLUSTER, OwnCluster, RedisServer, free_port, new_database, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent


class Server:
    """The web process on its own Redis and SQLite; `stop` and `start` keep address and data."""

    def __init__(self, folder: Path, settings: str = "tests.browser.settings") -> None:
        self.redis: Any = (OwnCluster if ON_CLUSTER else RedisServer)(appendonly="yes")
        self.cache = RedisServer() if ON_CLUSTER else None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "web.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": settings,
            "ROSTRUM_TEST_FOLDER": str(folder),
            "REDIS_URL": self.redis.url,
            "CACHE_URL": self.cache.url if self.cache else "",
            "DATABASE_URL": new_database(folder),
            "SECRET_KEY": "only-for-tests-" + "x" * 40,
            "DEBUG": "",
            "ROSTRUM_HOST": "127.0.0.1",
            "ROSTRUM_PORT": str(self.port),
            "ROSTRUM_PROCESSES": "1",
        }

    def start_redis(self) -> None:
        self.redis.start()
        if self.cache:
            self.cache.start()

    def remove(self) -> None:
        """Stop everything and leave nothing behind."""
        self.stop()
        self.redis.remove()
        if self.cache:
            self.cache.remove()

    def prepare(self) -> None:
        self.start_redis()
        self.run("-m", "tests.browser.prepare")

    def run(self, *arguments: str) -> str:
        """A command with this server's settings; what it said."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            check=True,
            timeout=120,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.web.server"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        wait_for(self.answers, timeout=60)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=20)
            self.process = None

    def engine(self, client: Any = None) -> RedisLeaderboard:
        """The board as a game server writes to it."""
        return RedisLeaderboard(
            client or self.redis.client(),
            keys.base("arena"),
            None,
            season=1,
            ties="earliest",
            groups=("country", "team"),
            windows=("day", "week"),
            events=True,
            notices=True,
        )
