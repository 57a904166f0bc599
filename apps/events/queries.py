"""Queries that read the event outbox."""

from collections.abc import Collection

from django.db.models import Q, QuerySet

from apps.events.leases import State
from apps.events.models import Event


def pending_events(names: Collection[str], subscriber: str) -> QuerySet[Event]:
    """The events with these names that a subscriber has not handled, dead letters included."""
    # the same states as in the index `event_open`
    waiting = Q(state__in=[State.PENDING, State.DEAD])
    return Event.objects.filter(waiting, subscriber=subscriber, name__in=names)
