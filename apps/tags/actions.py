"""Writes of tags. Those of a post are part of the post's own transaction, and a bounded number of statements."""

from collections.abc import Collection, Iterable, Sequence

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.errors import Invalid
from apps.tags.models import Tag, TagFollow, TagUse
from apps.tags.queries import forget_talk, in_use, tag_named

BATCH = 5_000
MAX_FOLLOWED = 200  # tags of one reader: each is one bounded scan for their home page


def write_tags(post_id: int, names: Sequence[str], *, is_public: bool) -> None:
    """Say which tags a new post bears: normal names, at most as many as a post may have."""
    if names:
        TagUse.objects.bulk_create(
            TagUse(tag_id=tag_id, post_id=post_id, is_public=is_public)
            for tag_id in tag_ids(names).values()
        )


def rewrite_tags(post_id: int, names: Sequence[str], *, is_public: bool) -> None:
    """The same for a post that was edited."""
    kept = dict(TagUse.objects.filter(post_id=post_id).values_list("tag__name", "tag_id"))
    gone = [tag_id for name, tag_id in kept.items() if name not in names]
    if gone:
        TagUse.objects.filter(post_id=post_id, tag__in=gone).delete()
        _forget_unused(gone)
    write_tags(post_id, [name for name in names if name not in kept], is_public=is_public)


def drop_tags(post_id: int) -> None:
    """A post is gone, and bears no tags any more."""
    rows = TagUse.objects.filter(post_id=post_id)
    public = list(rows.filter(is_public=True).values_list("tag", flat=True))
    rows.delete()
    _forget_unused(public)


def _forget_unused(tag_ids: Collection[int]) -> None:
    """In the transaction that took uses away: a tag that has none left is shown beside no page from the commit on."""
    if tag_ids and in_use(Tag.objects.filter(pk__in=tag_ids)).count() < len(set(tag_ids)):
        transaction.on_commit(forget_talk, robust=True)


def tag_ids(names: Sequence[str]) -> dict[str, int]:
    """The tags of normal names by name; those that are missing are made.

    In the order of the names: who makes the same tags at the same moment waits, and never in a circle.
    """
    found = dict(Tag.objects.filter(name__in=names).values_list("name", "pk"))
    fresh = sorted(set(names) - found.keys())
    if fresh:
        Tag.objects.bulk_create((Tag(name=name) for name in fresh), ignore_conflicts=True)
        found |= dict(Tag.objects.filter(name__in=fresh).values_list("name", "pk"))
    return {name: found[name] for name in names}


def add_tags(posts: Iterable[tuple[int, list[str], bool]]) -> int:
    """For loaders, the tags of many posts: (id, normal names, whether it is public); those that are there stay. How many posts."""
    rows = [post for post in posts if post[1]]
    ids = tag_ids(list(dict.fromkeys(name for row in rows for name in row[1])))
    uses = (
        TagUse(tag_id=ids[name], post_id=post_id, is_public=is_public)
        for post_id, names, is_public in rows
        for name in names
    )
    TagUse.objects.bulk_create(uses, batch_size=BATCH, ignore_conflicts=True)
    return len(rows)


@transaction.atomic
def follow_tag(user: User, name: str) -> Tag:
    """Read a tag's posts on the home page, from the next look on; twice is once. NotFound when it is no tag's name.

    Invalid beyond 200 tags.
    """
    wanted = tag_named(name)
    _lock(user)
    if TagFollow.objects.filter(user=user, tag__name=wanted.name).exists():
        return tag_named(name)
    if TagFollow.objects.filter(user=user).count() >= MAX_FOLLOWED:
        message = _("At most %(count)d tags.") % {"count": MAX_FOLLOWED}
        raise Invalid(message, errors={"name": message})
    TagFollow.objects.create(user=user, tag_id=tag_ids([wanted.name])[wanted.name])
    _count(user)
    return tag_named(name)


@transaction.atomic
def unfollow_tag(user: User, name: str) -> Tag:
    """Read a tag's posts no more, from the next look on. NotFound when it is no tag's name."""
    wanted = tag_named(name)
    _lock(user)
    TagFollow.objects.filter(user=user, tag__name=wanted.name).delete()
    _count(user)
    return wanted


def _lock(user: User) -> None:
    user.counts = UserCounts.objects.select_for_update().get(pk=user.pk)


def _count(user: User) -> None:
    number = TagFollow.objects.filter(user=user).count()
    UserCounts.objects.filter(pk=user.pk).update(followed_tags=number)
    user.counts.followed_tags = number
