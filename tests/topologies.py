"""Several servers at work together, and what can go wrong between them: real, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import redis

from tests.servers import RedisServer, free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent
SERVICE = "rostrum"


class Sentinel(RedisServer):
    """One watcher; it rewrites its own configuration file."""

    def __init__(self, primary: RedisServer, quorum: int) -> None:
        super().__init__()
        (self.directory / "sentinel.conf").write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.directory}\n"
            f"logfile {self.directory / 'sentinel.log'}\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {primary.port} {quorum}\n"
            f"sentinel down-after-milliseconds {SERVICE} 1500\n"
            f"sentinel failover-timeout {SERVICE} 6000\n"
        )

    def command(self) -> list[str]:
        return [self.binary, str(self.directory / "sentinel.conf"), "--sentinel"]


class Replicated:
    """A primary, its replicas and the sentinels that watch them."""

    def __init__(self, replicas: int = 2, sentinels: int = 3, **options: str) -> None:
        options = {"repl-diskless-sync-delay": "0"} | options
        self.primary = RedisServer(**options)
        self.replicas = [
            RedisServer(replicaof=f"127.0.0.1 {self.primary.port}", **options)
            for _ in range(replicas)
        ]
        self.sentinels = [Sentinel(self.primary, sentinels // 2 + 1) for _ in range(sentinels)]

    @property
    def servers(self) -> list[RedisServer]:
        return [self.primary, *self.replicas]

    @property
    def url(self) -> str:
        nodes = ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)
        return f"redis+sentinel://{nodes}/{SERVICE}/0"

    def start(self) -> Replicated:
        for server in self.servers:
            server.start()
        for server in self.replicas:
            wait_for(lambda server=server: follows(server))
        for sentinel in self.sentinels:
            sentinel.start()
        for sentinel in self.sentinels:
            wait_for(lambda sentinel=sentinel: self._sees_all(sentinel))
        return self

    def _sees_all(self, sentinel: Sentinel) -> bool:
        with sentinel.client(decode_responses=True) as client:
            state = client.sentinel_master(SERVICE)
        return (
            int(state["num-slaves"]) == len(self.replicas)
            and int(state["num-other-sentinels"]) == len(self.sentinels) - 1
        )

    def current_primary(self) -> RedisServer:
        """The one that a majority of sentinels name now."""
        ports: list[int] = []
        for sentinel in self.sentinels:
            with contextlib.suppress(redis.RedisError), sentinel.client() as client:
                ports.append(int(client.sentinel_get_master_addr_by_name(SERVICE)[1]))
        port = max(set(ports), key=ports.count)
        return next(server for server in self.servers if server.port == port)

    def remove(self) -> None:
        for server in [*self.sentinels, *self.servers]:
            server.remove()


def freeze(server: RedisServer) -> None:
    """SIGSTOP, and wait until it has taken effect; `thaw` lets the server go on."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)
    os.waitpid(server.process.pid, os.WUNTRACED)


def thaw(server: RedisServer) -> None:
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGCONT)


def follows(server: RedisServer) -> bool:
    with server.client(decode_responses=True) as client:
        return bool(client.info("replication").get("master_link_status") == "up")


@contextlib.contextmanager
def replicated(**options: Any) -> Iterator[Replicated]:
    topology = Replicated(**options)
    try:
        yield topology.start()
    finally:
        topology.remove()


def cluster_url(servers: Sequence[RedisServer]) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in servers)


def holder_of(servers: Sequence[RedisServer], slot: int) -> RedisServer:
    """The primary that holds a slot, as the first living node knows it."""
    for server in servers:
        if server.process is not None:
            with server.client(decode_responses=True) as client:
                for first, last, primary, *_ in client.execute_command("CLUSTER", "SLOTS"):
                    if int(first) <= slot <= int(last):
                        return next(one for one in servers if one.port == int(primary[1]))
    raise AssertionError(f"Nobody holds slot {slot}.")


def has_replaced(servers: Sequence[RedisServer], dead: RedisServer) -> bool:
    """Whether every living node says that the cluster is whole, and that without the dead one.

    Nodes learn of a failover one after the other; those that have not yet still refuse calls.
    """
    for server in servers:
        if server is dead:
            continue
        with server.client(decode_responses=True) as client:
            slots = client.execute_command("CLUSTER", "SLOTS")
            state = client.execute_command("CLUSTER INFO")["cluster_state"]
        if state != "ok" or dead.port in {int(primary[1]) for _, _, primary, *_ in slots}:
            return False
    return True


