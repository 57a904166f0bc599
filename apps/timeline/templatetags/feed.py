"""The cards of a feed, kept from one page to the next: most of a page is what other pages showed a moment ago.

A card is kept beside the content it shows, under all that its text depends on besides: who wrote it and how they look, the
counts, what the viewer did with it, what it quotes and how a poll stands, the language, the age in words. What differs every time, the token of its forms, the page
to come back to and its place in the feed, is put in anew, and so is what a page says below a post. Restricted posts, quotes of them
and what a filter warns of are never kept. A page of 20 cards costs a tenth of what it costs to render them: docs/performance.md.
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
from apps.accounts.templatetags.kept import anew, kept
from apps.accounts.templatetags.links import way_back
from apps.paging import Page
from apps.posts.content import PostContent
from apps.timeline.folding import Row
from apps.timeline.items import FeedItem

register = template.Library()

VARIANTS = 8  # of a card; whoever is shown in more ways is rendered anew now and then
PLACES = (
    1,
    2,
    3,
)  # in a feed, where a card differs: the first is focused, the third loads its pictures later
_PLAIN, _WHOLE = "timeline/_card.html", "timeline/_focused.html"
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
    """How a card differs from one of a plain feed; `in_thread`, `joined` and `folded` as in `folding.Row`.

    `whole`: the post that a thread is about.
    """

    is_pinned: bool = False
    in_thread: bool = False
    joined: bool = False
    folded: int = 0
    whole: bool = False
    below: SafeString = mark_safe("")


class Explained(Protocol):
    """A post with its place in a feed, and the template of what is said below it, which gets it as `row`; "" for nothing."""

    @property
    def item(self) -> FeedItem: ...
    @property
    def place(self) -> int: ...
    @property
    def template(self) -> str: ...


class _Common(NamedTuple):
    # what the cards of a page have in common
    language: str | None
    is_member: bool
    token: str  # of their forms
    now: datetime
    values: Mapping[str, str]  # by their marks

    @classmethod
    def of(cls, context: Context) -> "_Common":
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
    page, look = _Common.of(context), Look(is_pinned=pinned)
    places = enumerate(items, start=above + 1)
    return _joined([_card(context, page, item, place, look) for place, item in places])


@register.simple_tag(takes_context=True)
def feed(context: Context, label: str) -> SafeString:
    """The feed of a page: what is pinned, its cards, and around them the ways to newer and older posts."""
    asked = context["request"].GET
    pinned = context.get("pinned") or []
    cards = feed_cards(context, pinned, pinned=True) if pinned else ""
    cards += feed_cards(context, context["page"].items, len(pinned))
    return kept(
        "timeline/_feed.html",
        label=anew(label),
        newest=anew((asked.get("max_id") or asked.get("min_id")) and context["feed_url"]),
        again=anew(context["is_partial"] and context["request"].get_full_path()),
        cards=anew(mark_safe(cards)),  # noqa: S308 -- cards
        older=anew(older_posts(context)),
    )


@register.simple_tag(takes_context=True)
def older_posts(
    context: Context, page: Page[Any] | None = None, *, by_hand: bool = False, oob: bool = False
) -> SafeString:
    """The way to what is older than a page, or that there is nothing; by itself when it is in sight, or `by_hand`."""
    page = page or context["page"]
    viewer = context.get("viewer")
    return kept(
        "timeline/_older.html",
        address=anew(page.older and f"{context.get('feed_url', '')}?max_id={page.older}"),
        by_hand=by_hand or bool(context.get("by_hand")),
        by_button=bool(viewer and viewer.loads_by_button),
        is_end=bool(page.items or oob or context["request"].GET.get("max_id")),
        oob=oob,
    )


@register.simple_tag(takes_context=True)
def thread_cards(context: Context, rows: Iterable[Row], above: int = 0) -> SafeString:
    """The cards of a thread's answers, with so many others above."""
    page, places = _Common.of(context), enumerate(rows, start=above + 1)
    cards = (_card(context, page, row.item, place, _standing(row)) for place, row in places)
    return _joined(cards)


@register.simple_tag(takes_context=True)
def ancestor_card(context: Context, item: FeedItem, place: int) -> SafeString:
    """The card of a post that stands above the one a thread is about."""
    look = Look(in_thread=True, joined=True)
    return _joined([_card(context, _Common.of(context), item, place, look)])


@register.simple_tag(takes_context=True)
def focused_card(context: Context, item: FeedItem, place: int) -> SafeString:
    """The post that a thread is about, with all that is to be said of it."""
    return _joined([_card(context, _Common.of(context), item, place, Look(whole=True))])


@register.simple_tag(takes_context=True)
def explained_cards(context: Context, rows: Iterable[Explained]) -> SafeString:
    """The cards of posts with something below each."""
    page = _Common.of(context)
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


def _card(context: Context, page: _Common, item: FeedItem, position: int, look: Look) -> str:
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
    card = Engine.get_default().get_template(_WHOLE if look.whole else _PLAIN)
    with context.push(item=item, position=position, **look._asdict()):
        return card.render(context)


def _key(page: _Common, item: FeedItem, like: int, look: Look) -> tuple[Any, ...] | None:
    """All that a card depends on besides its content; None where it is not worth keeping, or may not be kept."""
    shown = item.shown
    post, counts, quoted = shown.post, shown.counts, shown.quoted
    are_open = post.is_open and item.post.is_open and (quoted is None or quoted.post.is_open)
    if shown.warnings or not are_open:
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
        quoted and _quote(page, quoted),
        post.poll and (shown.poll, shown.poll_is_over),
        page.language,
        page.is_member,
        bool(page.token),
        counts.reads if look.whole and shown.flags.own else None,
        like,
        look._replace(below=_BELOW) if look.below else look,
    )


def _quote(page: _Common, quoted: FeedItem) -> tuple[Any, ...]:
    created = age(quoted.post.created_at, now=page.now, language=page.language)
    return _TheSame(quoted.post), _looks(quoted.author), created


class _TheSame:
    """A part of a key: this very content, not one that is equal to it, which would take longer to find out."""

    __slots__ = ("_content",)

    def __init__(self, content: PostContent) -> None:
        self._content = content

    def __hash__(self) -> int:
        return id(self._content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TheSame) and self._content is other._content


def _looks(author: User) -> tuple[str, str, str]:
    shared = author.derived
    if shared is None:
        return author.handle, author.display_name, author.avatar.name or ""
    known: tuple[str, str, str] | None = shared.get("looks")
    if known is None:
        known = shared["looks"] = author.handle, author.display_name, author.avatar.name or ""
    return known
