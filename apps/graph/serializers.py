"""Relations as JSON, in the Mastodon shape; circles."""

from typing import Any

from apps.accounts.serializers import account_json
from apps.graph.circle_queries import CircleChoice
from apps.graph.familiar import Familiar
from apps.graph.queries import ExactRelations


def relationship_json(user_id: int, related: ExactRelations) -> dict[str, Any]:
    """How the viewer of `related` stands to an account."""
    following, muting = user_id in related.following, user_id in related.muting
    return {
        "id": str(user_id),
        "following": following,
        "showing_reblogs": following,
        "notifying": False,
        "languages": None,
        "followed_by": user_id in related.followed_by,
        "blocking": user_id in related.blocking,
        "blocked_by": user_id in related.blocked_by,
        "muting": muting,
        "muting_notifications": muting,
        "requested": False,
        "requested_by": False,
        "domain_blocking": False,
        "endorsed": False,
        "note": "",
    }


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
