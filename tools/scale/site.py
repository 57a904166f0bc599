"""The tool's own site, restarted for each engine, and two people who use it through the API."""

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import django

from runner import programs
from runner.checkout import ROOT
from runner.processes import Child, spawn, wait_until
from runner.services.group import Services, throwaway_services
from runner.terminal import LaunchError
from tools.drill.processes import free_port
from tools.local_site import SETTINGS
from tools.scale import NotToBeHad
from tools.scale.engines import Engine
from tools.scale.redis_servers import listens
from tools.tables import make_tables

START_SECONDS, STOP_SECONDS = 60.0, 10.0
DELIVERY_SECONDS = 60.0
POSTS, PAGE = 12, 5
REFUSED = "feedsite does not start with these settings:"


class Refused(Exception):
    """The site does not start with these settings; has the message of the system check."""


class FlowFailed(Exception):
    """A step of the flow had an unexpected result."""


@dataclass(frozen=True)
class Person:
    id: str
    token: str


@dataclass(frozen=True)
class Common:
    """Everything that all engines share."""

    services: Services
    directory: Path
    author: Person
    reader: Person


@contextmanager
def common_servers() -> Iterator[Common]:
    """The servers that all engines share, with the tables; an author and a reader."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedsite-scale-")))
        services = stack.enter_context(throwaway_services(directory))
        places = {"MEDIA_ROOT": str(directory / "media"), "STATIC_ROOT": str(directory / "static")}
        for place in places.values():
            Path(place).mkdir()
        os.environ.update({**SETTINGS, **places, **services.settings(), "PYTHONPATH": str(ROOT)})
        os.environ["CACHE_TOPOLOGY_LISTENS"] = "0"  # for this process; the web processes listen
        django.setup()
        make_tables(os.environ["DATABASE_URL"])
        yield Common(services, directory, _person("author"), _person("reader"))


def _person(handle: str) -> Person:
    from apps.accounts.actions import issue_token, register  # noqa: PLC0415 -- once Django is set up

    user = register(handle=handle, email=f"{handle}@example.org", password="only for this run")  # noqa: S106 -- gone with its database
    return Person(str(user.pk), issue_token(user, name="scale"))


@contextmanager
def running(directory: Path, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Web server, worker with beat and streaming server with these settings. Yields the two addresses."""
    directory.mkdir()
    web, streams = free_port(), free_port()
    addresses = f"http://127.0.0.1:{web}", f"http://127.0.0.1:{streams}"
    environment = {**os.environ, "CACHE_TOPOLOGY_LISTENS": "1", **settings}
    environment |= {"SITE_URL": addresses[0], "STREAMING_URL": addresses[1]}
    commands = {
        "web": programs.web(port=web),
        "streaming": programs.streaming(port=streams),
        "beat": programs.beat(schedule=directory / "schedule"),
        "worker": programs.worker(concurrency=1),
    }
    children: list[Child] = []
    try:
        for name, command in commands.items():
            log = directory / f"{name}.log"
            children.append(spawn(name, command, log=log, environment=environment))
            if name == "web":
                _wait_for_web(web, children[0])
        wait_until(lambda: listens(streams), children[1], seconds=START_SECONDS)
        yield addresses
    finally:
        for child in reversed(children):
            child.stop(STOP_SECONDS)


def _wait_for_web(port: int, child: Child) -> None:
    try:
        wait_until(lambda: _answers(port), child, seconds=START_SECONDS)
    except LaunchError:
        _before, refused, after = child.log.read_text().partition(f"{REFUSED}\n")
        if refused:
            raise Refused(after.splitlines()[0]) from None
        raise


def _answers(port: int) -> bool:
    """Whether the server responds; a listening port proves nothing: a server that refuses its settings has one too."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/healthz/live", timeout=2) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except (OSError, HTTPException):
        return False


def verdict(name: str, engine: Engine, common: Common, step: Callable[[str], None]) -> str:
    """The verdict on an engine: works, refused, not available, or fails, with the reason."""
    current = "start"

    def note(doing: str) -> None:
        nonlocal current
        current = doing
        step(doing)

    note(current)
    try:
        with engine(common.services, common.directory / name) as settings:
            note("start the site")
            with running(common.directory / f"site-{name}", settings) as (site, streams):
                flow(site, streams, common, note)
    except NotToBeHad as error:
        return f"not available: {error}"
    except Refused as error:
        return f"refused: {error}"
    except (FlowFailed, LaunchError, OSError, subprocess.SubprocessError) as error:
        return f"fails at {current!r}: {error}"
    return "works"


def flow(site: str, streams: str, common: Common, step: Callable[[str], None]) -> None:
    """Follow, publish, deliver, read, page down, like and stream. FlowFailed names the failed step."""
    author, reader = common.author, common.reader
    step("follow")
    _call(f"{site}/api/v1/accounts/{author.id}/follow", reader, {})
    home = f"{site}/api/v1/timelines/home"
    _call(home, reader)  # from now on posts are pushed to it
    step("stream")
    heard = _Listener(streams, reader)
    step("publish")
    posts = [
        _call(f"{site}/api/v1/statuses", author, {"status": f"Post {number}"})["id"]
        for number in range(POSTS)
    ]
    posts.reverse()
    step("deliver")
    _wait("not all posts arrived", lambda: _ids(_call(f"{home}?limit=40", reader))[:POSTS] == posts)
    step("page down")
    _expect("the pages hold other posts", _walk(home, reader) == posts)
    step("like")
    liked = f"{site}/api/v1/statuses/{posts[0]}"
    _call(f"{liked}/favourite", reader, {})
    _expect("the like is not counted", _call(liked, author)["favourites_count"] == 1)
    profile = f"{site}/api/v1/accounts/{author.id}/statuses?limit=40"
    _expect("the author's page lacks posts", _ids(_call(profile, reader))[:POSTS] == posts)
    step("hear")
    _wait("the stream brought no post", lambda: posts[0] in heard.text)
    _call(f"{site}/api/v1/accounts/{author.id}/unfollow", reader, {})


def _walk(home: str, reader: Person) -> list[str]:
    """The newest posts, page by page."""
    walked: list[str] = []
    while len(walked) < POSTS:
        position = f"&max_id={walked[-1]}" if walked else ""
        page = _ids(_call(f"{home}?limit={PAGE}{position}", reader))
        if not page:
            break
        walked += page
    return walked[:POSTS]


def _expect(failure: str, holds: bool) -> None:  # noqa: FBT001 -- the condition
    if not holds:
        raise FlowFailed(failure)


class _Listener:
    """The messages of a stream to its reader."""

    def __init__(self, streams: str, person: Person) -> None:
        self.text = ""
        asked = Request(f"{streams}/api/v1/streaming/user", headers=_headers(person))
        self._answer = urlopen(asked, timeout=DELIVERY_SECONDS)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for line in self._answer:
                self.text += line.decode()
        except (OSError, HTTPException):
            return  # the server stopped


def _call(address: str, person: Person, fields: Mapping[str, str] | None = None) -> Any:
    body = None if fields is None else urlencode(fields).encode()
    asked = Request(address, data=body, headers=_headers(person))
    with urlopen(asked, timeout=DELIVERY_SECONDS) as answer:
        return json.load(answer)


def _headers(person: Person) -> dict[str, str]:
    return {"Authorization": f"Bearer {person.token}"}


def _ids(statuses: list[dict[str, Any]]) -> list[str]:
    return [status["id"] for status in statuses]


def _wait(failure: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DELIVERY_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise FlowFailed(f"{failure} within {DELIVERY_SECONDS:.0f} s")
        time.sleep(0.1)
