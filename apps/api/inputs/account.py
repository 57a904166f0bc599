"""Request bodies for accounts."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.models import PRIVACY

LANGUAGE = r"\A[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?\Z"  # as in zh, pt-BR


class LineInput(serializers.Serializer[Any]):
    """A line of a profile."""

    name = serializers.CharField(allow_blank=True, default="")
    value = serializers.CharField(allow_blank=True, default="")


@extend_schema_field(LineInput(many=True))
class LinesField(serializers.Field[Any, Any, Any, Any]):
    """Lines as a list, or as an object with numbers for names."""

    def to_internal_value(self, data: Any) -> list[tuple[str, str]]:
        rows = LineInput(data=list(data.values()) if isinstance(data, dict) else data, many=True)
        if not rows.is_valid():
            raise serializers.ValidationError(_("A line has a name and a value."))
        return [(row["name"], row["value"]) for row in rows.validated_data]

    def to_representation(self, value: Any) -> Any:
        return value


class OnlyField(serializers.ChoiceField):
    """A setting of Mastodon's that has one value here: asking for another one is refused, not ignored."""

    def __init__(self, only: str | bool, **options: Any) -> None:  # noqa: FBT001 -- the value itself
        super().__init__([only], **options)
        self.only = only

    def to_internal_value(self, data: Any) -> Any:
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
