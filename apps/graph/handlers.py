"""What the graph does when a process may have died between a commit and the caches, and when an account is opened."""

from collections.abc import Sequence

from django.db import transaction

from apps.accounts.models import User
from apps.events.actions import record
from apps.events.registry import Payload, handles
from apps.graph.cache import forget_graph_revisions, load_graph_revisions, renew_graph_revisions
from apps.graph.request_actions import approve_waiting

APPROVAL_BATCH_SIZE = 200  # a few seconds of one lease; the rest is the next event's


@handles("followed")
def repair_follower(payload: Payload) -> None:
    """Renew the follower's graph revision."""
    _repair([payload["follower_id"]])


@handles("unfollowed")
def repair_who_left(payload: Payload) -> None:
    """Renew the former follower's graph revision."""
    _repair([payload["follower_id"]])


@handles("blocked")
def repair_both(payload: Payload) -> None:
    """Renew the graph revisions of both sides of a block."""
    _repair([payload["owner_id"], payload["blocked_id"]])


@handles("relations_moved")
def repair_moved(payload: Payload) -> None:
    """Renew the graph revision of who muted, or whose block ended."""
    _repair(payload["user_ids"])


@handles("graph_loaded")
def forget_loaded(payload: Payload) -> None:
    """Forget the graph revisions of many accounts; they are loaded again when needed."""
    forget_graph_revisions(payload["user_ids"])


@handles("account_unlocked")
def grant_waiting(payload: Payload) -> None:
    """Who asked to follow an account that is not locked any more follows it."""
    owner = User.objects.filter(pk=payload["user_id"]).first()
    if (
        owner is not None
        and approve_waiting(owner, maximum=APPROVAL_BATCH_SIZE) == APPROVAL_BATCH_SIZE
    ):
        with transaction.atomic():
            record("account_unlocked", user_id=owner.pk)


def _repair(user_ids: Sequence[int]) -> None:
    renew_graph_revisions(load_graph_revisions(user_ids))
