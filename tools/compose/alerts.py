"""Prometheus with ops/prometheus.yml and ops/rules.yml against a running project: each fault raises its own alerts.

Times are shorter than in the file: five seconds between scrapes, windows of half a minute to two minutes, `for:` a
tenth or less, ages a quarter or less. Requests and calls may take twice as long. The other thresholds are the file's.
"""

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

from runner.checkout import ROOT
from runner.processes import Child, spawn
from tools.compose.faults import CASES, Case
from tools.compose.flow import SITE, Mailbox, Person, Say, wait
from tools.compose.project import Project

PROMETHEUS = "http://127.0.0.1:9090"
WINDOWS = {"5m": "30s", "15m": "45s", "30m": "45s", "1h": "60s", "6h": "90s", "3d": "120s"}
LIMITS = {  # seconds; the last two are for a busy machine
    "_seconds > 60\n": "_seconds > 15\n",
    "_seconds > 300\n": "_seconds > 30\n",
    '{class="core"} > 0.5\n': '{class="core"} > 1\n',
    ":mean_5m > 0.05\n": ":mean_5m > 0.1\n",
}
FIRE_SECONDS, END_SECONDS, QUIET_SECONDS = 120.0, 240.0, 60.0
HANDLES = ("lark", "finch")
LOAD_SECONDS = 0.3  # between two requests of the background load
POST_EVERY = 10  # requests


class AlertsWrong(Exception):
    """An alert did not fire, did not end, or fired for another fault."""


def rules() -> str:
    """ops/rules.yml with the times of this test. Raises AlertsWrong if the file has no such limit."""
    text = (ROOT / "ops" / "rules.yml").read_text()
    text = re.sub(r"for: (\d+)m", lambda found: f"for: {min(int(found[1]) * 3, 15)}s", text)
    text = re.sub(r"\[(\w+)\]", lambda found: f"[{WINDOWS.get(found[1], found[1])}]", text)
    return _replaced(text, LIMITS)


def configuration(project: Project, directory: Path) -> str:
    """ops/prometheus.yml with the files of this project, its certificate, and shorter intervals."""
    token = directory / "token"
    token.write_text(project.env["METRICS_TOKEN"])
    own = {
        "scrape_interval: 15s": "scrape_interval: 5s",
        "evaluation_interval: 15s": "evaluation_interval: 5s",
        "scrape_timeout: 15s": "scrape_timeout: 5s",
        "/etc/prometheus/feedsite_token": str(token),
        "    scheme: https\n": f"    scheme: https\n    tls_config: {{ca_file: {project.certificate}}}\n",
    }
    return _replaced((ROOT / "ops" / "prometheus.yml").read_text(), own)


def _replaced(text: str, values: Mapping[str, str]) -> str:
    for given, own in values.items():
        if given not in text:
            raise AlertsWrong(f"ops/ has no {given.strip()!r}")
        text = text.replace(given, own)
    return text


@contextmanager
def prometheus(project: Project) -> Iterator[Child]:
    """A Prometheus that scrapes the project through its proxy."""
    directory = project.directory / "prometheus"
    directory.mkdir(exist_ok=True)
    (directory / "rules.yml").write_text(rules())
    (directory / "prometheus.yml").write_text(configuration(project, directory))
    program = shutil.which("prometheus")
    if program is None:
        raise AlertsWrong("prometheus is not installed (apt-get install prometheus)")
    command = [
        program, f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={directory / 'data'}",
        "--web.listen-address=127.0.0.1:9090",
    ]  # fmt: skip
    child = spawn("prometheus", command, log=directory / "log")
    try:
        wait(f"Prometheus does not start: {directory / 'log'}", lambda: _data("up"))
        yield child
    finally:
        child.stop(10)


def alerts(state: str) -> set[str]:
    """The names of alerts that are now in a state: firing or pending. Raises FlowFailed without an answer."""
    return _names(f'ALERTS{{alertstate="{state}"}}')


