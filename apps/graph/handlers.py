"""What the graph does when a process may have died between a commit and the caches, and when an account is opened."""

from collections.abc import Sequence

from django.db import transaction

from apps.accounts.models import User
from apps.events.actions import record
from apps.events.registry import Payload, handles
from apps.graph.cache import forget_standing, load_standing, renew_standing
from apps.graph.request_actions import approve_waiting

APPROVED_AT_ONCE = 200  # a few seconds of one lease; the rest is the next event's


@handles("followed")
def repair_follower(payload: Payload) -> None:
    """The standing of who follows somebody new."""
    _repair([payload["follower_id"]])


@handles("unfollowed")
def repair_who_left(payload: Payload) -> None:
    """The standing of who follows somebody no more."""
    _repair([payload["follower_id"]])


@handles("blocked")
def repair_both(payload: Payload) -> None:
    """The standing on both sides of a block."""
    _repair([payload["owner_id"], payload["blocked_id"]])


@handles("relations_moved")
def repair_moved(payload: Payload) -> None:
    """The standing of whoever mutes, or whose block ended."""
    _repair(payload["user_ids"])


@handles("graph_loaded")
def forget_loaded(payload: Payload) -> None:
    """The standing of many at once is loaded when they come."""
    forget_standing(payload["user_ids"])


@handles("account_unlocked")
def grant_waiting(payload: Payload) -> None:
    """Who asked to follow an account that is not locked any more follows it."""
    owner = User.objects.filter(pk=payload["user_id"]).first()
    if owner is not None and approve_waiting(owner, most=APPROVED_AT_ONCE) == APPROVED_AT_ONCE:
        with transaction.atomic():
            record("account_unlocked", user_id=owner.pk)


def _repair(user_ids: Sequence[int]) -> None:
    renew_standing(load_standing(user_ids))
