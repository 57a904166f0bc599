"""A site is backed up, all that it has is destroyed, and it is restored: real servers, a web server, a worker."""

import json
import shutil
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest

from runner.checkout import MANAGE
from runner.services.postgres import THROWAWAY, Postgres
from runner.services.service import restart
from tests.support.memory import empty_redis
from tests.support.processes import call, environment, manage, start_web, start_worker, stop
from tests.support.services import running
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.flows,
    pytest.mark.clusters,
    pytest.mark.long,
    pytest.mark.usefixtures("memcached"),
]
PEOPLE = """
from io import BytesIO
from apps.accounts.actions import issue_token, register, update_profile
from apps.graph.actions import follow_user
from apps.posts.actions.uploads import upload_picture
from tests.support.pictures import picture
people = {}
for handle in ("alice", "bob", "carol"):
    user = people[handle] = register(handle=handle, email=None, password="a long enough passphrase", by_operator=True)
    print(handle, user.pk, issue_token(user, name="a test"))
for reader in ("bob", "carol"):
    follow_user(people[reader], people["alice"])
print("picture", upload_picture(people["alice"], BytesIO(picture())).pk, "-")
"""


@contextmanager
def postgresql(directory):
    """A server with an empty database; its files are gone in the end."""
    directory.mkdir()
    server = Postgres(directory / "data", directory, directory, options=THROWAWAY)
    server.start()
    try:
        yield server.settings()["DATABASE_URL"]
    finally:
        server.stop()
        shutil.rmtree(directory)


@contextmanager
def started(directory, settings):
    """The address of a web server, beside a worker with beat."""
    web, address = start_web(directory, **settings)
    worker = start_worker(directory, **settings)
    try:
        yield address
    finally:
        stop(worker)
        stop(web)


def lose_all_caches():
    empty_redis()
    for node in running().memcached:
        restart(node)


def refused(*words, **settings):
    """What a command says that fails, as somebody at a terminal reads it."""
    done = subprocess.run(
        [sys.executable, "-P", MANAGE, *words],
        env={**environment(), **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


class Site:
    """What people see of a site, by their tokens."""

    def __init__(self, address, tokens):
        self.address, self.tokens = address, tokens

    def get(self, path, who):
        status, text = call(self.address + path, self.tokens[who])
        return json.loads(text) if status == 200 else status

    def post(self, path, who, **fields):
        status, text = call(self.address + path, self.tokens[who], "POST", **fields)
        assert status == 200, text
        return json.loads(text)

    def home(self, who):
        found = self.get("/api/v1/timelines/home", who)
        return [(one["id"], one["content"], one["favourites_count"]) for one in found]

    def pictures(self, who):
        """The types of the files of all pictures on a home page."""
        found = self.get("/api/v1/timelines/home", who)
        paths = [
            urlsplit(shown["url"])._replace(scheme="", netloc="").geturl()
            for one in found
            for shown in one["media_attachments"]
        ]
        return [self.kind_of(path) for path in paths]

    def kind_of(self, path):
        with urllib.request.urlopen(self.address + path) as answer:
            return f"{answer.headers['Content-Type']} of {len(answer.read())} bytes"


def test_a_destroyed_site_is_restored(transactional_db, tmp_path):
    media, saved = tmp_path / "media", tmp_path / "saved"
    settings = {"MEDIA_ROOT": str(media), "LIMIT_API_ADDRESS": "1000000", "AUDIT_SAMPLE_RATE": "1"}
    media.mkdir()
    lose_all_caches()
    with postgresql(tmp_path / "first") as url:
        settings["DATABASE_URL"] = url
        manage("migrate", "-v0", **settings)
        rows = [line.split() for line in manage("shell", "-v0", "-c", PEOPLE, **settings).splitlines()]  # fmt: skip
        tokens, number = {name: token for name, _pk, token in rows}, rows[-1][1]
        with started(tmp_path, settings) as address:
            site = Site(address, tokens)
            site.post("/api/v1/statuses", "alice", status="With a picture", media_ids=[number])
            fields = {"status": "Only for followers", "visibility": "private"}
            first = site.post("/api/v1/statuses", "alice", **fields)
            site.post(f"/api/v1/statuses/{first['id']}/favourite", "bob")
            wait_until(lambda: len(site.home("bob")) == len(site.home("carol")) == 2, "all arrived")
            wait_until(lambda: site.home("bob")[0][2] == 1, "the like is counted")
            assert [one[:6] for one in site.pictures("bob")] == ["image/"]
            before = site.home("bob"), site.home("carol"), site.pictures("bob")
            said = manage("backup", str(saved), "--check", **settings)  # while the site runs
            assert "0 violations" in said
            later = site.post("/api/v1/statuses", "alice", status="After the backup")["id"]
            wait_until(lambda: later in [one[0] for one in site.home("bob")], "it arrived")
            assert "The site is running" in refused("restore", str(saved), **settings)
    shutil.rmtree(media)
    lose_all_caches()

    with postgresql(tmp_path / "second") as url:
        settings["DATABASE_URL"] = url
        said = manage("restore", str(saved), **settings)
        assert "Start it." in said
        with started(tmp_path, settings) as address:
            site = Site(address, tokens)
            assert (site.home("bob"), site.home("carol"), site.pictures("bob")) == before
            assert site.get(f"/api/v1/statuses/{later}", "bob") == 404
            again = site.post("/api/v1/statuses", "alice", status="It goes on")["id"]
            wait_until(lambda: site.home("carol")[0][0] == again, "it arrived")
            said = manage("audit", "run", "--turns", "10", **settings)
            assert said.count(" 0 violations") == 10, said
            with psycopg.connect(url) as connection:
                found = connection.execute("SELECT count(*) FROM audit_auditfinding").fetchone()
                newest = "SELECT value FROM operations_cacheepoch ORDER BY id DESC"
                epoch = connection.execute(newest).fetchone()
            assert found == (0,)
            assert epoch != (0,)
