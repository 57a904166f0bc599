"""What the running site counts of itself: requests, and calls of the stores."""

from contextlib import ExitStack
from http import HTTPStatus

import pytest
from django.core.cache import cache
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.http import HttpResponse
from django.test import RequestFactory

from apps.operations.queries import service_level
from apps.posts.models import Post
from feedcache import stats
from feedcache.connections import RedisError, graph, limits, timelines
from feedcache.memcached_tiers import tiers
from feedcache.redis_clients import PendingCommands
from feedcache.servers import totals
from feedcache.servers.topology_listener import Listener
from feedsite.middleware import timing
from feedsite.middleware.load_shedding import REFUSED, LoadSheddingMiddleware
from feedsite.server import bodies
from tests.support.faults import dead_redis, frozen
from tests.support.services import running

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_counted():
    stats.drain()


def level():
    return service_level(stats.drain())


def calls(backend):
    found = {one.name: one for one in level().calls}
    return (found[backend].number, found[backend].failed) if backend in found else (0, 0)


# --- calls -----------------------------------------------------------------------------------------


def test_each_statement_is_a_call_of_its_database():
    for _ in range(3):
        Post.objects.exists()
    assert calls("postgresql default") == (3, 0)


def test_a_statement_that_times_out_has_failed():
    with connection.cursor() as sql:
        sql.execute("SET LOCAL statement_timeout = 20")
        stats.drain()
        with pytest.raises(OperationalError), transaction.atomic():
            sql.execute("SELECT pg_sleep(5)")
    found = {one.name: one for one in level().calls}
    assert found["postgresql default"].failed == 1


def test_a_statement_that_postgresql_refuses_has_not():
    with connection.cursor() as sql, pytest.raises(ProgrammingError), transaction.atomic():
        sql.execute("SELECT * FROM no_such_table")
    found = {one.name: one for one in level().calls}
    assert found["postgresql default"].failed == 0
    assert found["postgresql default"].number >= 1


def test_what_goes_to_a_redis_at_once_is_one_call_of_its_role():
    graph().get("x")
    assert calls("redis graph") == (1, 0)
    with limits().pipeline() as pipeline:
        pipeline.get("x")
        pipeline.get("y")
        pipeline.execute()
    assert calls("redis limits") == (1, 0)
    PendingCommands(timelines(), [("GET", "x"), ("GET", "y")]).collect()
    assert calls("redis timelines") == (1, 0)


def test_djangos_own_cache_counts_too():
    cache.get("x")
    number, failed = calls("redis cache")
    assert number >= 1
    assert failed == 0


def test_a_redis_that_does_not_answer_has_failed():
    with dead_redis(), pytest.raises(RedisError):
        timelines().get("x")
    number, failed = calls("redis timelines")
    assert number == failed >= 1


def test_memcached_is_counted_by_tier(memcached):
    keys = [f"key-{number}" for number in range(16)]  # on every node
    assert tiers().set_many(dict.fromkeys(keys, b"1"), ttl_seconds=60)
    stats.drain()
    tiers().get_many([*keys, "absent"])
    found = {one.name: one for one in level().calls}
    assert found["memcached main"].number >= 1
    assert found["memcached main"].failed == 0
    assert found["memcached main"].mean_ms > 0
    assert found["memcached backup"].number >= 1, "for the one that Main does not have"
    with ExitStack() as stack:
        for node in tiers().nodes():
            node.timeout = 0.2
        for server in running().memcached:
            stack.enter_context(frozen(server))
        tiers().get_many(keys)
    assert any(one.failed for one in level().calls if one.name == "memcached main")


# --- requests --------------------------------------------------------------------------------------


def answer(path, status, *, refused=False):
    def view(request):
        if refused:
            request.META[REFUSED] = True
        return HttpResponse("page", status=status)

    timing.TimingMiddleware(view)(RequestFactory().get(path))


def test_requests_are_counted_by_class_with_what_failed_and_what_was_refused():
    answer("/home", 200)
    answer("/home", 404)
    answer("/home", 500)
    answer("/search", 429)
    answer("/search", 503)
    answer("/search", 503, refused=True)
    answer("/static/css/site.css", 200)
    found = {one.name: one for one in level().requests}
    assert set(found) == {"core", "rest"}
    assert (found["core"].number, found["core"].failed, found["core"].refused) == (3, 1, 0)
    assert (found["rest"].number, found["rest"].failed, found["rest"].refused) == (3, 1, 1)
    assert found["core"].availability == pytest.approx(2 / 3)
    assert found["rest"].availability == pytest.approx(1 / 3)


def test_a_body_that_is_not_taken_is_no_refusal_for_want_of_seats():
    """Else whoever sends what is too large makes the site look unavailable."""

    def view(request):
        raise AssertionError("its body was not read")

    request = RequestFactory().post("/posts")
    request.META[bodies.UNREAD] = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    answered = timing.TimingMiddleware(LoadSheddingMiddleware(view))(request)
    assert answered.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    (found,) = level().requests
    assert (found.number, found.failed, found.refused) == (1, 0, 0)


def test_a_request_over_a_second_is_slow(monkeypatch):
    times = iter([0.0, 0.9, 10.0, 11.1])
    monkeypatch.setattr(timing, "perf_counter", lambda: next(times))
    answer("/home", 200)
    answer("/home", 200)
    (core,) = level().requests
    assert (core.number, core.slow, core.mean_ms) == (2, 1, pytest.approx(1000))


def test_one_request_of_the_site_is_counted_once(client):
    client.get("/public")
    client.get("/healthz/live")
    (core,) = level().requests
    assert (core.name, core.number) == ("core", 1)


# --- over all processes ----------------------------------------------------------------------------


def test_processes_add_up_and_nothing_is_counted_twice():
    listener = Listener()
    for _ in range(2):
        answer("/home", 200)
        listener.look(timelines())
    for counts in (totals.last_hour(), totals.ever()):
        (core,) = service_level(counts).requests
        assert core.number == 2
    answer("/home", 200)
    with dead_redis(), pytest.raises(RedisError):
        listener.look(timelines())
    listener.look(timelines())
    (core,) = service_level(totals.ever()).requests
    assert core.number == 1, "Redis came back empty; what was counted while it was away is there"
