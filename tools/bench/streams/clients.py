"""A process with the clients of many streams: `python -m tools.bench.streams.clients PORT FILE`.

FILE has a token per line. It opens one stream for each, prints how many are open, and then answers each line on
standard input, `BEGIN SECONDS`, with the times after BEGIN (of `time.monotonic`) at which each client received an event
`update`. It answers once all have received one, or after SECONDS.
"""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

OPENING = 64  # at the same time
OPEN_SECONDS = 60  # for one stream
EVENT = b"event: update\n"
REQUEST = (
    "GET /api/v1/streaming/user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n"
)


class Crowd:
    def __init__(self) -> None:
        self.heard: list[float] = []
        self.open = 0


class Client(asyncio.Protocol):
    """One stream. `answered` is done when the response has begun; its result is the status line."""

    def __init__(self, crowd: Crowd, token: str) -> None:
        self.answered = asyncio.get_running_loop().create_future()
        self._crowd = crowd
        self._token = token
        self._end = b""  # the last bytes, because an event may be split

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(REQUEST.format(self._token).encode())

    def data_received(self, data: bytes) -> None:
        if not self.answered.done():
            self.answered.set_result(data.partition(b"\r\n")[0].decode("latin-1"))
        data = self._end + data
        self._crowd.heard += [time.monotonic()] * data.count(EVENT)
        self._end = data[1 - len(EVENT) :]

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.answered.done():
            self.answered.set_result("no answer")
        elif self.answered.result().endswith("200 OK"):
            self._crowd.open -= 1


async def open_streams(port: int, tokens: Sequence[str], crowd: Crowd) -> dict[str, int]:
    """Open a stream for each token. Returns how many were refused or failed, by status line or "no answer"."""
    refused: dict[str, int] = {}
    seats = asyncio.Semaphore(OPENING)

    async def begin(token: str) -> None:
        async with seats:
            answer = "no answer"
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(OPEN_SECONDS):
                    create = asyncio.get_running_loop().create_connection
                    _transport, client = await create(
                        lambda: Client(crowd, token), "127.0.0.1", port
                    )
                    answer = await client.answered
        if answer.endswith("200 OK"):
            crowd.open += 1
        else:
            refused[answer] = refused.get(answer, 0) + 1

    await asyncio.gather(*map(begin, tokens))
    return refused


async def main(port: int, tokens: Sequence[str]) -> None:
    crowd, begun = Crowd(), time.monotonic()
    refused = await open_streams(port, tokens, crowd)
    _say({"open": crowd.open, "refused": refused, "seconds": time.monotonic() - begun})
    while line := await asyncio.to_thread(sys.stdin.readline):
        begin, seconds = map(float, line.split())
        while len(crowd.heard) < crowd.open and time.monotonic() < begin + seconds:
            await asyncio.sleep(0.05)
        heard, crowd.heard = crowd.heard, []
        _say({"open": crowd.open, "heard": [round(one - begin, 3) for one in heard]})


def _say(found: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]).read_text().split()))
