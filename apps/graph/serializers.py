"""Relations as JSON, in the Mastodon shape; circles."""

from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.accounts.serializers import account_json, timestamp
from apps.graph.circle_queries import CircleChoice
from apps.graph.familiar import Familiar
from apps.graph.relationships import Relationship


def relationship_json(one: Relationship) -> dict[str, Any]:
    """How a viewer stands to an account. Domains do not exist here."""
    return {
        "id": str(one.id),
        "following": one.following,
        "showing_reblogs": one.shows_reposts,
        "notifying": one.notifies,
        "languages": list(one.languages) or None,
        "followed_by": one.followed_by,
        "blocking": one.blocking,
        "blocked_by": one.blocked_by,
        "muting": one.muting,
        "muting_notifications": one.mutes_notifications,
        "muting_expires_at": _moment(one.mute_ends_at),
        "requested": one.requested,
        "requested_by": one.requested_by,
        "domain_blocking": False,
        "endorsed": one.endorsed,
        "note": one.note,
    }


def muted_json(user: User, ends_at: datetime | None) -> dict[str, Any]:
    """An account in the list of muted ones, and until when."""
    return {**account_json(user), "mute_expires_at": _moment(ends_at)}


def _moment(at: datetime | None) -> str | None:
    return timestamp(at) if at else None


def familiar_json(user_id: int, familiar: Familiar) -> dict[str, Any]:
    """Whom the viewer follows, of those who follow an account."""
    return {"id": str(user_id), "accounts": [account_json(user) for user in familiar.people]}


def circle_json(circle: CircleChoice) -> dict[str, Any]:
    """A circle that the viewer may post to."""
    return {
        "id": str(circle.id),
        "title": circle.name,
        "is_own": circle.is_own,
        "is_shared": circle.is_shared,
    }
