"""Actions on tags. A post's tags are written in its transaction, in a bounded number of statements."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import viewer_changed
from apps.accounts.models import User, UserCounts
from apps.errors import NotFound, invalid
from apps.sql import purge
from apps.tags.models import FeaturedTag, PastTagFollow, Tag, TagFollow, TagUse
from apps.tags.queries import publicly_used, tag_named
from apps.tags.trends import clear_cached_trending_tags

BATCH = 5_000
MAX_FEATURED = 10  # tags on a profile
MAX_FOLLOWED = 200  # tags per account, because each adds a bounded scan to the home page


def write_tags(post_id: int, names: Sequence[str], *, is_public: bool) -> None:
    """Add tags, given by normalized names, that a post does not have yet."""
    if names:
        TagUse.objects.bulk_create(
            TagUse(tag_id=tag_id, post_id=post_id, is_public=is_public)
            for tag_id in get_or_create_tag_ids(names).values()
        )


def rewrite_tags(post_id: int, names: Sequence[str], *, is_public: bool) -> None:
    """Replace the tags of an edited post."""
    present = dict(TagUse.objects.filter(post_id=post_id).values_list("tag__name", "tag_id"))
    removed = [tag_id for name, tag_id in present.items() if name not in names]
    if removed:
        TagUse.objects.filter(post_id=post_id, tag__in=removed).delete()
        _clear_cache_if_unused(removed)
    write_tags(post_id, [name for name in names if name not in present], is_public=is_public)


def publish_tags(post_id: int, *, is_public: bool) -> None:
    """Make a post's uses of tags public, or no longer public."""
    rows = TagUse.objects.filter(post_id=post_id)
    tag_ids = list(rows.exclude(is_public=is_public).values_list("tag", flat=True))
    rows.update(is_public=is_public)
    if not is_public:
        _clear_cache_if_unused(tag_ids)


def delete_tags(post_id: int) -> None:
    """Delete the tags of a deleted post."""
    rows = TagUse.objects.filter(post_id=post_id)
    public = list(rows.filter(is_public=True).values_list("tag", flat=True))
    rows.delete()
    _clear_cache_if_unused(public)


def _clear_cache_if_unused(tag_ids: Collection[int]) -> None:
    """Clear the cached trending tags if one of these tags has no public use left and must disappear."""
    if tag_ids and publicly_used(Tag.objects.filter(pk__in=tag_ids)).count() < len(set(tag_ids)):
        transaction.on_commit(clear_cached_trending_tags, robust=True)


def get_or_create_tag_ids(names: Sequence[str]) -> dict[str, int]:
    """The ids of tags by normalized name; missing tags are created.

    They are created in the order of their names, so that concurrent transactions cannot deadlock.
    """
    found = dict(Tag.objects.filter(name__in=names).values_list("name", "pk"))
    missing = sorted(set(names) - found.keys())
    if missing:
        Tag.objects.bulk_create((Tag(name=name) for name in missing), ignore_conflicts=True)
        found |= dict(Tag.objects.filter(name__in=missing).values_list("name", "pk"))
    return {name: found[name] for name in names}


def add_tags(posts: Iterable[tuple[int, list[str], bool]]) -> int:
    """Add tags to many posts, given as (id, normalized names, is public). Returns the number of posts with tags."""
    rows = [post for post in posts if post[1]]
    ids = get_or_create_tag_ids(list(dict.fromkeys(name for row in rows for name in row[1])))
    uses = (
        TagUse(tag_id=ids[name], post_id=post_id, is_public=is_public)
        for post_id, names, is_public in rows
        for name in names
    )
    TagUse.objects.bulk_create(uses, batch_size=BATCH, ignore_conflicts=True)
    return len(rows)


@transaction.atomic
def follow_tag(user: User, name: str) -> Tag:
    """Show a tag's posts on the home page. Idempotent. Raises NotFound for an invalid name, Invalid beyond 200 tags."""
    tag = tag_named(name)
    _lock(user)
    if TagFollow.objects.filter(user=user, tag__name=tag.name).exists():
        return tag_named(name)
    if TagFollow.objects.filter(user=user).count() >= MAX_FOLLOWED:
        raise invalid("name", _("At most %(count)d tags.") % {"count": MAX_FOLLOWED})
    TagFollow.objects.create(user=user, tag_id=get_or_create_tag_ids([tag.name])[tag.name])
    _count(user)
    return tag_named(name)


@transaction.atomic
def unfollow_tag(user: User, name: str) -> Tag:
    """Stop showing a tag's posts on the home page. Raises NotFound for an invalid name."""
    tag = tag_named(name)
    _lock(user)
    follow = TagFollow.objects.filter(user=user, tag__name=tag.name).first()
    if follow is not None:
        follow.delete()
        PastTagFollow.objects.create(user=user, tag_id=follow.tag_id, began_at=follow.created_at)
    _count(user)
    return tag


@transaction.atomic
def feature_tag(user: User, name: str) -> FeaturedTag:
    """Show a tag on one's profile. Idempotent. Raises NotFound for an invalid name, Invalid beyond 10 tags."""
    tag = tag_named(name)
    _lock(user)
    own = FeaturedTag.objects.filter(user=user).select_related("tag")
    if (row := own.filter(tag__name=tag.name).first()) is not None:
        return row
    if own.count() >= MAX_FEATURED:
        raise invalid("name", _("At most %(count)d tags.") % {"count": MAX_FEATURED})
    row = FeaturedTag.objects.create(user=user, tag_id=get_or_create_tag_ids([tag.name])[tag.name])
    return own.get(pk=row.pk)


@transaction.atomic
def choose_featured_tags(user: User, names: Iterable[str]) -> None:
    """Show exactly these tags on one's profile. Raises the errors of `feature_tag`, without changing anything."""
    chosen = {tag_named(name).name for name in names}
    FeaturedTag.objects.filter(user=user).exclude(tag__name__in=chosen).delete()
    for name in sorted(chosen):
        feature_tag(user, name)


def unfeature_tag(user: User, name: str) -> Tag:
    """Remove a tag from one's profile. Raises NotFound for an invalid name."""
    tag = tag_named(name)
    FeaturedTag.objects.filter(user=user, tag__name=tag.name).delete()
    return tag


def remove_featured_tag(user: User, row_id: int) -> None:
    """Remove a tag from one's profile, by the id of the row. Raises NotFound if it is not there."""
    deleted, _by_model = FeaturedTag.objects.filter(user=user, pk=row_id).delete()
    if not deleted:
        raise NotFound(_("This tag is not on your profile."))


def purge_past_follows() -> None:
    """Delete follows that ended more than `HOME_HISTORY_DAYS` ago."""
    until = timezone.now() - timedelta(days=settings.HOME_HISTORY_DAYS)
    purge(PastTagFollow.objects.filter(ended_at__lt=until).order_by("ended_at"))


def _lock(user: User) -> None:
    user.counts = UserCounts.objects.select_for_update().get(pk=user.pk)


def _count(user: User) -> None:
    number = TagFollow.objects.filter(user=user).count()
    UserCounts.objects.filter(pk=user.pk).update(followed_tags=number)
    viewer_changed(user.pk)
    user.counts.followed_tags = number
