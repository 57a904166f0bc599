from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class QuotePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUOTE_POLICY_PUBLIC: _ClassVar[QuotePolicy]
    QUOTE_POLICY_FOLLOWERS: _ClassVar[QuotePolicy]
    QUOTE_POLICY_NOBODY: _ClassVar[QuotePolicy]

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_TEXT: _ClassVar[Kind]
    KIND_PICTURE: _ClassVar[Kind]
    KIND_VIDEO: _ClassVar[Kind]
    KIND_REPOST: _ClassVar[Kind]
    KIND_QUOTE: _ClassVar[Kind]
    KIND_AUDIO: _ClassVar[Kind]

class Visibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VISIBILITY_UNSPECIFIED: _ClassVar[Visibility]
    VISIBILITY_PUBLIC: _ClassVar[Visibility]
    VISIBILITY_UNLISTED: _ClassVar[Visibility]
    VISIBILITY_FOLLOWERS: _ClassVar[Visibility]
    VISIBILITY_MENTIONED: _ClassVar[Visibility]
    VISIBILITY_CIRCLE: _ClassVar[Visibility]
    VISIBILITY_FRIENDS: _ClassVar[Visibility]

class Medium(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEDIUM_IMAGE: _ClassVar[Medium]
    MEDIUM_VIDEO: _ClassVar[Medium]
    MEDIUM_AUDIO: _ClassVar[Medium]
QUOTE_POLICY_PUBLIC: QuotePolicy
QUOTE_POLICY_FOLLOWERS: QuotePolicy
QUOTE_POLICY_NOBODY: QuotePolicy
KIND_UNSPECIFIED: Kind
KIND_TEXT: Kind
KIND_PICTURE: Kind
KIND_VIDEO: Kind
KIND_REPOST: Kind
KIND_QUOTE: Kind
KIND_AUDIO: Kind
VISIBILITY_UNSPECIFIED: Visibility
VISIBILITY_PUBLIC: Visibility
VISIBILITY_UNLISTED: Visibility
VISIBILITY_FOLLOWERS: Visibility
VISIBILITY_MENTIONED: Visibility
VISIBILITY_CIRCLE: Visibility
VISIBILITY_FRIENDS: Visibility
MEDIUM_IMAGE: Medium
MEDIUM_VIDEO: Medium
MEDIUM_AUDIO: Medium

class Post(_message.Message):
    __slots__ = ("id", "version", "author_id", "kind", "visibility", "created_ms", "body", "language", "content_warning", "source_id", "reply_to_id", "thread_id", "mentions", "pictures", "edited_ms", "sensitive", "pinned", "poll", "application", "quote_policy")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    CREATED_MS_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_WARNING_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    EDITED_MS_FIELD_NUMBER: _ClassVar[int]
    SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    QUOTE_POLICY_FIELD_NUMBER: _ClassVar[int]
    id: int
    version: int
    author_id: int
    kind: Kind
    visibility: Visibility
    created_ms: int
    body: str
    language: str
    content_warning: str
    source_id: int
    reply_to_id: int
    thread_id: int
    mentions: _containers.RepeatedCompositeFieldContainer[Mention]
    pictures: _containers.RepeatedCompositeFieldContainer[Picture]
    edited_ms: int
    sensitive: bool
    pinned: bool
    poll: Poll
    application: Application
    quote_policy: QuotePolicy
    def __init__(self, id: _Optional[int] = ..., version: _Optional[int] = ..., author_id: _Optional[int] = ..., kind: _Optional[_Union[Kind, str]] = ..., visibility: _Optional[_Union[Visibility, str]] = ..., created_ms: _Optional[int] = ..., body: _Optional[str] = ..., language: _Optional[str] = ..., content_warning: _Optional[str] = ..., source_id: _Optional[int] = ..., reply_to_id: _Optional[int] = ..., thread_id: _Optional[int] = ..., mentions: _Optional[_Iterable[_Union[Mention, _Mapping]]] = ..., pictures: _Optional[_Iterable[_Union[Picture, _Mapping]]] = ..., edited_ms: _Optional[int] = ..., sensitive: _Optional[bool] = ..., pinned: _Optional[bool] = ..., poll: _Optional[_Union[Poll, _Mapping]] = ..., application: _Optional[_Union[Application, _Mapping]] = ..., quote_policy: _Optional[_Union[QuotePolicy, str]] = ...) -> None: ...

class Mention(_message.Message):
    __slots__ = ("handle", "user_id")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    handle: str
    user_id: int
    def __init__(self, handle: _Optional[str] = ..., user_id: _Optional[int] = ...) -> None: ...

class Picture(_message.Message):
    __slots__ = ("id", "url", "width", "height", "alt", "preview_url", "blurhash", "focus_x", "focus_y", "moves", "medium", "duration_ms", "captions_url")
    ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    ALT_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_URL_FIELD_NUMBER: _ClassVar[int]
    BLURHASH_FIELD_NUMBER: _ClassVar[int]
    FOCUS_X_FIELD_NUMBER: _ClassVar[int]
    FOCUS_Y_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    MEDIUM_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    CAPTIONS_URL_FIELD_NUMBER: _ClassVar[int]
    id: int
    url: str
    width: int
    height: int
    alt: str
    preview_url: str
    blurhash: str
    focus_x: float
    focus_y: float
    moves: bool
    medium: Medium
    duration_ms: int
    captions_url: str
    def __init__(self, id: _Optional[int] = ..., url: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., alt: _Optional[str] = ..., preview_url: _Optional[str] = ..., blurhash: _Optional[str] = ..., focus_x: _Optional[float] = ..., focus_y: _Optional[float] = ..., moves: _Optional[bool] = ..., medium: _Optional[_Union[Medium, str]] = ..., duration_ms: _Optional[int] = ..., captions_url: _Optional[str] = ...) -> None: ...

class Application(_message.Message):
    __slots__ = ("name", "website")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WEBSITE_FIELD_NUMBER: _ClassVar[int]
    name: str
    website: str
    def __init__(self, name: _Optional[str] = ..., website: _Optional[str] = ...) -> None: ...

class Poll(_message.Message):
    __slots__ = ("options", "expires_ms", "multiple", "hide_totals")
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    MULTIPLE_FIELD_NUMBER: _ClassVar[int]
    HIDE_TOTALS_FIELD_NUMBER: _ClassVar[int]
    options: _containers.RepeatedScalarFieldContainer[str]
    expires_ms: int
    multiple: bool
    hide_totals: bool
    def __init__(self, options: _Optional[_Iterable[str]] = ..., expires_ms: _Optional[int] = ..., multiple: _Optional[bool] = ..., hide_totals: _Optional[bool] = ...) -> None: ...
