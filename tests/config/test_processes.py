"""Processes that belong together, and how they end."""

import subprocess
import sys
import threading

import pytest

from config.processes import Wakeup
from config.web import server
from tests.servers import wait_for

# A timer's signals come while the main thread is anywhere inside `wait`, `clear` or between them.
# With `threading.Event` this stops for ever after a few hundred rounds.
STORM = """
import signal
from config.processes import Wakeup
event = Wakeup()
signal.signal(signal.SIGALRM, lambda *_: event.set())
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
for _ in range(3000):
    event.wait()
    event.clear()
signal.setitimer(signal.ITIMER_REAL, 0)
"""

# Each round is a worker that gets its signal at another moment of its start.
STOPS = """
import os, signal, threading
import django
django.setup()
from leaderboard.worker.duties import Worker
for number in range(300):
    worker = Worker()
    worker.duties = [("idle", lambda worker=worker: worker.stopping.wait(30))]
    signal.signal(signal.SIGALRM, lambda *_: worker.stop())
    signal.setitimer(signal.ITIMER_REAL, 0.00001 * (1 + number % 100))
    assert worker.run()
"""


# The kernel may give a signal to any thread; the main thread then sleeps on.
ELSEWHERE = """
import signal, threading
from config.processes import Wakeup
event, other = Wakeup(), threading.Event()
signal.signal(signal.SIGTERM, lambda *_: event.set())
thread = threading.Thread(target=other.wait, daemon=True)
thread.start()
threading.Timer(0.3, signal.pthread_kill, (thread.ident, signal.SIGTERM)).start()
assert event.wait()
"""


@pytest.mark.parametrize(
    "program", [STORM, STOPS, ELSEWHERE], ids=["signals", "workers", "another thread"]
)
def test_no_signal_is_lost_and_none_blocks(program):
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_wakeup_stays_set_until_it_is_cleared():
    event = Wakeup()
    assert not event.is_set()
    event.set()
    event.set()
    assert event.is_set()
    assert event.wait()
    event.clear()
    assert not event.wait(0)


def test_a_wakeup_wakes_another_thread():
    event = Wakeup()
    waiting = threading.Thread(target=event.wait)
    waiting.start()
    event.set()
    wait_for(lambda: not waiting.is_alive())


def test_a_full_pipe_still_wakes():
    event = Wakeup()
    for _ in range(100_000):
        event.set()
    assert event.is_set()


def test_a_signal_that_comes_while_a_web_process_is_replaced_is_not_lost(monkeypatch):
    web = server.build("127.0.0.1", 0, 1, "config.asgi:application")

    class Ended(list):
        """Web processes that have ended; the signal comes after the loop has looked for one."""

        def clear(self):
            super().clear()
            web.signal_handler_interrupt()

    monkeypatch.setattr(web, "interrupt_children", Ended([0]))
    monkeypatch.setattr(web, "_respawn_workers", lambda *_: None)
    web.main_loop_interrupt.set()
    loop = threading.Thread(target=web._serve_loop, args=(None, None), daemon=True)
    loop.start()
    wait_for(lambda: not loop.is_alive())
