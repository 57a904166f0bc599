"""Finds subscriptions, and decides whether a message may be sent now."""

from datetime import UTC, datetime, tzinfo

from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.authentication.sessions import named_device
from apps.accounts.models import AccessToken, User
from apps.dates import zone_named
from apps.errors import NotFound
from apps.graph.queries import exact_relations
from apps.oauth.queries import Bearer
from apps.push.models import Policy, Preferences, Subscription


def preferences_of(user: User) -> Preferences:
    """A member's preferences; if there are none, unsaved defaults, which allow everything at all times."""
    return Preferences.objects.filter(user=user).first() or Preferences(user=user)


def access_of(bearer: Bearer) -> dict[str, int]:
    """The field of `Subscription` for this kind of token, and the id of the token, which is part of `Bearer.key`."""
    is_personal = bearer.key.startswith("p")
    return {"personal_token_id" if is_personal else "program_token_id": int(bearer.key[1:])}


def subscription_of(user: User, bearer: Bearer) -> Subscription:
    """The subscription that a client made with its token. Raises NotFound."""
    found = Subscription.objects.filter(user=user, **access_of(bearer)).first()
    if found is None:
        # not translated: Phanpy shows each error that does not contain "not found" to its user
        raise NotFound("The push subscription of this token was not found.")
    return found


def subscriptions_of(user: User) -> QuerySet[Subscription]:
    """A user's subscriptions of devices and clients, the newest first."""
    access = ("login", "personal_token", "program_token__application")
    return Subscription.objects.filter(user=user).select_related(*access).order_by("-pk")


def name_of(subscription: Subscription) -> str:
    """The name of the device or of the client."""
    if subscription.login_id is not None:
        return named_device(subscription.login.device)
    if subscription.personal_token_id is not None:
        return str(subscription.personal_token.name)
    application = subscription.program_token.application
    return application.name if application else ""


def is_alive(subscription: Subscription) -> bool:
    """Whether the login or token is still valid, and the account is active."""
    user = subscription.user
    if not user.is_active or user.is_suspended:
        return False
    now = timezone.now()
    if subscription.login_id is not None:
        login = subscription.login
        return Session.objects.filter(session_key=login.session_key, expire_date__gt=now).exists()
    if subscription.personal_token_id is not None:
        tokens = AccessToken.objects.filter(pk=subscription.personal_token_id, revoked_at=None)
        return tokens.exists()
    return bool(subscription.program_token.expires > now)


def is_quiet(preferences: Preferences, moment: datetime) -> bool:
    """Whether a moment is in the member's quiet hours, which may span midnight. Equal times mean no quiet hours."""
    begin, end = preferences.quiet_from, preferences.quiet_until
    if begin is None or end is None or begin == end:
        return False
    now = moment.astimezone(zone_of(preferences)).time()
    return begin <= now < end if begin < end else now >= begin or now < end


def zone_of(preferences: Preferences) -> tzinfo:
    """The member's time zone; UTC if none is set, or if it no longer exists."""
    return (preferences.time_zone and zone_named(preferences.time_zone)) or UTC


def wants_of(policy: str, user_id: int, actor_id: int) -> bool:
    """Whether a policy allows messages about an account's actions. Only NONE excludes the user's own actions."""
    if policy == Policy.NONE:
        return False
    if policy == Policy.ALL or user_id == actor_id:
        return True
    relations = exact_relations(user_id, [actor_id])
    related = relations.following if policy == Policy.FOLLOWED else relations.followed_by
    return actor_id in related
