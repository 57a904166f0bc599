"""The cache topology, for programs of staff: what is in force, how each node is, and which process runs what.

It is changed in the admin only: every change wants to be looked at before.
"""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api import staff_of
from apps.accounts.schema import problems
from apps.caches.listener import Report
from apps.scopes import scopes
from apps.topology.queries import Rate, Standing, fleet, rates, standings, topology_in_force


class NodeSchema(serializers.Serializer[Any]):
    """A Memcached where it stands. `error` is empty when set, get and delete worked just now; sizes in bytes."""

    place = serializers.CharField(help_text="Pool, group and slot.")
    name = serializers.CharField()
    url = serializers.CharField()
    state = serializers.CharField()
    megabytes = serializers.IntegerField()
    error = serializers.CharField()
    milliseconds = serializers.FloatField()
    hits = serializers.IntegerField()
    misses = serializers.IntegerField()
    bytes_used = serializers.IntegerField()
    bytes_most = serializers.IntegerField()
    evictions = serializers.IntegerField()
    items = serializers.IntegerField()
    uptime_seconds = serializers.IntegerField()


class RateSchema(serializers.Serializer[Any]):
    """Of what was asked for within the last hour, how much was there."""

    name = serializers.CharField()
    answered = serializers.IntegerField()
    asked = serializers.IntegerField()


class ProcessSchema(serializers.Serializer[Any]):
    """A process and the version that it runs."""

    name = serializers.CharField()
    role = serializers.CharField()
    version = serializers.IntegerField()


class TopologySchema(serializers.Serializer[Any]):
    """Everything. `processes` is none while Redis does not tell."""

    version = serializers.IntegerField()
    nodes = NodeSchema(many=True)
    classes = RateSchema(many=True)
    tiers = RateSchema(many=True)
    processes = ProcessSchema(many=True, allow_null=True)


@scopes(GET="read")
@extend_schema(
    operation_id="topology",
    tags=["operations"],
    summary="The cache topology in force, the health of its nodes, and who runs it (staff)",
    responses={200: TopologySchema, **problems(401, 403)},
)
@api_view(["GET"])
def topology(request: Request) -> Response:
    """What the console in the admin shows."""
    staff_of(request, "topology.view_topologyversion")
    now = topology_in_force()
    classes, tiers = rates()
    processes = fleet(now).processes
    body = {
        "version": now.version,
        "nodes": [_node(one) for one in standings(now)],
        "classes": [_rate(one) for one in classes],
        "tiers": [_rate(one) for one in tiers],
        "processes": None if processes is None else [_process(one) for one in processes],
    }
    return Response(body)


def _node(one: Standing) -> dict[str, Any]:
    health = (
        "error",
        "milliseconds",
        "hits",
        "misses",
        "bytes_used",
        "bytes_most",
        "evictions",
        "items",
        "uptime_seconds",
    )
    return {
        "place": str(one.place),
        "name": one.node.name,
        "url": one.node.url,
        "state": one.node.state.value,
        "megabytes": one.node.megabytes,
        **{name: getattr(one.health, name) for name in health},
    }


def _process(one: Report) -> dict[str, Any]:
    return {"name": one.name, "role": one.role, "version": one.version}


def _rate(one: Rate) -> dict[str, Any]:
    return {"name": one.name, "answered": one.answered, "asked": one.asked}
