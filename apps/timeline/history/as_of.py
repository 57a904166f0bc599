"""A home page as it was at an earlier time, limited to posts that the reader may see now. The ids come from PostgreSQL.

The beginning and end of each follow (with its options), mute, block and followed tag are recorded, but only the
beginning of circle memberships. Everything else is as it is today: texts of posts, filters, exclusive lists, the choice
to hide replies, suspensions. Past promotions and reads are not recorded, so no post is promoted or left out as read.
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
from apps.tags.models import Tag
from apps.tags.queries import tags_followed_before
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.facts import CompleteFacts, ReaderFacts
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Reader, assemble
from apps.timeline.pipeline.rulebook import OF_FRIENDS
from apps.timeline.sources import sql
from apps.timeline.sources.found import stored

MAX_DELETED = 100  # deleted posts are counted up to this number


@dataclass(frozen=True, slots=True)
class PastPage:
    """A home page of the past.

    `deleted`: how many posts in the range of the page, by the reader and the followees, have been deleted since, at
    most 100. Not counted are reposts; posts for friends, mentioned people or circles; posts by muted or blocked
    authors; and replies to strangers, if the reader hides them.
    """

    page: Page[FeedItem]
    deleted: int


def home_as_of(viewer: User, moment: datetime, cursor: Cursor) -> PastPage:
    """A page of the viewer's home as it was at the end of the second that contains `moment`.

    Raises BadRequest if `moment` is in the future.
    """
    second = moment.replace(microsecond=0)
    if second > timezone.now():
        raise BadRequest(_("That moment is in the future."), code="bad_moment")
    before = second + timedelta(seconds=1)
    past = relations_before(viewer.pk, before)
    tag_ids = tags_followed_before(viewer.pk, before)
    tags = set(Tag.objects.filter(pk__in=tag_ids).values_list("name", flat=True))
    top = id_after(second)
    newest = top if cursor.max_id is None else min(top, cursor.max_id)
    authors = past.following | {viewer.pk}
    page = assemble(
        stored(partial(sql.ids_of, viewer.pk, authors, tag_ids)),
        Reader(viewer, FilterContext.HOME),
        cursor=replace(cursor, max_id=newest),
        book=rulebook.HOME_RULES,
        complete_facts=_facts_before(viewer, past, tags, before),
    ).page
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
    """The time from which ended follows, mutes and blocks are stored."""
    applied = MigrationRecorder(connection).applied_migrations()
    began: datetime = applied["graph", "0002_past_relations"].applied
    return max(began, timezone.now() - timedelta(days=settings.HOME_HISTORY_DAYS))


def _facts_before(
    viewer: User, past: PastRelations, tags: set[str], before: datetime
) -> CompleteFacts:
    """The facts for the rules at the time `before`. Hydration has already dropped posts that the viewer may not see."""
    relations = Relations(
        following=set(past.following),
        muting=set(past.muting | past.severed),  # a block hid posts just as a mute does
        hiding_reposts=set(past.hiding_reposts),
    )

    def add(facts: ReaderFacts, items: Sequence[FeedItem]) -> ReaderFacts:
        authors = {item.post.author_id for item in items}
        for_friends = {item.post.author_id for item in items if item.post.visibility in OF_FRIENDS}
        return facts._replace(
            relations=relations,
            listed=exclusive_member_ids(viewer, among=authors),
            languages=past.languages,
            tags=tags,
            circles=past.circles,
            friends=past.following & followers_before(viewer.pk, for_friends, before),
        )

    return add
