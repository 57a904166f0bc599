"""Reads of filters. Filters of other accounts are NotFound."""

from collections.abc import Collection, Mapping

from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.filters.cache import FILTERS, Owner
from apps.filters.matching import ActiveFilter, Keyword
from apps.filters.models import Filter, FilterAction, FilterKeyword, FilterPost
from feedcache.read_through import Batch, Future


def active_filters_of(viewer: User | None) -> list[ActiveFilter]:
    """A viewer's filters that have not expired, from Memcached; without any filter nothing is read."""
    if viewer is None or not viewer.counts.filters:
        return []
    return _unexpired(FILTERS.get_many([_key(viewer)], _load))


def ask_active_filters(batch: Batch, viewer: User | None) -> Future[list[ActiveFilter]]:
    """The same as a part of a batch."""
    if viewer is None or not viewer.counts.filters:
        return list
    found = batch.get_many(FILTERS, [_key(viewer)], _load, stage="rules")
    return lambda: _unexpired(found())


def _key(owner: User) -> Owner:
    return owner.pk, owner.counts.filters_revision


def _load(owners: Collection[Owner]) -> dict[Owner, list[ActiveFilter]]:
    """In three queries for each owner; expired filters too."""
    return {key: [_active_filter(row) for row in _rows_of(key[0])] for key in owners}


def _rows_of(owner_id: int) -> QuerySet[Filter]:
    return _with_contents(Filter.objects.filter(owner=owner_id))


def _unexpired(found: Mapping[Owner, list[ActiveFilter]]) -> list[ActiveFilter]:
    now = timezone.now()
    return [
        each
        for filters in found.values()
        for each in filters
        if each.expires_at is None or each.expires_at > now
    ]


def filters_of(owner: User) -> list[Filter]:
    """An account's filters with keywords and posts, oldest first, including expired ones."""
    return list(_rows_of(owner.pk))


def own_filter(owner: User, filter_id: int) -> Filter:
    """An account's filter with keywords and posts. NotFound."""
    found = _with_contents(Filter.objects.filter(pk=filter_id, owner=owner)).first()
    if found is None:
        raise NotFound(_("There is no such filter."))
    return found


def own_keyword(owner: User, keyword_id: int) -> FilterKeyword:
    """NotFound."""
    rows = FilterKeyword.objects.filter(pk=keyword_id, filter__owner=owner)
    if (found := rows.select_related("filter").first()) is None:
        raise NotFound(_("There is no such keyword."))
    return found


def own_filter_post(owner: User, row_id: int) -> FilterPost:
    """By the id of the row. NotFound."""
    rows = FilterPost.objects.filter(pk=row_id, filter__owner=owner)
    if (found := rows.select_related("filter").first()) is None:
        raise NotFound(_("This filter does not name this post."))
    return found


def _with_contents(rows: QuerySet[Filter]) -> QuerySet[Filter]:
    keywords = Prefetch("keywords", FilterKeyword.objects.order_by("pk"))
    posts = Prefetch("posts", FilterPost.objects.order_by("pk"))
    return rows.order_by("pk").prefetch_related(keywords, posts)


def _active_filter(row: Filter) -> ActiveFilter:
    return ActiveFilter(
        id=row.pk,
        title=row.title,
        places=frozenset(row.places),
        hides=row.act == FilterAction.HIDE,
        expires_at=row.expires_at,
        keywords=[Keyword(each.pk, each.keyword, each.whole_word) for each in row.keywords.all()],
        posts={each.post_id: each.pk for each in row.posts.all()},
    )
