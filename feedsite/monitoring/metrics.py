"""`/metrics` for Prometheus: current values (`gauges`), and the counts of all processes since Redis was last empty.

Any process returns the figures of all processes on all machines (`feedcache.servers.totals`), so Prometheus needs only
one target. Staff with `PERMISSION` have access, and so do programs with METRICS_TOKEN or at METRICS_ADDRESSES.
"""

from collections.abc import Iterator
from ipaddress import ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from apps.errors import NotAllowed, Unavailable
from apps.http.requests import client_ip, viewer_of
from apps.http.verification import may_act_as_staff
from apps.operations.objectives import results
from apps.operations.queries import ServiceLevel, service_level
from feedcache import stats
from feedcache.connections import RedisError
from feedcache.servers import totals
from feedcache.stats import Counts
from feedsite.monitoring import pools
from feedsite.monitoring.gauges import Gauges
from feedsite.monitoring.health import FORWARDED

PERMISSION = "operations.view_cachenode"  # the permission that staff need


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics. Responds with 403 without access, and with 503 while Redis is down."""
    if not _may_read(request):
        raise NotAllowed(_("Only staff may open this page."))
    try:
        counts = totals.ever()
    except RedisError as error:
        raise Unavailable(
            _("Redis does not answer: there are no figures until it does.")
        ) from error
    registry = CollectorRegistry()
    registry.register(_Counted(counts))
    registry.register(Gauges())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_read(request: HttpRequest) -> bool:
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    if settings.METRICS_TOKEN and scheme.lower() == "bearer":
        return constant_time_compare(token, settings.METRICS_TOKEN)
    viewer = viewer_of(request)
    is_staff = viewer is not None and viewer.has_perm(PERMISSION) and may_act_as_staff(request)
    return is_staff or _is_at_allowed_address(request)


def _is_at_allowed_address(request: HttpRequest) -> bool:
    """Whether the request comes from METRICS_ADDRESSES.

    Behind a proxy, this needs TRUSTED_PROXY_HOPS; otherwise, the address would be the proxy's.
    """
    if not settings.TRUSTED_PROXY_HOPS and any(name in request.META for name in FORWARDED):
        return False
    address = client_ip(request)
    return address is not None and any(
        address in ip_network(text) for text in settings.METRICS_ADDRESSES
    )


class _Counted(Collector):
    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._level: ServiceLevel = service_level(counts)

    def collect(self) -> Iterator[Metric]:
        requests = HistogramMetricFamily(
            "feedsite_request_duration_seconds",
            "Answered requests and their time.",
            labels=["class"],
        )
        outcomes = {
            name: CounterMetricFamily(f"feedsite_requests_{name}", text, labels=["class"])
            for name, text in (
                ("slow", "Requests that took more than a second."),
                ("failed", "Requests answered with 5xx, except refused ones."),
                ("refused", "Requests refused because all seats of their class were taken."),
            )
        }
        for one in self._level.requests:
            requests.add_metric(
                [one.name], self._buckets(one.name, one.number), one.microseconds / 1e6
            )
            for name, family in outcomes.items():
                family.add_metric([one.name], getattr(one, name))
        yield requests
        yield from outcomes.values()
        labels = ["backend", "role"]
        calls = SummaryMetricFamily(
            "feedsite_backend_call_duration_seconds", "Calls to the stores and their time.", labels=labels
        )  # fmt: skip
        failed = CounterMetricFamily(
            "feedsite_backend_calls_failed", "Calls to the stores that failed.", labels=labels
        )
        for one in self._level.calls:
            backend, _space, role = one.name.partition(" ")
            calls.add_metric([backend, role], one.number, one.microseconds / 1e6)
            failed.add_metric([backend, role], one.failed)
        yield calls
        yield failed
        reads = CounterMetricFamily(
            "feedsite_cache_reads", "Keys read from the caches, by class of data or tier.", labels=["cache", "outcome"]
        )  # fmt: skip
        outgoing = CounterMetricFamily(
            "feedsite_outgoing_requests",
            "Requests to other sites.",
            labels=["for", "outcome"],
        )
        for (subject, outcome), number in sorted(self._counts.items()):
            if subject.startswith(stats.OUTGOING):
                outgoing.add_metric([subject.removeprefix(stats.OUTGOING), outcome], number)
            elif not subject.startswith((stats.CALL, stats.REQUESTS, stats.POOL, stats.OBJECTIVE)):
                reads.add_metric([subject, outcome], number)
        yield reads
        yield outgoing
        yield from self._pools()
        yield from self._objectives()

    def _buckets(self, name: str, number: int) -> list[tuple[str, float]]:
        """The buckets of a histogram: bounds in seconds with numbers of requests, cumulative, as Prometheus expects."""
        within = 0
        buckets: list[tuple[str, float]] = []
        for bound in stats.BOUNDS:
            within += self._counts[stats.REQUESTS + name, stats.bound_of(bound)]
            buckets.append((str(bound), within))
        return [*buckets, ("+Inf", number)]

    def _objectives(self) -> Iterator[Metric]:
        labels = ["objective"]
        target = GaugeMetricFamily(
            "feedsite_objective_target", "The share of events that have to be good.", labels=labels
        )
        events = CounterMetricFamily(
            "feedsite_objective_events", "Requests, home pages, deliveries.", labels=labels
        )
        good = CounterMetricFamily(
            "feedsite_objective_good", "Those that met their objective.", labels=labels
        )
        times = HistogramMetricFamily(
            "feedsite_objective_duration_seconds",
            "The time of home pages and deliveries.",
            labels=labels,
        )
        for one in results(self._counts):
            name = [one.objective.name]
            target.add_metric(name, one.objective.share)
            events.add_metric(name, one.events)
            good.add_metric(name, one.good)
            if one.bounds:
                bounds = [(str(bound), number) for bound, number in one.bounds]
                times.add_metric(name, [*bounds, ("+Inf", one.events)], one.total_seconds)
        yield from (target, events, good, times)

    def _pools(self) -> Iterator[Metric]:
        labels = ["database"]
        families = {
            name: CounterMetricFamily(f"feedsite_pool_{metric}", text, labels=labels)
            for name, (metric, text) in pools.METRICS.items()
        }
        for (subject, outcome), number in sorted(self._counts.items()):
            if subject.startswith(stats.POOL) and outcome in families:
                value = number / 1000 if outcome in pools.MILLISECONDS else number
                families[outcome].add_metric([subject.removeprefix(stats.POOL)], value)
        yield from families.values()
