"""What is told to all processes that listen at this moment, over Redis pub/sub. Who does not listen never hears it."""

import asyncio
from collections.abc import AsyncIterator

from feedcache.redis_servers.connections import (
    RedisError,
    broadcasts,
    broadcasts_to_hear,
    key_prefix,
)

PING_SECONDS = 2.0
SILENCE_SECONDS = 3 * PING_SECONDS  # without even an answer to a ping: the connection is dead


def tell(message: bytes) -> None:
    """Send a message to everybody who listens now. RedisError is the caller's."""
    broadcasts().publish(_channel(), message)


async def hear() -> AsyncIterator[bytes | None]:
    """Every message from now on; the first value is None and says that listening has begun.

    RedisError or OSError when the connection is lost: messages may have been missed, and the caller begins anew.
    """
    clock = asyncio.get_running_loop().time
    client = broadcasts_to_hear()
    try:
        async with client.pubsub() as channel:
            await channel.subscribe(_channel())
            heard_at = clock()
            while clock() - heard_at < SILENCE_SECONDS:
                message = await channel.get_message(timeout=PING_SECONDS)
                if message is None:
                    await channel.ping()
                    continue
                heard_at = clock()
                if message["type"] == "subscribe":
                    yield None
                elif message["type"] == "message":
                    yield message["data"]
            raise RedisError("Redis has fallen silent")
    finally:
        await client.aclose()


def _channel() -> bytes:
    return key_prefix() + b"live"
