"""Requests to the site during a game day: every second, one by a visitor, one by a member and one by an author.

They go to SITE_URL, like the requests of people. A request does not wait for the response to the one before, so a slow
site gets as many requests as a fast one. /metrics is scraped at the same time.
"""

import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpcore
import orjson
from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.actions import issue_token, register, revoke_tokens
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.errors import NotAllowed, NotFound, Unavailable
from apps.gameday.alerts import Scrape, missed, parse
from apps.gameday.faults import AUTHOR, MEMBER, VISITOR
from apps.graph.actions import follow_user

EVERY_SECONDS = 1.0
TIMEOUT_SECONDS = 15.0  # longer than the site's own limits
SCRAPE_SECONDS = 10.0  # the default time limit of a scrape in Prometheus
MAX_WAITING = 48  # requests at the same time
PAGE = 40  # posts
AUTHOR_HANDLE, READER_HANDLE = "gameday_author", "gameday_reader"
FAILURES = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request. `status` is 0 if there was none; `began` is a time of the monotonic clock."""

    who: str
    began: float
    seconds: float
    status: int
    post_id: str = ""

    @property
    def is_ok(self) -> bool:
        return self.status == 200


@dataclass(slots=True)
class Probes:
    """Sends requests inside the context `running`, and collects the answers and scrapes."""

    tokens: dict[str, str]
    author_id: int
    answers: list[Answer] = field(default_factory=list)
    scrapes: list[Scrape] = field(default_factory=list)
    _http: Any = field(
        default_factory=lambda: httpcore.ConnectionPool(max_connections=MAX_WAITING + 2)
    )
    _stopping: threading.Event = field(default_factory=threading.Event)
    _mark: str = field(default_factory=lambda: secrets.token_hex(4))

    @contextmanager
    def running(self) -> Iterator[None]:
        scraper = threading.Thread(target=self._scrape_until_stopped)
        sender = threading.Thread(target=self._send_until_stopped)
        scraper.start()
        sender.start()
        try:
            yield
        finally:
            self._stopping.set()
            sender.join()
            scraper.join()

    def scrape(self) -> Scrape:
        """The current metrics. Raises NotAllowed if access is refused, Unavailable if no valid answer comes in time."""
        headers = [("Authorization", f"Bearer {settings.METRICS_TOKEN}")]
        began, status, content = self._request("GET", "/metrics", headers)
        if status == 403:
            message = _(
                "The site refuses its figures at /metrics: set METRICS_TOKEN for the site and for this command."
            )
            raise NotAllowed(message)
        if status != 200 or time.monotonic() - began > SCRAPE_SECONDS:
            message = _("The site does not answer at %(url)s/metrics.")
            raise Unavailable(message % {"url": settings.SITE_URL})
        return parse(content.decode(), at=time.monotonic())

    def ids_of_author(self, wanted: int) -> set[str]:
        """The ids of the author's newest posts, as the member reads them."""
        return self._ids(f"/api/v1/accounts/{self.author_id}/statuses", wanted)

    def ids_on_home(self, wanted: int) -> set[str]:
        return self._ids("/api/v1/timelines/home", wanted)

    def _ids(self, path: str, wanted: int) -> set[str]:
        found: set[str] = set()
        last = ""
        while len(found) < wanted:
            query = f"?limit={PAGE}" + (f"&max_id={last}" if last else "")
            _began, status, content = self._request("GET", path + query, self._as(MEMBER))
            posts = orjson.loads(content) if status == 200 else []
            if not posts:
                break
            found |= {post["id"] for post in posts}
            last = posts[-1]["id"]
        return found

    def _scrape_until_stopped(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                self.scrapes.append(self.scrape())
            except Unavailable:
                self.scrapes.append(missed(at=time.monotonic()))

    def _send_until_stopped(self) -> None:
        number = 0
        with ThreadPoolExecutor(MAX_WAITING) as pool:
            while not self._stopping.wait(EVERY_SECONDS):
                number += 1
                pool.submit(self._get, VISITOR, "/")
                pool.submit(self._get, MEMBER, "/api/v1/timelines/home")
                pool.submit(self._post, number)

    def _get(self, who: str, path: str) -> None:
        began, status, _content = self._request("GET", path, self._as(who))
        self.answers.append(Answer(who, began, time.monotonic() - began, status))

    def _post(self, number: int) -> None:
        key = f"gameday-{self._mark}-{number}"
        headers = [
            *self._as(AUTHOR),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", key),
        ]
        text = f"Game day {self._mark}, post {number}"
        body = orjson.dumps({"status": text, "visibility": "unlisted"})
        began, status, content = self._request("POST", "/api/v1/statuses", headers, body)
        post_id = orjson.loads(content)["id"] if status == 200 else ""
        self.answers.append(Answer(AUTHOR, began, time.monotonic() - began, status, post_id))

    def _as(self, who: str) -> list[tuple[str, str]]:
        token = self.tokens.get(who)
        return [("Authorization", f"Bearer {token}")] if token else []

    def _request(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes = b""
    ) -> tuple[float, int, bytes]:
        """The time when the request began, the status, and the content; status 0 if there was no answer in time."""
        began = time.monotonic()
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_SECONDS)
        try:
            answer = self._http.request(
                method,
                settings.SITE_URL + path,
                headers=headers,
                content=body,
                extensions={"timeout": timeout},
            )
        except FAILURES:
            return began, 0, b""
        return began, answer.status, answer.content

    def close(self) -> None:
        self._http.close()


@contextmanager
def probes() -> Iterator[Probes]:
    """Probes with the two accounts for game days, which the first game day creates. Revokes their tokens at the end."""
    author, reader = _account(AUTHOR_HANDLE), _account(READER_HANDLE)
    follow_user(reader, author)
    tokens = {
        who: issue_token(user, name="game day", scopes="read write")
        for who, user in ((AUTHOR, author), (MEMBER, reader))
    }
    found = Probes(tokens, author.pk)
    try:
        yield found
    finally:
        found.close()
        for user in (author, reader):
            revoke_tokens(user.pk)


def _account(handle: str) -> User:
    try:
        return user_by_handle(handle)
    except NotFound:
        password = secrets.token_urlsafe(32)
        return register(handle=handle, email=None, password=password, by_operator=True)
