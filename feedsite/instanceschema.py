"""The shapes of what the site says of itself, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

Text, Number, Flag = serializers.CharField, serializers.IntegerField, serializers.BooleanField


class AccountLimitsSchema(serializers.Serializer[Any]):
    """Limits of accounts."""

    max_featured_tags = Number()
    max_pinned_statuses = Number()


class StatusLimitsSchema(serializers.Serializer[Any]):
    """Limits of posts."""

    max_characters = Number()
    max_media_attachments = Number()
    characters_reserved_per_url = Number()


class MediaLimitsSchema(serializers.Serializer[Any]):
    """Limits of pictures, in bytes and pixels."""

    supported_mime_types = serializers.ListField(child=Text())
    description_limit = Number()
    image_size_limit = Number()
    image_matrix_limit = Number()
    video_size_limit = Number()
    video_frame_rate_limit = Number()
    video_matrix_limit = Number()


class PollLimitsSchema(serializers.Serializer[Any]):
    """Limits of polls; times in seconds."""

    max_options = Number()
    max_characters_per_option = Number()
    min_expiration = Number()
    max_expiration = Number()


class LimitsSchema(serializers.Serializer[Any]):
    """What the site allows."""

    accounts = AccountLimitsSchema()
    statuses = StatusLimitsSchema()
    media_attachments = MediaLimitsSchema()
    polls = PollLimitsSchema()


class AddressesSchema(serializers.Serializer[Any]):
    """Where else to look."""

    streaming = Text()
    status = Text(allow_null=True)
    about = Text()
    privacy_policy = Text()
    terms_of_service = Text(allow_null=True)


class VapidSchema(serializers.Serializer[Any]):
    """The key of web push, which this site does not do."""

    public_key = Text(allow_blank=True)


class TranslationSchema(serializers.Serializer[Any]):
    """Whether posts can be translated."""

    enabled = Flag()


class ConfigurationSchema(LimitsSchema):
    """What the site allows, with addresses."""

    urls = AddressesSchema()
    vapid = VapidSchema()
    translation = TranslationSchema()


class ThumbnailSchema(serializers.Serializer[Any]):
    """A picture of the site."""

    url = Text()
    blurhash = Text(allow_null=True)
    versions = serializers.DictField(child=Text())


class IconSchema(serializers.Serializer[Any]):
    """The mark of the site."""

    src = Text()
    size = Text()


class ActiveUsersSchema(serializers.Serializer[Any]):
    """How many people come."""

    active_month = Number()


class UsageSchema(serializers.Serializer[Any]):
    """How much the site is used."""

    users = ActiveUsersSchema()


class RegistrationsSchema(serializers.Serializer[Any]):
    """Whether new accounts are made."""

    enabled = Flag()
    approval_required = Flag()
    message = Text(allow_null=True)
    url = Text()


class ContactSchema(serializers.Serializer[Any]):
    """Who runs the site."""

    email = Text()
    account = serializers.DictField(allow_null=True)


class RuleSchema(serializers.Serializer[Any]):
    """A rule of the site."""

    id = Text()
    text = Text()
    hint = Text(allow_blank=True)


class InstanceSchema(serializers.Serializer[Any]):
    """The site."""

    domain = Text()
    title = Text()
    version = Text()
    source_url = Text()
    description = Text()
    usage = UsageSchema()
    thumbnail = ThumbnailSchema()
    icon = IconSchema(many=True)
    languages = serializers.ListField(child=Text())
    configuration = ConfigurationSchema()
    registrations = RegistrationsSchema()
    api_versions = serializers.DictField(child=Number())
    contact = ContactSchema()
    rules = RuleSchema(many=True)


class StreamSchema(serializers.Serializer[Any]):
    """Where clients listen."""

    streaming_api = Text()


class SizeSchema(serializers.Serializer[Any]):
    """How large the site is."""

    user_count = Number()
    status_count = Number()
    domain_count = Number()


class InstanceV1Schema(serializers.Serializer[Any]):
    """The site, for older clients."""

    uri = Text()
    title = Text()
    short_description = Text()
    description = Text()
    email = Text()
    version = Text()
    urls = StreamSchema()
    stats = SizeSchema()
    thumbnail = Text()
    languages = serializers.ListField(child=Text())
    registrations = Flag()
    approval_required = Flag()
    invites_enabled = Flag()
    configuration = LimitsSchema()
    contact_account = serializers.DictField(allow_null=True)
    rules = RuleSchema(many=True)


class EmojiSchema(serializers.Serializer[Any]):
    """An emoji of the site's own."""

    shortcode = Text()
    url = Text()
    static_url = Text()
    visible_in_picker = Flag()


class NodeinfoLinkSchema(serializers.Serializer[Any]):
    """An address, and what is there."""

    rel = Text()
    href = Text()


class NodeinfoLinksSchema(serializers.Serializer[Any]):
    """Where the site says what software it is."""

    links = NodeinfoLinkSchema(many=True)


class NodeinfoSchema(serializers.Serializer[Any]):
    """Nodeinfo 2.0."""

    version = Text()
    software = serializers.DictField(child=Text())
    protocols = serializers.ListField(child=Text())
    services = serializers.DictField(child=serializers.ListField(child=Text()))
    openRegistrations = Flag()  # noqa: N815 -- the standard's own name
    usage = serializers.DictField()
    metadata = serializers.DictField(child=Text())
