"""The shape of the API's account entities, for the OpenAPI document; the answers are built in `serializers`."""

from typing import Any

from rest_framework import serializers


class FieldSchema(serializers.Serializer[Any]):
    """A line of a profile."""

    name = serializers.CharField()
    value = serializers.CharField()
    verified_at = serializers.DateTimeField(allow_null=True)


class AccountSchema(serializers.Serializer[Any]):
    """An account as others see it."""

    id = serializers.CharField(help_text="A decimal number as a string.")
    username = serializers.CharField()
    acct = serializers.CharField()
    display_name = serializers.CharField()
    locked = serializers.BooleanField()
    bot = serializers.BooleanField()
    group = serializers.BooleanField()
    discoverable = serializers.BooleanField()
    noindex = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    note = serializers.CharField(help_text="HTML.")
    url = serializers.URLField()
    uri = serializers.URLField()
    avatar = serializers.URLField()
    avatar_static = serializers.URLField()
    header = serializers.URLField()
    header_static = serializers.URLField()
    followers_count = serializers.IntegerField()
    following_count = serializers.IntegerField()
    statuses_count = serializers.IntegerField()
    last_status_at = serializers.DateField(allow_null=True)
    emojis = serializers.ListField(child=serializers.DictField())
    fields = FieldSchema(many=True)  # type: ignore[assignment]  # the entity's own name for it


class SourceSchema(serializers.Serializer[Any]):
    """What the owner of an account can edit."""

    privacy = serializers.CharField()
    sensitive = serializers.BooleanField()
    language = serializers.CharField(allow_null=True)
    note = serializers.CharField()
    fields = FieldSchema(many=True)  # type: ignore[assignment]  # the entity's own name for it
    follow_requests_count = serializers.IntegerField()


class CredentialAccountSchema(AccountSchema):
    """One's own account."""

    source = SourceSchema()  # type: ignore[assignment]  # the entity's own name for it


class ErrorItemSchema(serializers.Serializer[Any]):
    """What is wrong with one field."""

    field = serializers.CharField()
    detail = serializers.CharField()


class ProblemSchema(serializers.Serializer[Any]):
    """Every refusal: RFC 9457 members and Mastodon's `error`."""

    error = serializers.CharField()
    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="Stable, never translated.")
    detail = serializers.CharField()
    instance = serializers.CharField()
    request_id = serializers.CharField()
    errors = ErrorItemSchema(many=True)  # type: ignore[assignment]  # the RFC's usual extension name
