"""Creates, changes and deletes endpoints, sends tests, and sends messages again."""

from collections.abc import Collection
from datetime import timedelta
from functools import partial
from time import time_ns
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.errors import Conflict, Invalid, NotAllowed, invalid
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.http.public_addresses import may_be_public
from apps.oauth.queries import Bearer
from apps.sql import lock_each
from apps.throttling import check_rate_limit
from apps.webhooks import sending
from apps.webhooks.messages.signing import new_secret, seal
from apps.webhooks.models import ADDRESS_MAX_CHARACTERS, TEST, Delivery, Endpoint, Kind, Off
from apps.webhooks.queries import endpoints_of, token_of

MAX_ENDPOINTS = 5  # per account
FORMER_SECRET_VALID = timedelta(days=1)


class NewEndpoint(NamedTuple):
    """An endpoint with its secret, which cannot be shown again."""

    endpoint: Endpoint
    secret: str


@transaction.atomic
def create_endpoint(
    owner: User, address: str, kinds: Collection[str], bearer: Bearer | None = None
) -> NewEndpoint:
    """Create an endpoint. If a program creates it, it is deleted once the program's token ends.

    Raises Invalid or NotAllowed.
    """
    fields = {"address": _checked_address(address), "kinds": _checked_kinds(kinds, bearer)}
    lock_each(UserCounts, [owner.pk])
    if endpoints_of(owner).count() >= MAX_ENDPOINTS:
        raise Invalid(
            _("You have %(count)d webhooks, which is the maximum.") % {"count": MAX_ENDPOINTS}
        )
    secret = new_secret()
    token = token_of(bearer) if bearer else {}
    made = Endpoint.objects.create(owner=owner, sealed_secret=seal(secret), **fields, **token)
    return NewEndpoint(made, secret)


def change_endpoint(
    endpoint: Endpoint,
    *,
    address: str | None = None,
    kinds: Collection[str] | None = None,
    is_on: bool | None = None,
    bearer: Bearer | None = None,
) -> Endpoint:
    """Change the given fields of an endpoint. Raises Invalid or NotAllowed.

    Raises Conflict if the owner switches on an endpoint that staff have switched off.
    """
    changed: dict[str, Any] = {}
    if address is not None:
        changed["address"] = _checked_address(address)
    if kinds is not None:
        changed["kinds"] = _checked_kinds(kinds, bearer)
    rows = Endpoint.objects.filter(pk=endpoint.pk)
    if is_on:
        changed |= {"off": "", **({"failing_since": None} if endpoint.off else {})}
        rows = rows.exclude(off=Off.STAFF)
    if not rows.update(**changed) and is_on:
        raise Conflict(_("The staff of this site switched this webhook off."))
    if is_on is False and not endpoint.off:
        sending.switch_off(endpoint, Off.OWNER)
    endpoint.refresh_from_db(fields=["address", "kinds", "off", "failing_since"])
    return endpoint


def rotate_secret(endpoint: Endpoint) -> str:
    """Give an endpoint a new secret and return it. For a day, the former secret signs messages, too."""
    secret = new_secret()
    Endpoint.objects.filter(pk=endpoint.pk).update(
        sealed_former=endpoint.sealed_secret,
        former_until=Now() + FORMER_SECRET_VALID,
        sealed_secret=seal(secret),
    )
    endpoint.refresh_from_db(fields=["sealed_secret", "sealed_former", "former_until"])
    return secret


def delete_endpoint(endpoint: Endpoint) -> None:
    """Delete an endpoint with its messages."""
    endpoint.delete()


@transaction.atomic
def send_test(endpoint: Endpoint) -> Delivery:
    """Queue a test message. Raises Conflict if the endpoint is off, or TooMany."""
    _require_on(endpoint)
    check_rate_limit("webhook", str(endpoint.owner_id))
    row = Delivery.objects.create(endpoint=endpoint, kind=TEST, subject_id=0, version=time_ns())
    row.refresh_from_db()
    transaction.on_commit(partial(enqueue, sending.TASK, endpoint.pk))
    return row


@transaction.atomic
def send_again(endpoint: Endpoint, row: Delivery) -> Delivery:
    """Send a message again, with as many attempts as a new one. Raises Conflict if the endpoint is off, or TooMany."""
    _require_on(endpoint)
    check_rate_limit("webhook", str(endpoint.owner_id))
    Delivery.objects.filter(pk=row.pk).update(
        state=State.PENDING,
        attempts=0,
        due_at=Now(),
        finished_at=None,
        last_error="",
        status=None,
    )
    row.refresh_from_db()
    transaction.on_commit(partial(enqueue, sending.TASK, endpoint.pk))
    return row


def staff_switch(endpoint: Endpoint, *, is_on: bool) -> None:
    """Switch an endpoint on, or off so that its owner cannot switch it on again."""
    if is_on:
        Endpoint.objects.filter(pk=endpoint.pk).update(off="", failing_since=None)
    else:
        sending.switch_off(endpoint, Off.STAFF)


def _require_on(endpoint: Endpoint) -> None:
    """Keep an endpoint on until the transaction ends. Raises Conflict if it is off."""
    rows = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk)
    if rows.values_list("off", flat=True).first() != "":
        raise Conflict(_("This webhook is switched off."))


def _checked_kinds(kinds: Collection[str], bearer: Bearer | None) -> list[str]:
    """Kinds in the order of `Kind`. Raises Invalid, or NotAllowed for kinds that a program's token may not read."""
    chosen = [kind.value for kind in Kind if kind in set(kinds)]
    if not chosen or len(chosen) != len(set(kinds)):
        raise invalid("types", _("Choose at least one kind of message."))
    for kind in chosen:
        scope = "read:notifications" if kind == Kind.NOTIFICATION else "read:statuses"
        if bearer is not None and not bearer.may((scope,)):
            raise NotAllowed(
                _("This action is outside the scopes of the access token."),
                code="insufficient_scope",
            )
    return chosen


def _checked_address(address: str) -> str:
    """The stripped address. Raises Invalid if it cannot be used. Host names are resolved only at each attempt."""
    address = address.strip()
    is_text = address.isascii() and address.isprintable() and " " not in address
    if not is_text or len(address) > ADDRESS_MAX_CHARACTERS:
        raise invalid("url", _("This is not the address of a server."))
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 -- raises ValueError for a malformed port
    except ValueError:
        raise invalid("url", _("This is not the address of a server.")) from None
    if not parts.hostname or parts.username or parts.password:
        raise invalid("url", _("This is not the address of a server."))
    if settings.WEBHOOKS_ANYWHERE and parts.scheme in {"http", "https"}:
        return address
    if parts.scheme != "https":
        raise invalid("url", _("The address has to begin with https://."))
    if not may_be_public(parts.hostname):
        raise invalid("url", _("The server has to be on the public internet."))
    return address
