"""Delivery policies as JSON, for programs used by staff."""

from typing import Annotated, TypedDict

from rest_framework import serializers

from apps.api.entities.base import DateTime, Input, optional_timestamp
from apps.events.admin import REASON_MAX_CHARACTERS
from apps.timeline.models import AuthorPolicy, Mode, Policy, SitePolicy


class SitePolicyJson(TypedDict):
    """The site's policy. `pulls_all`: every home page is merged from the outboxes of the reader's followees.
    `generation`: a number in the keys of home caches; it grows when pulling ends, because older caches missed posts.
    """

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
    """An author's policy. `mode`: the current mode (null: the site's). `merged_since`: when readers began to pull."""

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
    """The policy to choose, and the reason."""

    policy = serializers.ChoiceField(
        Policy.values,
        help_text="Push to everybody, push to readers who are online, or pull when a page is read; auto: the "
        "cheapest of these; site: the policy of the whole site.",
    )
    reason = serializers.CharField(
        max_length=REASON_MAX_CHARACTERS, help_text="Stored in the history."
    )
