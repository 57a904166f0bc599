"""What staff's programs read and change, as JSON: delivery policies and cache servers."""

from typing import Annotated, TypedDict

from rest_framework import serializers

from apps.api.entities.base import DateTime, Input, optional_timestamp
from apps.events.admin import REASON_MAX_CHARACTERS
from apps.operations.queries import NodeStatus, Rate
from apps.timeline.models import AuthorPolicy, Mode, Policy, SitePolicy
from feedcache.servers.topology_listener import Report


class SitePolicyJson(TypedDict):
    """The policy of the site. `pulls_all`: readers merge the outboxes of all whom they follow."""

    policy: Annotated[str, Policy]
    mode: Annotated[str, Mode]
    pulls_all: bool
    generation: int
    version: int


def site_policy_json(row: SitePolicy) -> SitePolicyJson:
    return {
        "policy": row.policy,
        "mode": row.mode,
        "pulls_all": row.pulls_all,
        "generation": row.generation,
        "version": row.version,
    }


class AuthorPolicyJson(TypedDict):
    """The policy of an author. `mode` is what is in force, none for that of the site; `measured` is what `auto` saw."""

    account_id: str
    policy: Annotated[str, Policy]
    mode: Annotated[str, Mode] | None
    merged_since: DateTime | None
    reason: str
    measured: dict[str, float]
    measured_at: DateTime | None


def author_policy_json(row: AuthorPolicy) -> AuthorPolicyJson:
    return {
        "account_id": str(row.author_id),
        "policy": row.policy,
        "mode": row.mode,
        "merged_since": optional_timestamp(row.pulled_since),
        "reason": row.reason,
        "measured": row.measured,
        "measured_at": optional_timestamp(row.measured_at),
    }


class PolicyInput(Input):
    """What staff choose, and why."""

    policy = serializers.ChoiceField(
        Policy.values,
        help_text="Push to everybody, to those online, or pull at reading; whichever costs least; or as "
        "the whole site.",
    )
    reason = serializers.CharField(
        max_length=REASON_MAX_CHARACTERS, help_text="Kept in the history."
    )


class CacheNodeJson(TypedDict):
    """A Memcached where it stands. `error` is empty when set, get and delete worked just now; sizes in bytes."""

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
    """Of what was asked for within the last hour, how much was there."""

    name: str
    answered: int
    asked: int


class ProcessJson(TypedDict):
    """A process and the version that it runs."""

    name: str
    role: str
    version: int


class CacheTopologyJson(TypedDict):
    """Everything. `processes` is none while Redis does not tell."""

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
