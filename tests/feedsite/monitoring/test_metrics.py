"""`/metrics`: what Prometheus reads, and who else does not."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from feedcache import stats
from feedcache.servers import totals
from tests.support.cases import each
from tests.support.faults import dead_redis
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
PATH = "/metrics"
TOKEN = "kD7fJ2mQ9xW4vB8nT1sL6pR3yH5cZ0gA"


@pytest.fixture(autouse=True)
def _nothing_counted():
    stats.drain()


def test_nobody_but_staff_by_default(client, alice, page_of):
    assert client.get(PATH).status_code == 403
    assert client.get(PATH, headers={"Authorization": "Bearer "}).status_code == 403
    assert page_of(alice).get(PATH).status_code == 403
    assert browser_of(make_staff(handle="other")).get(PATH).status_code == 403
    chief = browser_of(make_staff("operations.view_cachenode", handle="chief"))
    answer = chief.get(PATH)
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert chief.post(PATH).status_code == 405


def test_staff_need_their_second_factor_here_too(settings):
    settings.STAFF_SECOND_FACTOR = True
    chief = browser_of(make_staff("operations.view_cachenode", handle="chief"))
    assert chief.get(PATH).status_code == 403


def test_a_program_with_the_token(client, settings):
    settings.METRICS_TOKEN = TOKEN
    assert client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer ", TOKEN, "Bearer ü"):
        assert client.get(PATH, headers={"Authorization": wrong}).status_code == 403, wrong


@each(
    ("address", "hops", "forwarded", "status"),
    [
        ("10.1.0.9", 0, None, 200),
        ("::ffff:10.1.0.9", 0, None, 200),
        ("2001:db8::7", 0, None, 200),
        ("2001:db8::8", 0, None, 403),
        ("10.2.0.9", 0, None, 403),
        ("10.1.0.9", 0, "203.0.113.5", 403),  # a proxy that nobody has told us about
        ("10.9.9.9", 0, "10.1.0.9", 403),  # a forged header
        ("10.9.9.9", 1, "10.1.0.9", 200),
        ("10.1.0.9", 1, "203.0.113.5", 403),
    ],
)
def test_a_program_at_an_allowed_address(client, settings, address, hops, forwarded, status):
    settings.METRICS_ADDRESSES = ["10.1.0.0/24", "2001:db8::7"]
    settings.TRUSTED_PROXY_HOPS = hops
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client.get(PATH, REMOTE_ADDR=address, headers=headers).status_code == status


def test_prometheus_reads_what_all_processes_counted(client, settings):
    settings.METRICS_TOKEN = TOKEN
    for _process in range(2):
        totals.add(
            {
                ("requests:core", "calls"): 4, ("requests:core", "microseconds"): 500_000,
                ("requests:core", "slow"): 1, ("requests:core", "refused"): 2,
                ("call:redis graph", "calls"): 10, ("call:redis graph", "microseconds"): 20_000,
                ("call:redis graph", "failed"): 3, ("post", "hit"): 9, ("tier:l1", "miss"): 5,
                ("outgoing:previews", "refused"): 7,
            }
        )  # fmt: skip
    answer = client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    assert found["feedsite_request_duration_seconds_count", "core"] == 8
    assert found["feedsite_request_duration_seconds_sum", "core"] == 1.0
    assert found["feedsite_requests_slow_total", "core"] == 2
    assert found["feedsite_requests_failed_total", "core"] == 0
    assert found["feedsite_requests_refused_total", "core"] == 4
    assert found["feedsite_backend_call_duration_seconds_count", "redis", "graph"] == 20
    assert found["feedsite_backend_call_duration_seconds_sum", "redis", "graph"] == 0.04
    assert found["feedsite_backend_calls_failed_total", "redis", "graph"] == 6
    assert found["feedsite_cache_reads_total", "post", "hit"] == 18
    assert found["feedsite_cache_reads_total", "tier:l1", "miss"] == 10
    assert found["feedsite_outgoing_requests_total", "previews", "refused"] == 14
    assert ("feedsite_cache_reads_total", "outgoing:previews", "refused") not in found


def test_without_redis_there_are_no_figures_instead_of_zeros(client, settings):
    settings.METRICS_TOKEN = TOKEN
    with dead_redis():
        answer = client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 503
