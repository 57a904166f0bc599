"""The sizes of the demo, and the accounts and posts of a run in memory."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from random import Random
from typing import TypeVar

from apps.demo.content.loader import Content, Person, Picture
from apps.notifications.kinds import NotificationKind

DAY = 86_400
SPAN_SECONDS = 30 * DAY  # posts are spread over the last 30 days


@dataclass(frozen=True, slots=True)
class Size:
    """The amounts that a run generates in addition to the cast. `…_each` are approximate means per account."""

    accounts: int
    posts_each: float
    follows_each: float
    likes_each: float
    captions: int


SIZES = {
    "small": Size(accounts=60, posts_each=4, follows_each=16, likes_each=26, captions=14),
    "medium": Size(accounts=1_000, posts_each=5, follows_each=22, likes_each=30, captions=70),
    "large": Size(accounts=20_000, posts_each=3, follows_each=22, likes_each=18, captions=180),
}


@dataclass(slots=True, eq=False)
class Member:
    """An account. `followers`, `following` and `posts` are the numbers that this run adds to its counts."""

    pk: int
    handle: str
    language: str
    joined: float
    weight: float = 1
    person: Person | None = None
    is_new: bool = True
    last_post_id: int = 0
    last_open_post_id: int = 0
    followers: int = 0
    following: int = 0
    posts: int = 0


@dataclass(slots=True, eq=False)
class Entry:
    """A post; `counts` are the numbers that this run adds to its counts. A higher `appeal` means more likes."""

    author: Member
    second: float
    text: str = ""
    language: str = ""
    key: str = ""
    warning: str = ""
    visibility: str = "public"
    source: "Entry | None" = None
    reply_to: "Entry | None" = None
    pictures: tuple[Picture, ...] = ()
    appeal: float = 1
    is_new: bool = True
    pk: int = 0
    thread_pk: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # keys: columns of `PostCounts`

    @property
    def is_repost(self) -> bool:
        return self.source is not None and not self.text


# Unix time, recipient, kind, actor, post id
News = tuple[float, Member, NotificationKind, Member, int | None]


@dataclass(slots=True)
class World:
    """The state of a run. `cast` are the accounts with written profiles, `crowd` those that this run generates.

    `entries` are all posts of this run and, in later runs, the cast's earlier open posts without reposts.
    """

    content: Content
    size_name: str
    seed: int
    now: float
    advance: Callable[[str, int], None]
    cast: dict[str, Member] = field(default_factory=dict)
    crowd: list[Member] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    news: list[News] = field(default_factory=list)
    makes_cast: bool = True
    follows: int = 0
    likes: int = 0

    @property
    def size(self) -> Size:
        return SIZES[self.size_name]

    @property
    def members(self) -> list[Member]:
        """All accounts, the cast first."""
        return [*self.cast.values(), *self.crowd]

    def notify(
        self,
        second: float,
        user: Member,
        kind: NotificationKind,
        actor: Member,
        post_pk: int | None,
    ) -> None:
        """Add a notification, unless the account cannot log in (is not `fixed`) or is the actor."""
        if user.person and user.person.fixed and user is not actor:
            self.news.append((second, user, kind, actor, post_pk))

    def rng(self, purpose: str) -> Random:
        """A random generator for one purpose; drawing more numbers from it does not affect the others."""
        return Random(f"{self.seed}/{self.size_name}/{purpose}")


_Item = TypeVar("_Item")
BATCH = 5_000


def moment_of(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def batches(items: Sequence[_Item], size: int = BATCH) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
