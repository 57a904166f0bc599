"""The cards of a feed, each in the element that says where it stands."""

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
    """A card and its place in the feed, from 1; `joined`: a line leads to the next."""

    card: PostCard
    place: int
    joined: bool = False

    def context(self) -> dict[str, str]:
        """What the element around a card says, as text, which templates are quick with."""
        whole = self.card.whole
        return {
            "kind": "post focused" if whole else "post thread-top" if self.joined else "post",
            "anchor": self.card.anchor,
            "tab_index": "0" if whole or self.place == 1 else "-1",
            "place": str(self.place),
            "html": self.card.html,
        }


class Explained(Protocol):
    """A post with its place in a feed, and the template of what is said below it, which gets it as `row`; "" for nothing."""

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
    """The cards of a feed, with so many others above."""
    viewer = _viewer(context)
    return _placed(
        PlacedCard(card_of(item, viewer, place)._replace(is_pinned=pinned), place)
        for place, item in enumerate(items, start=above + 1)
    )


@register.inclusion_tag(CARDS, takes_context=True)
def thread_cards(context: Context, rows: Iterable[ReplyRow], above: int = 0) -> dict[str, Any]:
    """The cards of a thread's answers, with so many others above."""
    viewer = _viewer(context)
    return _placed(
        PlacedCard(_card_of_row(row, viewer, place), place, row.joined)
        for place, row in enumerate(rows, start=above + 1)
    )


@register.inclusion_tag(CARDS, takes_context=True)
def ancestor_card(context: Context, item: FeedItem, place: int) -> dict[str, Any]:
    """The card of a post that stands above the one a thread is about."""
    card = card_of(item, _viewer(context), place)._replace(in_thread=True)
    return _placed([PlacedCard(card, place, joined=True)])


@register.inclusion_tag(CARDS, takes_context=True)
def focused_card(context: Context, item: FeedItem, place: int) -> dict[str, Any]:
    """The post that a thread is about, with all that is to be said of it."""
    card = card_of(item, _viewer(context), place)._replace(whole=True)
    return _placed([PlacedCard(card, place)])


@register.inclusion_tag(CARDS, takes_context=True)
def explained_cards(context: Context, rows: Iterable[Explained]) -> dict[str, Any]:
    """The cards of posts with something below each."""
    viewer = _viewer(context)
    return _placed(
        PlacedCard(
            card_of(row.item, viewer, row.place)._replace(below=_below(context, row)), row.place
        )
        for row in rows
    )


def _card_of_row(row: ReplyRow, viewer: Viewer, place: int) -> PostCard:
    return card_of(row.item, viewer, place)._replace(in_thread=row.in_thread, folded=row.folded)


def _viewer(context: Context) -> Viewer:
    return Viewer.of(context.get("viewer"), context.get("csrf_token"))


def _placed(cards: Iterable[PlacedCard]) -> dict[str, Any]:
    return {"cards": [one.context() for one in cards]}


def _below(context: Context, row: Explained) -> SafeString:
    if not row.template:
        return SafeString()
    with context.push(row=row):
        return Engine.get_default().get_template(row.template).render(context)
