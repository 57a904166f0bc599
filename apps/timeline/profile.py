"""The profile timeline: one author's posts as a viewer sees them.

Open posts, which are the same for every viewer, come from the author's outbox; for visitors (people who are not signed
in), the posts of this week and last week come from a cache that contains their contents. Restricted posts for this
viewer come from PostgreSQL, if the author ever wrote any, and so do all posts of a narrow filter (`is_narrow`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import ACCOUNT, WITH_COUNTS, account_of, user_id_by_handle
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.graph.queries import RELATIONSHIPS, Relationship, exact_relations, relationships_in
from apps.pagination import Cursor, Page
from apps.posts.models import Attachment, Kind, Post, Visibility
from apps.posts.recent import recent_posts
from apps.sql import rows_of_each
from apps.tags.names import normalize
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Batches, Reader, fill_page
from apps.timeline.pipeline.word_filters import apply_filters
from apps.timeline.sources import merge, outbox, sql
from apps.timeline.sources.found import Candidates, Found, stored
from feedcache.read_through import Batch, Future
from feedcache.structures.id_vector import IdVector

_PINNED = """ARRAY(
    SELECT id FROM posts_post WHERE author_id = %(owner)s AND deleted_at IS NULL AND pinned_at IS NOT NULL
    ORDER BY pinned_at DESC LIMIT %(pinned)s)"""
_FEATURED = """ARRAY(
    SELECT t.name FROM tags_featuredtag f JOIN tags_tag t ON t.id = f.tag_id
    WHERE f.user_id = %(owner)s ORDER BY f.id)"""
# Several statements in one round trip, because the owner, the viewer and the rest may be on different servers.
_HEAD = f"""
SELECT {ACCOUNT}, {_PINNED} FROM accounts_user u {WITH_COUNTS} WHERE c.user_id = %(owner)s AND u.suspended_at IS NULL;
{RELATIONSHIPS};
SELECT {_FEATURED}, {{badge}}, ARRAY[{{facts}}]::boolean[]
"""  # noqa: S608 -- constants
MAX_OWNERS = 20_000  # handles that a process caches
_owner_ids: dict[str, int] = {}  # ids by handle; the handle in the row is compared at each read
_WITH_MEDIA = [Kind.PICTURE, Kind.VIDEO, Kind.AUDIO]


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """Which of an author's posts belong on a page of the profile; `web.people.profile.TABS` has one for each tab."""

    # replies to others; replies in the author's own threads are always included
    replies: bool = True
    reposts: bool = True
    mentioned: bool = True  # posts for mentioned people
    only_pictures: bool = False
    tag: str = ""  # a hashtag without its #
    pinned: bool = True

    @property
    def is_narrow(self) -> bool:
        """Whether only PostgreSQL can filter the posts, because cached ids only tell replies from other posts."""
        return self.only_pictures or not self.reposts or not self.mentioned


@dataclass(frozen=True, slots=True)
class ProfileHead:
    """The owner of a profile, the viewer's relationship to the owner, the ids of the pinned posts (most recently pinned
    first), and the featured tags. `badge` and `facts` are the values of the SQL expressions passed to `profile_head`.
    """

    owner: User
    relationship: Relationship
    pinned_ids: list[int]
    featured_tags: list[str]
    badge: list[int] | None
    facts: list[bool]


def profile_head(
    handle: str, viewer_id: int | None, *, badge: str = "NULL", facts: Sequence[str] = ()
) -> ProfileHead:
    """The head of a profile, in one query; in two if this process has not cached the handle's id, in three if the
    cached id is outdated. Raises NotFound.

    `badge` and `facts` are SQL expressions that are evaluated in the same query; they may use `%(viewer)s` and
    `%(owner)s`.
    """
    name, statement = handle.lower(), _HEAD.format(badge=badge, facts=", ".join(facts))
    known = _owner_ids.get(name)
    head = _read_head(statement, known, viewer_id) if known else None
    if head is None or head.owner.handle != name:
        if len(_owner_ids) >= MAX_OWNERS:
            _owner_ids.clear()
        owner_id = _owner_ids[name] = user_id_by_handle(name)
        head = _read_head(statement, owner_id, viewer_id)
    if head is None:
        raise NotFound(_("There is no account with this handle."))
    return head


def _read_head(statement: str, owner_id: int, viewer_id: int | None) -> ProfileHead | None:
    values = {
        "owner": owner_id,
        "others": [owner_id],
        "viewer": viewer_id,
        "pinned": settings.PINNED_POSTS_MAX,
    }
    owners, related, [(featured, number, held)] = rows_of_each(statement, values)
    for *account, pinned in owners:
        [relationship] = relationships_in(related, [owner_id])
        owner = account_of(tuple(account))
        return ProfileHead(owner, relationship, pinned, featured, number, held)
    return None


