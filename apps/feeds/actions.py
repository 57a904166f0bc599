"""Actions on feeds. Those that save or delete a feed lock the owner's counts row first, so that the limits hold."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Func, Q, Value
from django.utils.text import slugify
from django.utils.translation import gettext as _

from apps.accounts.cache import viewer_changed
from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.accounts.queries import user_ids_named
from apps.addresses import without_own_host
from apps.errors import NotFound, invalid
from apps.feeds.models import (
    NAME_MAX_CHARACTERS,
    SLUG_MAX_CHARACTERS,
    WORDS_MAX_CHARACTERS,
    Feed,
)
from apps.feeds.queries import handles_in, own_feed
from apps.search.words import tsquery
from apps.tags.names import normalize

MAX_FEEDS = 20  # per account
MAX_PINNED = 3  # feeds that are shown as tabs next to the timelines
# People, tags and words per feed, together. A page runs a bounded scan for each include rule.
MAX_RULES = 50
MAX_PHRASES = 10  # phrases to include per feed; their scans cost most
INCLUDES = ("include_people", "include_tags", "include_words")
RULES = (*INCLUDES, "exclude_people", "exclude_tags", "exclude_words")
SWITCHES = (
    "languages",
    "only_media",
    "without_replies",
    "without_reposts",
    "is_public",
    "is_pinned",
)


def draft_feed(owner: User, **fields: Any) -> Feed:
    """An unsaved feed, to preview its posts. Raises Invalid like `create_feed`, but needs no name."""
    return _apply(Feed(owner=owner), {**fields, "name": "-"})


@transaction.atomic
def create_feed(owner: User, **fields: Any) -> Feed:
    """Create a feed. `fields` are columns of `Feed`, with people as handles, and with tags and words as typed.

    Raises Invalid if there is no name or no include rule, a person is unknown, a tag is not valid, a line of words has
    nothing to search for, or a limit is exceeded.
    """
    _lock(owner)
    if Feed.objects.filter(owner=owner).count() >= MAX_FEEDS:
        raise invalid("name", _("You can have up to %(count)d feeds.") % {"count": MAX_FEEDS})
    feed = _apply(Feed(owner=owner), {"name": "", **fields})
    feed.slug = _free_slug(owner, feed.name)
    return _save(feed)


@transaction.atomic
def change_feed(owner: User, feed_id: int, **fields: Any) -> Feed:
    """Change the given fields; the address stays the same. Raises NotFound, and Invalid like `create_feed`."""
    _lock(owner)
    return _save(_apply(own_feed(owner, feed_id), fields))


@transaction.atomic
def delete_feed(owner: User, feed_id: int) -> None:
    """Delete one of the owner's feeds. Raises NotFound."""
    _lock(owner)
    own_feed(owner, feed_id).delete()
    _count(owner)


def forget_person(user_id: int) -> int:
    """Remove a deleted account from the rules of all feeds; returns the number of feeds that named it."""
    without = {
        name: Func(F(name), Value(user_id), function="array_remove")
        for name in ("include_people", "exclude_people")
    }
    named = Q(include_people__contains=[user_id]) | Q(exclude_people__contains=[user_id])
    return Feed.objects.filter(named).update(**without)


def _apply(feed: Feed, fields: Mapping[str, Any]) -> Feed:
    handles = handles_in([feed])
    for name, value in fields.items():
        cleaned = _CLEAN[name](name, value) if name in _CLEAN else value
        if name.endswith("_people"):
            # forms and clients cannot name suspended people, whose rules apply again when they return
            cleaned += [pk for pk in getattr(feed, name) if pk not in handles]
        setattr(feed, name, cleaned)
    if not any(getattr(feed, name) for name in INCLUDES):
        raise invalid("include_people", _("Enter people, tags or words to include."))
    if sum(len(getattr(feed, name)) for name in RULES) > MAX_RULES:
        message = _("At most %(count)d people, tags and words in all.") % {"count": MAX_RULES}
        raise invalid("include_people", message)
    if len(feed.include_words) > MAX_PHRASES:
        message = _("At most %(count)d lines with words.") % {"count": MAX_PHRASES}
        raise invalid("include_words", message)
    return feed


def _save(feed: Feed) -> Feed:
    feed.save()
    if Feed.objects.filter(owner=feed.owner, is_pinned=True).count() > MAX_PINNED:
        raise invalid(
            "pinned", _("At most %(count)d feeds can be shown as tabs.") % {"count": MAX_PINNED}
        )
    _count(feed.owner)
    return feed


def _lock(owner: User) -> None:
    owner.counts = UserCounts.objects.select_for_update().get(pk=owner.pk)


def _count(owner: User) -> None:
    """Store the number of pinned feeds in the counts row, so that readers without any need no query."""
    number = Feed.objects.filter(owner=owner, is_pinned=True).count()
    UserCounts.objects.filter(pk=owner.pk).update(pinned_feeds=number)
    viewer_changed(owner.pk)
    owner.counts.pinned_feeds = number


def _free_slug(owner: User, name: str) -> str:
    """A slug made from the name, with a number if the owner has that slug already."""
    slug = slugify(name, allow_unicode=True)[: SLUG_MAX_CHARACTERS - 3] or "feed"
    taken = set(Feed.objects.filter(owner=owner).values_list("slug", flat=True))
    numbered = (f"{slug}-{number}" for number in range(2, MAX_FEEDS + 2))
    return next(free for free in (slug, *numbered) if free not in taken)


def _clean_name(_field: str, text: str) -> str:
    name = single_line(text)
    if not name:
        raise invalid("name", _("Give the feed a name."))
    if len(name) > NAME_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": NAME_MAX_CHARACTERS}
        raise invalid("name", message)
    return name


def _clean_people(field: str, handles: Sequence[str]) -> list[int]:
    names = list(dict.fromkeys(without_own_host(handle.strip()).lower() for handle in handles))
    try:
        return user_ids_named(names)
    except NotFound as error:
        raise invalid(field, error.message) from None


def _clean_tags(field: str, names: Sequence[str]) -> list[str]:
    tags = {name: normalize(name.strip()) for name in names}
    for name, tag in tags.items():
        if tag is None:
            raise invalid(field, _("“%(name)s” can't be a tag.") % {"name": name})
    return list(dict.fromkeys(filter(None, tags.values())))


def _clean_words(field: str, lines: Sequence[str]) -> list[str]:
    phrases = list(dict.fromkeys(map(single_line, lines)))
    for phrase in phrases:
        # the limit is for the NFKC form, which is searched: NFKC turns some characters into up to eighteen
        if len(unicodedata.normalize("NFKC", phrase)) > WORDS_MAX_CHARACTERS:
            message = _("At most %(count)d characters.") % {"count": WORDS_MAX_CHARACTERS}
            raise invalid(field, message)
        if not tsquery([phrase]):
            raise invalid(
                field, _("“%(words)s” contains no word to search for.") % {"words": phrase}
            )
    return phrases


def _clean_languages(_field: str, codes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(code.lower() for code in codes))


_CLEAN: dict[str, Callable[[str, Any], Any]] = {
    "name": _clean_name,
    "include_people": _clean_people,
    "include_tags": _clean_tags,
    "include_words": _clean_words,
    "exclude_people": _clean_people,
    "exclude_tags": _clean_tags,
    "exclude_words": _clean_words,
    "languages": _clean_languages,
}
