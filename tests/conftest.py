"""Fixtures for every test: alice, her follower bob, and the stranger carol; real servers with empty caches."""

import gc
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import QuerySet
from django.dispatch import receiver
from django.test import Client
from django.test.signals import setting_changed
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from apps.accounts.actions import issue_token
from apps.accounts.cache import USER_COUNTS, forget_viewers
from apps.accounts.models import User
from apps.events import actions as events
from apps.posts.cache import POST_COUNTS
from apps.scopes import ALL
from apps.tags.trends import TRENDING_CACHE
from apps.timeline import policy
from apps.timeline.fanout import lag
from feedcache.structures.counters.maintenance import begin_build, end_build
from feedsite.caches import configure_feedcache
from feedsite.monitoring import health
from runner.checkout import MANAGE
from runner.environment import UNCOMPRESSED
from tests.support import cassandra, citus, faults, memory, threads
from tests.support.commits import commit_inside_tests
from tests.support.database import migrated_template
from tests.support.factories import log_in, make_follow, make_user
from tests.support.flushing import flush_quickly
from tests.support.pictures import each_decoded_once
from tests.support.services import running
from tests.support.staff import browser_of, make_staff

pytest_plugins = ["tests.support.caches"]

# How fast examples are generated depends on the machine, not on the code.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=20, **PATIENT)
settings.register_profile("thorough", max_examples=200, **PATIENT)  # of ./run test --all
settings.load_profile("quick")


def pytest_addoption(parser):
    parser.addoption(
        "--api-requests", type=int, default=400, help="requests of tests/api/test_schema.py"
    )
    parser.addoption("--api-seed", type=int, default=1, help="seed of these requests")
    parser.addoption(
        "--matrix",
        action="store_true",
        help="all of the matrices of tests/security and of /explain",
    )


def pytest_collection_finish():
    """Everything loaded by now lives until the end of the run, so the garbage collector need not traverse it again."""
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_keepdb():
    """The database is not dropped, because its whole server is deleted after the run."""
    return True


@receiver(setting_changed)
def _tell_feedcache(setting, **_of_the_signal):
    """Configure feedcache again when a test changes one of Django's settings for the caches."""
    if setting.startswith(("REDIS_", "MEMCACHED_", "CACHE_")):
        configure_feedcache()


# The broker is a Redis with a breaker too, and each thread that a test starts has its own database connection.
faults.BREAKERS.append(events.broker.succeed)
threads.AT_END.append(connections.close_all)


@pytest.fixture(scope="session", autouse=True)
def _quick_flush():
    with pytest.MonkeyPatch.context() as monkeypatch:
        flush_quickly(monkeypatch)
        yield


@pytest.fixture(scope="session", autouse=True)
def _each_picture_decoded_once():
    with each_decoded_once():
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix):
    connection = connections[DEFAULT_DB_ALIAS]
    # a test without a database may have opened the pool, which would go on connecting to the database in the settings
    connection.close_pool()
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    if citus.takes_all_tests():  # its database is made for this run and spans several servers
        names = {"NAME": connection.settings_dict["NAME"]}
    else:
        names = {"NAME": f"test_{worker}", "TEMPLATE": migrated_template()}
    connection.settings_dict["TEST"].update(names)


@pytest.fixture(scope="session")
def cassandra_node(tmp_path_factory):
    with cassandra.server(tmp_path_factory.mktemp("cassandra")) as node:
        yield node


@pytest.fixture(params=cassandra.STORES)
def store(request):
    """The name of the store that holds the second level, "postgresql" or "cassandra"."""
    if request.param == "postgresql":
        yield request.param
        return
    with cassandra.in_cassandra(request.getfixturevalue("cassandra_node")):
        yield request.param


@pytest.fixture(autouse=True)
def _unknown_policies():
    policy.clear_cache()


@pytest.fixture(autouse=True)
def _health_unknown():
    health.forget()
    lag.forget()


@pytest.fixture(autouse=True)
def _no_old_talk():
    TRENDING_CACHE.clear()


@pytest.fixture(autouse=True)
def _whole_counters(_empty_redis, request):
    """Mark the counters as complete, as after a rebuild from an empty database."""
    fixtures = {"db", "transactional_db"} & set(request.fixturenames)
    if fixtures or request.node.get_closest_marker("django_db"):
        complete_counters()


def complete_counters():
    for service in (POST_COUNTS, USER_COUNTS):
        turn = begin_build(service.store, service.floor_now)
        assert turn is not None
        end_build(service.store, turn, complete=True)


@pytest.fixture(autouse=True)
def _commits(monkeypatch):
    commit_inside_tests(monkeypatch)


@pytest.fixture(autouse=True)
def _accounts_changed_by_hand(monkeypatch):
    """Forget cached viewers after `QuerySet.update`, with which tests change accounts without calling the actions."""
    update = QuerySet.update

    def updated(self, **values):
        ids = list(self.values_list("pk", flat=True)) if self.model is User else []
        count = update(self, **values)
        forget_viewers(ids)
        return count

    monkeypatch.setattr(QuerySet, "update", updated)


@pytest.fixture(autouse=True)
def _fast_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def case(db, subtests):
    """`with case(name=value)`: one of many cases, each of which starts with the rows that existed before the first.

    Separate tests, each in its own transaction, would have to create these rows every time.
    """

    @contextmanager
    def one(**names):
        with subtests.test(**names):
            before = transaction.savepoint()
            if running().memcached:
                memory.flush()  # a post of an earlier case may have had the id of a post of this one
            memory.empty_redis()
            complete_counters()
            try:
                yield
            finally:
                transaction.savepoint_rollback(before)

    return one


@pytest.fixture
def alice(db):
    return make_user("alice", display_name="Alice Wen")


@pytest.fixture
def bob(alice):
    bob = make_user("bob")
    make_follow(bob, alice)
    return bob


@pytest.fixture
def carol(db):
    return make_user("carol")


@pytest.fixture
def chief(db):
    """A browser logged in as a superuser."""
    return browser_of(make_staff(superuser=True, handle="chief"))


@pytest.fixture
def media(settings, tmp_path):
    """A MEDIA_ROOT for the uploads of this test only."""
    settings.MEDIA_ROOT = str(tmp_path / "media")


@pytest.fixture(scope="session")
def static_files():
    """The environment of a web server whose static files are stored as `./run` stores them; collected once."""
    env = {"STATICFILES_BACKEND": UNCOMPRESSED}
    collect = [sys.executable, "-P", str(MANAGE), "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, env={**os.environ, **env}, check=True)
    return env


@pytest.fixture
def page_of():
    """`page_of(user)`: Django's test client, logged in as this user; anonymous for None."""

    def client(user):
        browser = Client()
        if user is not None:
            log_in(browser, user)
        return browser

    return client


@pytest.fixture
def api_of():
    """`api_of(user)`: an API client with a bearer token of this user and these scopes; without a token for None."""

    def client(user, scopes=ALL):
        program = APIClient()
        if user is not None:
            token = issue_token(user, name="test", scopes=scopes)
            program.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        return program

    return client
