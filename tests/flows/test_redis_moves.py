"""Classes of data move to a second Redis under a running site, with a writer and readers all the while."""

import json
import threading
import time
import urllib.request
from typing import Any

import pytest
from django.core.management import call_command

from apps.accounts.actions import issue_token
from apps.graph.actions import follow_user
from apps.operations import actions
from apps.operations.queries import topology_in_force
from feedcache.connections import client_at
from feedcache.servers import topology_listener
from feedcache.structures.home_window import HomeWindows
from tests.support import clusters
from tests.support.factories import deliver, make_user
from tests.support.processes import start_web, start_worker, stop
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

MOVED = ("timelines", "graph", "limits", "broadcasts")
PAGE = 40
READERS = 3


class Traffic:
    """One author who publishes, and readers whose home must never lose a post that it has shown."""

    def __init__(self, address, author, readers):
        self.address = address
        self.author = issue_token(author, name="writes")
        self.tokens = {reader.pk: issue_token(reader, name="reads") for reader in readers}
        self.published: list[int] = []
        self.faults: list[str] = []
        self.reads = 0
        self.stopping = threading.Event()
        self.threads = [
            threading.Thread(target=self._write),
            *(threading.Thread(target=self._read, args=(pk,)) for pk in self.tokens),
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_exception):
        self.stopping.set()
        for thread in self.threads:
            thread.join(20)

    def ask(self, path, token, body=None):
        request = urllib.request.Request(
            self.address + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def home(self, reader_id):
        page = self.ask(f"/api/v1/timelines/home?limit={PAGE}", self.tokens[reader_id])
        return [int(post["id"]) for post in page]

    def _write(self):
        while not self.stopping.is_set():
            try:
                post = self.ask("/api/v1/statuses", self.author, {"status": "Still here."})
                self.published.append(int(post["id"]))
            except (OSError, ValueError) as error:
                self.faults.append(repr(error))
            time.sleep(0.05)

    def _read(self, reader_id):
        seen: set[int] = set()
        while not self.stopping.is_set():
            try:
                page = self.home(reader_id)
            except (OSError, ValueError) as error:
                self.faults.append(repr(error))
                continue
            floor = page[-1] if len(page) == PAGE else 0
            if lost := {post_id for post_id in seen if post_id >= floor} - set(page):
                self.faults.append(f"{reader_id} lost {sorted(lost)}")
            seen.update(page)
            self.reads += 1


@pytest.fixture
def other(tmp_path_factory):
    with clusters.server(tmp_path_factory.mktemp("other")) as started:
        yield started


@pytest.fixture
def site(transactional_db, tmp_path):
    """Web, worker and beat; what is looked at here are not the limits."""
    high = dict.fromkeys(
        ("LIMIT_API", "LIMIT_API_ADDRESS", "LIMIT_PUBLISH", "LIMIT_API_WRITES"), "1000000"
    )
    web, address = start_web(tmp_path, **high)
    worker = start_worker(tmp_path)
    yield address
    stop(worker)
    stop(web)


def versions():
    return {one.name: one.version for one in topology_listener.processes()}


def window_on(url, reader_id):
    """The ids of a reader's home on one server."""
    home = HomeWindows("home:2", length=800, ttl_seconds=1)
    client: Any = client_at("timelines", url)
    members = client.lrange(home.key(reader_id), 0, -1)
    return {2**63 - 1 - int(member) for member in members if member.isdigit()}


def test_nothing_is_lost_while_data_move_and_a_writer_publishes(site, alice, other, monkeypatch):
    readers = [make_user() for _ in range(READERS)]
    for reader in readers:
        follow_user(reader, alice)
    deliver()
    wait_until(lambda: len(versions()) >= 3, "web, worker and beat report")
    before = set(versions())
    # the processes here hear within two seconds; none of them hangs
    monkeypatch.setattr(actions, "SETTLE_SECONDS", 2.5)
    with Traffic(site, alice, readers) as traffic:
        wait_until(
            lambda: len(traffic.published) > 5 and traffic.reads > 5, "people write and read"
        )
        for name in MOVED:
            call_command("cache", "move", name, other.url)
        count, reads = len(traffic.published), traffic.reads
        wait_until(
            lambda: len(traffic.published) > count + 5 and traffic.reads > reads + 5,
            "people go on writing and reading",
        )
    assert traffic.faults == []
    assert {topology_in_force().tenant(name).url for name in MOVED} == {other.url}
    assert set(versions()) == before, "none was restarted"
    assert len(traffic.published) > 50
    published = set(traffic.published)
    wait_until(
        lambda: all(window_on(other.url, reader.pk) == published for reader in readers),
        "the other server has the whole windows",
    )
    for reader in readers:
        assert traffic.home(reader.pk) == sorted(traffic.published, reverse=True)[:PAGE]
        assert window_on("", reader.pk) == set(), "the server that was left forgets"
    assert other.ask("KEYS", "rel:*")
    assert other.ask("KEYS", "limit:*")
