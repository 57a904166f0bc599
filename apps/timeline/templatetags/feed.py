"""The cards of a feed, kept from one page to the next: most of a page is what other pages showed a moment ago.

A card is kept beside the content it shows, under all that its text depends on besides: who wrote it and how they look, the
counts, what the viewer did with it, the language, the age in words. What differs every time, the token of its forms, the page
to come back to and its place in the feed, is put in anew, and so is what a page says below a post. Restricted posts, polls, quotes and what a filter warns of are
never kept. A page of 20 cards costs a tenth of what it costs to render them: docs/performance.md.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from django import template
from django.template import Context, Engine
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from apps.accounts.models import User
from apps.accounts.templatetags.amounts import age
from apps.accounts.templatetags.links import way_back
from apps.timeline.folding import Row
from apps.timeline.items import FeedItem

register = template.Library()

VARIANTS = 8  # of a card; whoever is shown in more ways is rendered anew now and then
PLACES = (
    1,
    2,
    3,
)  # in a feed, where a card differs: the first is focused, the third loads its pictures later
_PLACE = 'aria-posinset="%s"'
_BELOW = mark_safe(
    "\0"
)  # where something is put in; no text of anybody's has it (feedsite.inputguard)
_BACK = f"\1{token_hex(8)}"  # likewise; also as a part of an address, where anybody could write %01 and guess the rest
_BACK_QUOTED = quote(_BACK)
_TOKEN, _SPOT = f"\2{token_hex(8)}", f"\3{token_hex(8)}"
# A card is kept in pieces: texts, and between them the marks of what is put in. To look for each of these in the text of every
# page was 3 % of a home page.
_KINDS = (_BELOW, _BACK, _BACK_QUOTED, _TOKEN, _SPOT)
_MARKS = re.compile(f"({'|'.join(map(re.escape, _KINDS))})")


class Look(NamedTuple):
    """How a card differs from one of a plain feed; `in_thread`, `joined` and `folded` as in `folding.Row`."""

    is_pinned: bool = False
    in_thread: bool = False
    joined: bool = False
    folded: int = 0
    below: SafeString = mark_safe("")


class Explained(Protocol):
    """A post with its place in a feed, and the template of what is said below it, which gets it as `row`; "" for nothing."""

    @property
    def item(self) -> FeedItem: ...
    @property
    def place(self) -> int: ...
    @property
    def template(self) -> str: ...


class _Page(NamedTuple):
    # what the cards of a page have in common
    language: str | None
    is_member: bool
    token: str  # of their forms
    now: datetime
    values: Mapping[str, str]  # by their marks

    @classmethod
    def of(cls, context: Context) -> "_Page":
        member = bool(context.get("viewer"))
        token = str(context.get("csrf_token") or "") if member else ""
        back = way_back(context)
        values = {_BACK: escape(back), _BACK_QUOTED: quote(back), _TOKEN: token}
        return cls(get_language(), member, token, timezone.now(), values)


@register.simple_tag(takes_context=True)
def feed_cards(
    context: Context, items: Iterable[FeedItem], above: int = 0, *, pinned: bool = False
) -> SafeString:
    """The cards of a feed, with so many others above; equal to what `timeline/_card.html` makes of them."""
    page, look = _Page.of(context), Look(is_pinned=pinned)
    places = enumerate(items, start=above + 1)
    return _joined((_card(context, page, item, place, look) for place, item in places))


@register.simple_tag(takes_context=True)
def thread_cards(context: Context, rows: Iterable[Row], above: int = 0) -> SafeString:
    """The cards of a thread's answers, with so many others above."""
    page, places = _Page.of(context), enumerate(rows, start=above + 1)
    cards = (_card(context, page, row.item, place, _standing(row)) for place, row in places)
    return _joined(cards)


@register.simple_tag(takes_context=True)
def explained_cards(context: Context, rows: Iterable[Explained]) -> SafeString:
    """The cards of posts with something below each."""
    page = _Page.of(context)
    cards = (
        _card(context, page, row.item, row.place, Look(below=_below(context, row))) for row in rows
    )
    return _joined(cards)


def _standing(row: Row) -> Look:
    return Look(in_thread=row.in_thread, joined=row.joined, folded=row.folded)


def _below(context: Context, row: Explained) -> SafeString:
    if not row.template:
        return SafeString()
    with context.push(row=row):
        return Engine.get_default().get_template(row.template).render(context)


def _joined(cards: Iterable[str]) -> SafeString:
    return mark_safe("".join(cards))  # noqa: S308 -- cards of a template


def _card(context: Context, page: _Page, item: FeedItem, position: int, look: Look) -> str:
    like = min(position, PLACES[-1])
    key = _key(page, item, like, look)
    if key is None:
        return _rendered(context, item, position, look)
    cards: dict[Any, list[str]] = item.shown.post.derived.setdefault("cards", {})
    pieces = cards.get(key)
    if pieces is None:
        left_open = look._replace(below=_BELOW) if look.below else look
        with context.push(way_back=_BACK):
            text = _rendered(context, item, like, left_open).replace(_PLACE % like, _PLACE % _SPOT)
        if len(cards) >= VARIANTS:
            cards.clear()
        text = text.replace(page.token, _TOKEN) if page.token else text
        pieces = cards[key] = _MARKS.split(text)
    return _filled(pieces, {**page.values, _SPOT: str(position), _BELOW: look.below})


def _filled(pieces: list[str], values: Mapping[str, str]) -> str:
    texts = pieces.copy()
    for at in range(1, len(texts), 2):
        texts[at] = values[texts[at]]
    return "".join(texts)


def _rendered(context: Context, item: FeedItem, position: int, look: Look) -> SafeString:
    card = Engine.get_default().get_template("timeline/_card.html")
    with context.push(item=item, position=position, **look._asdict()):
        return card.render(context)


def _key(page: _Page, item: FeedItem, like: int, look: Look) -> tuple[Any, ...] | None:
    """All that a card depends on besides its content; None where it is not worth keeping, or may not be kept."""
    shown = item.shown
    post, counts = shown.post, shown.counts
    is_plain = post.poll is None and post.source_id is None and not shown.warnings
    if not (is_plain and post.is_open and item.post.is_open):
        return None
    return (
        item.id,
        _looks(item.author) if item.is_repost else None,
        item.flags.own,
        _looks(shown.author),
        (counts.replies, counts.reposts, counts.likes),
        shown.flags,
        shown.reply_to_handle,
        age(post.created_at, now=page.now, language=page.language),
        post.edited_at and age(post.edited_at, now=page.now, language=page.language),
        page.language,
        page.is_member,
        bool(page.token),
        like,
        look._replace(below=_BELOW) if look.below else look,
    )


def _looks(author: User) -> tuple[str, str, str]:
    shared = author.derived
    if shared is None:
        return author.handle, author.display_name, author.avatar.name or ""
    known: tuple[str, str, str] | None = shared.get("looks")
    if known is None:
        known = shared["looks"] = author.handle, author.display_name, author.avatar.name or ""
    return known
