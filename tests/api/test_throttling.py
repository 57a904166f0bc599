"""Requests of programs: an exact number is answered, every answer says what is left."""

import multiprocessing
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from feedcache import connections, stats
from feedcache.structures import rate_limit
from tests.support.faults import dead_redis

LIMIT = 5
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
HOME = "/api/v1/timelines/home"


@pytest.fixture
def small(settings):
    settings.RATE_LIMITS = {
        **settings.RATE_LIMITS,
        "api": (LIMIT, 300),
        "api_address": (LIMIT, 300),
        "api_address_rest": (LIMIT, 300),
    }


@pytest.mark.django_db
@pytest.mark.parametrize("with_token", [True, False])
def test_so_many_requests_are_answered_and_every_answer_says_what_is_left(
    small, alice, api_of, with_token
):
    client = api_of(alice if with_token else None)
    address = HOME if with_token else "/api/v1/timelines/public"
    answers = [client.get(address) for _ in range(LIMIT + 2)]
    assert [answer.status_code for answer in answers] == [200] * LIMIT + [429] * 2
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == [
        "4",
        "3",
        "2",
        "1",
        "0",
        "0",
        "0",
    ]
    for answer in answers:
        assert answer.headers["X-RateLimit-Limit"] == str(LIMIT)
        reset = datetime.fromisoformat(answer.headers["X-RateLimit-Reset"])
        assert timedelta(0) < reset - datetime.now(UTC) <= timedelta(seconds=301)
    refused = answers[-1]
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert refused.json()["code"] == "too_many_requests"


@pytest.mark.django_db
def test_the_tokens_of_one_account_share_its_limit_and_accounts_do_not(small, alice, bob, api_of):
    clients = [api_of(alice), api_of(alice)]
    assert [clients[number % 2].get(HOME).status_code for number in range(LIMIT + 1)] == [
        200
    ] * LIMIT + [429]
    assert api_of(bob).get(HOME).status_code == 200


@pytest.mark.django_db
def test_a_token_without_the_scope_of_an_action_does_not_use_up_its_limit(settings, alice, api_of):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (1, 60)}
    reader, address = api_of(alice, scopes="read"), "/api/v1/statuses"
    refused = [reader.post(address, {"status": "Hello."}).status_code for _time in range(3)]
    assert refused == [403] * 3
    writer = api_of(alice)
    assert [writer.post(address, {"status": "Hi."}).status_code for _n in range(2)] == [200, 429]


@pytest.mark.django_db
def test_bad_tokens_and_addresses_that_are_not_there_count_for_who_sends_them(small, alice, api_of):
    client = Client()
    wrong = [
        client.get(HOME, headers={"Authorization": f"Bearer wrong{n}"}) for n in range(LIMIT + 1)
    ]
    assert [answer.status_code for answer in wrong] == [401] * LIMIT + [429]
    assert all(name in answer.headers for answer in wrong for name in HEADERS)
    gone = [client.get("/api/v1/nowhere").status_code for _ in range(LIMIT + 1)]
    assert gone == [404] * LIMIT + [429]
    assert api_of(alice).get(HOME).status_code == 200


@pytest.mark.django_db
def test_without_redis_each_process_answers_as_many(small, alice, api_of):
    with dead_redis():
        answers = [api_of(alice).get(HOME) for _ in range(LIMIT + 1)]
    assert [answer.status_code for answer in answers] == [200] * LIMIT + [429]


SHARE = 20  # of each process: sixteen of them ask twenty times as often as they may


def _hammer(_index):
    connections.forget_clients()  # a connection of the process's own
    client = Client()
    return sum(client.get("/api/v1/nowhere").status_code == 404 for _ in range(SHARE))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_sixteen_processes_at_twenty_times_the_limit_are_never_answered_more_often(settings):
    limit = 16
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "api_address_rest": (limit, 300)}
    plain = (signal.SIGTERM, signal.SIG_DFL)  # a child must end when the pool tells it to
    with multiprocessing.get_context("fork").Pool(16, signal.signal, plain) as pool:
        assert sum(pool.map(_hammer, range(16), chunksize=1)) == limit


@pytest.mark.django_db
@pytest.mark.parametrize("with_token", [True, False])
def test_each_class_of_interfaces_has_a_limit_of_its_own(settings, alice, api_of, with_token):
    scope = "api" if with_token else "api_address"
    settings.RATE_LIMITS = {
        **settings.RATE_LIMITS,
        **{f"{scope}{suffix}": (2, 300) for suffix in ("", "_writes", "_rest")},
    }
    client = api_of(alice if with_token else None)
    rest = [client.get("/api/v1/trends/tags") for _ in range(3)]
    assert [answer.status_code for answer in rest] == [200, 200, 429]
    core = [client.get("/api/v1/timelines/public") for _ in range(3)]
    assert [answer.status_code for answer in core] == [200, 200, 429]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in core] == ["1", "0", "0"]
    writes = [client.post("/api/v1/statuses/1/favourite").status_code for _ in range(3)]
    assert writes == [404 if with_token else 401] * 2 + [429]


@pytest.mark.django_db
@pytest.mark.parametrize("with_token", [True, False])
def test_a_request_over_a_limit_that_is_used_up_asks_no_server_and_leaves_no_line_in_the_log(
    small, alice, api_of, with_token, django_assert_num_queries, caplog
):
    client = api_of(alice if with_token else None)
    address = HOME if with_token else "/api/v1/timelines/public"
    first = [client.get(address) for _ in range(LIMIT + 1)][-1]
    assert first.status_code == 429
    caplog.clear()
    with django_assert_num_queries(0), stats.calls_counted() as calls:
        refused = client.get(address, headers={"Accept-Language": "zh-hans", "Origin": "x://y"})
    assert (refused.status_code, calls, caplog.messages) == (429, {}, [])
    assert refused.json()["code"] == first.json()["code"]
    assert refused.json()["detail"].startswith("操作太频繁")
    assert [refused.headers[name] for name in HEADERS[:2]] == [
        first.headers[name] for name in HEADERS[:2]
    ]
    assert 0 < int(refused.headers["Retry-After"]) <= int(first.headers["Retry-After"])
    assert refused.headers["Access-Control-Allow-Origin"] == "*"
    assert refused.headers["Cache-Control"] == "private, no-cache"
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
    if with_token:
        assert client.get("/api/v1/trends/tags").status_code == 200, "another class of interfaces"


@pytest.mark.django_db
def test_after_the_window_the_server_is_asked_again(small, alice, api_of, monkeypatch):
    client = api_of(alice)
    assert [client.get(HOME).status_code for _ in range(LIMIT + 2)][LIMIT:] == [429, 429]
    connections.limits().flushdb()  # as its keys expire
    assert client.get(HOME).status_code == 429, "the window goes on"
    later = time.monotonic() + 301
    monkeypatch.setattr(rate_limit.local, "_clock", lambda: later)
    assert client.get(HOME).status_code == 200
