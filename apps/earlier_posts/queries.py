"""Reads earlier posts. A viewer who may see an account sees its earlier posts according to their visibility."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.earlier_posts.models import EarlierPicture, EarlierPost
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.graph.queries import exact_relations
from apps.media.addresses import address_of
from apps.pagination import not_a_day, parse_day
from apps.posts.content.post import Picture
from apps.posts.content.text import html
from apps.posts.models import OPEN, Visibility

PAGE = 20
QUERY_CHARACTERS = 100

# In the SQL of a profile: whether its owner, `%(owner)s`, has earlier posts that `%(viewer)s` may see.
HAS_EARLIER_POSTS = f"""EXISTS (
    SELECT 1 FROM earlier_posts_earlierpost post WHERE post.owner_id = %(owner)s AND (
        post.visibility <> '{Visibility.FOLLOWERS}' OR post.owner_id = %(viewer)s
        OR post.owner_id IN (
            SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s AND followee_id = %(owner)s)))"""  # noqa: S608 -- a constant


@dataclass(frozen=True, slots=True)
class Shown:
    """An earlier post for a page. `warnings`: the titles of the viewer's filters that match it.

    `thread`: the id of the post that it answers, if that is an earlier post of the same owner that the viewer may see.
    """

    row: EarlierPost
    pictures: Sequence[Picture] = ()
    warnings: Sequence[str] = ()
    thread: int | None = None

    @property
    def id(self) -> int:
        return self.row.pk

    @property
    def html(self) -> SafeString:
        """The text as HTML. The handles in it belong to people on other sites, so no handle becomes a link."""
        return html(self.row.body, handles=())

    # attributes that the template of pictures reads
    @property
    def post(self) -> "Shown":
        return self

    @property
    def content_warning(self) -> str:
        return self.row.content_warning

    @property
    def sensitive(self) -> bool:
        return self.row.sensitive

    @property
    def language(self) -> str:
        return self.row.language


@dataclass(frozen=True, slots=True)
class EarlierPage:
    posts: list[Shown] = field(default_factory=list)
    older: int | None = None  # the id of the last post of this page, if there are older ones


def earlier_posts(
    owner: User, viewer: User | None, *, text: str = "", day: str = "", after: int | None = None
) -> EarlierPage:
    """A page of an account's earlier posts, newest first.

    `text` selects posts that contain it, `day` those written up to that day, and `after` those older than the post with
    that id. Raises BadRequest for an invalid day, and NotFound if the viewer may not see the post `after`.
    """
    visible = rows = _visible(owner, viewer)
    if text:
        rows = rows.filter(Q(body__icontains=text) | Q(content_warning__icontains=text))
    if day:
        rows = rows.filter(written_at__lt=_after(day))
    if after is not None:
        last = visible.filter(pk=after).first()
        if last is None:
            raise _not_here()
        same = Q(written_at=last.written_at, pk__lt=last.pk)
        rows = rows.filter(Q(written_at__lt=last.written_at) | same)
    found = list(rows.order_by("-written_at", "-pk")[: PAGE + 1])
    page = found[:PAGE]
    older = page[-1].pk if len(found) > PAGE else None
    return EarlierPage(_shown(page, visible, viewer, hides=True), older)


def earlier_post(owner: User, viewer: User | None, post_id: int) -> Shown:
    """One earlier post. Raises NotFound if the viewer may not see it."""
    visible = _visible(owner, viewer)
    row = visible.filter(pk=post_id).first()
    if row is None:
        raise _not_here()
    return _shown([row], visible, viewer, hides=False)[0]


def is_served(name: str) -> bool:
    """Whether a stored picture belongs to an earlier post whose owner is not suspended."""
    named = EarlierPicture.objects.filter(Q(file=name) | Q(preview=name))
    return named.filter(post__owner__suspended_at=None).exists()


def _visible(owner: User, viewer: User | None) -> QuerySet[EarlierPost]:
    rows = EarlierPost.objects.filter(owner=owner)
    if viewer is not None and viewer.pk == owner.pk:
        return rows
    related = exact_relations(viewer.pk if viewer else None, [owner.pk])
    if owner.pk in related.severed:
        return rows.none()
    return rows if owner.pk in related.following else rows.filter(visibility__in=OPEN)


def _shown(
    rows: Sequence[EarlierPost],
    visible: QuerySet[EarlierPost],
    viewer: User | None,
    *,
    hides: bool,
) -> list[Shown]:
    """Posts of one owner with pictures, threads and matching filters. `hides`: leave out posts that filters hide."""
    pictures: dict[int, list[Picture]] = {row.pk: [] for row in rows}
    for picture in EarlierPicture.objects.filter(post__in=rows).order_by("post", "position"):
        pictures[picture.post_id].append(_picture(picture))
    answered = {row.reply_to for row in rows if row.reply_to}
    threads = dict(visible.filter(origin__in=answered).values_list("origin", "pk"))
    filters = active_filters_of(viewer)
    shown = []
    for row in rows:
        texts = (row.body, row.content_warning, *(picture.alt for picture in pictures[row.pk]))
        is_own = viewer is not None and viewer.pk == row.owner_id
        matches = [
            match.filter
            for match in (() if is_own else filters.matches(0, texts, timezone.now()))
            if FilterContext.ACCOUNT in match.filter.places
        ]
        if not (hides and any(one.hides for one in matches)):
            titles = [one.title for one in matches]
            shown.append(Shown(row, pictures[row.pk], titles, threads.get(row.reply_to)))
    return shown


def _picture(row: EarlierPicture) -> Picture:
    return Picture(
        id=row.pk,
        url=address_of(row.file),
        width=row.width,
        height=row.height,
        alt=row.alt,
        preview_url=address_of(row.preview),
        blurhash=row.blurhash,
        focus_x=row.focus_x,
        focus_y=row.focus_y,
        moves=row.moves,
    )


def _after(day: str) -> datetime:
    """The beginning (UTC) of the day after `day`."""
    begins = parse_day(day)
    try:
        return begins + timedelta(days=1)
    except OverflowError:
        raise not_a_day() from None


def _not_here() -> NotFound:
    return NotFound(_("This post isn't here."))
