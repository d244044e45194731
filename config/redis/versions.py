"""Which versions of the function libraries are in use, and the end of the others.

Each deployment leaves a version behind. A process notes once a minute which ones it uses, and the
worker deletes those that nobody has used for a day. A process that does not note its use, such as a
program with the engine alone, loses nothing by it: its next call finds no function and loads it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from typing import Any

from redis.exceptions import NoPermissionError, ResponseError
from redis.utils import str_if_bytes

from config import keys
from config.redis.functions import is_cluster, libraries

logger = logging.getLogger("rostrum.functions")

NOTED_EVERY = 60.0
KEPT_UNUSED = 86_400
MEMORY = 7 * 86_400

_NAME = re.compile(r"rostrum_[a-z]+_[0-9a-f]{12}")  # as `Library` makes them
_note_at = 0.0


def note_use(client: Any) -> None:
    """Note that this process uses its libraries; costs nothing within a minute."""
    global _note_at
    if time.monotonic() < _note_at:
        return
    _note_at = time.monotonic() + NOTED_EVERY
    _note(client, libraries)


def delete_unused(client: Any) -> list[str]:
    """Delete versions that nobody has used for a day; on a cluster from every primary.

    One that nobody is known to have used, perhaps restored from a backup, counts as used now.
    """
    try:
        found = {name for node in _nodes(client) for name in _names(node)}
    except NoPermissionError:  # then somebody else keeps the server tidy
        return []
    noted = client.hgetall(keys.libraries_used())
    used = {str(str_if_bytes(name)): int(seconds) for name, seconds in noted.items()}
    _note(client, found - set(used))
    oldest = int(client.time()[0]) - KEPT_UNUSED
    unused = [name for name in sorted(found - set(libraries)) if used.get(name, oldest) < oldest]
    for name in unused:
        for node in _nodes(client):
            _delete(node, name)
        client.hdel(keys.libraries_used(), name)
        logger.info("Unused functions deleted", extra={"library": name})
    return unused


def _note(client: Any, names: Any) -> None:
    if names:
        seconds = int(client.time()[0])
        client.hset(keys.libraries_used(), mapping=dict.fromkeys(names, seconds))
        client.expire(keys.libraries_used(), MEMORY)


def _nodes(client: Any) -> Iterator[Any]:
    if is_cluster(client):
        yield from (client.get_redis_connection(node) for node in client.get_primaries())
    else:
        yield client


def _names(node: Any) -> Iterator[str]:
    """Our libraries on a server; other people's are none of our business."""
    for library in node.function_list("rostrum_*"):
        name = str(str_if_bytes(_field(library, "library_name")))
        if _NAME.fullmatch(name):
            yield name


def _field(reply: Any, name: str) -> Any:
    """Of a reply that is a dictionary, or names and values in turn."""
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    return next(value for field, value in pairs if str_if_bytes(field) == name)


def _delete(node: Any, name: str) -> None:
    try:
        node.function_delete(name)
    except ResponseError as error:
        if "not found" not in str(error):  # another worker was faster, or the node never had it
            raise
