"""The alerts are read from ops/rules.yml, and judged by scrapes."""

import pytest

from apps.gameday.alerts import alerts, is_rate, missed, parse, reading
from apps.gameday.faults import faults
from tests.support.cases import each

CALLS = "feedsite_backend_call_duration_seconds"
REQUESTS = 'feedsite_request_duration_seconds_count{class="%s"} %d\n'
FAILED = 'feedsite_requests_failed_total{class="%s"} %d\n'
READS = 'feedsite_cache_reads_total{cache="%s",outcome="%s"} %d\n'


def scrape(text, at=0.0):
    return parse(text, at=at)


def test_thresholds_and_durations_come_from_the_rules():
    alert = alerts()["ConnectionsNearlyUsed"]
    assert (alert.comparison, alert.threshold, alert.for_seconds) == (">", 0.85, 300)
    assert alert.runbook == "docs/runbooks.md#connectionsnearlyused"


def test_each_fault_names_an_alert_that_a_site_without_figures_does_not_raise():
    for fault in faults().values():
        alert, nothing = alerts()[fault.alert], scrape("")
        assert not alert.holds(reading(alert, nothing, nothing)), fault.name
        assert fault.within <= fault.seconds, fault.name


@each(
    "name, well, ill",
    [
        ("StoreDown", 'feedsite_check_ok{check="media"} 0\n', 'feedsite_check_ok{check="redis"} 0\n'),
        ("DatabaseDown", 'feedsite_check_ok{check="postgresql"} 1\n', 'feedsite_check_ok{check="postgresql"} 0\n'),
        ("DeliveriesBehind", "feedsite_deliveries_behind_seconds 60\n", "feedsite_deliveries_behind_seconds 61\n"),
        ("AuditorSilent", "feedsite_audit_run_age_seconds 300\n", "feedsite_audit_run_age_seconds 301\n"),
        ("ConnectionsNearlyUsed",
         "feedsite_postgresql_connections 85\nfeedsite_postgresql_connections_max 100\n",
         "feedsite_postgresql_connections 86\nfeedsite_postgresql_connections_max 100\n"),
    ],
)  # fmt: skip
def test_gauges(name, well, ill):
    alert = alerts()[name]
    assert not is_rate(alert)
    assert not alert.holds(reading(alert, scrape(well), scrape(well)))
    assert alert.holds(reading(alert, scrape(ill), scrape(ill)))


def test_a_scrape_without_a_response_means_that_the_site_is_down():
    alert, unanswered, answered = alerts()["SiteUnreachable"], missed(at=1), scrape("")
    assert alert.holds(reading(alert, unanswered, unanswered))
    assert not alert.holds(reading(alert, answered, answered))
    assert answered.is_up
    for fault in faults().values():  # and nothing about the other alerts
        other = alerts()[fault.alert]
        assert other == alert or reading(other, answered, unanswered) is None


def test_failures_are_a_share_of_the_requests_since_the_first_scrape():
    alert = alerts()["RequestsFailing"]
    first = scrape(REQUESTS % ("writes", 1000) + FAILED % ("writes", 900))
    assert reading(alert, first, first) is None
    last = scrape(REQUESTS % ("writes", 1100) + FAILED % ("writes", 901) + REQUESTS % ("core", 50))
    assert reading(alert, first, last) == pytest.approx(0.01)
    assert not alert.holds(0.01)


def test_the_slowest_store_counts():
    alert = alerts()["StoreSlow"]

    def calls(role, number, seconds):
        labels = f'{{backend="redis",role="{role}"}}'
        return f"{CALLS}_count{labels} {number}\n{CALLS}_sum{labels} {seconds}\n"

    first = scrape(calls("graph", 100, 90) + calls("limits", 100, 1))
    last = scrape(calls("graph", 200, 91) + calls("limits", 110, 2))
    assert reading(alert, first, last) == pytest.approx(0.1)


def test_hits_of_caches_that_are_hardly_used_do_not_count():
    alert = alerts()["CacheMisses"]
    first = scrape(READS % ("post", "hit", 1000))
    text = (
        READS % ("post", "hit", 1150) + READS % ("post", "miss", 50) + READS % ("card", "miss", 100)
    )
    assert reading(alert, first, scrape(text, at=10)) == pytest.approx(0.75)
    assert reading(alert, first, scrape(text, at=20)) is None
