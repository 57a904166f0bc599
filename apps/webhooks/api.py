"""Webhooks in the API: a program manages the webhooks that it made with its token."""

from typing import Annotated, NotRequired, TypedDict

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import DateTime, Input, Uri, optional_timestamp, timestamp
from apps.api.openapi import EMPTY_OBJECT
from apps.api.params import validated
from apps.oauth.queries import Bearer
from apps.webhooks import actions
from apps.webhooks.messages.content import TYPES
from apps.webhooks.models import (
    ADDRESS_MAX_CHARACTERS,
    Delivery,
    Endpoint,
    Failure,
    Kind,
    Off,
    Outcome,
)
from apps.webhooks.queries import deliveries_of, endpoints_of, own_delivery, own_endpoint

READ = ("read:notifications", "read:statuses")
WRITE = ("write:notifications", "write:statuses")


class WebhookJson(TypedDict):
    """A server that messages are sent to."""

    id: str
    url: Uri
    types: list[Annotated[str, Kind]]
    enabled: bool
    disabled_reason: Annotated[str | None, [*Off.values, None]]
    failing_since: Annotated[
        DateTime | None, "The time of the first failed attempt after the last success."
    ]
    created_at: DateTime
    secret: NotRequired[
        Annotated[
            str, "Signs messages. Only present when the webhook is made or the secret replaced."
        ]
    ]


class WebhookDeliveryJson(TypedDict):
    """A message to a webhook, without its content, which is created only when it is sent."""

    id: str
    message_id: str
    type: Annotated[str, TYPES]
    state: Annotated[str, Outcome.values]
    status: Annotated[int | None, "The HTTP status of the last answer."]
    error: Annotated[str | None, [*Failure.values, None]]
    attempts: int
    created_at: DateTime
    attempted_at: DateTime | None
    next_attempt_at: DateTime | None


def webhook_json(row: Endpoint, secret: str = "") -> WebhookJson:
    body: WebhookJson = {
        "id": str(row.pk),
        "url": row.address,
        "types": row.kinds,
        "enabled": not row.off,
        "disabled_reason": row.off or None,
        "failing_since": optional_timestamp(row.failing_since),
        "created_at": timestamp(row.created_at),
    }
    if secret:
        body["secret"] = secret
    return body


def delivery_json(row: Delivery) -> WebhookDeliveryJson:
    is_waiting = row.outcome == Outcome.WAITING
    return {
        "id": str(row.pk),
        "message_id": row.message_id,
        "type": row.kind,
        "state": row.outcome,
        "status": row.status,
        "error": row.last_error or None,
        "attempts": row.attempts,
        "created_at": timestamp(row.created_at),
        "attempted_at": optional_timestamp(row.tried_at),
        "next_attempt_at": timestamp(row.due_at) if is_waiting else None,
    }


class WebhookChange(Input):
    """The fields to change; fields that are left out keep their values."""

    url = serializers.CharField(
        max_length=ADDRESS_MAX_CHARACTERS, required=False, help_text="An https address."
    )
    types = serializers.ListField(child=serializers.ChoiceField(Kind.values), required=False)
    enabled = serializers.BooleanField(required=False)


class WebhookInput(Input):
    """A new webhook. The token must have the scope to read the data that the webhook gets."""

    url = serializers.CharField(max_length=ADDRESS_MAX_CHARACTERS, help_text="An https address.")
    types = serializers.ListField(child=serializers.ChoiceField(Kind.values), allow_empty=False)


@operation("Your webhooks", list[WebhookJson], method="GET", tags=["webhooks"], errors=[401])
@operation(
    "Create a webhook",
    WebhookJson,
    method="POST",
    name="create_webhook",
    tags=["webhooks"],
    request=WebhookInput,
    errors=[400, 401, 422],
)
@endpoint(GET=READ, POST=WRITE)
def webhooks(request: Request) -> Response:
    """List the webhooks made with this token, or create one, which is deleted with the token. At most 5 per account."""
    viewer, bearer = viewer_of(request), _bearer(request)
    if request.method == "GET":
        return Response([webhook_json(row) for row in endpoints_of(viewer, bearer)])
    fields = validated(WebhookInput(data=request.data))
    made = actions.create_endpoint(viewer, fields["url"], fields["types"], bearer)
    return Response(webhook_json(made.endpoint, made.secret))


