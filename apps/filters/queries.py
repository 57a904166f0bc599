"""Queries that read filters. Queries for another account's filters raise NotFound."""

from collections.abc import Collection, Iterable, Mapping

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.filters.cache import FILTERS, Owner
from apps.filters.matching import NO_FILTERS, ActiveFilter, Filters, Keyword, fold
from apps.filters.models import (
    MAX_FOLDED_CHARACTERS,
    MAX_KEYWORDS,
    Filter,
    FilterKeyword,
    FilterPost,
)
from feedcache.read_through import Batch, Future


def active_filters_of(viewer: User | None) -> Filters:
    """A viewer's filters, from Memcached; reads nothing for a viewer without filters."""
    if viewer is None or not viewer.counts.filters:
        return NO_FILTERS
    return _only(FILTERS.get_many([_key(viewer)], _load))


def ask_active_filters(batch: Batch, viewer: User | None) -> Future[Filters]:
    """Like `active_filters_of`, but reads them in a batch."""
    if viewer is None or not viewer.counts.filters:
        return lambda: NO_FILTERS
    found = batch.get_many(FILTERS, [_key(viewer)], _load, stage="rules")
    return lambda: _only(found())


def _key(owner: User) -> Owner:
    return owner.pk, owner.counts.filters_revision


def _load(owners: Collection[Owner]) -> dict[Owner, Filters]:
    """Load filters, in three queries for each owner."""
    return {key: Filters(_active_filters(_rows_of(key[0]))) for key in owners}


def _rows_of(owner_id: int) -> QuerySet[Filter]:
    return _with_contents(Filter.objects.filter(owner=owner_id))


def _only(found: Mapping[Owner, Filters]) -> Filters:
    return next(iter(found.values()), NO_FILTERS)


def filters_of(owner: User) -> list[Filter]:
    """An account's filters with keywords and posts, oldest first, including expired ones."""
    return list(_rows_of(owner.pk))


def own_filter(owner: User, filter_id: int) -> Filter:
    """An account's filter with keywords and posts. Raises NotFound."""
    found = _with_contents(Filter.objects.filter(pk=filter_id, owner=owner)).first()
    if found is None:
        raise NotFound(_("There is no such filter."))
    return found


def own_keyword(owner: User, keyword_id: int) -> FilterKeyword:
    """A keyword in one of the owner's filters. Raises NotFound."""
    rows = FilterKeyword.objects.filter(pk=keyword_id, filter__owner=owner)
    if (found := rows.select_related("filter").first()) is None:
        raise NotFound(_("There is no such keyword."))
    return found


def own_filter_post(owner: User, row_id: int) -> FilterPost:
    """A post in one of the owner's filters, by the id of the row. Raises NotFound."""
    rows = FilterPost.objects.filter(pk=row_id, filter__owner=owner)
    if (found := rows.select_related("filter").first()) is None:
        raise NotFound(_("This filter does not include this post."))
    return found


def _with_contents(rows: QuerySet[Filter]) -> QuerySet[Filter]:
    keywords = Prefetch("keywords", FilterKeyword.objects.order_by("pk"))
    posts = Prefetch("posts", FilterPost.objects.order_by("pk"))
    return rows.order_by("pk").prefetch_related(keywords, posts)


def _active_filters(rows: Iterable[Filter]) -> list[ActiveFilter]:
    """Filters with folded keywords. Keywords beyond an account's limits, which older versions allowed, are left out."""
    found = []
    count = characters = 0
    for row in rows:
        keywords = []
        for each in row.keywords.all():
            if count < MAX_KEYWORDS and characters < MAX_FOLDED_CHARACTERS:
                folded = fold(each.keyword)
                count, characters = count + 1, characters + len(folded)
                keywords.append(Keyword(each.keyword, folded, each.whole_word))
        found.append(_active_filter(row, keywords))
    return found


def _active_filter(row: Filter, keywords: list[Keyword]) -> ActiveFilter:
    return ActiveFilter(
        id=row.pk,
        title=row.title,
        places=frozenset(row.places),
        act=row.act,
        expires_at=row.expires_at,
        keywords=keywords,
        posts={each.post_id: each.pk for each in row.posts.all()},
    )
