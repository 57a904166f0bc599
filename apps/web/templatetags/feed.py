"""The cards of a feed, each in an <article> with its position."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from django import template
from django.template import Context, Engine
from django.utils.safestring import SafeString

from apps.timeline.pipeline.folding import ReplyRow
from apps.timeline.pipeline.items import FeedItem
from apps.web.post_card import PostCard, Viewer, card_of

register = template.Library()

CARDS = "timeline/_cards.html"


class PlacedCard(NamedTuple):
    """A card and its position in the feed, from 1; `joined`: a line leads to the next card."""

    card: PostCard
    place: int
    joined: bool = False

    def context(self) -> dict[str, str]:
        """For the <article> element around the card; all text, which templates render fastest."""
        is_focused = self.card.is_focused
        return {
            "kind": "post focused" if is_focused else "post thread-top" if self.joined else "post",
            "anchor": self.card.anchor,
            "tab_index": "0" if is_focused or self.place == 1 else "-1",
            "place": str(self.place),
            "html": self.card.html,
        }


class Explained(Protocol):
    """An item and its position; `template` renders the part below its card, with `row`."""

    @property
    def item(self) -> FeedItem: ...
    @property
    def place(self) -> int: ...
    @property
    def template(self) -> str: ...


@register.inclusion_tag(CARDS, takes_context=True)
def feed_cards(
    context: Context, items: Iterable[FeedItem], above: int = 0, *, pinned: bool = False
) -> dict[str, Any]:
    """`above` is how many cards precede these in the feed."""
    viewer = _viewer(context)
    return _placed(
        PlacedCard(card_of(item, viewer, place)._replace(is_pinned=pinned), place)
        for place, item in enumerate(items, start=above + 1)
    )


@register.inclusion_tag(CARDS, takes_context=True)
def thread_cards(context: Context, rows: Iterable[ReplyRow], above: int = 0) -> dict[str, Any]:
    """The replies of a thread; `above` is how many cards precede them."""
    viewer = _viewer(context)
    return _placed(
        PlacedCard(_card_of_row(row, viewer, place), place, row.joined)
        for place, row in enumerate(rows, start=above + 1)
    )


@register.inclusion_tag(CARDS, takes_context=True)
def ancestor_card(context: Context, item: FeedItem, place: int) -> dict[str, Any]:
    card = card_of(item, _viewer(context), place)._replace(in_thread=True)
    return _placed([PlacedCard(card, place, joined=True)])


@register.inclusion_tag(CARDS, takes_context=True)
def focused_card(context: Context, item: FeedItem, place: int) -> dict[str, Any]:
    """The post that a thread is about."""
    card = card_of(item, _viewer(context), place)._replace(is_focused=True)
    return _placed([PlacedCard(card, place)])


@register.inclusion_tag(CARDS, takes_context=True)
def explained_cards(context: Context, rows: Iterable[Explained]) -> dict[str, Any]:
    viewer = _viewer(context)
    return _placed(
        PlacedCard(
            card_of(row.item, viewer, row.place)._replace(below=_below(context, row)), row.place
        )
        for row in rows
    )


def _card_of_row(row: ReplyRow, viewer: Viewer, place: int) -> PostCard:
    return card_of(row.item, viewer, place)._replace(
        in_thread=row.in_thread, hidden_replies=row.folded
    )


def _viewer(context: Context) -> Viewer:
    return Viewer.of(context.get("viewer"), context.get("csrf_token"))


def _placed(cards: Iterable[PlacedCard]) -> dict[str, Any]:
    return {"cards": [card.context() for card in cards]}


def _below(context: Context, row: Explained) -> SafeString:
    if not row.template:
        return SafeString()
    with context.push(row=row):
        return Engine.get_default().get_template(row.template).render(context)
