"""The cast of every test: alice is followed by bob; carol is a stranger. Real servers, empty caches."""

import time

import pytest
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.actions import issue_token
from apps.accounts.cache import USER_COUNTS
from apps.graph.actions import follow_user
from apps.posts.cache.entries import POST_COUNTS
from apps.scopes import ALL
from apps.tags.queries import TALK
from apps.timeline import policy
from feedcache import rate_limit
from feedcache.memcached.topology_listener import listener
from feedcache.redis_servers.connections import counters, graph, limits, reset_breakers, timelines
from feedcache.structures.counters.building import begin_build, end_build
from feedsite import health
from tests import clusters
from tests.commits import commit_inside_tests
from tests.factories import deliver, make_user

LET_GO_SECONDS = 10.0


def pytest_addoption(parser):
    parser.addoption(
        "--api-requests", type=int, default=400, help="requests of tests/api/test_schema.py"
    )
    parser.addoption("--api-seed", type=int, default=1, help="of what it asks")
    parser.addoption(
        "--matrix", action="store_true", help="all of the authorization matrix of tests/security"
    )


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """As ever; but the database goes when the servers that tests have started have let go of it."""
    yield
    with django_db_blocker.unblock():
        connection.close()
        # what this process has of its own does not count
        connection.close_pool()  # type: ignore[attr-defined]  # PostgreSQL's have one
        deadline = time.monotonic() + LET_GO_SECONDS
        while _others_use_it() and time.monotonic() < deadline:
            time.sleep(0.1)
        connection.close()


def _others_use_it():
    with connection.cursor() as sql:
        sql.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return sql.fetchone()[0]


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    with clusters.pair(tmp_path_factory.mktemp("replica")) as servers:
        yield servers


@pytest.fixture
def replicated(pair, settings):
    """The relations are on a primary, and are read from its replica."""
    primary, copy = pair
    settings.REDIS_TIMEOUT_SECONDS = 0.3
    with clusters.addresses(
        settings, REDIS_GRAPH_URL=primary.url, REDIS_GRAPH_REPLICA_URLS=[copy.url]
    ):
        graph().flushdb()
        yield primary, copy
        clusters.link(primary, copy)


@pytest.fixture(autouse=True)
def _empty_redis():
    reset_breakers()  # whatever the test before did to them
    timelines().flushdb()
    limits().flushdb()
    counters().flushdb()
    rate_limit.local.clear()


@pytest.fixture(autouse=True)
def _nobody_listens():
    """A test ends the listener it has started: it would carry one test's caches into the next."""
    yield
    left_running = listener().is_running
    listener().stop()
    assert not left_running


@pytest.fixture(autouse=True)
def _unknown_policies():
    policy.clear_cache()


@pytest.fixture(autouse=True)
def _health_unknown():
    health.forget()


@pytest.fixture(autouse=True)
def _no_old_talk():
    TALK.clear()


@pytest.fixture(autouse=True)
def _whole_counters(_empty_redis, request):
    """As after a rebuild from the empty database."""
    fixtures = {"db", "transactional_db"} & set(request.fixturenames)
    if fixtures or request.node.get_closest_marker("django_db"):
        for service in (POST_COUNTS, USER_COUNTS):
            turn = begin_build(service.store, service.floor_now)
            assert turn is not None
            end_build(service.store, turn, complete=True)


@pytest.fixture(autouse=True)
def _commits(monkeypatch):
    commit_inside_tests(monkeypatch)


@pytest.fixture(autouse=True)
def _fast_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def alice(db):
    return make_user("alice", display_name="Alice Wen")


@pytest.fixture
def bob(alice):
    bob = make_user("bob")
    follow_user(bob, alice)
    deliver()
    return bob


@pytest.fixture
def carol(db):
    return make_user("carol")


@pytest.fixture
def page_of():
    """`page_of(user)`: a browser without JavaScript in which a user is logged in (None: nobody)."""

    def client(user):
        browser = Client()
        if user is not None:
            browser.force_login(user)
        return browser

    return client


@pytest.fixture
def api_of():
    """`api_of(user)`: a program with a user's bearer token (None: without one); `scopes="read"`: with those only."""

    def client(user, scopes=ALL):
        program = APIClient()
        if user is not None:
            token = issue_token(user, name="test", scopes=scopes)
            program.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        return program

    return client
