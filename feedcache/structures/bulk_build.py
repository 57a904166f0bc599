"""A large value built beside its key in small commands, then put in its place at once: nobody waits, nobody sees half."""

import secrets
from collections.abc import Iterable
from typing import Any

from feedcache.redis_servers.connections import graph

BUILDING_TTL_SECONDS = 60  # a builder that dies leaves nothing for longer than this


def replace(key: str, commands: Iterable[tuple[str, list[Any]]], *, ttl_seconds: int) -> None:
    """Replace what a key holds by what the commands make, each given as its name and what follows the key."""
    building = f"{key}:building:{secrets.token_hex(4)}"
    pipeline = graph().pipeline(transaction=False)
    for name, arguments in commands:
        pipeline.execute_command(name, building, *arguments)  # type: ignore[no-untyped-call]  # as the library has it
        pipeline.expire(building, BUILDING_TTL_SECONDS)
    pipeline.unlink(
        key
    )  # of any size and type: a rename over it would free it while everybody waits
    pipeline.rename(building, key)
    pipeline.expire(key, ttl_seconds)
    pipeline.execute()
