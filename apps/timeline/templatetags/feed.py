"""The cards of a feed, kept from one page to the next: most of a page is what other pages showed a moment ago.

A card is kept beside the content it shows, under all that its text depends on besides: who wrote it and how they look, the
counts, what the viewer did with it, the language, the age in words, the page to come back to. What differs every time,
the token of its forms and its place in the feed, is put in anew. Restricted posts, polls, quotes and what a filter warns of are
never kept. A page of 20 cards costs a tenth of what it costs to render them: docs/performance.md.
"""

from typing import Any

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


@register.simple_tag(takes_context=True)
def feed_card(context: Context, item: FeedItem, position: int) -> SafeString:
    """The card of an item at its place in a feed, counted from 1; equal to what `timeline/_card.html` makes of it."""
    like = max(place for place in PLACES if place <= position)
    token = str(context.get("csrf_token") or "") if context.get("viewer") else ""
    key = _key(context, item, like, has_token=bool(token))
    if key is None:
        return _rendered(context, item, position)
    cards: dict[Any, list[str]] = item.shown.post.derived.setdefault("cards", {})
    pieces = cards.get(key)
    if pieces is None:
        text = _rendered(context, item, like).replace(_PLACE % like, _PLACE % "")
        pieces = text.split(token) if token else [text]
        if len(cards) >= VARIANTS:
            cards.clear()
        cards[key] = pieces
    return mark_safe(token.join(pieces).replace(_PLACE % "", _PLACE % position, 1))  # noqa: S308 -- a template's, and a token


def _rendered(context: Context, item: FeedItem, position: int) -> SafeString:
    card = Engine.get_default().get_template("timeline/_card.html")
    with context.push(item=item, position=position):
        return card.render(context)


def _key(context: Context, item: FeedItem, like: int, *, has_token: bool) -> tuple[Any, ...] | None:
    """All that a card depends on besides its content; None where it is not worth keeping, or may not be kept."""
    shown = item.shown
    post, counts = shown.post, shown.counts
    is_plain = post.poll is None and post.source_id is None and not shown.warnings
    is_plain = is_plain and not context.get("reasons")  # why it is ranked where it is
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
        get_language(),
        way_back(context),
        context.get("viewer") is not None,
        has_token,
        like,
    )


def _looks(author: User) -> tuple[str, str, str]:
    return author.handle, author.display_name, author.avatar.name or ""
