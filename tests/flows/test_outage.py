"""PostgreSQL goes away under a real web server:
public pages go on, everything else is a clear 503, and all comes back.
"""

import re
import time
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.feedcache.relay import Relay
from tests.support.factories import publish
from tests.support.processes import environment, start_web, stop
from tests.support.services import running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

SOCKET = ".s.PGSQL.5432"


@pytest.fixture
def relay(transactional_db, tmp_path):
    """The socket of PostgreSQL as the web server sees it."""
    host = parse_qs(urlsplit(environment()["DATABASE_URL"]).query)["host"][0]
    between = Relay(f"unix:{host}/{SOCKET}", tmp_path / SOCKET)
    yield between
    between.close()


@pytest.fixture
def site(relay, tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_POOL_TIMEOUT_SECONDS", "1")
    url = urlsplit(environment()["DATABASE_URL"])
    changed = url._replace(query=urlencode({"host": relay.place.parent})).geturl()
    there = {**environment(), "DATABASE_URL": changed, "METRICS_TOKEN": TOKEN}
    monkeypatch.setattr("tests.support.processes.environment", lambda: there)
    process, address = start_web(tmp_path)
    yield address
    stop(process)


TOKEN = "kD7fJ2mQ9xW4vB8nT1sL6pR3yH5cZ0gA"


def get(address, **headers):
    try:
        with urllib.request.urlopen(
            urllib.request.Request(address, headers=headers), timeout=10
        ) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_public_pages_outlive_the_database(site, relay, alice):
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    post = publish(alice, "still to be read")
    public, api = f"{site}/@alice", f"{site}/api/v1/accounts/{alice.pk}/statuses"
    square = f"{site}/public"
    for address in (square, public, api, f"{site}/@alice/{post.pk}"):
        assert get(address)[0] == 200
    relay.cut()
    assert get(square)[0] == 200, "its ids and its posts are in the caches"
    assert "still to be read" in get(square)[2]
    for address in (public, api, f"{site}/@alice/{post.pk}"):
        status, headers, body = get(address)
        assert status == 200, address
        assert "still to be read" in body
        assert headers["X-Feed-Degraded"] == "database"
        assert int(headers["Age"]) < 60
    assert "This page is up to 1 minute old" in get(public)[2]
    assert re.search(r'csrfmiddlewaretoken" value="."', get(public)[2]) is None
    assert "Content-Security-Policy" in get(public)[1]
    never_seen = get(f"{site}/public?limit=3")
    assert never_seen[0] == 503
    assert int(never_seen[1]["Retry-After"]) > 0
    members = get(f"{site}/home", Cookie="sessionid=abcdefghijklmnopqrstuvwxyz012345")
    assert members[0] == 503, "who it is cannot be known"
    assert "still to be read" not in members[2]
    assert get(api, Authorization="Bearer x")[0] == 503
    relay.join()
    wait_until(lambda: "X-Feed-Degraded" not in get(public)[1], "the pages are whole again")
    assert get(f"{site}/public?limit=3")[0] == 200


@pytest.mark.waits("each wait for a connection takes a second")
def test_figures_say_so_before_prometheus_stops_waiting(site, relay):
    """One wait for a connection, not one for each check and each gauge; otherwise SiteUnreachable would fire."""
    times = []

    def told():
        begin = time.monotonic()
        found = figures(f"{site}/metrics", {"Authorization": f"Bearer {TOKEN}"})
        times.append(time.monotonic() - begin)
        return found if found['feedsite_check_ok{check="postgresql"}'] == "0.0" else None

    assert told() is None
    relay.cut()
    found = wait_until(told, "the check fails")
    for name in ("postgresql writes", "deliveries", "dead letters", "audit"):
        assert found[f'feedsite_check_ok{{check="{name}"}}'] == "0.0"
    assert found['feedsite_check_ok{check="redis"}'] == "1.0"
    assert "feedsite_postgresql_connections" not in found
    assert max(times) < 4, "the pool waits for one second"


def figures(address, headers):
    """The samples of /metrics by name and labels."""
    status, _headers, body = get(address, **headers)
    assert status == 200
    return dict(line.rsplit(" ", 1) for line in body.splitlines() if line[:1] != "#")
