"""What the demo is written in: people, lines, conversations, and the pool for everybody else."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.demo.pictures import Sketch

LANGUAGES = ("en", "zh")
# the hours of the day, in the writer's own time, at which a line with that mark is published
HOURS = {
    "dawn": (5, 6),
    "morning": (7, 9),
    "noon": (11, 13),
    "afternoon": (14, 17),
    "evening": (18, 20),
    "night": (21, 23),
}


class LibraryError(ValueError):
    """Something in `content/` is wrong; the message says where and what."""


@dataclass(frozen=True, slots=True)
class Avatar:
    """A part of a drawn scene; `focus` is the centre and the side as shares of the picture."""

    sketch: Sketch
    focus: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the cast. `weight` is how readily others follow them; `fixed` people can sign in."""

    handle: str
    name: str
    bio: str
    language: str
    weight: float = 1
    fixed: bool = False
    staff: bool = False
    avatar: Avatar | None = None
    follows: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()
    bookmarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a post, with its description in the language of the post."""

    sketch: Sketch
    alt: str


@dataclass(frozen=True, slots=True)
class Line:
    """A post of the cast. `ago` is minutes before now; without it, `hour` may name a part of the day.

    `appeal` multiplies how readily it is liked; `source` is the key of a quoted post, or of a reposted one when there is no text.
    """

    by: str
    text: str
    language: str
    key: str = ""
    ago: float | None = None
    hour: str = ""
    warning: str = ""
    visibility: str = "public"
    source: str = ""
    pictures: tuple[Picture, ...] = ()
    appeal: float = 1

    @property
    def is_repost(self) -> bool:
        """Whether this only shares another post."""
        return bool(self.source) and not self.text


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in a conversation; `to` is the number of the reply it answers, 0 for the post itself."""

    line: Line
    to: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """Replies below a post of the cast."""

    under: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sentence with slots, of which every combination reads well.

    One that `opens` may be followed by one that `follows`: rain, then what was cooked.
    """

    frame: str
    slots: Mapping[str, tuple[str, ...]]
    tags: tuple[str, ...] = ()
    opens: bool = False
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Caption:
    """Lines for a picture of a scene, by language, and what it shows."""

    scene: str
    lines: Mapping[str, tuple[str, ...]]
    alt: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Names:
    """Given and family names as (written, romanised), and short bios, of one language."""

    given: tuple[tuple[str, str], ...]
    family: tuple[tuple[str, str], ...]
    bios: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that is written."""

    people: Mapping[str, Person]
    lines: tuple[Line, ...]
    conversations: tuple[Conversation, ...]
    passages: Mapping[str, tuple[str, ...]] = field(repr=False)
    patterns: Mapping[str, tuple[Pattern, ...]] = field(repr=False)
    captions: tuple[Caption, ...]
    names: Mapping[str, Names] = field(repr=False)
