"""Actions on filters. Each locks the owner's counts row first, so that the limits hold."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.errors import NotFound, invalid
from apps.events.live import announce
from apps.filters.matching import fold
from apps.filters.models import (
    KEYWORD_MAX_CHARACTERS,
    MAX_FOLDED_CHARACTERS,
    MAX_KEYWORDS,
    TITLE_MAX_CHARACTERS,
    Filter,
    FilterAction,
    FilterContext,
    FilterKeyword,
    FilterPost,
)
from apps.filters.queries import own_filter, own_filter_post, own_keyword
from apps.posts.queries import visible_posts

MAX_FILTERS = 50  # per account
MAX_KEYWORDS_OF_FILTER = 100
MAX_POSTS = 100  # per filter
MAX_SECONDS = 10 * 366 * 24 * 3600  # later expiries are reduced to this


@dataclass(frozen=True, slots=True)
class KeywordChange:
    """A keyword to add or, with an `id`, to change or delete. None leaves a field unchanged."""

    id: int | None = None
    keyword: str | None = None
    whole_word: bool | None = None
    delete: bool = False


@dataclass(frozen=True, slots=True)
class FilterChange:
    """Changes to a filter; None leaves a field unchanged. `expires_in` is in seconds from now; 0 means never."""

    title: str | None = None
    places: Collection[str] | None = None
    act: str | None = None
    expires_in: int | None = None
    keywords: Sequence[KeywordChange] = ()


@transaction.atomic
def create_filter(owner: User, change: FilterChange) -> Filter:
    """Create a filter. Raises Invalid if a value is missing or unknown, or if a limit is exceeded."""
    _lock(owner)
    if Filter.objects.filter(owner=owner).count() >= MAX_FILTERS:
        raise invalid("title", _("You can have up to %(count)d filters.") % {"count": MAX_FILTERS})
    complete = replace(change, title=change.title or "", places=change.places or [])
    return _apply(owner, Filter(owner=owner), complete)


@transaction.atomic
def change_filter(owner: User, filter_id: int, change: FilterChange) -> Filter:
    """Make all changes to a filter and its keywords, or none. Raises NotFound or Invalid."""
    _lock(owner)
    return _apply(owner, own_filter(owner, filter_id), change)


@transaction.atomic
def delete_filter(owner: User, filter_id: int) -> None:
    """Delete a filter. Raises NotFound."""
    _lock(owner)
    own_filter(owner, filter_id).delete()
    _changed(owner)


@transaction.atomic
def add_keyword(
    owner: User, filter_id: int, *, keyword: str, whole_word: bool | None = None
) -> FilterKeyword:
    """Add a keyword to a filter. Raises NotFound or Invalid."""
    _lock(owner)
    found = own_filter(owner, filter_id)
    _change_keywords(owner, found, [KeywordChange(None, keyword, whole_word)])
    _changed(owner)
    return FilterKeyword.objects.filter(filter=found).order_by("-pk")[0]


@transaction.atomic
def change_keyword(
    owner: User, keyword_id: int, *, keyword: str | None, whole_word: bool | None
) -> FilterKeyword:
    """Change a keyword; None leaves a field unchanged. Raises NotFound or Invalid."""
    _lock(owner)
    row = own_keyword(owner, keyword_id)
    _change_keywords(owner, row.filter, [KeywordChange(keyword_id, keyword, whole_word)])
    _changed(owner)
    return own_keyword(owner, keyword_id)


@transaction.atomic
def delete_keyword(owner: User, keyword_id: int) -> None:
    """Delete a keyword. Raises NotFound."""
    _lock(owner)
    own_keyword(owner, keyword_id).delete()
    _changed(owner)


@transaction.atomic
def change_only_keyword(owner: User, keyword_id: int, change: FilterChange) -> None:
    """Change a keyword and, if its filter has no other keyword, the filter too, as version 1 of the API does.

    Raises NotFound or Invalid. If there are other keywords, the title is ignored, and another expiry, other places or
    another action raise Invalid.
    """
    _lock(owner)
    found = own_keyword(owner, keyword_id).filter
    if found.keywords.count() > 1:
        places = found.places if change.places is None else _clean_places(change.places)
        expires = change.expires_in is not None and (change.expires_in or found.expires_at)
        if expires or (places, change.act or found.act) != (found.places, found.act):
            raise invalid("context", _("This filter has several keywords: edit the whole filter."))
        change = FilterChange(keywords=change.keywords)
    _apply(owner, own_filter(owner, found.pk), change)


@transaction.atomic
def delete_last_keyword(owner: User, keyword_id: int) -> None:
    """Delete a keyword, and its filter if no other keyword or post is left in it. Raises NotFound."""
    _lock(owner)
    keyword = own_keyword(owner, keyword_id)
    keyword.delete()
    if not (keyword.filter.keywords.exists() or keyword.filter.posts.exists()):
        keyword.filter.delete()
    _changed(owner)


@transaction.atomic
def add_post(owner: User, filter_id: int, post_id: int) -> FilterPost:
    """Add a post that the owner may see. Idempotent. Raises NotFound, or Invalid beyond 100 posts."""
    _lock(owner)
    found = own_filter(owner, filter_id)
    if post_id not in visible_posts(owner.pk, [post_id]).posts:
        raise NotFound(_("This post isn't here."))
    if found.posts.exclude(post_id=post_id).count() >= MAX_POSTS:
        raise invalid("status_id", _("At most %(count)d posts per filter.") % {"count": MAX_POSTS})
    row, _created = FilterPost.objects.get_or_create(filter=found, post_id=post_id)
    _changed(owner)
    return row


@transaction.atomic
def remove_post(owner: User, row_id: int) -> None:
    """Remove a post from a filter, by the id of its `FilterPost` row. Raises NotFound."""
    _lock(owner)
    own_filter_post(owner, row_id).delete()
    _changed(owner)


def _apply(owner: User, found: Filter, change: FilterChange) -> Filter:
    found.title = found.title if change.title is None else _clean_title(change.title)
    found.places = found.places if change.places is None else _clean_places(change.places)
    found.act = found.act if change.act is None else _clean_act(change.act)
    if change.expires_in is not None:
        seconds = min(change.expires_in, MAX_SECONDS)
        found.expires_at = timezone.now() + timedelta(seconds=seconds) if seconds > 0 else None
    found.save()
    _change_keywords(owner, found, change.keywords)
    _changed(owner)
    return own_filter(owner, found.pk)


def _change_keywords(owner: User, found: Filter, changes: Sequence[KeywordChange]) -> None:
    for change in changes:
        _change_keyword(found, change)
    if any(change.keyword is not None and not change.delete for change in changes):
        _check_allowance(owner)


def _change_keyword(found: Filter, change: KeywordChange) -> None:
    rows = FilterKeyword.objects.filter(filter=found)
    row = FilterKeyword(filter=found) if change.id is None else rows.filter(pk=change.id).first()
    if row is None:
        raise NotFound(_("There is no such keyword."))
    if change.delete:
        if change.id is not None:
            row.delete()
        return
    if change.id is None and rows.count() >= MAX_KEYWORDS_OF_FILTER:
        maximum = {"count": MAX_KEYWORDS_OF_FILTER}
        raise invalid("keyword", _("At most %(count)d keywords per filter.") % maximum)
    if change.keyword is not None or change.id is None:
        row.keyword = _clean_keyword(change.keyword or "")
    row.whole_word = row.whole_word if change.whole_word is None else change.whole_word
    row.save()


def _check_allowance(owner: User) -> None:
    """Raise Invalid if an account has too many keywords, or if they are too long in total."""
    rows = FilterKeyword.objects.filter(filter__owner=owner)
    keywords = list(rows.values_list("keyword", flat=True)[: MAX_KEYWORDS + 1])
    if len(keywords) > MAX_KEYWORDS:
        message = _("All filters together can have at most %(count)d keywords.")
        raise invalid("keyword", message % {"count": MAX_KEYWORDS})
    if sum(len(fold(keyword)) for keyword in keywords) > MAX_FOLDED_CHARACTERS:
        message = _("The keywords of all filters together can have at most %(count)d characters.")
        raise invalid("keyword", message % {"count": MAX_FOLDED_CHARACTERS})


def _lock(owner: User) -> None:
    owner.counts = UserCounts.objects.select_for_update().get(pk=owner.pk)


def _changed(owner: User) -> None:
    """Store the number of filters, increment the revision so that the cached filters are not read, and tell clients."""
    owner.counts.filters = Filter.objects.filter(owner=owner).count()
    owner.counts.filters_revision += 1
    owner.counts.save(update_fields=["filters", "filters_revision"])
    announce("filters_changed", user_id=owner.pk)


def _clean_title(text: str) -> str:
    return _clean("title", text, TITLE_MAX_CHARACTERS, _("Give the filter a title."))


def _clean_keyword(text: str) -> str:
    keyword = _clean("keyword", text, KEYWORD_MAX_CHARACTERS, _("Enter words to filter."))
    _clean("keyword", fold(keyword), KEYWORD_MAX_CHARACTERS, _("Enter words to filter."))
    return keyword


def _clean(name: str, text: str, maximum: int, empty: str) -> str:
    line = single_line(text)
    if not line:
        raise invalid(name, empty)
    if len(line) > maximum:
        raise invalid(name, _("At most %(count)d characters.") % {"count": maximum})
    return line


def _clean_places(places: Collection[str]) -> list[str]:
    if not places or not set(places) <= set(FilterContext.values):
        raise invalid("context", _("Choose where the filter applies."))
    return [place for place in FilterContext.values if place in places]


def _clean_act(act: str) -> str:
    if act not in FilterAction.values:
        raise invalid("filter_action", _("Choose one of the options."))
    return act
