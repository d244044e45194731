"""Password hashes that cannot exhaust the machine."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.hashers import Argon2PasswordHasher

# A hash keeps one core busy: more at once finish no sooner and only use more memory. The processes
# share the cores.
AT_ONCE = max(1, (os.cpu_count() or 1) // max(1, int(os.environ.get("ROSTRUM_PROCESSES") or 1)))
NICENESS = 10


def _give_way() -> None:
    """Let scores and pages go first. Only Linux has priorities for threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


# Own threads: the C library keeps the memory that a thread once used, per thread.
_hashing = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="hash", initializer=_give_way)


class BoundedArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id by OWASP's second choice: 19 MiB, two passes, one lane. While every core is busy,
    further hashes wait. Older, larger hashes still verify, and are replaced at a sign-in."""

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return _hashing.submit(super().encode, password, salt).result()

    def verify(self, password: str, encoded: str) -> bool:
        return _hashing.submit(super().verify, password, encoded).result()
