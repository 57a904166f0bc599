"""A small world in which one author has written everything there is, before people who stand to the author in every
way.

Whatever a post brings along bears its mark: its words, tag, warning, options of a poll, descriptions of pictures. So
one look at an answer says which of the posts stand in it, wherever they come from.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from django.core.management import call_command

from apps.accounts.actions import issue_token, set_locked
from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.engagement.actions import MARK_VERBS, vote
from apps.engagement.marks import ROW_MARKS
from apps.errors import DomainError
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, add_post, create_filter
from apps.graph.actions import approve_request, block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, FollowRequest, UserList
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post, pin_post
from apps.posts.actions.mute_thread import mute_thread
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Post
from apps.search.trends import rank_posts
from apps.tags.actions import follow_tag
from apps.tags.trends import TRENDING_CACHE, count_days
from feedcache.ids import compose, second_of
from tests.support.factories import deliver, make_user, publish, repost, suspend
from tests.support.pictures import picture

VIEWERS = (
    "anonymous", "stranger", "follower", "mutual", "muter", "member", "mentioned", "blocked", "blocker",
    "requester", "staff", "suspended", "author",
)  # fmt: skip
STATES = ("open", "locked", "suspended")
FOLLOWERS = ("follower", "mutual", "muter", "member", "blocked", "blocker", "suspended", "friend")
IN_CIRCLE = ("member", "blocked", "blocker")
NAMED = ("mentioned", "blocked", "blocker")
CATCHES_ALL = {
    "include_people": ["vauthor", "vfriend"],
    "include_tags": ["river"],
    "include_words": ["said"],
}
VISIBILITIES = ("public", "unlisted", "followers", "friends", "mentioned", "circle")
MARK = re.compile(r"t?q\d{3}z")
GHOST_MARK = "q999z"  # of a post that never was
GHOST_SEQUENCE = 15


@dataclass
class Made:
    """One post of the world."""

    name: str
    mark: str
    id: int
    author: str = "author"
    pictures: tuple[str, ...] = ()
    source: "Made | None" = None  # what it shares; a repost of what cannot be seen cannot be seen
    is_repost: bool = False


@dataclass
class World:
    """The people, the posts, and what is needed to ask for them."""

    state: str
    people: dict[str, User] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    posts: dict[str, Made] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)
    filters: dict[str, int] = field(default_factory=dict)
    feeds: dict[str, int] = field(default_factory=dict)
    circle: Circle = None
    root: int = 0

    def user(self, name: str) -> User:
        """Somebody as they are now."""
        return User.objects.select_related("counts").get(pk=self.people[name].pk)

    def ghost(self, author: str) -> int:
        """An id of an author under which nothing was ever written."""
        mine = [one.id for one in self.posts.values() if one.author == author]
        second, pk = second_of(mine[0]) - 7, self.people[author].pk
        return compose(second, pk, GHOST_SEQUENCE)

    def made_by(self, author: str) -> list[Made]:
        """All posts of one author."""
        return [one for one in self.posts.values() if one.author == author]


def make_world(state: str) -> World:
    """A world whose author is open, locked or suspended; the caches know nothing of it yet."""
    world = World(state)
    _people(world)
    _posts(world)
    _marks(world)
    _part_ways(world)
    settle()
    return world


def settle() -> None:
    """All that workers and timers do."""
    deliver()
    count_days()
    rank_posts()
    TRENDING_CACHE.clear()


# --- people ------------------------------------------------------------------------------------------


def _people(world: World) -> None:
    for name in (*VIEWERS[1:], "friend"):
        world.people[name] = make_user(f"v{name}")
    people, author = world.people, world.people["author"]
    User.objects.filter(pk=people["staff"].pk).update(is_staff=True)
    set_locked(author, locked=world.state == "locked")
    for name in FOLLOWERS:
        follow_user(people[name], author)
        if world.state == "locked":
            approve_request(author, people[name])
    for name in ("mutual", "friend"):
        follow_user(author, people[name])
    if world.state == "locked":
        follow_user(people["requester"], author)
    else:  # left over from a time when the account was locked
        FollowRequest.objects.create(owner=author, requester=people["requester"])
    world.circle = create_group(Circle, author, name="Close")
    add_members(Circle, author, world.circle.pk, [people[name].pk for name in IN_CIRCLE])
    for name in VIEWERS[1:]:
        person = people[name]
        world.tokens[name] = issue_token(person, name="matrix")
        world.lists[name] = create_group(UserList, person, name="Mine").pk
        world.feeds[name] = create_feed(person, name="Mine", **CATCHES_ALL).pk
        words = [KeywordChange(keyword="nothing of this")]
        world.filters[name] = create_filter(
            person, FilterChange("Mine", ["home"], keywords=words)
        ).pk
        if name in FOLLOWERS:
            add_members(UserList, person, world.lists[name], [author.pk])
    create_feed(people["friend"], name="Open", is_public=True, **CATCHES_ALL)
    follow_tag(people["stranger"], "river")
    deliver()


# --- posts -------------------------------------------------------------------------------------------


def _posts(world: World) -> None:
    """At least 50 posts: what is said, times for whom, times what became of it."""
    friend, author = world.people["friend"], world.people["author"]
    world.root = publish(friend, "What everybody may read and answer.").pk
    maker = _Maker(world, author)
    for visibility in VISIBILITIES:
        maker.all_of(visibility)
    for visibility in ("public", "unlisted", "followers"):
        maker.make(f"pinned {visibility}", visibility)
        pin_post(author, world.posts[f"pinned {visibility}"].id)
    _answers(world, maker)


class _Maker:
    """Publishes posts of the author and notes them."""

    def __init__(self, world: World, author: User) -> None:
        self._world, self._author = world, author

    def make(self, name: str, visibility: str, *, names: bool = False, **draft: Any) -> Made:
        """A post with a mark of its own in all of its parts."""
        mark = f"q{len(self._world.posts) + 100:03d}z"
        handles = (
            " ".join(f"@v{one}" for one in NAMED) if names or visibility == "mentioned" else ""
        )
        if visibility == "mentioned" and "quote_of_id" in draft:  # whom it quotes it has to name
            handles += f" @{self._world.people['friend'].handle}"
        into = {"circle_id": self._world.circle.pk} if visibility == "circle" else {}
        parts = {key: part(mark) if callable(part) else part for key, part in draft.items()}
        body = f"{mark} said here {handles} #t{mark} #river"
        post = publish(self._author, body, visibility=visibility, **into, **parts)
        files = Attachment.objects.filter(post=post).values_list("file", "preview")
        made = Made(
            name, mark, post.pk, pictures=tuple(one for pair in files for one in pair if one)
        )
        self._world.posts[name] = made
        return made

    def all_of(self, visibility: str) -> None:
        """Everything that can be said to an audience."""
        root, author = self._world.root, self._author
        self.make(f"plain {visibility}", visibility)
        self.make(f"named {visibility}", visibility, names=True)
        self.make(f"reply {visibility}", visibility, reply_to_id=root)
        self.make(f"quote {visibility}", visibility, quote_of_id=root)
        self.make(f"picture {visibility}", visibility, media_ids=self._pictures)
        self.make(f"poll {visibility}", visibility, poll=_poll)
        self.make(f"warning {visibility}", visibility, content_warning=lambda mark: f"About {mark}")
        self.make(f"deleted {visibility}", visibility, media_ids=self._pictures, names=True)
        settle()
        delete_post(self._world.posts[f"deleted {visibility}"].id, by=author)
        edited = self.make(f"edited {visibility}", visibility)
        edit_post(author, edited.id, body=f"{edited.mark} said otherwise #t{edited.mark}")
        away = self.make(f"named before {visibility}", visibility, names=True)
        edit_post(author, away.id, body=f"{away.mark} names nobody now")

    def _pictures(self, mark: str) -> list[int]:
        file = BytesIO(picture())
        return [upload_picture(self._author, file, alt=f"Of {mark}").pk]


def _poll(mark: str) -> PollDraft:
    return PollDraft([f"Yes {mark}", f"No {mark}"], 3600)


def _answers(world: World, maker: _Maker) -> None:
    """Threads, and what a friend whom everybody may read made of the author's posts."""
    author, friend = world.people["author"], world.people["friend"]
    plain = world.posts["plain public"]
    maker.make("thread followers", "followers", reply_to_id=world.posts["plain followers"].id)
    maker.make("thread public", "public", reply_to_id=plain.id)
    shared = repost(author, world.root)
    world.posts["repost"] = Made("repost", "q998z", shared.pk, is_repost=True)
    own = world.posts["plain unlisted"]
    again = repost(author, own.id)
    world.posts["repost own"] = Made("repost own", "q998z", again.pk, source=own, is_repost=True)
    theirs: dict[str, Callable[[], Post]] = {
        "friend answers": lambda: publish(friend, "I see q997z", reply_to_id=plain.id),
        "friend quotes": lambda: publish(friend, "Look q996z", quote_of_id=plain.id),
        "friend reposts": lambda: repost(friend, plain.id),
    }
    for name, make in theirs.items():
        post = make()
        is_repost = name == "friend reposts"
        mark = {"friend answers": "q997z", "friend quotes": "q996z"}.get(name, "q998z")
        world.posts[name] = Made(
            name, mark, post.pk, "friend", source=plain if is_repost else None, is_repost=is_repost
        )


