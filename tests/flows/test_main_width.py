"""Main is narrowed and widened again, by restarts with other settings, while the nodes of Memcached go on running.

A post that was deleted meanwhile was never deleted on the node that was out: it must not come back from there.
"""

import json

import pytest

from apps.accounts.actions import issue_token
from tests.operations.conftest import spare
from tests.support.processes import call, environment, manage, start_web, start_worker, stop
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.flows, pytest.mark.long, pytest.mark.usefixtures("memcached")]

__all__ = ["spare"]  # a fixture

POSTS = 16  # so many that each node has some: at random one of 65,536 times not


class Site:
    """Web and worker, started again with other nodes of Main; alice writes, everybody reads."""

    def __init__(self, directory, author, reader):
        self.directory, self.author = directory, author
        self.tokens = {user: issue_token(user, name="a test") for user in (author, reader)}
        self.reader = reader
        self.processes = []

    def start(self, nodes):
        """With these nodes; what ran with others ends."""
        self.stop()
        self.settings = {
            "MEMCACHED_URLS": ",".join(nodes),
            "MEMCACHED_BACKUP_URLS": "",
            "LIMIT_API_ADDRESS": "1000000",
        }
        web, self.address = start_web(self.directory, **self.settings)
        self.processes = [web, start_worker(self.directory, **self.settings)]

    def stop(self):
        for process in self.processes:
            stop(process)
        self.processes = []

    def call(self, method, path, who=None, **fields):
        token = self.tokens[who] if who else ""
        return call(self.address + path, token, method, **fields)

    def write(self, method, path, **fields):
        status, text = self.call(method, path, self.author, **fields)
        assert status == 200, text
        return json.loads(text)

    def shown(self, texts):
        """Where each of these posts is seen."""
        author = f"/@{self.author.handle}"
        lists = {
            "profile": self.call("GET", author)[1],
            "public": self.call("GET", "/api/v1/timelines/public?limit=40")[1],
            "home": self.call("GET", "/api/v1/timelines/home?limit=40", self.reader)[1],
        }
        found = [
            f"{text!r} in {name}"
            for name, page in lists.items()
            for text in texts.values()
            if text in page
        ]
        for post, text in texts.items():
            for path in (f"/api/v1/statuses/{post}", f"{author}/{post}"):
                status, page = self.call("GET", path)
                if status != 404 or text in page:
                    found.append(f"{text!r} at {path}: {status}")
        return found


@pytest.fixture
def site(transactional_db, alice, bob, tmp_path):
    site = Site(tmp_path, alice, bob)
    yield site
    site.stop()


@pytest.mark.parametrize("is_versioned", [False, True], ids=["settings", "versions"])
def test_what_was_deleted_while_main_was_narrow_stays_deleted(site, spare, is_versioned):
    """A,B, then A, then A,B: by the settings alone, and where versions of the topology rule."""
    both = environment()["MEMCACHED_URLS"].split(",")
    site.start(both)
    if is_versioned:
        manage("cache", "add-l1", spare().address, **site.settings)
    texts = {}
    for number in range(POSTS):
        text = f"doomed {number:02}"
        texts[site.write("POST", "/api/v1/statuses", status=text)["id"]] = text
    kept = site.write("POST", "/api/v1/statuses", status="first text")["id"]
    wait_until(lambda: len(site.shown(texts)) == 5 * POSTS, "all is seen everywhere")

    site.start(both[:1])
    if is_versioned:
        manage("cache", "rollback", "0", **site.settings)
    for post in texts:
        site.write("DELETE", f"/api/v1/statuses/{post}")
    site.write("PUT", f"/api/v1/statuses/{kept}", status="second text")
    assert site.shown(texts) == []

    site.start(both)
    if is_versioned:
        manage("cache", "rollback", "0", **site.settings)
    for _again in range(3):
        assert site.shown(texts) == []
    assert "second text" in site.call("GET", f"/api/v1/statuses/{kept}")[1]
