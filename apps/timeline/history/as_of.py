"""What a home page was at a moment: from rows, without caches, and never more than its reader may see now.

Known are follows with their options, mutes, blocks and followed tags, as they began and ended. Everything else is as it
is today: what posts say, filters, whether replies to strangers are hidden, exclusive lists, suspensions. What was
promoted or read is not known, so nothing is promoted and nothing left out as read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import BadRequest
from apps.filters.models import FilterContext
from apps.graph.groups.queries import exclusive_member_ids
from apps.graph.past import PastRelations, followers_before, relations_before
from apps.graph.queries import Relations
from apps.pagination import Cursor, Page, id_after
from apps.posts.models import Visibility
from apps.tags.models import Tag
from apps.tags.queries import tags_followed_before
from apps.timeline.home import is_reply_to_stranger, is_unwanted_language
from apps.timeline.pipeline.page import FeedItem, Reader, Rule, fill_page
from apps.timeline.sources import sql

MAX_DELETED = 100  # counted for a page


@dataclass(frozen=True, slots=True)
class PastPage:
    """A home page of the past. `deleted`: so many posts within its range have been deleted since, at most 100."""

    page: Page[FeedItem]
    deleted: int


def home_as_of(viewer: User, moment: datetime, cursor: Cursor) -> PastPage:
    """A page of what the viewer's home was at the end of the second of a moment.

    BadRequest for a moment that has not come.
    """
    second = moment.replace(microsecond=0)
    if second > timezone.now():
        raise BadRequest(_("That moment has not come yet."), code="bad_moment")
    before = second + timedelta(seconds=1)
    past = relations_before(viewer.pk, before)
    tag_ids = tags_followed_before(viewer.pk, before)
    tags = set(Tag.objects.filter(pk__in=tag_ids).values_list("name", flat=True))
    top = id_after(second)
    newest = top if cursor.max_id is None else min(top, cursor.max_id)
    authors = past.following | {viewer.pk}
    page = fill_page(
        partial(sql.ids_of, viewer.pk, authors, tag_ids),
        Reader(viewer, FilterContext.HOME),
        cursor=replace(cursor, max_id=newest),
        rule=_rule(viewer, past, tags, before),
    )
    oldest = max(cursor.floor, page.older - 1 if page.older else 0)
    known = Q(reply_to=None) | Q(author=viewer) | Q(reply_to__author=F("author"))
    deleted = sql.deleted_between(
        authors - past.muting - past.severed,
        before,
        oldest,
        newest,
        MAX_DELETED,
        only=known | Q(reply_to__author__in=authors) if viewer.hides_replies else None,
    )
    return PastPage(page, deleted)


def history_begins() -> datetime:
    """Since when it is known what has ended."""
    applied = MigrationRecorder(connection).applied_migrations()
    began: datetime = applied["graph", "0002_past_relations"].applied
    return max(began, timezone.now() - timedelta(days=settings.HOME_HISTORY_DAYS))


def _rule(viewer: User, past: PastRelations, tags: set[str], before: datetime) -> Rule:
    """The rule of home, with the relations of the moment; hydration has left out what may not be seen now."""
    hidden_authors = past.muting | past.severed
    followed = past.following | {viewer.pk}

    def is_hidden(item: FeedItem) -> bool:
        author_id = item.post.author_id
        return (
            not hidden_authors.isdisjoint((author_id, item.shown.post.author_id))
            or (item.is_repost and author_id in past.hiding_reposts)
            or is_unwanted_language(item, past.languages)
            or (viewer.hides_replies and is_reply_to_stranger(item, followed))
        )

    def has_reason(item: FeedItem, followed_back: set[int]) -> bool:
        post, author_id = item.post, item.post.author_id
        if author_id == viewer.pk:
            return True
        if post.visibility == Visibility.CIRCLE:
            return post.circle_id in past.circles
        if post.visibility == Visibility.FRIENDS and author_id not in followed_back:
            return False
        has_tag = post.visibility == Visibility.PUBLIC and not post.tags.keys().isdisjoint(tags)
        return author_id in past.following or has_tag

    def belonging(items: Sequence[FeedItem], _relations: Relations) -> list[FeedItem]:
        elsewhere = exclusive_member_ids(viewer, among={item.post.author_id for item in items})
        items = [item for item in items if item.post.author_id not in elsewhere]
        posts = [item.post for item in items if item.post.visibility == Visibility.FRIENDS]
        back = followers_before(viewer.pk, {post.author_id for post in posts}, before)
        return [item for item in items if not is_hidden(item) and has_reason(item, back)]

    return belonging
