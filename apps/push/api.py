"""Push subscriptions of clients, in Mastodon's API: one for each token."""

from typing import Any, TypedDict

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import Input, Uri
from apps.api.openapi import EMPTY_OBJECT
from apps.api.params import validated
from apps.notifications.kinds import TOLD
from apps.oauth.queries import Bearer
from apps.push.actions import Address, change_program, subscribe_program, unsubscribe_program
from apps.push.encryption import public_key
from apps.push.models import ENDPOINT_MAX_CHARACTERS, Policy, Subscription
from apps.push.queries import subscription_of

KEY_MAX_CHARACTERS = 100


class PushSubscriptionJson(TypedDict):
    """A client's push endpoint, and the notifications that it gets."""

    id: str
    endpoint: Uri
    standard: bool
    server_key: str
    alerts: dict[str, bool]
    policy: str


def push_subscription_json(subscription: Subscription) -> PushSubscriptionJson:
    """A subscription as JSON. Several kinds may share one of Mastodon's alerts, which is on if any of them is sent."""
    alerts = {kind.type: False for kind in TOLD.values()}
    alerts |= {TOLD[kind].type: True for kind in subscription.kinds if kind in TOLD}
    return {
        "id": str(subscription.pk),
        "endpoint": subscription.endpoint,
        "standard": subscription.is_standard,
        "server_key": public_key(),
        "alerts": alerts,
        "policy": subscription.policy,
    }


class PushKeysInput(Input):
    """The device's keys, in base64url."""

    p256dh = serializers.CharField(max_length=KEY_MAX_CHARACTERS)
    auth = serializers.CharField(max_length=KEY_MAX_CHARACTERS)


class PushAddressInput(Input):
    """The address of the push service, and the keys of the device."""

    endpoint = serializers.CharField(max_length=ENDPOINT_MAX_CHARACTERS)
    keys = PushKeysInput()
    standard = serializers.BooleanField(
        default=False,
        help_text="True for RFC 8291 (aes128gcm), false for its fourth draft (aesgcm).",
    )


class PushDataInput(Input):
    """The notifications that are sent. Alerts that are left out are off; unknown alerts are ignored."""

    alerts = serializers.DictField(child=serializers.BooleanField(), required=False)
    policy = serializers.ChoiceField(Policy.values, required=False)


class PushChangeInput(Input):
    """Changes to a subscription; absent fields keep their values."""

    data = PushDataInput(required=False)  # type: ignore[assignment]  # Mastodon's name; DRF has a property `data`
    policy = serializers.ChoiceField(
        Policy.values,
        required=False,
        help_text="The same as `data[policy]`, which takes precedence.",
    )


class PushSubscriptionInput(PushChangeInput):
    """A new subscription. Without alerts, nothing is sent."""

    subscription = PushAddressInput()


def _changes(fields: dict[str, Any]) -> dict[str, Any]:
    data = fields.get("data", {})
    changes: dict[str, Any] = {"policy": data.get("policy") or fields.get("policy")}
    if "alerts" in data:
        alerts = data["alerts"]
        changes["kinds"] = [kind for kind, told in TOLD.items() if alerts.get(told.type)]
    return changes


@operation("The subscription of your token", PushSubscriptionJson, method="GET", tags=["push"])
@operation(
    "Subscribe to push messages",
    PushSubscriptionJson,
    method="POST",
    name="push_subscribe",
    tags=["push"],
    request=PushSubscriptionInput,
    errors=[400, 401, 409, 422],
)
@operation(
    "Change which push messages are sent",
    PushSubscriptionJson,
    method="PUT",
    name="push_change",
    tags=["push"],
    request=PushChangeInput,
)
@operation(
    "End push messages", EMPTY_OBJECT, method="DELETE", name="push_unsubscribe", tags=["push"]
)
@endpoint(GET="push", POST="push", PUT="push", DELETE="push")
def push_subscription(request: Request) -> Response:
    """The subscription of the token. POST creates or replaces it. The subscription ends with the token."""
    viewer, bearer = viewer_of(request), _bearer(request)
    if request.method == "POST":
        fields = validated(PushSubscriptionInput(data=request.data))
        given, changes = fields["subscription"], _changes(fields)
        made = subscribe_program(
            viewer,
            bearer,
            request.META["HTTP_AUTHORIZATION"].partition(" ")[2],
            Address(given["endpoint"], **given["keys"], is_standard=given["standard"]),
            kinds=changes.get("kinds", ()),
            policy=changes["policy"] or Policy.ALL,
        )
        return Response(push_subscription_json(made))
    if request.method == "DELETE":
        unsubscribe_program(viewer, bearer)
        return Response({})
    subscription = subscription_of(viewer, bearer)
    if request.method == "PUT":
        changes = _changes(validated(PushChangeInput(data=request.data)))
        subscription = change_program(subscription, **changes)
    return Response(push_subscription_json(subscription))


def _bearer(request: Request) -> Bearer:
    bearer = request.auth
    if not isinstance(bearer, Bearer):
        raise TypeError("this endpoint is for authenticated requests only")
    return bearer


urlpatterns: list[URLPattern] = [path("push/subscription", push_subscription)]
