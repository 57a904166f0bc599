"""The streams that a client can subscribe to, with Mastodon's names. `queries` decides what each listener receives."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.tags.names import normalize
from feedcache.ids import parse_id

TAG_MAX_CHARACTERS = 100

_PUBLIC = ("public", "public:local", "public:remote")
_ARGUMENTS = {"hashtag": "tag", "hashtag:local": "tag", "list": "list"}
NAMES = frozenset(
    {"user", "user:notification", "direct", *_PUBLIC, *(f"{name}:media" for name in _PUBLIC), *_ARGUMENTS}
)  # fmt: skip


class StreamError(ValueError):
    """An unknown stream, an invalid argument, or a refused WebSocket command; the message is for programmers."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream. `argument` is a normalized tag name or the id of a list; empty for other streams."""

    name: str
    argument: str = ""

    @classmethod
    def parse(cls, name: str, arguments: Mapping[str, str]) -> "Stream":
        """Make a stream from a name such as `hashtag` and arguments such as `tag`. Raises StreamError."""
        if name not in NAMES:
            raise StreamError("There is no such stream.")
        argument = _ARGUMENTS.get(name)
        if argument is None:
            is_media = arguments.get("only_media", "").lower() in {"1", "true", "on"}
            return cls(f"{name}:media" if is_media and name in _PUBLIC else name)
        value = arguments.get(argument, "")
        return cls(name, _tag(value) if argument == "tag" else _list_id(value))

    def labels_of(self, arguments: Mapping[str, str]) -> list[str]:
        """The stream's name, and its argument as the client wrote it, for the messages sent to the client."""
        argument = _ARGUMENTS.get(self.name)
        return [self.name, arguments[argument]] if argument else [self.name]

    @property
    def scopes(self) -> tuple[str, ...]:
        """All the scopes that a token needs."""
        if self.name == "user:notification":
            return ("read:notifications",)
        if self.name == "list":
            return ("read:lists",)
        both = ("read:statuses", "read:notifications")
        return both if self.name == "user" else both[:1]

    @property
    def is_public(self) -> bool:
        """Whether the stream has public posts of all accounts. `public:remote` has none: there are no other sites."""
        return self.name.startswith("public") and "remote" not in self.name

    @property
    def is_tag(self) -> bool:
        return self.name.startswith("hashtag")

    @property
    def is_media_only(self) -> bool:
        return self.name.endswith(":media")


def _tag(text: str) -> str:
    tag = normalize(text) or ""
    if not tag or len(tag) > TAG_MAX_CHARACTERS:
        raise StreamError("Specify the hashtag: tag=name.")
    return tag


def _list_id(text: str) -> str:
    try:
        return str(parse_id(text))
    except ValueError:
        raise StreamError("Specify the list: list=id.") from None
