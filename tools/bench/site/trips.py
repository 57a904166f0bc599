"""How often a page waits for the caches: every time that something is sent after an answer was read, a round trip
begins.

Counted at the sockets of this process, so what is sent to several servers before the first answer is read is one trip.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

SENDS, RECEIVES = ("send", "sendall", "sendmsg"), ("recv", "recv_into")


@dataclass(slots=True)
class Trips:
    trips: int = 0
    sent: int = 0  # requests; several to one server may go as one
    waits: bool = False  # for an answer, since the last was sent


@contextmanager
def counted() -> Iterator[Trips]:
    """What this thread asks of servers inside; PostgreSQL is asked by a library that does not use these sockets."""
    found = Trips()

    def sent(call: Any, *args: Any, **options: Any) -> Any:
        if not found.waits:
            found.trips += 1
        found.sent, found.waits = found.sent + 1, True
        return call(*args, **options)

    def received(call: Any, *args: Any, **options: Any) -> Any:
        found.waits = False
        return call(*args, **options)

    with ExitStack() as stack:
        for names, note in ((SENDS, sent), (RECEIVES, received)):
            for name in names:
                stack.enter_context(_noted(name, note))
        yield found


@contextmanager
def _noted(name: str, note: Any) -> Iterator[None]:
    call = getattr(socket.socket, name)

    def noted(self: socket.socket, *args: Any, **options: Any) -> Any:
        return note(call, self, *args, **options)

    with patch.object(socket.socket, name, noted):
        yield
