"""The byte form of a post's content: protobuf (`wire/post.proto`) in an envelope.

Older and newer code read each other's bytes; content that cannot be read in full is a miss, never
half a post.
"""

import struct
from dataclasses import fields
from typing import TypeVar

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from apps.posts.content.post import (
    Application,
    CachedPost,
    NewestIds,
    Picture,
    PollContent,
    PostContent,
    State,
)
from apps.posts.models import Kind, QuotePolicy, Visibility
from apps.posts.wire import post_pb2 as wire
from feedcache.ids import MAX_ID
from feedcache.memcached.envelope import pack, unpack

VERSION = 2  # of all byte forms of a post, part of every key
_FACTS = struct.Struct("<cQQ")  # of a cached post: state, what its source quotes and answers
MAX_BYTES = 256 * 1024  # of one post, far above the longest text that can be published
MAX_MS = 253_402_300_799_999  # the end of the year 9999

_KINDS = {kind.value: wire.Kind.Value(f"KIND_{kind.name}") for kind in Kind}
_VISIBILITIES = {
    visibility.value: wire.Visibility.Value(f"VISIBILITY_{visibility.name}")
    for visibility in Visibility
}
_QUOTE_POLICIES = {
    policy.value: wire.QuotePolicy.Value(f"QUOTE_POLICY_{policy.name}") for policy in QuotePolicy
}
_QUOTE_POLICY_NAMES = {number: name for name, number in _QUOTE_POLICIES.items()}
_KIND_NAMES = {number: name for name, number in _KINDS.items()}
_VISIBILITY_NAMES = {number: name for name, number in _VISIBILITIES.items()}
_KNOWN = {
    message: frozenset(message.DESCRIPTOR.fields_by_number)
    for message in (wire.Post, wire.Mention, wire.Picture, wire.Poll, wire.Application)
}
_PICTURE = [field.name for field in fields(Picture)]

T = TypeVar("T")


def encode(content: PostContent) -> bytes:
    return pack(to_protobuf(content))


def decode(data: bytes) -> PostContent:
    """ValueError for bytes that are something else, damaged, or hold unknown values."""
    return from_protobuf(unpack(data, max_bytes=MAX_BYTES))


def to_protobuf(content: PostContent) -> bytes:
    """The protobuf message without the envelope."""
    message = wire.Post(
        id=content.id,
        version=content.version,
        author_id=content.author_id,
        kind=_KINDS[content.kind],
        visibility=_VISIBILITIES[content.visibility],
        created_ms=content.created_ms,
        body=content.body,
        language=content.language,
        content_warning=content.content_warning,
        source_id=content.source_id,
        reply_to_id=content.reply_to_id,
        thread_id=content.thread_id if content.thread_id != content.id else None,
        mentions=[wire.Mention(handle=name, user_id=pk) for name, pk in content.mentions.items()],
        pictures=[_picture_message(picture) for picture in content.pictures],
        edited_ms=content.edited_ms,
        sensitive=content.sensitive,
        pinned=content.pinned,
        poll=_poll_message(content.poll) if content.poll else None,
        application=_application_message(content.application) if content.application else None,
        quote_policy=_QUOTE_POLICIES[content.quote_policy],
    )
    data: bytes = message.SerializeToString()
    return data


