"""Finds endpoints and their messages."""

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from oauth2_provider.models import AccessToken as ProgramToken

from apps.accounts.models import AccessToken, User
from apps.errors import NotFound
from apps.oauth.queries import Bearer
from apps.webhooks.models import Delivery, Endpoint

LISTED_DELIVERIES = 50


def token_of(bearer: Bearer) -> dict[str, int]:
    """The field of an endpoint for this kind of token, and the id of the token, which is part of `Bearer.key`."""
    is_personal = bearer.key.startswith("p")
    return {"personal_token_id" if is_personal else "program_token_id": int(bearer.key[1:])}


def endpoints_of(owner: User, bearer: Bearer | None = None) -> QuerySet[Endpoint]:
    """An account's endpoints whose token, if any, has not ended, oldest first; with a token, only those made with it.

    A program that could change an endpoint of another token could still get messages after its own token has ended.
    """
    made = token_of(bearer) if bearer else {}
    access = ("owner", "personal_token", "program_token__application")
    rows = Endpoint.objects.filter(owner=owner, **made).exclude(ended())
    return rows.select_related(*access).order_by("pk")


def own_endpoint(owner: User, number: int, bearer: Bearer | None = None) -> Endpoint:
    """One of an account's endpoints. Raises NotFound."""
    found = endpoints_of(owner, bearer).filter(pk=number).first()
    if found is None:
        raise NotFound(_("There is no such webhook."))
    return found


def deliveries_of(endpoint: Endpoint) -> list[Delivery]:
    """The newest 50 messages to an endpoint."""
    return list(Delivery.objects.filter(endpoint=endpoint).order_by("-pk")[:LISTED_DELIVERIES])


def own_delivery(endpoint: Endpoint, number: int) -> Delivery:
    """One of the messages to an endpoint. Raises NotFound."""
    found = Delivery.objects.filter(endpoint=endpoint, pk=number).first()
    if found is None:
        raise NotFound(_("There is no such message."))
    return found


def maker_of(endpoint: Endpoint) -> str:
    """The name of the program or personal token that made an endpoint; empty if it was made on the settings page."""
    if endpoint.personal_token_id is not None:
        return str(endpoint.personal_token.name)
    if endpoint.program_token_id is not None and endpoint.program_token.application:
        return str(endpoint.program_token.application.name)
    return ""


def ended() -> Q:
    """Endpoints whose token was revoked, has expired, or no longer exists."""
    has_ended = Q(personal_token__revoked_at__isnull=False) | Q(program_token__expires__lte=Now())
    tokens = {"personal_token": AccessToken, "program_token": ProgramToken}
    for name, model in tokens.items():
        is_there = Exists(model._default_manager.filter(pk=OuterRef(f"{name}_id")))
        has_ended |= Q(~is_there, **{f"{name}__isnull": False})
    return has_ended
