"""Load by wrk: a number of connections that send requests without pause, chosen at random from a list."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runner.services.debian import find_program
from runner.services.memcached import library_path

CONNECTIONS = 8
TIMEOUT = 20  # seconds for a response
SCRIPT = Path(__file__).with_name("load.lua")
MISSING = "This suite needs wrk (Debian, Ubuntu: apt install wrk; macOS: brew install wrk). Nothing was measured."


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of the load."""

    path: str
    header: tuple[str, str] = ("Accept", "*/*")
    method: str = "GET"

    @property
    def line(self) -> str:
        """The request in the format of wrk's script."""
        return f"{self.method} {self.path} {self.header[0]} {self.header[1]}"


@dataclass(frozen=True, slots=True)
class Load:
    """The result: number of responses, seconds, milliseconds per response, and errors by kind."""

    requests: int
    seconds: float
    failures: dict[str, int]
    size: int  # bytes of a response, with headers
    p50: float
    p95: float
    p99: float
    maximum: float

    @property
    def errors(self) -> int:
        return sum(self.failures.values())

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


@cache
def program(directory: Path) -> Path | None:
    """wrk: the installed one, or else Debian's, unpacked below a directory; None if there is neither."""
    return find_program("wrk", directory / "wrk")


def put_load(
    port: int,
    asks: Sequence[Ask],
    directory: Path,
    *,
    seconds: float,
    connections: int = CONNECTIONS,
) -> Load:
    """Put load on a server of this machine for some time, rounded to whole seconds.

    If nothing is answered in this time, try again for twice as long, until the timeout of a response has passed.
    """
    while True:
        done = _load(port, asks, directory, seconds, connections)
        if done.requests or done.errors or seconds > TIMEOUT:
            return done
        seconds *= 2


def _load(
    port: int, asks: Sequence[Ask], directory: Path, seconds: float, connections: int
) -> Load:
    lines = directory / f"asks-{port}.txt"
    lines.write_text("".join(f"{ask.line}\n" for ask in asks))
    wrk = program(directory)
    if wrk is None:
        raise RuntimeError(MISSING)
    command = [
        str(wrk), "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", f"{TIMEOUT}s",
        "-s", str(SCRIPT), f"http://127.0.0.1:{port}", "--", str(lines), "localhost",
    ]  # fmt: skip
    environment = dict(os.environ)
    if libraries := library_path(wrk):
        environment["LD_LIBRARY_PATH"] = libraries
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 -- our own
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return Load(
        requests=said["requests"],
        seconds=said["microseconds"] / 1e6,
        failures=said["failures"],
        size=round(said["bytes"] / max(said["requests"], 1)),
        **{name: said[name] / 1000 for name in ("p50", "p95", "p99", "maximum")},
    )
