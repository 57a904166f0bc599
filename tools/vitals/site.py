"""The tool's own site with demo people, as `./run` starts it; everything is removed with the run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from runner.checkout import ROOT
from runner.ports import answers, free_port
from runner.services.postgres import Postgres
from runner.terminal import LaunchError
from tools.tables import make_tables
from tools.vitals.stage import Cast

CAST = Cast("alice", "rill-demo", author="theo", tag="hybridfeeds", word="timeline")
FIRST_PORT = 8700
START_SECONDS = 240
STOP_SECONDS = 30


@contextmanager
def demo_site(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a started site. LaunchError if it does not start."""
    port = free_port("127.0.0.1", FIRST_PORT)
    with tempfile.TemporaryDirectory(prefix="feedsite-vitals-") as place, _database(place) as url:
        log = Path(place) / "log"
        command = [sys.executable, "-P", "-m", "runner", "--demo", "small", "--workers", "1",
                   "--port", str(port), "--data-dir", f"{place}/data"]  # fmt: skip
        environment = {
            **os.environ,
            **(settings or {}),
            "DATABASE_URL": url,
            "PYTHONPATH": str(ROOT),
        }
        with log.open("wb") as output:
            site = subprocess.Popen(  # noqa: S603 -- our own launcher
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(site, port, log)
            yield address
        finally:
            site.send_signal(signal.SIGINT)
            site.wait(STOP_SECONDS)


@contextmanager
def _database(place: str) -> Iterator[str]:
    """The address of a database with all tables, which the launcher would spend half a minute on migrating."""
    server = Postgres(Path(place) / "postgres", Path(place), Path(place))
    try:
        server.start()
        [url] = server.settings().values()
        make_tables(url)
        yield url
    finally:
        server.stop()


def _wait(site: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers("127.0.0.1", port, allowed_hosts="127.0.0.1"):
        if site.poll() is not None or time.monotonic() > deadline:
            raise LaunchError(f"The site did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)
