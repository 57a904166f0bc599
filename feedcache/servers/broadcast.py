"""Sends messages over Redis pub/sub to all processes that are listening at that moment. Other processes miss them."""

import asyncio
from collections.abc import AsyncIterator

from feedcache.connections import (
    RedisError,
    async_broadcasts,
    close_async,
    key_prefix,
    tenant_of,
    written,
)

PING_SECONDS = 2.0
# A connection on which not even pings are answered for this long is dead.
SILENCE_SECONDS = 3 * PING_SECONDS


def publish(message: bytes) -> None:
    """Send a message. Raises RedisError."""
    for client in written("broadcasts"):
        client.publish(_channel(), message)


async def subscribe() -> AsyncIterator[bytes | None]:
    """Yield None when the subscription has begun, and then every message.

    Raises RedisError or OSError if the connection is lost or the broadcasts have moved. Messages may then have been
    missed, and the caller should subscribe again.
    """
    clock = asyncio.get_running_loop().time
    client, url = async_broadcasts(), tenant_of("broadcasts").url
    try:
        async with client.pubsub() as channel:
            await channel.subscribe(_channel())
            last_message_at = clock()
            while clock() - last_message_at < SILENCE_SECONDS:
                message = await channel.get_message(timeout=PING_SECONDS)
                if tenant_of("broadcasts").url != url:
                    raise RedisError("the broadcasts have moved to another server")
                if message is None:
                    await channel.ping()
                    continue
                last_message_at = clock()
                if message["type"] == "subscribe":
                    yield None
                elif message["type"] == "message":
                    yield message["data"]
            raise RedisError("Redis has fallen silent")
    finally:
        await close_async(client)


def _channel() -> bytes:
    return key_prefix() + b"live"
