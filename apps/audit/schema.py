"""The shape of an explanation, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.audit.explain import Way


class DeliverySchema(serializers.Serializer[Any]):
    """What the ledger says of the piece of the delivery that the viewer is in."""

    policy = serializers.CharField(help_text="How the post was delivered: push, online, pull.")
    chunk = serializers.CharField()
    attempts = serializers.IntegerField()


class ExplanationSchema(serializers.Serializer[Any]):
    """Why a status is on the home page, or why not."""

    id = serializers.CharField()
    on_home = serializers.BooleanField()
    reason = serializers.ChoiceField(Way.values)
    text = serializers.CharField(help_text="The reason as a sentence, in the reader's language.")
    at = serializers.DateTimeField(
        allow_null=True, help_text="When it was delivered, or will be tried."
    )
    delivery = DeliverySchema(allow_null=True)
