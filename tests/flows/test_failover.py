"""PostgreSQL fails over to a standby that lagged, below a running site: a real primary, standby, web, worker, caches.

`LAG=60 pytest tests/flows/test_failover.py` lets the standby learn nothing for a minute.
"""

import json
import os
import shutil
import time
from contextlib import closing
from functools import partial

import psycopg
import pytest

from runner.services.postgres import THROWAWAY, Postgres
from runner.services.service import restart
from tests.support.processes import call, manage, start_web, start_worker, stop
from tests.support.services import running
from tests.support.waiting import wait_until
from tools.scale.servers import Standby
from tools.tables import make_tables

pytestmark = [
    pytest.mark.flows,
    pytest.mark.clusters,
    pytest.mark.long,
    pytest.mark.usefixtures("memcached"),
]

LAG_SECONDS = float(os.environ.get("LAG", "0"))
BEATS = 2  # of the database while the standby lags: fewer would be a failover without a word (docs/decisions/0135)
WENT_BACK = "restored to an earlier state"
PEOPLE = """
from apps.accounts.actions import issue_token, register
for handle in ("alice", "bob", "carol", "dave", "erin", "staff"):
    user = register(handle=handle, email=None, password="a long enough passphrase", by_operator=True)
    print(handle, user.pk, issue_token(user, name="a test"))
user.is_staff = user.is_superuser = True
user.save()
"""
SUSPENSION = """
from apps.accounts.models import User
from apps.moderation.actions import restore_user, suspend_user
{act}_user(User.objects.get(handle="{handle}"), by=User.objects.get(handle="staff"), reason="a test")
"""


class Servers:
    """The primary and its standby. The site finds whichever leads at one address, a link in the file system."""

    def __init__(self, directory):
        place = directory / "primary"
        place.mkdir(parents=True)
        self.primary = Postgres(place / "data", place, place, options=THROWAWAY)
        self.primary.start()
        make_tables(self.primary.settings()["DATABASE_URL"])
        self.standby = Standby(directory / "standby", self.primary.settings()["DATABASE_URL"])
        self.standby.start()
        self.address = directory / "leads"
        self.address.symlink_to(place)
        self.url = self.primary.settings()["DATABASE_URL"].replace("primary", "leads")

    def freeze(self):
        """The standby has all that is written by now, and learns nothing more."""
        written = ask(self.primary, "SELECT pg_current_wal_insert_lsn()::text")
        wait_until(
            lambda: ask(self.standby, f"SELECT pg_last_wal_replay_lsn() >= '{written}'"),
            "the standby has what was written",
        )
        ask(self.standby, "SELECT pg_wal_replay_pause()::text")
        wait_until(
            lambda: ask(self.standby, "SELECT pg_get_wal_replay_pause_state()") == "paused",
            "the standby replays nothing",
        )
        # what it was sent meanwhile it would replay before it leads
        self.standby.stop()

    def fail_over(self):
        """The primary is gone, the standby leads, at the same address."""
        assert self.primary.child
        self.primary.child.kill()
        self.primary.child = None
        self.standby.start()
        ask(self.standby, "SELECT pg_promote()")
        link = self.address.with_name("link")
        link.symlink_to(self.standby.sockets)
        link.replace(self.address)

    def stop(self):
        self.standby.stop()
        self.primary.stop()


def ask(server, statement):
    with closing(psycopg.connect(server.settings()["DATABASE_URL"], autocommit=True)) as connection:
        [[found]] = connection.execute(statement).fetchall()
        return found


class Site:
    """Web, worker and beat on the servers, and people who have tokens."""

    def __init__(self, servers, directory):
        self.settings = {
            "DATABASE_URL": servers.url,
            "LIMIT_API_ADDRESS": "1000000",
            "DATABASE_POOL_TIMEOUT_SECONDS": "1",
        }
        self.directory = directory
        people = [line.split() for line in self.manage("shell", "-v0", "-c", PEOPLE).splitlines()]
        self.ids = {handle: pk for handle, pk, _token in people}
        self.tokens = {handle: token for handle, _pk, token in people}
        self.processes = []
        self.start()

    def start(self):
        web, self.address = start_web(self.directory, **self.settings)
        self.processes = [web, start_worker(self.directory, **self.settings)]

    def stop(self):
        for process in self.processes:
            stop(process)
        self.processes = []

    def manage(self, *words):
        return manage(*words, **self.settings)

    def suspend(self, handle):
        self.manage("shell", "-v0", "-c", SUSPENSION.format(act="suspend", handle=handle))

    def restore(self, handle):
        self.manage("shell", "-v0", "-c", SUSPENSION.format(act="restore", handle=handle))

    def call(self, method, path, who=None, **fields):
        """Status and text of an answer."""
        token = self.tokens[who] if who else ""
        return call(self.address + path, token, method, **fields)

    def act(self, method, path, who, **fields):
        status, text = self.call(method, path, who, **fields)
        assert status == 200, text
        return json.loads(text)

    def publish(self, who, text):
        return self.act("POST", "/api/v1/statuses", who, status=text)["id"]

    def follow(self, who, whom, act="follow"):
        self.act("POST", f"/api/v1/accounts/{self.ids[whom]}/{act}", who)

    def posts(self, path, who=None):
        status, text = self.call("GET", path, who)
        if status != 200:
            return status
        found = json.loads(text)
        return [_told(one) for one in (found if isinstance(found, list) else [found])]

    def home(self, who):
        """The ids on a home page, or why there are none."""
        found = self.posts("/api/v1/timelines/home", who)
        return found if isinstance(found, int) else [post for post, *_rest in found]

    def views(self, posts):
        """What everybody sees of these posts and people."""
        seen = {f"home of {who}": self.posts("/api/v1/timelines/home", who) for who in ("bob", "erin")}  # fmt: skip
        seen["public"] = self.posts("/api/v1/timelines/public")
        for handle in ("alice", "carol", "dave"):
            account = f"/api/v1/accounts/{self.ids[handle]}"
            seen[f"posts of {handle}"] = self.posts(f"{account}/statuses")
            status, text = self.call("GET", account)
            counts = ("followers_count", "statuses_count", "suspended")
            seen[handle] = status, [json.loads(text).get(name) for name in counts]
            seen[f"page of {handle}"] = self.call("GET", f"/@{handle}")[0]
        for post in posts:
            seen[f"post {post}"] = self.posts(f"/api/v1/statuses/{post}")
            seen[f"post {post} for bob"] = self.posts(f"/api/v1/statuses/{post}", "bob")
        return seen

    def says(self, sentence, path):
        return sentence in self.call("GET", path)[1]


