"""Answers to requests to follow: the follow is made by the steps that every follow is made of."""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.graph import edges
from apps.graph.edges import Options
from apps.graph.models import FollowRequest


@transaction.atomic
def approve_request(owner: User, requester: User) -> None:
    """Let somebody who asked follow: both rows, both counts and the event. NotFound when nobody asks, or any more."""
    counts = edges.lock(owner, requester)
    asked = edges.drop_request(requester, owner)
    if asked is None:
        raise NotFound(_("There is no such follow request."))
    edges.move(counts, *edges.connect(requester, owner, Options.of(asked)))


@transaction.atomic
def reject_request(owner: User, requester: User) -> None:
    """Take a request away; who asked is not told and may ask again. NotFound."""
    edges.lock(owner, requester)
    if edges.drop_request(requester, owner) is None:
        raise NotFound(_("There is no such follow request."))


def approve_waiting(owner: User, *, maximum: int) -> int:
    """Approve up to `most` requests to an account that is not locked any more, the oldest first; how many there were."""
    if User.objects.filter(pk=owner.pk, is_locked=True).exists():
        return 0
    waiting = FollowRequest.objects.filter(owner=owner).order_by("pk").select_related("requester")
    requests = list(waiting[:maximum])
    for request in requests:
        try:
            approve_request(owner, request.requester)
        except NotFound:  # withdrawn just now
            continue
    return len(requests)
