"""Likes, bookmarks and reactions, most of them on a few posts."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from math import log
from random import Random
from typing import Any

from apps.demo.seeding.world import Entry, Member, World, batches, moment_of
from apps.engagement.models import Bookmark, Like, Reaction
from apps.engagement.rebuild import invalidate_all
from apps.notifications.kinds import NotificationKind
from apps.posts.models import OPEN

MAX_LIKES = 400
BOOKMARK_SHARE, REACTION_SHARE = 0.06, 0.15
# Hearts and thumbs are chosen twice as often as each of the others.
REACTIONS = ("hearts", "hearts", "thumbs", "thumbs", "laughs", "wows", "tears", "cheers")
Marking = tuple[float, Member, Entry]  # Unix time, account, post


def make_reactions(world: World) -> None:
    """Insert likes, bookmarks and reactions, oldest first, and count them on their posts."""
    likes, bookmarks = _plan(world)
    for batch in _insert(Like, likes):
        for (at, member, entry), _row in batch:
            entry.counts["likes"] += 1
            world.notify(at, entry.author, NotificationKind.LIKE, member, entry.pk)
        world.advance("likes", len(batch))
    for batch in _insert(Bookmark, bookmarks):
        for (_second, _member, entry), _row in batch:
            entry.counts["bookmarks"] += 1
    rng = world.rng("reactions")
    reacted = [like for like in likes if rng.random() < REACTION_SHARE]
    for batch in _insert(Reaction, reacted, choose=lambda: {"name": rng.choice(REACTIONS)}):
        for (at, member, entry), row in batch:
            entry.counts[row.name] += 1
            world.notify(at, entry.author, NotificationKind.REACT, member, entry.pk)
    world.likes = len(likes)
    invalidate_all()


def _insert(
    model: Any, markings: list[Marking], *, choose: Callable[[], dict[str, str]] = dict
) -> Iterator[list[tuple[Marking, Any]]]:
    """Insert the rows, oldest first, and yield each batch."""
    markings.sort(key=lambda marking: (marking[0], marking[1].pk, marking[2].pk))
    for batch in batches(markings):
        rows = model.objects.bulk_create(
            model(user_id=member.pk, post_id=entry.pk, created_at=moment_of(at), **choose())
            for at, member, entry in batch
        )
        yield list(zip(batch, rows, strict=True))


def _plan(world: World) -> tuple[list[Marking], list[Marking]]:
    rng = world.rng("likes")
    likes: dict[tuple[int, int], Marking] = {}
    bookmarks: dict[tuple[int, int], Marking] = {}
    for member, entry in _likes(world):
        if entry.author is not member:
            likes.setdefault((member.pk, entry.pk), (_when(world, rng, entry), member, entry))
            if rng.random() < BOOKMARK_SHARE and not _is_scripted(member):
                bookmarks.setdefault(
                    (member.pk, entry.pk), (_when(world, rng, entry), member, entry)
                )
    for member, entry in _cast_bookmarks(world):
        bookmarks[member.pk, entry.pk] = (_when(world, rng, entry), member, entry)
    return list(likes.values()), list(bookmarks.values())


def _when(world: World, rng: Random, entry: Entry) -> float:
    # mostly soon after the post
    return entry.second + (world.now - entry.second) * rng.random() ** 4


def _is_scripted(member: Member) -> bool:
    return member.person is not None and member.person.fixed


def _cast_bookmarks(world: World) -> Iterator[tuple[Member, Entry]]:
    by_key = {entry.key: entry for entry in world.entries if entry.key}
    for member in world.cast.values():
        if member.person:
            yield from ((member, by_key[key]) for key in member.person.bookmarks if key in by_key)


def _likes(world: World) -> Iterator[tuple[Member, Entry]]:
    rng = world.rng("readers")
    pools = {language: _PostPool(world, language) for language in ("en", "zh")}
    by_key = {entry.key: entry for entry in world.entries if entry.key}
    for member in world.members:
        if _is_scripted(member) and member.person:
            yield from ((member, by_key[key]) for key in member.person.likes if key in by_key)
            continue
        if not world.makes_cast and member.person:  # an earlier run has made this member's likes
            continue
        # log-normal, sigma 0.9; subtracting half its square, about 0.4, makes the mean `likes_each`
        count = min(MAX_LIKES, round(rng.lognormvariate(log(world.size.likes_each) - 0.4, 0.9)))
        for _ in range(count):
            in_own_language = rng.random() < 0.8
            other = "en" if member.language == "zh" else "zh"
            pool = pools[member.language if in_own_language else other]
            if pool.entries:
                yield member, pool.post_at(rng.random())


class _PostPool:
    """The open posts in one language, weighted by their appeal."""

    def __init__(self, world: World, language: str) -> None:
        self.entries = [
            entry for entry in world.entries
            if entry.language == language and entry.appeal > 0 and entry.visibility in OPEN
        ]  # fmt: skip
        self._sums = list(accumulate(entry.appeal for entry in self.entries))

    def post_at(self, share: float) -> Entry:
        """The post at which the running sum of appeal reaches this share, so a random share favours appealing posts."""
        return self.entries[
            min(len(self.entries) - 1, bisect_left(self._sums, share * self._sums[-1]))
        ]