def _told(status):
    return status["id"], status["content"], status["favourites_count"], status["favourited"]


def differences(seen, right):
    return [f"{name}: {seen[name]} for {right[name]}" for name in right if seen[name] != right[name]]  # fmt: skip


@pytest.fixture
def servers(tmp_path_factory):
    for node in running().memcached:  # a new site: its ids are those of the test before
        restart(node)
    directory = tmp_path_factory.mktemp("pg")
    servers = Servers(directory)
    yield servers
    servers.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def site(servers, tmp_path):
    site = Site(servers, tmp_path)
    yield site
    site.stop()


@pytest.fixture
def lagged(site, servers):
    """The site after a time that its standby has missed, what was seen before, and all posts.

    Ghosts, an edit, a deletion, a like and an unfollow; one person was suspended, another restored. All caches know it.
    """
    for reader in ("bob", "erin"):
        for author in ("alice", "carol", "dave"):
            site.follow(reader, author)
    kept, doomed = (site.publish("alice", text) for text in ("kept", "deleted meanwhile"))
    posts = [kept, doomed, site.publish("carol", "by carol"), site.publish("dave", "by dave")]
    wait_until(lambda: site.home("bob") == posts[::-1], "all is delivered")
    site.suspend("dave")
    wait_until(lambda: site.home("bob") == posts[-2::-1], "dave is gone")
    wait_until(
        lambda: ask(servers.primary, "SELECT count(*) FROM operations_cacheepoch WHERE beats > 1"),
        "the database is watched",
    )
    before = site.views(posts)
    servers.freeze()
    began, beats = time.monotonic(), _beats(servers.primary)
    posts += [site.publish("alice", f"ghost {number}") for number in range(3)]
    site.act("PUT", f"/api/v1/statuses/{kept}", "alice", status="edited meanwhile")
    site.act("POST", f"/api/v1/statuses/{kept}/favourite", "bob")
    site.act("DELETE", f"/api/v1/statuses/{doomed}", "alice")
    site.follow("erin", "alice", "unfollow")
    site.suspend("carol")
    site.restore("dave")
    wait_until(
        lambda: time.monotonic() > began + LAG_SECONDS and _beats(servers.primary) >= beats + BEATS,
        "the database was watched meanwhile",
        seconds=LAG_SECONDS + 60,
    )
    before |= {name: 404 for name in site.views(posts) if name not in before}
    meanwhile = site.views(posts)  # warm
    assert len(differences(meanwhile, before)) >= 15, meanwhile
    return site, servers, before, posts


def _beats(server):
    return ask(server, "SELECT beats FROM operations_cacheepoch ORDER BY id DESC LIMIT 1")


def goes_on(site):
    """People write and are read again, those who were there in the lost time and the others."""
    for author in ("alice", "carol"):
        post = site.publish(author, f"{author} goes on")
        wait_until(partial(is_newest_at_home, site, post), f"a post of {author} arrives")


def is_newest_at_home(site, post):
    return site.home("erin")[0] == post


def test_without_a_word_the_site_notices_by_itself_and_says_so(lagged):
    site, servers, before, posts = lagged
    servers.fail_over()
    wait_until(lambda: site.says(WENT_BACK, "/status"), "the site notices")
    wait_until(
        lambda: not differences(site.views(posts), before),
        lambda: "\n".join(differences(site.views(posts), before)),
    )
    wait_until(lambda: site.says(WENT_BACK, "/audit"), "the audit says it")
    goes_on(site)


def test_after_the_documented_steps_nothing_of_the_lost_time_is_shown(lagged):
    site, servers, before, posts = lagged
    site.stop()
    servers.fail_over()
    site.settings["DATABASE_URL"] = servers.standby.settings()["DATABASE_URL"]
    site.manage("cache", "restored")
    site.start()
    assert differences(site.views(posts), before) == []
    goes_on(site)