@operation(
    "One of your webhooks", WebhookJson, method="GET", name="show_webhook", tags=["webhooks"]
)
@operation(
    "Change a webhook",
    WebhookJson,
    method="PUT",
    name="change_webhook",
    tags=["webhooks"],
    request=WebhookChange,
    errors=[400, 401, 404, 409, 422],
)
@operation(
    "Delete a webhook", EMPTY_OBJECT, method="DELETE", name="delete_webhook", tags=["webhooks"]
)
@endpoint(GET=READ, PUT=WRITE, DELETE=WRITE)
def webhook(request: Request, webhook_id: int) -> Response:
    """Show, change or delete a webhook. `enabled` switches it off or, unless staff switched it off, on again."""
    row = _own(request, webhook_id)
    if request.method == "DELETE":
        actions.delete_endpoint(row)
        return Response({})
    if request.method == "PUT":
        fields = validated(WebhookChange(data=request.data))
        row = actions.change_endpoint(
            row,
            address=fields.get("url"),
            kinds=fields.get("types"),
            is_on=fields.get("enabled"),
            bearer=_bearer(request),
        )
    return Response(webhook_json(row))


@operation(
    "Replace the secret of a webhook",
    WebhookJson,
    name="rotate_webhook_secret",
    tags=["webhooks"],
)
@endpoint(POST=WRITE)
def secret(request: Request, webhook_id: int) -> Response:
    """Make a new secret. For a day, messages are also signed with the former secret."""
    row = _own(request, webhook_id)
    return Response(webhook_json(row, actions.rotate_secret(row)))


@operation(
    "Send a test to a webhook",
    WebhookDeliveryJson,
    name="test_webhook",
    tags=["webhooks"],
    errors=[401, 404, 409, 429],
)
@endpoint(POST=WRITE)
def test(request: Request, webhook_id: int) -> Response:
    """Send a message of the type `test`."""
    return Response(delivery_json(actions.send_test(_own(request, webhook_id))))


@operation(
    "The messages sent to a webhook",
    list[WebhookDeliveryJson],
    name="webhook_deliveries",
    tags=["webhooks"],
    errors=[401, 404],
)
@endpoint(GET=READ)
def deliveries(request: Request, webhook_id: int) -> Response:
    """The newest 50 messages of the last seven days, newest first."""
    row = _own(request, webhook_id)
    return Response([delivery_json(delivery) for delivery in deliveries_of(row)])


@operation(
    "Send a message again",
    WebhookDeliveryJson,
    name="resend_webhook_delivery",
    tags=["webhooks"],
    errors=[401, 404, 409, 429],
)
@endpoint(POST=WRITE)
def resend(request: Request, webhook_id: int, delivery_id: int) -> Response:
    """Send a message again, with the same id, and with its content as it is now."""
    row = _own(request, webhook_id)
    return Response(delivery_json(actions.send_again(row, own_delivery(row, delivery_id))))


def _own(request: Request, webhook_id: int) -> Endpoint:
    return own_endpoint(viewer_of(request), webhook_id, _bearer(request))


def _bearer(request: Request) -> Bearer:
    bearer = request.auth
    if not isinstance(bearer, Bearer):
        raise TypeError("this endpoint is for authenticated requests only")
    return bearer


urlpatterns: list[URLPattern] = [
    path("webhooks", webhooks),
    path("webhooks/<int:webhook_id>", webhook),
    path("webhooks/<int:webhook_id>/secret", secret),
    path("webhooks/<int:webhook_id>/test", test),
    path("webhooks/<int:webhook_id>/deliveries", deliveries),
    path("webhooks/<int:webhook_id>/deliveries/<int:delivery_id>/resend", resend),
]