def from_protobuf(data: bytes) -> PostContent:
    """The inverse of `to_protobuf`; ValueError. Fields of a newer release are ignored."""
    try:
        message = wire.Post.FromString(data)
    except DecodeError as error:
        raise ValueError("not a post") from error
    _check(message)
    return PostContent(
        id=message.id,
        version=message.version,
        author_id=message.author_id,
        kind=_name(_KIND_NAMES, message.kind),
        body=message.body,
        content_warning=message.content_warning,
        language=message.language,
        visibility=_name(_VISIBILITY_NAMES, message.visibility),
        source_id=message.source_id or None,
        reply_to_id=message.reply_to_id or None,
        thread_id=message.thread_id or message.id,
        created_ms=message.created_ms,
        edited_ms=message.edited_ms or None,
        pictures=tuple(
            Picture(*(getattr(picture, name) for name in _PICTURE)) for picture in message.pictures
        ),
        mentions={mention.handle: mention.user_id for mention in message.mentions},
        sensitive=message.sensitive,
        pinned=message.pinned,
        poll=_poll(message.poll) if message.HasField("poll") else None,
        application=_application(message.application) if message.HasField("application") else None,
        quote_policy=_name(_QUOTE_POLICY_NAMES, message.quote_policy),
    )


def _check(message: wire.Post) -> None:
    """ValueError unless all required fields are present and in range."""
    largest = max(message.id, message.source_id, message.reply_to_id, message.thread_id)
    is_whole = message.id and message.version and message.author_id and largest <= MAX_ID
    if not is_whole or not 0 < message.created_ms <= MAX_MS or not 0 <= message.edited_ms <= MAX_MS:
        raise ValueError("not a whole post")
    for part in (message, *message.mentions, *message.pictures, message.poll, message.application):
        unknown = UnknownFieldSet(part)
        # a known number among the unknown fields has another type
        if unknown and not _KNOWN[type(part)].isdisjoint(field.field_number for field in unknown):
            raise ValueError("a field of another type")


def _name(names: dict[int, T], number: int) -> T:
    if number not in names:
        raise ValueError(f"a value of a newer release: {number}")
    return names[number]


def _picture_message(picture: Picture) -> wire.Picture:
    return wire.Picture(**{name: getattr(picture, name) for name in _PICTURE})


def _poll_message(poll: PollContent) -> wire.Poll:
    return wire.Poll(
        options=poll.options,
        expires_ms=poll.expires_ms,
        multiple=poll.multiple,
        hide_totals=poll.hide_totals,
    )


def _application_message(application: Application) -> wire.Application:
    return wire.Application(name=application.name, website=application.website)


def _application(message: wire.Application) -> Application:
    return Application(message.name, message.website)


def _poll(message: wire.Poll) -> PollContent:
    if not 0 < message.expires_ms <= MAX_MS or not message.options:
        raise ValueError("not a whole poll")
    return PollContent(
        tuple(message.options), message.expires_ms, message.multiple, message.hide_totals
    )


def encode_cached_post(post: CachedPost) -> bytes:
    """The state, two ids, and the message of the content."""
    facts = _FACTS.pack(post.state.value, post.source_source_id or 0, post.source_reply_to_id or 0)
    return pack(facts + (to_protobuf(post.content) if post.content else b""))


def decode_cached_post(data: bytes) -> CachedPost:
    """ValueError as for `decode`."""
    value = unpack(data, max_bytes=MAX_BYTES)
    if len(value) < _FACTS.size:
        raise ValueError("not a cached post")
    state, source_source_id, source_reply_to_id = _FACTS.unpack_from(value)
    if State(state) is not State.OPEN:
        return CachedPost(State(state))
    content = from_protobuf(value[_FACTS.size :])
    if not content.is_open:
        raise ValueError("not an open post")
    return CachedPost(State.OPEN, content, source_source_id or None, source_reply_to_id or None)


def encode_ids(newest: NewestIds) -> bytes:
    """The floor and the ids, eight bytes each."""
    numbers = [newest.floor, *sorted(newest.ids)]
    return pack(struct.pack(f"<{len(numbers)}Q", *numbers))


def decode_ids(data: bytes) -> NewestIds:
    """ValueError when the bytes are something else."""
    value = unpack(data, max_bytes=MAX_BYTES)
    if not value or len(value) % 8:
        raise ValueError("not a list of ids")
    floor, *ids = struct.unpack(f"<{len(value) // 8}Q", value)
    return NewestIds(frozenset(ids), floor)
