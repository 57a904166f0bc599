"""Build a large value under a temporary key in small commands, then rename it: no client waits, none sees a part."""

import secrets
from collections.abc import Iterable
from typing import Any

from feedcache.redis_servers.connections import graph

BUILDING_TTL_SECONDS = 60  # after a builder has died


def replace(key: str, commands: Iterable[tuple[str, list[Any]]], *, ttl_seconds: int) -> None:
    """Replace a key. Each command is given by its name and its arguments after the key."""
    building = f"{key}:building:{secrets.token_hex(4)}"
    pipeline = graph().pipeline(transaction=False)
    for name, arguments in commands:
        pipeline.execute_command(name, building, *arguments)  # type: ignore[no-untyped-call]  # as the library has it
        pipeline.expire(building, BUILDING_TTL_SECONDS)
    pipeline.unlink(key)  # frees it in the background; a rename over it would block the server
    pipeline.rename(building, key)
    pipeline.expire(key, ttl_seconds)
    pipeline.execute()
