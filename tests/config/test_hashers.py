import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import argon2
import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, identify_hasher

from config.settings import PASSWORD_HASHERS
from sessions_app import hashers
from sessions_app.hashers import AT_ONCE, BoundedArgon2PasswordHasher


def test_new_passwords_use_owasps_second_choice():
    assert PASSWORD_HASHERS[0] == "sessions_app.hashers.BoundedArgon2PasswordHasher"
    encoded = BoundedArgon2PasswordHasher().encode("correct horse", "somesalt12")
    assert "$m=19456,t=2,p=1$" in encoded


def test_an_older_hash_still_opens_and_is_made_anew(settings):
    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    older = Argon2PasswordHasher().encode("correct horse", "somesalt12")
    made = []
    assert check_password("correct horse", older, made.append)
    assert made == ["correct horse"]
    assert not check_password("wrong", older)
    assert isinstance(identify_hasher(older), BoundedArgon2PasswordHasher)


def test_no_more_hashes_run_at_once_than_there_are_cores(monkeypatch):
    counting, running, most, threads = threading.Lock(), 0, 0, set()
    real = argon2.low_level.hash_secret

    def counted(*args, **kwargs):
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
            threads.add(threading.current_thread().name)
        try:
            return real(*args, **kwargs)
        finally:
            with counting:
                running -= 1

    monkeypatch.setattr(argon2.low_level, "hash_secret", counted)
    hasher = hashers.BoundedArgon2PasswordHasher()
    with ThreadPoolExecutor(30) as pool:
        encoded = list(pool.map(lambda n: hasher.encode("correct horse", f"salt{n:08}"), range(30)))
    assert len(set(encoded)) == 30
    assert 1 <= most <= AT_ONCE
    # Each thread that ever hashed keeps the memory of one hash.
    assert len(threads) <= AT_ONCE
    assert all(name.startswith("hash") for name in threads)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities for threads")
def test_hashes_give_way_to_everything_else():
    thread = hashers._hashing.submit(threading.get_native_id).result()
    assert os.getpriority(os.PRIO_PROCESS, thread) == hashers.NICENESS
    assert os.getpriority(os.PRIO_PROCESS, 0) < hashers.NICENESS
