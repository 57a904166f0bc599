"""Template tag for the posts on the ranked page."""

from collections.abc import Iterable

from django import template
from django.template import Context
from django.template.loader import get_template
from django.utils.safestring import SafeString

from apps.ranking.ordering import Entry
from apps.web.post_card import PostCard, card_of
from apps.web.templatetags.cards import PlacedCard, placed, viewer_in

register = template.Library()


@register.simple_tag(takes_context=True)
def ranked_cards(context: Context, entries: Iterable[Entry]) -> SafeString:
    """Render entries as cards; if the page sets `why`, the factors of the score follow below each card."""
    viewer, why = viewer_in(context), context.get("why")

    def card(entry: Entry) -> PostCard:
        below = _factors(entry) if why else SafeString()
        return card_of(entry.item, viewer, entry.place)._replace(below=below)

    return placed(PlacedCard(card(entry), entry.place) for entry in entries)


@register.filter
def hundredths(value: float) -> str:
    """A figure with two decimals. A page has 400 of these, and `floatformat` takes ten times as long."""
    return f"{value:.2f}"


def _factors(entry: Entry) -> SafeString:
    reason = entry.scored.reason(entry.item.shown.author.handle)
    context = {"scored": entry.scored, "reason": reason}
    return SafeString(get_template("ranking/_reasons.html").render(context))
