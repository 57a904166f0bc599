"""Event handlers that repair caches after a crash, approve follow requests, and remove members from lists."""

from collections.abc import Sequence

from django.db import transaction

from apps.accounts.models import User
from apps.events.actions import Payload, handles, record
from apps.graph.actions import approve_waiting
from apps.graph.cache import forget_graph_revisions, load_graph_revisions, renew_graph_revisions
from apps.graph.groups.actions import remove_from_lists

APPROVAL_BATCH_SIZE = 200  # takes a few seconds, less than a lease; another event handles the rest


@handles("followed")
def repair_follower(payload: Payload) -> None:
    _repair([payload["follower_id"]])


@handles("unfollowed")
def repair_unfollower(payload: Payload) -> None:
    _repair([payload["follower_id"]])


@handles("blocked")
def repair_both(payload: Payload) -> None:
    _repair([payload["owner_id"], payload["blocked_id"]])


@handles("relations_moved")
def repair_moved(payload: Payload) -> None:
    """Repair the cached graph revisions of accounts after a change of mutes, blocks or hidden reposts."""
    _repair(payload["user_ids"])


@handles("graph_loaded")
def forget_loaded(payload: Payload) -> None:
    forget_graph_revisions(payload["user_ids"])


@handles("account_unlocked")
def approve_all(payload: Payload) -> None:
    """Approve a batch of requests. If the batch was full, record another event for the rest."""
    owner = User.objects.filter(pk=payload["user_id"]).first()
    if (
        owner is not None
        and approve_waiting(owner, maximum=APPROVAL_BATCH_SIZE) == APPROVAL_BATCH_SIZE
    ):
        with transaction.atomic():
            record("account_unlocked", user_id=owner.pk)


@handles("follow_request_ended")
def remove_requested_from_lists(payload: Payload) -> None:
    """Remove an account from the requester's lists if the request was rejected or withdrawn, not if it was approved."""
    remove_from_lists(payload["requester_id"], payload["owner_id"])


@handles("unfollowed")
def remove_unfollowed_from_lists(payload: Payload) -> None:
    """Remove an unfollowed account from the follower's lists.

    A list may contain only accounts that its owner follows or has asked to follow.
    """
    remove_from_lists(payload["follower_id"], payload["followee_id"])


def _repair(user_ids: Sequence[int]) -> None:
    renew_graph_revisions(load_graph_revisions(user_ids))
