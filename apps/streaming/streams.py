"""What a client can listen to, under Mastodon's names. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.tags.names import normal
from feedcache.ids import parse_id

TAG_MAX_CHARACTERS = 100

_PUBLIC = ("public", "public:local", "public:remote")
_ARGUMENTS = {"hashtag": "tag", "hashtag:local": "tag", "list": "list"}
NAMES = frozenset(
    {"user", "user:notification", "direct", *_PUBLIC, *(f"{name}:media" for name in _PUBLIC), *_ARGUMENTS}
)  # fmt: skip


class StreamError(ValueError):
    """There is no such stream, or it lacks its argument; the text says so to programmers."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream; `argument` is the folded tag, or the id of a list."""

    name: str
    argument: str = ""

    @classmethod
    def parse(cls, name: str, arguments: Mapping[str, str]) -> "Stream":
        """The stream of a name such as `hashtag` and its arguments, such as `tag`. StreamError when there is none."""
        if name not in NAMES:
            raise StreamError("There is no such stream.")
        wanted = _ARGUMENTS.get(name)
        if wanted is None:
            is_media = arguments.get("only_media", "").lower() in {"1", "true", "on"}
            return cls(f"{name}:media" if is_media and name in _PUBLIC else name)
        value = arguments.get(wanted, "")
        return cls(name, _tag(value) if wanted == "tag" else _list_id(value))

    @staticmethod
    def exists(name: str) -> bool:
        """Whether there are streams of a name."""
        return name in NAMES

    def labels_of(self, arguments: Mapping[str, str]) -> list[str]:
        """What messages say they belong to: the name and the argument as the client wrote them."""
        wanted = _ARGUMENTS.get(self.name)
        return [self.name, arguments[wanted]] if wanted else [self.name]

    @property
    def scopes(self) -> tuple[str, ...]:
        """What a token needs to hear it: all of these."""
        if self.name == "user:notification":
            return ("read:notifications",)
        if self.name == "list":
            return ("read:lists",)
        both = ("read:statuses", "read:notifications")
        return both if self.name == "user" else both[:1]

    @property
    def is_public(self) -> bool:
        """Whether it tells of public posts, whoever wrote them. All are local: there is no federation."""
        return self.name.startswith("public") and "remote" not in self.name

    @property
    def is_tag(self) -> bool:
        """Whether it tells of public posts with a hashtag."""
        return self.name.startswith("hashtag")

    @property
    def is_media_only(self) -> bool:
        """Whether only posts with pictures are told."""
        return self.name.endswith(":media")


def fold_tag(text: str) -> str:
    """A hashtag in the form in which two are compared."""
    return normal(text) or ""


def _tag(text: str) -> str:
    tag = fold_tag(text)
    if not tag or len(tag) > TAG_MAX_CHARACTERS:
        raise StreamError("Say which hashtag: tag=name.")
    return tag


def _list_id(text: str) -> str:
    try:
        return str(parse_id(text))
    except ValueError:
        raise StreamError("Say which list: list=id.") from None
