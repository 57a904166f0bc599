"""The cache servers in the API; they can only be changed in the admin and by commands."""

from typing import Annotated, TypedDict

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import staff_of
from apps.api.decorators import endpoint, operation
from apps.operations.queries import (
    NodeStatus,
    Rate,
    fleet,
    node_statuses,
    rates,
    topology_in_force,
)
from feedcache.servers.topology_listener import Report


class CacheNodeJson(TypedDict):
    """A Memcached node. `error` is empty if a set, a get and a delete worked just now."""

    place: Annotated[str, "Pool, group and slot."]
    name: str
    url: str
    state: str
    megabytes: int
    error: str
    milliseconds: float
    hits: int
    misses: int
    bytes_used: int
    max_bytes: int
    evictions: int
    items: int
    uptime_seconds: int


class HitRateJson(TypedDict):
    """The number of keys requested within the last hour (`asked`), and the number of those found (`answered`)."""

    name: str
    answered: int
    asked: int


class ProcessJson(TypedDict):
    """A process and the version of the topology that it uses."""

    name: str
    role: str
    version: int


class CacheTopologyJson(TypedDict):
    """The version, nodes, hit rates and processes. `processes` is null while Redis does not answer."""

    version: int
    nodes: list[CacheNodeJson]
    classes: list[HitRateJson]
    tiers: list[HitRateJson]
    processes: list[ProcessJson] | None


def cache_node_json(status: NodeStatus) -> CacheNodeJson:
    node, health = status.node, status.health
    return {
        "place": str(status.place),
        "name": node.name,
        "url": node.url,
        "state": node.state.value,
        "megabytes": node.megabytes,
        "error": health.error,
        "milliseconds": health.milliseconds,
        "hits": health.hits,
        "misses": health.misses,
        "bytes_used": health.bytes_used,
        "max_bytes": health.max_bytes,
        "evictions": health.evictions,
        "items": health.items,
        "uptime_seconds": health.uptime_seconds,
    }


def process_json(process: Report) -> ProcessJson:
    return {"name": process.name, "role": process.role, "version": process.version}


def hit_rate_json(rate: Rate) -> HitRateJson:
    return {"name": rate.name, "answered": rate.answered, "asked": rate.asked}


@operation(
    "The cache topology in force, the health of its nodes, and the processes that use it (staff)",
    CacheTopologyJson,
    tags=["operations"],
    errors=[401, 403],
)
@endpoint(GET="read")
def topology(request: Request) -> Response:
    """The same data as the cache console in the admin."""
    staff_of(request, "operations.view_topologyversion")
    current = topology_in_force()
    classes, tiers = rates()
    processes = fleet(current).processes
    body: CacheTopologyJson = {
        "version": current.version,
        "nodes": [cache_node_json(status) for status in node_statuses(current)],
        "classes": [hit_rate_json(rate) for rate in classes],
        "tiers": [hit_rate_json(rate) for rate in tiers],
        "processes": None
        if processes is None
        else [process_json(process) for process in processes],
    }
    return Response(body)


urlpatterns: list[URLPattern] = [path("topology", topology)]
