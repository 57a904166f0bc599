"""Reads of filters. Somebody else's filter is not found."""

from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.filters.matching import ActiveFilter, Keyword
from apps.filters.models import Act, Filter, FilterKeyword, FilterPost


def active_filters_of(viewer: User | None) -> list[ActiveFilter]:
    """The filters of a viewer that act now, in three queries; none for those who have no filter."""
    if viewer is None or not viewer.counts.filters:
        return []
    now = timezone.now()
    rows = _whole(Filter.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), owner=viewer))
    return [_active_filter(row) for row in rows]


def filters_of(owner: User) -> list[Filter]:
    """All filters of an account with what they look for, oldest first; expired ones too."""
    return list(_whole(Filter.objects.filter(owner=owner)))


def own_filter(owner: User, filter_id: int) -> Filter:
    """One of an account's own filters with what it looks for; NotFound."""
    found = _whole(Filter.objects.filter(pk=filter_id, owner=owner)).first()
    if found is None:
        raise NotFound(_("There is no such filter."))
    return found


def own_keyword(owner: User, keyword_id: int) -> FilterKeyword:
    """A keyword of one's own filters; NotFound."""
    rows = FilterKeyword.objects.filter(pk=keyword_id, filter__owner=owner)
    if (found := rows.select_related("filter").first()) is None:
        raise NotFound(_("There is no such keyword."))
    return found


def own_filter_post(owner: User, row_id: int) -> FilterPost:
    """A post of one's own filters, by the number of the row; NotFound."""
    rows = FilterPost.objects.filter(pk=row_id, filter__owner=owner)
    if (found := rows.select_related("filter").first()) is None:
        raise NotFound(_("This filter does not name this post."))
    return found


def _whole(rows: QuerySet[Filter]) -> QuerySet[Filter]:
    keywords = Prefetch("keywords", FilterKeyword.objects.order_by("pk"))
    posts = Prefetch("posts", FilterPost.objects.order_by("pk"))
    return rows.order_by("pk").prefetch_related(keywords, posts)


def _active_filter(row: Filter) -> ActiveFilter:
    return ActiveFilter(
        id=row.pk,
        title=row.title,
        places=frozenset(row.places),
        hides=row.act == Act.HIDE,
        expires_at=row.expires_at,
        keywords=[Keyword(one.pk, one.keyword, one.whole_word) for one in row.keywords.all()],
        posts={one.post_id: one.pk for one in row.posts.all()},
    )
