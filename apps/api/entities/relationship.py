"""Relations as JSON, in the Mastodon shape; circles."""

from datetime import datetime
from typing import Annotated, TypedDict

from apps.accounts.models import User
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, optional_timestamp
from apps.graph.circle_queries import CircleChoice
from apps.graph.familiar import Familiar
from apps.graph.relationships import Relationship


class RelationshipJson(TypedDict):
    """How the viewer stands to an account."""

    id: str
    following: bool
    showing_reblogs: bool
    notifying: bool
    languages: list[str] | None
    followed_by: bool
    blocking: bool
    blocked_by: bool
    muting: bool
    muting_notifications: bool
    muting_expires_at: DateTime | None
    requested: bool
    requested_by: bool
    domain_blocking: bool
    endorsed: bool
    note: str


def relationship_json(relationship: Relationship) -> RelationshipJson:
    """The site has no remote domains."""
    return {
        "id": str(relationship.id),
        "following": relationship.following,
        "showing_reblogs": relationship.shows_reposts,
        "notifying": relationship.notifies,
        "languages": list(relationship.languages) or None,
        "followed_by": relationship.followed_by,
        "blocking": relationship.blocking,
        "blocked_by": relationship.blocked_by,
        "muting": relationship.muting,
        "muting_notifications": relationship.mutes_notifications,
        "muting_expires_at": optional_timestamp(relationship.mute_ends_at),
        "requested": relationship.requested,
        "requested_by": relationship.requested_by,
        "domain_blocking": False,
        "endorsed": relationship.endorsed,
        "note": relationship.note,
    }


class MutedAccountJson(AccountJson):
    """An account that the viewer has muted."""

    mute_expires_at: DateTime | None


def muted_json(user: User, ends_at: datetime | None) -> MutedAccountJson:
    return {**account_json(user), "mute_expires_at": optional_timestamp(ends_at)}


class FamiliarFollowersJson(TypedDict):
    """Whom the viewer follows, of those who follow an account."""

    id: str
    accounts: list[AccountJson]


def familiar_json(user_id: int, familiar: Familiar) -> FamiliarFollowersJson:
    return {"id": str(user_id), "accounts": [account_json(user) for user in familiar.people]}


class CircleJson(TypedDict):
    """A circle that the viewer may post to."""

    id: str
    title: str
    is_own: bool
    is_shared: Annotated[bool, "Its members may post to it."]


def circle_json(circle: CircleChoice) -> CircleJson:
    return {
        "id": str(circle.id),
        "title": circle.name,
        "is_own": circle.is_own,
        "is_shared": circle.is_shared,
    }
