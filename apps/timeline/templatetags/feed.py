"""The cards of a feed, kept from one page to the next: most of a page is what other pages showed a moment ago.

A card is kept beside the content it shows, under all that its text depends on besides: who wrote it and how they look, the
counts, what the viewer did with it, the language, the age in words, the page to come back to. What differs every time,
the token of its forms and its place in the feed, is put in anew. Restricted posts, polls, quotes and what a filter warns of are
never kept. A page of 20 cards costs a tenth of what it costs to render them: docs/performance.md.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django import template
from django.template import Context, Engine
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from apps.accounts.models import User
from apps.accounts.templatetags.amounts import ago
from apps.accounts.templatetags.links import way_back
from apps.timeline.items import FeedItem

register = template.Library()

VARIANTS = 8  # of a card; whoever is shown in more ways is rendered anew now and then
PLACES = (
    1,
    2,
    4,
)  # in a feed, where a card differs: the first is focused, the fourth loads its pictures later
_PLACE = 'aria-posinset="%s"'


class _Page(NamedTuple):
    # what the cards of a page have in common
    language: str | None
    back: str
    is_member: bool
    token: str  # of their forms

    @classmethod
    def of(cls, context: Context) -> "_Page":
        member = bool(context.get("viewer"))
        token = str(context.get("csrf_token") or "") if member else ""
        return cls(get_language(), way_back(context), member, token)


@register.simple_tag(takes_context=True)
def feed_cards(context: Context, items: Iterable[FeedItem], above: int = 0) -> SafeString:
    """The cards of a feed, with so many others above; equal to what `timeline/_card.html` makes of them."""
    page, is_ranked = _Page.of(context), bool(context.get("reasons"))
    cards = [
        _rendered(context, item, position) if is_ranked else _card(context, page, item, position)
        for position, item in enumerate(items, start=above + 1)
    ]
    return mark_safe("".join(cards))  # noqa: S308 -- cards of a template


def _card(context: Context, page: _Page, item: FeedItem, position: int) -> str:
    like = PLACES[-1] if position > PLACES[-1] else max(one for one in PLACES if one <= position)
    key = _key(page, item, like)
    if key is None:
        return _rendered(context, item, position)
    cards: dict[Any, list[str]] = item.shown.post.derived.setdefault("cards", {})
    pieces = cards.get(key)
    if pieces is None:
        text = _rendered(context, item, like).replace(_PLACE % like, _PLACE % "")
        pieces = text.split(page.token) if page.token else [text]
        if len(cards) >= VARIANTS:
            cards.clear()
        cards[key] = pieces
    return page.token.join(pieces).replace(_PLACE % "", _PLACE % position, 1)


def _rendered(context: Context, item: FeedItem, position: int) -> SafeString:
    card = Engine.get_default().get_template("timeline/_card.html")
    with context.push(item=item, position=position):
        return card.render(context)


def _key(page: _Page, item: FeedItem, like: int) -> tuple[Any, ...] | None:
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
        ago(post.created_at),
        post.edited_at and ago(post.edited_at),
        page.language,
        page.back,
        page.is_member,
        bool(page.token),
        like,
    )


def _looks(author: User) -> tuple[str, str, str]:
    shared = author.derived
    if shared is None:
        return author.handle, author.display_name, author.avatar.name or ""
    known: tuple[str, str, str] | None = shared.get("looks")
    if known is None:
        known = shared["looks"] = author.handle, author.display_name, author.avatar.name or ""
    return known
