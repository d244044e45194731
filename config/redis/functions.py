"""Redis functions: each app has one library, sent to a server that does not know it yet.

A library is made of the `.lua` files of a folder. Each file is a module: the loader declares its
table, named like the file, before any of them, so that modules may call each other in any order.
What a file declares `local` is its own. `register('submit', …)` and `register_read('read_page', …)`
at the end of a file make functions of the library.

Library and functions are named by their content: `rostrum_<version>_submit`. Two releases run side
by side on one server, and neither can call the other's code.

Imports no Django, so that the engine can use it on its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from redis.asyncio.cluster import RedisCluster as AsyncRedisCluster
from redis.cluster import RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

OPENING = (Path(__file__).parent / "library.lua").read_text()
UNKNOWN = "Function not found"
_REGISTERED = re.compile(r"^register(_read)?\('(\w+)'", re.MULTILINE)
_VERSION_LENGTH = 12
_FULL_NAME = re.compile(rf"rostrum_[0-9a-f]{{{_VERSION_LENGTH}}}_(\w+)")


def is_unknown(error: object) -> bool:
    """Whether a server answered that it does not have the function: the call has not run."""
    return isinstance(error, ResponseError) and str(error) == UNKNOWN


def is_cluster(client: Any) -> bool:
    return isinstance(client, RedisCluster | AsyncRedisCluster)


# Every library of the product by its name: for start-up, the worker and the slow log.
libraries: dict[str, Library] = {}


class Library:
    """The functions of one app. Nothing is sent until one of them is called."""

    def __init__(self, app: str, modules: Mapping[str, str]) -> None:
        """`modules` are the texts of the Lua files by the names of their tables."""
        self.app = app
        body = _body(modules)
        self.version = hashlib.sha256(f"{app}\n{body}".encode()).hexdigest()[:_VERSION_LENGTH]
        self.name = f"rostrum_{app}_{self.version}"
        self.prefix = f"rostrum_{self.version}_"
        self.code = f"#!lua name={self.name}\nlocal PREFIX = '{self.prefix}'\n{body}"
        self.functions = {
            name: Function(self, name, reads=bool(reads))
            for text in modules.values()
            for reads, name in _REGISTERED.findall(text)
        }

    @classmethod
    def of_folder(cls, app: str, folder: Path) -> Library:
        """The library made of a folder's files; one of the product's."""
        library = cls(app, {path.stem: path.read_text() for path in sorted(folder.glob("*.lua"))})
        libraries[library.name] = library
        return library

    def __repr__(self) -> str:
        return f"<Library {self.name}>"

    def __getitem__(self, name: str) -> Function:
        return self.functions[name]

    @property
    def load_command(self) -> tuple[str, ...]:
        return ("FUNCTION LOAD", self.code)

    def load(self, client: Any) -> None:
        """Give the library to the server; on a cluster, to every primary that can be reached."""
        if not is_cluster(client):
            with _may_be_there():
                client.execute_command(*self.load_command)
            return
        for node in client.get_primaries():
            # One that is away need not keep the call from the others.
            with _may_be_there(), suppress(RedisConnectionError, RedisTimeoutError):
                client.execute_command(*self.load_command, target_nodes=node)

    async def aload(self, client: Any) -> None:
        """The asynchronous twin."""
        if not is_cluster(client):
            with _may_be_there():
                await client.execute_command(*self.load_command)
            return
        await client.initialize()
        for node in client.get_primaries():
            with _may_be_there(), suppress(RedisConnectionError, RedisTimeoutError):
                await client.execute_command(*self.load_command, target_nodes=node)


class Function:
    """One function of a library.

    `function(client, keys, args)` calls it, `await function.acall(client, keys, args)` is its
    twin. A server without the library (it is new, has lost its data, or its functions were flushed)
    replies so and has run nothing: it gets the library, and the call again.
    """

    __slots__ = ("command", "full_name", "library", "name")

    def __init__(self, library: Library, name: str, *, reads: bool) -> None:
        self.library = library
        self.name = name
        self.full_name = library.prefix + name
        self.command = "FCALL_RO" if reads else "FCALL"

    def __repr__(self) -> str:
        return f"<Function {self.full_name}>"

    def words(self, keys: Sequence[Any], args: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The command that calls it."""
        return (self.command, self.full_name, len(keys), *keys, *args)

    def __call__(self, client: Any, keys: Sequence[Any], args: Sequence[Any] = ()) -> Any:
        words = self.words(keys, args)
        try:
            return client.execute_command(*words)
        except ResponseError as error:
            if not is_unknown(error):
                raise
        self.library.load(client)
        return client.execute_command(*words)

    async def acall(self, client: Any, keys: Sequence[Any], args: Sequence[Any] = ()) -> Any:
        words = self.words(keys, args)
        try:
            return await client.execute_command(*words)
        except ResponseError as error:
            if not is_unknown(error):
                raise
        await self.library.aload(client)
        return await client.execute_command(*words)


def load_all(client: Any) -> None:
    """Give every library to the server, so that no first call waits for it."""
    for library in libraries.values():
        library.load(client)


def short_name(full_name: str) -> str | None:
    """The name of one of our functions, of whatever version; None for other people's."""
    match = _FULL_NAME.fullmatch(full_name)
    return match[1] if match else None


@contextmanager
def _may_be_there() -> Iterator[None]:
    """Another process may have loaded the same library meanwhile: its name is its content."""
    try:
        yield
    except ResponseError as error:
        if not str(error).endswith("already exists"):
            raise


def _body(modules: Mapping[str, str]) -> str:
    tables = ", ".join(modules)
    empty = ", ".join("{}" for _ in modules)
    blocks = (f"do -- {name}.lua\n{text}end\n" for name, text in modules.items())
    return f"{OPENING}local {tables} = {empty}\n{''.join(blocks)}"
