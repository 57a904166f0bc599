"""The topology changes under a running site: real web, worker and beat processes, readers all the while."""

import http.cookiejar
import json
import random
import re
import threading
import urllib.parse
import urllib.request
from collections import Counter

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.actions import issue_token
from apps.operations.queries import rates, topology_in_force
from feedcache.servers import topology_listener
from feedcache.servers.health import memcached_status
from tests.operations.conftest import settled, spare
from tests.support.factories import publish
from tests.support.processes import start_web, start_worker, stop
from tests.support.staff import make_staff
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

__all__ = ["settled", "spare"]  # fixtures

POSTS = 12  # so many that each slot has some: at random one of 4,096 times not
CONSOLE = "/admin/operations/cachenode/"


class Staff:
    """A browser of a member of staff, at a real server."""

    def __init__(self, address, user):
        client = Client()
        client.force_login(user)
        self.address, cookies = address, http.cookiejar.CookieJar()
        cookies.set_cookie(_cookie(client.cookies[settings.SESSION_COOKIE_NAME].value))
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))

    def get(self, path):
        return self._open(path, None)

    def post(self, path, page, **fields):
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token, page
        return self._open(path, {"csrfmiddlewaretoken": token[1], **fields})

    def _open(self, path, fields):
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        with self.opener.open(self.address + path, data, timeout=20) as answer:
            return answer.read().decode()

    def change(self, which, /, **fields):
        """Fill in a form of the console, and answer its question."""
        path = f"{CONSOLE}change/{which}/"
        page = self.get(path)
        seen = re.search(r'name="seen" value="(\d+)"', page)
        assert seen
        return self.post(path, page, seen=seen[1], confirmed="yes", **fields)


def _cookie(session):
    domain = "127.0.0.1"
    return http.cookiejar.Cookie(
        0, settings.SESSION_COOKIE_NAME, session, None, False, domain, True, False, "/", True, False, None, True, None,
        None, {},
    )  # fmt: skip


class Readers:
    """Threads that read posts while they are edited; what was acknowledged before a read must be in it."""

    def __init__(self, address, token, author, posts):
        self.address, self.token, self.posts = address, token, posts
        self.author_token = issue_token(author, name="edits")
        self.codes: Counter[int] = Counter()
        self.faults: list[str] = []
        self.edits = dict.fromkeys((post.pk for post in posts), 0)
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._read, args=(seed,)) for seed in range(3)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_exception):
        self.stopping.set()
        for thread in self.threads:
            thread.join(20)

    def edit(self):
        """Edit every post once."""
        for post in self.posts:
            number = self.edits[post.pk] + 1
            self._put(post.pk, f"edit {number}")
            self.edits[post.pk] = number

    def _put(self, post_id, text):
        # by the site: this process follows no topology
        request = urllib.request.Request(
            f"{self.address}/api/v1/statuses/{post_id}",
            data=json.dumps({"status": text}).encode(),
            headers={
                "Authorization": f"Bearer {self.author_token}",
                "Content-Type": "application/json",
            },
            method="PUT",
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status == 200

    def _read(self, seed):
        chance = random.Random(seed)
        while not self.stopping.is_set():
            post_id = chance.choice(self.posts).pk
            known = self.edits[post_id]
            request = urllib.request.Request(
                f"{self.address}/api/v1/statuses/{post_id}",
                headers={"Authorization": f"Bearer {self.token}"},
            )
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    self.codes[answer.status] += 1
                    found = re.search(r"edit (\d+)", json.load(answer)["content"])
                if found is None or int(found[1]) < known:
                    self.faults.append(f"read {found and found[0]} after edit {known}")
            except (OSError, ValueError) as error:
                self.faults.append(repr(error))


@pytest.fixture
def site(transactional_db, tmp_path):
    # readers without a pause: the limits are not what is looked at here
    web, address = start_web(tmp_path, LIMIT_API="1000000", LIMIT_API_REST="1000000")
    worker = start_worker(tmp_path)
    yield address
    stop(worker)
    stop(web)


def versions():
    return {one.name: (one.role, one.version) for one in topology_listener.processes()}


def all_run(version):
    return {number for _role, number in versions().values()} == {version}


def wait_until_all_run(version):
    wait_until(lambda: all_run(version), lambda: f"all run version {version}: {versions()}")


def fills(server, readers):
    """Whether a node holds something by now: it is filled by what is asked, and what L1 has is not asked of Main."""
    readers.edit()
    return memcached_status(server.address).items > 0


def test_changes_reach_every_process_while_readers_run(site, alice, bob, settled, spare):
    posts = [publish(alice, "edit 0") for _ in range(POSTS)]
    staff = Staff(site, make_staff(superuser=True, handle="chief"))
    wait_until(
        lambda: {role for role, _ in versions().values()} == {"web", "worker", "beat"},
        "web, worker and beat report",
    )
    before = set(versions())
    group, main = spare(16), spare(64)
    with Readers(site, issue_token(bob, name="test"), alice, posts) as readers:
        readers.edit()

        assert "Version 1:" in staff.change("add-l1", addresses=group.address, megabytes="16")
        wait_until_all_run(1)
        readers.edit()
        wait_until(lambda: fills(group, readers), "the new group fills itself")

        assert "Version 2:" in staff.change("replace", place="main-0-0", address=main.address)
        wait_until_all_run(2)
        assert "Version 3:" in staff.change("replace", place="main-0-1", address=spare(64).address)
        wait_until_all_run(3)
        readers.edit()
        wait_until(lambda: fills(main, readers), "the new node fills itself")

        refused = staff.change("replace", place="main-0-0", address=settled.backup[0].url)
        assert "stands twice" in refused
        refused = staff.change("add-l1", addresses="127.0.0.1:1", megabytes="16")
        assert "does not work" in refused
        assert topology_in_force().version == 3
        assert all_run(3)

        history = "/admin/operations/topologyversion/"
        staff.post(history, staff.get(history), action="roll_back", _selected_action="1", confirmed="yes")  # fmt: skip
        wait_until_all_run(4)
        readers.edit()
        now = topology_in_force()
        assert [node.url for node in now.main] == [node.url for node in settled.main]
        assert {node.generation for node in now.main} == {4}

        staff.change("flush", name="content")
        wait_until_all_run(5)
        readers.edit()
        staff.change("drain", target="group-0")
        wait_until_all_run(6)
        readers.edit()
    assert readers.faults == []
    classes, tiers = rates()  # what the site's own processes counted
    assert "post" in {rate.name for rate in classes}
    assert {"tier:l1", "tier:main"} <= {rate.name for rate in tiers}
    assert set(readers.codes) == {200}
    assert readers.codes[200] > 50
    assert set(versions()) == before  # the same processes: none was restarted