# --- marks, and what parts people -----------------------------------------------------------------------


def _marks(world: World) -> None:
    """Everybody likes, keeps, votes for and mutes what they may see while they may: it must not help them later."""
    settle()
    ids = [one.id for one in world.posts.values()]
    for name in VIEWERS[1:]:
        person = user_by_id(world.people[name].pk)
        for post_id in ids:
            for mark in ROW_MARKS:
                _try(MARK_VERBS[next(iter(mark.verbs))], person, post_id)
        for kind in VISIBILITIES:
            plain = world.posts[f"plain {kind}"].id
            _try(mute_thread, person, plain)
            _try(vote, person, world.posts[f"poll {kind}"].id, [0])
            _try(add_post, person, world.filters[name], plain)
    settle()


def _part_ways(world: World) -> None:
    people, author = world.people, world.people["author"]
    block_user(author, people["blocked"])
    block_user(people["blocker"], author)
    mute_user(people["muter"], author)
    suspend(people["suspended"])
    if world.state == "suspended":
        suspend(user_by_id(author.pk))


def _try(act: Callable[..., object], *arguments: Any) -> None:
    """Those who may not are refused: that is no news here."""
    with suppress(DomainError):
        act(*arguments)


def index_everything() -> None:
    """The words of posts that are older than the index."""
    call_command("index_posts")
