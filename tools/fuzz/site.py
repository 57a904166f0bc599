"""The fuzzer's own site: servers, web processes, a worker; everything ends with the run."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import django

from runner import programs
from runner.checkout import ROOT
from runner.processes import Child, spawn, wait_until
from runner.services.group import throwaway_services
from tools import local_site
from tools.drill.processes import children_of, free_port
from tools.tables import make_tables

START_SECONDS, STOP_SECONDS = 60.0, 10.0
UNLIMITED = "1000000000"
LIMITS = (
    "API", "API_WRITES", "API_REST", "API_ADDRESS", "API_ADDRESS_WRITES", "API_ADDRESS_REST", "SIGN_UP", "LOG_IN",
    "PUBLISH", "SEARCH", "CARD", "UPLOAD", "FOLLOW", "REPORT", "EXPORT", "PASSWORD_RESET", "REGISTER_APPLICATION",
    "GUESS_ADDRESS", "GUESS_ACCOUNT", "GUESS_SITE", "GUESS_DEVICE", "SIGN_UP_SITE", "PASSWORD_RESET_ACCOUNT",
    "PASSWORD_RESET_SITE", "MAIL", "PASSKEY",
)  # fmt: skip
SETTINGS = {**local_site.SETTINGS, **{f"LIMIT_{name}": UNLIMITED for name in LIMITS}}


@dataclass
class Site:
    ports: list[int]
    children: list[Child]
    log: Path
    started_with: dict[int, list[int]]

    def died(self) -> list[str]:
        """The processes that have ended or were restarted."""
        gone = [f"{child.name} ended" for child in self.children if not child.running()]
        running = [child for child in self.children if child.running()]
        return gone + [
            f"a process of {child.name} ended"
            for child in running
            if child.name != "worker"
            and not set(self.started_with[child.pid]) <= set(children_of(child.pid))
        ]

    def tracebacks(self) -> list[str]:
        """The last line of each kind of traceback in the logs, with how often it occurs."""
        found: dict[str, int] = {}
        for file in sorted(self.log.glob("*.log")):
            inside = False
            for line in file.read_text(errors="replace").splitlines():
                if line.startswith("Traceback "):
                    inside = True
                elif inside and line and not line.startswith((" ", "\t")):
                    inside = False
                    text = f"{file.name}: {line[:200]}"
                    found[text] = found.get(text, 0) + 1
        return [
            f"{number} x {text}"
            for text, number in sorted(found.items(), key=lambda item: -item[1])
        ]


@contextmanager
def fuzzed_site(processes: int) -> Iterator[Site]:
    """A site without people, with Django set up in this process for the same servers."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedsite-fuzz-")))
        services = stack.enter_context(throwaway_services(directory))
        places = {"MEDIA_ROOT": str(directory / "media"), "STATIC_ROOT": str(directory / "static")}
        for place in places.values():
            Path(place).mkdir()
        os.environ.update({**SETTINGS, **places, **services.settings(), "PYTHONPATH": str(ROOT)})
        os.environ["CACHE_TOPOLOGY_LISTENS"] = "0"  # for this process; the web processes listen
        django.setup()
        make_tables(os.environ["DATABASE_URL"])
        site = Site([], [], directory / "web", {})
        site.log.mkdir()
        environment = {**os.environ, "CACHE_TOPOLOGY_LISTENS": "1"}
        for number in range(processes):
            port = free_port()
            command = programs.web(host="127.0.0.1", port=port)
            _start(stack, site, f"web{number}", command, environment)
            wait_until(partial(_answers, port), site.children[-1], seconds=START_SECONDS)
            site.ports.append(port)
        _start(stack, site, "worker", programs.worker(concurrency=1), environment)
        site.started_with = {child.pid: children_of(child.pid) for child in site.children}
        yield site


def _start(
    stack: ExitStack, site: Site, name: str, command: list[str], environment: dict[str, str]
) -> None:
    child = spawn(name, command, log=site.log / f"{name}.log", environment=environment)
    stack.callback(child.stop, STOP_SECONDS)
    site.children.append(child)


def _answers(port: int) -> bool:
    from tools.fuzz.sender import Sender  # noqa: PLC0415 -- once Django is set up

    return Sender([port]).is_up()