def replace(servers: Sequence[RedisServer], dead: RedisServer) -> None:
    """Let a replica take the slots of a dead primary at once. An election waits for
    `cluster-node-timeout`, and when that is short a busy machine calls elections of its own."""
    for server in servers:
        if server is not dead:
            with server.client(decode_responses=True) as client:
                if client.info("replication").get("master_port") == dead.port:
                    client.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
                    break
    wait_for(lambda: has_replaced(servers, dead), timeout=60)


def move_slot(servers: Sequence[RedisServer], slot: int, *, to: RedisServer) -> None:
    """Give a slot and its keys to another primary, as `redis-cli --cluster reshard` does."""
    source = holder_of(servers, slot)
    clients = {server: server.client(decode_responses=True) for server in servers}
    ids = {one: str(client.execute_command("CLUSTER", "MYID")) for one, client in clients.items()}
    clients[to].execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
    clients[source].execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
    while keys := clients[source].execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
        clients[source].execute_command(
            "MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "REPLACE", "KEYS", *keys
        )
    for server in (to, source):
        clients[server].execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[to])
    wait_for(lambda: all(_agrees(client, slot, to) for client in clients.values()))
    for client in clients.values():
        client.close()


def _agrees(client: Any, slot: int, holder: RedisServer) -> bool:
    for first, last, primary, *_ in client.execute_command("CLUSTER", "SLOTS"):
        if int(first) <= slot <= int(last):
            return int(primary[1]) == holder.port
    return False


class Proxy:
    """A TCP proxy that can be slow, silent or gone."""

    def __init__(self, target_port: int) -> None:
        self.port = free_port()
        self.target_port = target_port
        self.delay = 0.0  # seconds before each piece of an answer goes on
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Proxy:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def cut(self) -> None:
        """Break every connection and refuse new ones."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def mend(self) -> None:
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def hold(self) -> None:
        """Let nothing through, and close nothing: a cable pulled out."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def let_go(self) -> None:
        self._loop.call_soon_threadsafe(self._open.set)

    def stop(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _listen(self) -> None:
        self._open.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()
        await asyncio.sleep(0)

    async def _serve(self, reader: Any, writer: Any) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, there[1]}
        await asyncio.gather(self._pump(reader, there[1], 0.0), self._pump(there[0], writer, None))

    async def _pump(self, reader: Any, writer: Any, delay: float | None) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                if pause := self.delay if delay is None else delay:
                    await asyncio.sleep(pause)
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()
        self._writers.discard(writer)


@contextlib.contextmanager
def proxy(target_port: int) -> Iterator[Proxy]:
    between = Proxy(target_port).start()
    try:
        yield between
    finally:
        between.stop()


class Rostrum:
    """`manage.py` in a folder of its own: every process of a running copy."""

    def __init__(self, var: Path, **environment: str) -> None:
        self.var = var
        self.port = free_port()
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.environment = inherited | {"VAR_DIR": str(var), "LOG_LEVEL": "WARNING"} | environment
        self.processes: list[subprocess.Popen[bytes]] = []

    def manage(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=check,
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Run a command until it is stopped; its output is kept under the folder."""
        name = arguments[0].strip("-")
        with (self.var / f"{name}-{len(self.processes)}.out").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def serve(self, *arguments: str) -> Rostrum:
        process = self.start("serve", "--port", str(self.port), *arguments)
        wait_for(lambda: process.poll() is not None or self.get("/readyz")[0] == 200, timeout=120)
        assert process.poll() is None, self.output()
        return self

    def output(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.var.rglob("*.out")))

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        return self.request("GET", path, None, headers)

    def request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Status and body; 0 when nobody answers."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=body, method=method, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""

    def family(self) -> dict[int, str]:
        """Every process that runs in the folder's name, with its command line."""
        mark = f"VAR_DIR={self.var}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                        found[int(entry.name)] = command.decode(errors="replace")
                except OSError:
                    continue  # ended meanwhile, or not ours to see
        return found

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
