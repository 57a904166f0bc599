"""Queries that read feeds. Queries for other people's private feeds raise NotFound."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.feeds.models import Feed


def feeds_of(owner: User) -> list[Feed]:
    """An account's feeds, oldest first."""
    return list(Feed.objects.filter(owner=owner).select_related("owner").order_by("pk"))


def pinned_feeds(viewer: User | None) -> list[Feed]:
    """The feeds that a viewer has as tabs, oldest first; makes no query for viewers who have none."""
    if viewer is None or not viewer.counts.pinned_feeds:
        return []
    return [feed for feed in feeds_of(viewer) if feed.is_pinned]


def own_feed(owner: User, feed_id: int) -> Feed:
    """One of the owner's feeds. Raises NotFound."""
    return _found(Feed.objects.filter(pk=feed_id, owner=owner).select_related("owner").first())


def readable_feed(viewer_id: int | None, feed_id: int) -> Feed:
    """A feed that is the viewer's own, or public; the owner must not be suspended. Raises NotFound."""
    rows = Feed.objects.filter(pk=feed_id, owner__suspended_at=None)
    return _readable(viewer_id, rows.select_related("owner").first())


def feed_at(viewer_id: int | None, owner: User, slug: str) -> Feed:
    """The feed at an address, if it is public or the viewer's own. Raises NotFound."""
    rows = Feed.objects.filter(owner=owner, slug=slug)
    return _readable(viewer_id, rows.select_related("owner").first())


def handles_in(feeds: Iterable[Feed]) -> dict[int, str]:
    """The handles of the people named in feeds, by id; without suspended accounts."""
    ids = {pk for feed in feeds for pk in (*feed.include_people, *feed.exclude_people)}
    rows = User.objects.filter(pk__in=ids, suspended_at=None) if ids else User.objects.none()
    return dict(rows.values_list("pk", "handle"))


def _readable(viewer_id: int | None, feed: Feed | None) -> Feed:
    return _found(feed if feed and (feed.is_public or feed.owner_id == viewer_id) else None)


def _found(feed: Feed | None) -> Feed:
    if feed is None:
        raise NotFound(_("There is no such feed."))
    return feed
