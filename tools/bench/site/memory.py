"""Memory and processor time of `./run` at rest: the small demo, started in the usual way, with its own servers."""

import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from runner.checkout import ROOT
from runner.processes import spawn, wait_until
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import outer_environment
from tools.bench.site.clock import megabytes_of, program_megabytes, seconds_of

START_SECONDS, STOP_SECONDS = 110, 15
SETTLE_SECONDS = 15  # after the first page
REST_SECONDS = 30  # most periodic tasks are due every 5 to 15 seconds
LARGEST = 6


def run(directory: Path) -> list[Line]:
    port = _free_port()
    command = [
        str(ROOT / "run"), "--demo", "small", "--port", str(port), "--data-dir", str(directory / "resting"),
    ]  # fmt: skip
    doing("starting ./run")
    child = spawn("./run", command, log=directory / "run.log", environment=outer_environment())
    try:
        wait_until(lambda: _answers(port), child, seconds=START_SECONDS)
        doing("settling")
        time.sleep(SETTLE_SECONDS)
        doing("resting")
        begin, before = time.monotonic(), seconds_of([child.pid])
        time.sleep(REST_SECONDS)
        idle = (seconds_of([child.pid]) - before) * 100 / (time.monotonic() - begin)
        total = megabytes_of([child.pid])
        programs = dict(_largest(program_megabytes(child.pid)))
    finally:
        child.stop(STOP_SECONDS)
    said = ", ".join(f"{name} {size:.0f}" for name, size in programs.items())
    return [
        bars.MEMORY.line(
            "MB",
            Spread.exact(round(total)),
            total,
            note=f"memory that processes share is divided among them; {said}",
        ),
        bars.IDLE.line("% of a core", Spread.exact(idle), idle, note="including its servers"),
    ]


def _largest(programs: dict[str, float]) -> Iterator[tuple[str, float]]:
    ordered = sorted(programs.items(), key=lambda one: -one[1])
    yield from ordered[:LARGEST]
    if rest := sum(size for _name, size in ordered[LARGEST:]):
        yield "others", rest


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/public", headers={"Host": f"127.0.0.1:{port}"})
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        time.sleep(0.2)
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