def profile_timeline(
    author: User,
    viewer: User | None,
    cursor: Cursor,
    only: ProfileFilter,
    *,
    batches: Batches | None = None,
) -> Page[FeedItem]:
    """A page of an author's posts and reposts; mutes do not apply here."""
    candidates: Candidates
    replies, viewer_id = only.replies, viewer.pk if viewer else None
    batches = batches or Batches(Batch(), Batch())
    if only.is_narrow:
        candidates = stored(partial(_filtered_ids, author, viewer_id, only))
    elif viewer_id is None:
        candidates = partial(_open, author, replies=replies)
    else:
        short = outbox.ask_short(batches.first, author.pk, author.counts.outbox_revision)
        candidates = stored(partial(profile_ids, author, viewer_id, replies=replies, short=short))
    page = fill_page(
        candidates,
        Reader(viewer, FilterContext.ACCOUNT),
        cursor=cursor,
        book=rulebook.only("chosen", partial(_is_chosen, only)),
        batches=batches,
    )
    if not page.items and author.pk in exact_relations(viewer_id, [author.pk]).severed:
        return Page()  # the cursor would reveal the id of a post that the viewer may not see
    return page


def pinned_posts(author: User, viewer: User | None) -> list[FeedItem]:
    """The author's pinned posts that the viewer may see, most recently pinned first."""
    pinned = Post.objects.filter(author=author, deleted_at=None).exclude(pinned_at=None)
    newest = pinned.order_by("-pinned_at")[: settings.PINNED_POSTS_MAX]
    return pinned_items(viewer, list(newest.values_list("pk", flat=True)))


def pinned_items(viewer: User | None, ids: Sequence[int]) -> list[FeedItem]:
    """The pinned posts with these ids, without those that the viewer may not see or that the viewer's filters hide."""
    items = hydrate(viewer.pk if viewer else None, ids).items if ids else []
    return apply_filters(viewer, FilterContext.ACCOUNT, items)


def _is_chosen(only: ProfileFilter, item: FeedItem) -> bool:
    has_tag = not only.tag or normalize(only.tag) in item.post.tags
    return has_tag and (only.pinned or not item.post.pinned)


def _filtered_ids(
    author: User, viewer_id: int | None, only: ProfileFilter, cursor: Cursor, count: int
) -> list[int]:
    follows = (
        viewer_id is not None and author.pk in exact_relations(viewer_id, [author.pk]).following
    )
    conditions = Q()
    if only.only_pictures:
        pictures = Attachment.objects.filter(post=OuterRef("pk"), author_id=author.pk)
        conditions &= Q(kind__in=_WITH_MEDIA) | Q(Q(kind=Kind.QUOTE), Exists(pictures))
    if not only.reposts:
        conditions &= ~Q(kind=Kind.REPOST)
    if not only.mentioned:
        conditions &= ~Q(visibility=Visibility.MENTIONED)
    if not only.replies:
        conditions &= sql.is_not_reply_to_others()
    return sql.author_ids(
        author.pk, viewer_id, follows=follows, cursor=cursor, count=count, only=conditions
    )


def _open(author: User, cursor: Cursor, count: int, *, replies: bool) -> Found:
    """Candidates for visitors: the author's posts of these two weeks, cached with contents; below them, the outbox."""
    recent = recent_posts(author, cursor, count, replies=replies)
    contents = {post.id: post for post in recent.posts}
    rest = recent.rest(cursor, count)
    if rest is None:
        return Found(list(contents), contents)
    revision, remaining = author.counts.outbox_revision, count - len(contents)
    below, _total = outbox.ids_of_author(author.pk, revision, rest, remaining, replies=replies)
    return Found([*contents, *below], contents)


def profile_ids(
    author: User,
    viewer_id: int | None,
    cursor: Cursor,
    count: int,
    *,
    replies: bool,
    short: Future[dict[int, IdVector]] | None = None,
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds and in its order."""
    counts = author.counts
    public, _total = outbox.ids_of_author(
        author.pk, counts.outbox_revision, cursor, count, replies=replies, short=short
    )
    if viewer_id is None or not counts.wrote_restricted:
        return public
    restricted = sql.restricted_ids(
        author.pk, viewer_id, cursor=_until(public, cursor, count), count=count, replies=replies
    )
    return merge.first_ids([public, restricted], count, ascending=cursor.ascending)


def _until(ids: list[int], cursor: Cursor, count: int) -> Cursor:
    """The cursor, ended at the last of `ids` if they fill the page, because no later id can then be on the page."""
    if len(ids) < count:
        return cursor
    last = ids[-1]
    return replace(cursor, max_id=last) if cursor.ascending else replace(cursor, since_id=last)
