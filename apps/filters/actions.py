"""Writes of filters. The owner's counts row is locked first, so that limits hold."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.errors import Invalid, NotFound
from apps.filters.matching import fold
from apps.filters.models import (
    KEYWORD_MAX_CHARACTERS,
    TITLE_MAX_CHARACTERS,
    Act,
    Filter,
    FilterContext,
    FilterKeyword,
    FilterPost,
)
from apps.filters.queries import own_filter, own_filter_post, own_keyword
from apps.posts.queries import visible_posts

MAX_FILTERS = 50  # of one owner
MAX_KEYWORDS = 100  # of one filter
MAX_POSTS = 100  # that one filter names
MAX_SECONDS = 10 * 366 * 24 * 3600  # until a filter expires


@dataclass(frozen=True, slots=True)
class KeywordChange:
    """A keyword to add, or with an `id` to change or to drop; None leaves a thing as it is."""

    id: int | None = None
    keyword: str | None = None
    whole_word: bool | None = None
    drop: bool = False


@dataclass(frozen=True, slots=True)
class FilterChange:
    """What a filter is to be; None leaves a thing as it is. `expires_in` counts seconds from now, 0 means never."""

    title: str | None = None
    places: Collection[str] | None = None
    act: str | None = None
    expires_in: int | None = None
    keywords: Sequence[KeywordChange] = ()


@transaction.atomic
def create_filter(owner: User, wanted: FilterChange) -> Filter:
    """Make a filter. Invalid without title or places, for unknown ones, and beyond 50 filters of 100 keywords."""
    _lock(owner)
    if Filter.objects.filter(owner=owner).count() >= MAX_FILTERS:
        raise _invalid("title", _("At most %(count)d filters.") % {"count": MAX_FILTERS})
    made = Filter(owner=owner)
    complete = FilterChange(
        wanted.title or "", wanted.places or [], wanted.act, wanted.expires_in, wanted.keywords
    )
    return _written(owner, made, complete)


@transaction.atomic
def change_filter(owner: User, filter_id: int, wanted: FilterChange) -> Filter:
    """Change a filter and its keywords, all of it or nothing. NotFound, Invalid."""
    _lock(owner)
    return _written(owner, own_filter(owner, filter_id), wanted)


@transaction.atomic
def delete_filter(owner: User, filter_id: int) -> None:
    """Delete a filter. NotFound."""
    _lock(owner)
    own_filter(owner, filter_id).delete()
    _count(owner)


@transaction.atomic
def add_keyword(owner: User, filter_id: int, *, keyword: str, whole_word: bool) -> FilterKeyword:
    """Look for one more word. NotFound, Invalid."""
    _lock(owner)
    found = own_filter(owner, filter_id)
    _change_keyword(found, KeywordChange(None, keyword, whole_word))
    return FilterKeyword.objects.filter(filter=found).order_by("-pk")[0]


@transaction.atomic
def change_keyword(
    owner: User, keyword_id: int, *, keyword: str | None, whole_word: bool | None
) -> FilterKeyword:
    """Look for another word instead. NotFound, Invalid."""
    found = own_keyword(owner, keyword_id)
    _change_keyword(found.filter, KeywordChange(keyword_id, keyword, whole_word))
    return own_keyword(owner, keyword_id)


@transaction.atomic
def delete_keyword(owner: User, keyword_id: int) -> None:
    """Look for a word no more. NotFound."""
    own_keyword(owner, keyword_id).delete()


@transaction.atomic
def change_only_keyword(owner: User, keyword_id: int, wanted: FilterChange) -> None:
    """Change a keyword and the filter that it makes up alone. Of a filter with more of them only the keyword. NotFound, Invalid."""
    _lock(owner)
    found = own_keyword(owner, keyword_id).filter
    if found.keywords.count() > 1:
        places = found.places if wanted.places is None else _clean_places(wanted.places)
        if wanted.expires_in or (places, wanted.act or found.act) != (found.places, found.act):
            raise _invalid("context", _("This filter has more keywords: change it as a whole."))
        wanted = FilterChange(keywords=wanted.keywords)
    _written(owner, own_filter(owner, found.pk), wanted)


@transaction.atomic
def delete_last_keyword(owner: User, keyword_id: int) -> None:
    """Look for a word no more, and delete its filter when that looks for nothing else. NotFound."""
    _lock(owner)
    word = own_keyword(owner, keyword_id)
    word.delete()
    if not (word.filter.keywords.exists() or word.filter.posts.exists()):
        word.filter.delete()
        _count(owner)


@transaction.atomic
def add_post(owner: User, filter_id: int, post_id: int) -> FilterPost:
    """Let a filter find a post that its owner may see; twice is once. NotFound, Invalid beyond 100."""
    _lock(owner)
    found = own_filter(owner, filter_id)
    if post_id not in visible_posts(owner.pk, [post_id]).posts:
        raise NotFound(_("This post isn't here."))
    if found.posts.exclude(post_id=post_id).count() >= MAX_POSTS:
        raise _invalid("status_id", _("At most %(count)d posts.") % {"count": MAX_POSTS})
    row, _made = FilterPost.objects.get_or_create(filter=found, post_id=post_id)
    return row


@transaction.atomic
def remove_post(owner: User, row_id: int) -> None:
    """A filter finds a post no more. NotFound."""
    own_filter_post(owner, row_id).delete()


def _written(owner: User, found: Filter, wanted: FilterChange) -> Filter:
    found.title = found.title if wanted.title is None else _clean_title(wanted.title)
    found.places = found.places if wanted.places is None else _clean_places(wanted.places)
    found.act = found.act if wanted.act is None else _clean_act(wanted.act)
    if wanted.expires_in is not None:
        seconds = min(wanted.expires_in, MAX_SECONDS)
        found.expires_at = timezone.now() + timedelta(seconds=seconds) if seconds > 0 else None
    found.save()
    for change in wanted.keywords:
        _change_keyword(found, change)
    _count(owner)
    return own_filter(owner, found.pk)


def _change_keyword(found: Filter, change: KeywordChange) -> None:
    rows = FilterKeyword.objects.filter(filter=found)
    row = FilterKeyword(filter=found) if change.id is None else rows.filter(pk=change.id).first()
    if row is None:
        raise NotFound(_("There is no such keyword."))
    if change.drop:
        if change.id is not None:
            row.delete()
        return
    if change.id is None and rows.count() >= MAX_KEYWORDS:
        raise _invalid("keyword", _("At most %(count)d keywords.") % {"count": MAX_KEYWORDS})
    if change.keyword is not None or change.id is None:
        row.keyword = _clean_keyword(change.keyword or "")
    row.whole_word = row.whole_word if change.whole_word is None else change.whole_word
    row.save()


def _lock(owner: User) -> None:
    owner.counts = UserCounts.objects.select_for_update().get(pk=owner.pk)


def _count(owner: User) -> None:
    number = Filter.objects.filter(owner=owner).count()
    UserCounts.objects.filter(pk=owner.pk).update(filters=number)
    owner.counts.filters = number


def _clean_title(text: str) -> str:
    return _clean("title", text, TITLE_MAX_CHARACTERS, _("Give the filter a title."))


def _clean_keyword(text: str) -> str:
    keyword = _clean("keyword", text, KEYWORD_MAX_CHARACTERS, _("Say what to look for."))
    if not fold(keyword):
        raise _invalid("keyword", _("Say what to look for."))
    return keyword


def _clean(name: str, text: str, maximum: int, empty: str) -> str:
    line = single_line(text)
    if not line:
        raise _invalid(name, empty)
    if len(line) > maximum:
        raise _invalid(name, _("At most %(count)d characters.") % {"count": maximum})
    return line


def _clean_places(places: Collection[str]) -> list[str]:
    if not places or not set(places) <= set(FilterContext.values):
        raise _invalid("context", _("Say where the filter acts."))
    return [place for place in FilterContext.values if place in places]


def _clean_act(act: str) -> str:
    if act not in Act.values:
        raise _invalid("filter_action", _("Choose one of the list."))
    return act


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(message, errors={name: message})
