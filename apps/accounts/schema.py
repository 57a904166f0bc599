"""The shape of the API's account entities, for the OpenAPI document; the answers are built in `serializers`."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.models import PRIVACY

LANGUAGE = r"\A[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?\Z"  # of a post: zh, pt-BR


class FieldSchema(serializers.Serializer[Any]):
    """A line of a profile."""

    name = serializers.CharField()
    value = serializers.CharField()
    verified_at = serializers.DateTimeField(allow_null=True)


class RoleSchema(serializers.Serializer[Any]):
    """What an account may do beyond others: nothing, through the API."""

    id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    color = serializers.CharField(allow_blank=True)
    permissions = serializers.CharField()
    highlighted = serializers.BooleanField()


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
    indexable = serializers.BooleanField()
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
    roles = serializers.ListField(child=serializers.DictField())
    fields = FieldSchema(many=True)  # type: ignore[assignment]  # the entity's own name for it


class SourceSchema(serializers.Serializer[Any]):
    """What the owner of an account can edit."""

    privacy = serializers.CharField()
    sensitive = serializers.BooleanField()
    language = serializers.CharField(allow_null=True)
    note = serializers.CharField()
    fields = FieldSchema(many=True)  # type: ignore[assignment]  # the entity's own name for it
    follow_requests_count = serializers.IntegerField()
    discoverable = serializers.BooleanField()
    indexable = serializers.BooleanField()
    hide_collections = serializers.BooleanField()


class CredentialAccountSchema(AccountSchema):
    """One's own account."""

    source = SourceSchema()  # type: ignore[assignment]  # the entity's own name for it
    role = RoleSchema()


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


def problems(*statuses: int) -> dict[int, type[ProblemSchema]]:
    """Refusals with these statuses, among the `responses` of an endpoint; what any may answer `feedsite.openapi` adds."""
    return dict.fromkeys(statuses, ProblemSchema)


class PreferencesSchema(serializers.Serializer[Any]):
    """How somebody wants to write and read. Its names have colons, so they are made here."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """The fields under the names that clients know."""
        return {
            "posting:default:visibility": serializers.CharField(),
            "posting:default:sensitive": serializers.BooleanField(),
            "posting:default:language": serializers.CharField(allow_null=True),
            "reading:expand:media": serializers.CharField(),
            "reading:expand:spoilers": serializers.BooleanField(),
            "reading:autoplay:gifs": serializers.BooleanField(),
        }


class LineInput(serializers.Serializer[Any]):
    """A line of a profile."""

    name = serializers.CharField(allow_blank=True, default="")
    value = serializers.CharField(allow_blank=True, default="")


@extend_schema_field(LineInput(many=True))
class LinesField(serializers.Field[Any, Any, Any, Any]):
    """Lines as a list, or as an object with numbers for names."""

    def to_internal_value(self, data: Any) -> list[tuple[str, str]]:
        """Pairs of a name and a value."""
        rows = LineInput(data=list(data.values()) if isinstance(data, dict) else data, many=True)
        if not rows.is_valid():
            raise serializers.ValidationError(_("A line has a name and a value."))
        return [(row["name"], row["value"]) for row in rows.validated_data]

    def to_representation(self, value: Any) -> Any:
        """As they are."""
        return value


class OnlyField(serializers.ChoiceField):
    """A setting of Mastodon's that has one value here: asking for another one is refused, not ignored."""

    def __init__(self, only: str | bool, **options: Any) -> None:  # noqa: FBT001 -- the value itself
        super().__init__([only], **options)
        self.only = only

    def to_internal_value(self, data: Any) -> Any:
        """The one value."""
        if str(data).lower() != str(self.only).lower():
            raise serializers.ValidationError(_("This site has no such setting."))
        return self.only


class PostingInput(serializers.Serializer[Any]):
    """The defaults of new posts."""

    privacy = serializers.ChoiceField(list(PRIVACY.values()), required=False)
    sensitive = serializers.BooleanField(required=False)
    language = serializers.RegexField(LANGUAGE, required=False, allow_blank=True, allow_null=True)
    quote_policy = OnlyField("public", required=False)


class ProfileInput(serializers.Serializer[Any]):
    """What may be changed of a profile. Validated, it has the names that `update_profile` has."""

    display_name = serializers.CharField(required=False, allow_blank=True)
    note = serializers.CharField(
        required=False, allow_blank=True, source="bio", trim_whitespace=False
    )
    locked = serializers.BooleanField(required=False, source="is_locked")
    bot = serializers.BooleanField(required=False, source="is_bot")
    discoverable = serializers.BooleanField(required=False, source="is_discoverable")
    indexable = serializers.BooleanField(required=False, source="is_indexable")
    avatar = serializers.FileField(required=False, allow_empty_file=True)
    header = serializers.FileField(required=False, allow_empty_file=True)
    fields_attributes = LinesField(required=False, source="lines")
    hide_collections = OnlyField(False, required=False)  # noqa: FBT003 -- the value itself
    source = PostingInput(required=False)  # type: ignore[assignment]  # the entity's own name for it

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The defaults of posts under names of our own."""
        attrs.pop("hide_collections", None)
        posting = attrs.pop("source", {})
        if "privacy" in posting:
            named = {name: visibility for visibility, name in PRIVACY.items()}
            attrs["post_visibility"] = named[posting["privacy"]]
        if "sensitive" in posting:
            attrs["post_sensitive"] = posting["sensitive"]
        if "language" in posting:
            attrs["post_language"] = posting["language"] or ""
        return attrs
