"""Lua scripts: one file each, sent by hash, loaded by the server on first use.

Imports no Django, so that the engine can use it on its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from redis.exceptions import NoScriptError

_INCLUDE = re.compile(r"^ *-- include (\w+)$", re.MULTILINE)


# What the slow log's hashes mean: each script of this process by its hash.
known: dict[str, Script] = {}


class Script:
    """One Lua file. Nothing is sent until it is called.

    `script(client, keys, args)` runs it, `await script.acall(client, keys, args)` is its twin.
    Both send EVALSHA and fall back to EVAL when the server does not know the script (a restart,
    a failover, SCRIPT FLUSH): the script has not run then, so sending it again is safe.
    """

    __slots__ = ("name", "sha", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        known[self.sha] = self

    def __repr__(self) -> str:
        return f"<Script {self.name}>"

    def __call__(self, client: Any, keys: Sequence[Any], args: Sequence[Any] = ()) -> Any:
        try:
            return client.execute_command("EVALSHA", self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return client.execute_command("EVAL", self.text, len(keys), *keys, *args)

    async def acall(self, client: Any, keys: Sequence[Any], args: Sequence[Any] = ()) -> Any:
        try:
            return await client.execute_command("EVALSHA", self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return await client.execute_command("EVAL", self.text, len(keys), *keys, *args)


def name_of(beginning: str) -> str | None:
    """The script with this hash or this beginning of its text; the slow log cuts long texts."""
    if beginning in known:
        return known[beginning].name
    for script in known.values():
        if beginning and script.text.startswith(beginning):
            return script.name
    return None


@cache
def load(directory: Path, name: str) -> Script:
    """The script in `<directory>/<name>.lua`.

    A line `-- include other` stands for the text of `other.lua` in the same folder: what several
    scripts share is written once.
    """
    return Script(name, _text(directory, name))


def _text(directory: Path, name: str) -> str:
    text = (directory / f"{name}.lua").read_text()
    return _INCLUDE.sub(lambda match: _text(directory, match[1]), text)