def fired(seconds: float) -> set[str]:
    """The names of alerts that fired at any moment of the last seconds. Raises FlowFailed without an answer."""
    return _names(f'count_over_time(ALERTS{{alertstate="firing"}}[{int(seconds)}s])')


def _names(query: str) -> set[str]:
    data = wait("Prometheus does not answer", lambda: _data(query))
    return {one["metric"]["alertname"] for one in data["result"]}


def _data(query: str) -> dict[str, Any] | None:
    """The answer to a query; None while Prometheus does not answer."""
    address = f"{PROMETHEUS}/api/v1/query"
    try:
        answer = requests.get(address, params={"query": query}, timeout=5)
    except requests.RequestException:
        return None
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:  # it is starting
        return None
    found: dict[str, Any] = answer.json()["data"]
    return found


class Load:
    """Two people who use the site all the time, in a thread. Errors are what the faults are for."""

    def __init__(self, author: Person, reader: Person) -> None:
        self._author, self._reader = author, reader
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(LOAD_SECONDS):
            number += 1
            who = self._reader if number % 2 else self._author
            options: dict[str, Any] = {"headers": who.headers, "verify": who.browser.http.verify}
            try:
                if number % POST_EVERY == 0:  # an even number, so by the author
                    body = {"status": f"Number {number}."}
                    requests.post(f"{SITE}/api/v1/statuses", data=body, timeout=20, **options)
                else:
                    requests.get(f"{SITE}/api/v1/timelines/home", timeout=20, **options)
            except requests.RequestException:
                continue


def examine(project: Project, say: Say, cases: Sequence[Case] = CASES) -> list[str]:
    """Cause each fault, or some of them, and compare what fires. Returns what is wrong."""
    with ExitStack() as stack:
        people = _people(project)
        stack.enter_context(prometheus(project))
        load = Load(*people)
        load.start()
        stack.callback(load.stop)
        time.sleep(QUIET_SECONDS)
        quiet = fired(QUIET_SECONDS)
        say(f"no fault: {', '.join(sorted(quiet)) or 'nothing fires'}")
        if quiet:
            return [f"{one} fires without a fault" for one in quiet]
        return [one for case in cases for one in _examine(project, case, say)]


def _people(project: Project) -> tuple[Person, Person]:
    """Two people, the second of whom follows the first."""
    mails = Mailbox()
    try:
        author, reader = (Person(project, handle) for handle in HANDLES)
        for person in (author, reader):
            person.sign_up(mails)
            person.authorize()
    finally:
        mails.close()
    author_id = author.call("/api/v1/accounts/verify_credentials")["id"]
    reader.call(f"/api/v1/accounts/{author_id}/follow")
    return author, reader


def _examine(project: Project, case: Case, say: Say) -> list[str]:
    """Cause one fault, and wait until it is over. Returns what is wrong."""
    begin, restarts = time.monotonic(), len(project.restarted)
    with case.fault(project):
        _until(FIRE_SECONDS, lambda: case.fires <= alerts("firing"))
        seconds = time.monotonic() - begin
    mended = time.monotonic()
    # an alert that is pending would fire in the next case
    _until(END_SECONDS, lambda: not alerts("firing") | alerts("pending"))
    silence, left = time.monotonic() - mended, alerts("firing")
    found = fired(time.monotonic() - begin)
    others = found - case.fires
    said = f"{case.what}: {', '.join(sorted(found & case.fires))} after {seconds:.0f} s"
    also = f", also {', '.join(sorted(others))}" if others else ""
    restarted = "".join(f"; {name} was restarted" for name in project.restarted[restarts:])
    say(f"{said}{also}; silent {silence:.0f} s after the fault{restarted}")
    return [
        *(f"{case.what}: {one} does not fire" for one in case.fires - found),
        *(f"{case.what}: {one} fires, too" for one in others - case.may),
        *(f"{case.what}: {one} does not end" for one in left),
    ]


def _until(seconds: float, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, at most some seconds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(1)
