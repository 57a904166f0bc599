"""Subscribes devices and clients of the API to notifications, unsubscribes them, and stores preferences."""

from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.db import transaction
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.accounts.models import Login, User
from apps.errors import Conflict, Invalid, NotFound
from apps.http.public_addresses import may_be_public
from apps.oauth.queries import Bearer
from apps.push.encryption import device_keys, encoded, public_key, seal
from apps.push.models import ENDPOINT_MAX_CHARACTERS, Policy, Preferences, Subscription
from apps.push.queries import access_of


class Address(NamedTuple):
    """A device's push endpoint and its keys, as the device sent them."""

    endpoint: str
    p256dh: str
    auth: str
    is_standard: bool = True


def subscribe_device(user: User, session_key: str | None, address: Address) -> Subscription:
    """Subscribe the browser of a session, and end its subscriptions under other logins. Raises Conflict or Invalid."""
    login = Login.objects.filter(user=user, session_key=session_key or "").first()
    if login is None:
        raise Conflict(_("Log in again: this login is not in the list of your sessions."))
    fields = _checked(address)
    with transaction.atomic():
        others = Subscription.objects.filter(endpoint=address.endpoint, login__isnull=False)
        others.exclude(login=login).delete()
        return _save({"login_id": login.pk}, user=user, **fields)


def subscribe_program(
    user: User,
    bearer: Bearer,
    token: str,
    address: Address,
    *,
    kinds: Collection[str],
    policy: str = Policy.ALL,
) -> Subscription:
    """Subscribe the client that uses a token, or replace its subscription. Raises Conflict or Invalid."""
    fields = _checked(address) | {"kinds": sorted(kinds), "policy": policy}
    return _save(access_of(bearer), user=user, sealed_token=seal(token), **fields)


def _save(access: dict[str, Any], **fields: Any) -> Subscription:
    fields["language"] = get_language() or ""
    subscription, _is_new = Subscription.objects.update_or_create(**access, defaults=fields)
    return subscription


def _checked(address: Address) -> dict[str, Any]:
    """Validate an address; returns it as fields of a subscription."""
    if not public_key():
        raise Conflict(_("This site sends no push notifications."))
    if not _is_push_service(address.endpoint):
        message = _("This is not the address of a push service.")
        raise Invalid(message, errors={"endpoint": message})
    try:
        keys = device_keys(address.p256dh, address.auth)
    except ValueError:
        message = _("These are not the keys of a device.")
        raise Invalid(message, errors={"keys": message}) from None
    return {
        "endpoint": address.endpoint,
        "p256dh": encoded(keys.point),
        "auth": encoded(keys.auth),
        "is_standard": address.is_standard,
    }


def _is_push_service(endpoint: str) -> bool:
    """Whether an endpoint uses https and its host could be public. The IP addresses are checked before each message."""
    if len(endpoint) > ENDPOINT_MAX_CHARACTERS or not (
        endpoint.isascii() and endpoint.isprintable()
    ):
        return False
    try:
        parts = urlsplit(endpoint)
        parts.port  # noqa: B018 -- raises ValueError for a malformed port
    except ValueError:
        return False
    is_plain = parts.scheme == "https" and not parts.username and not parts.password
    return is_plain and " " not in endpoint and may_be_public(parts.hostname or "")


def change_program(
    subscription: Subscription,
    *,
    kinds: Collection[str] | None = None,
    policy: str | None = None,
) -> Subscription:
    """Change a client's subscription; None leaves a field unchanged."""
    if kinds is not None:
        subscription.kinds = sorted(kinds)
    subscription.policy = policy or subscription.policy
    subscription.save(update_fields=["kinds", "policy"])
    return subscription


def unsubscribe_device(user: User, session_key: str | None) -> None:
    """Unsubscribe the browser of a session, if it is subscribed."""
    login = Login.objects.filter(user=user, session_key=session_key or "").first()
    if login is not None:
        Subscription.objects.filter(user=user, login=login).delete()


def unsubscribe_program(user: User, bearer: Bearer) -> None:
    """End the subscription that a client made with its token, if there is one."""
    Subscription.objects.filter(user=user, **access_of(bearer)).delete()


def unsubscribe(user: User, number: int) -> None:
    """Unsubscribe one of a user's devices or clients. Raises NotFound."""
    deleted, _by_model = Subscription.objects.filter(user=user, pk=number).delete()
    if not deleted:
        raise NotFound(_("There is no such device."))


def change_preferences(user: User, **fields: Any) -> None:
    """Change the given fields of a user's `Preferences`."""
    Preferences.objects.update_or_create(user=user, defaults=fields)
