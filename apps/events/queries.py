"""Reads of the event outbox: what has happened and is not yet taken over by everybody."""

from collections.abc import Collection

from django.db.models import Q, QuerySet

from apps.events.leases import State
from apps.events.models import Event


def pending_events(names: Collection[str], subscriber: str) -> QuerySet[Event]:
    """The events of these names that a subscriber has not done yet, or has given up."""
    # the states are those of the index `event_open`
    waiting = Q(state__in=[State.PENDING, State.DEAD])
    return Event.objects.filter(waiting, subscriber=subscriber, name__in=names)
