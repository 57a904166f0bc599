"""The cards of a feed: their texts and buttons, and the <article> element around each."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from django import template
from django.conf import settings
from django.template import Context
from django.template.loader import get_template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext

from apps.audit.explain import Explanation
from apps.engagement.models import ReactionName
from apps.engagement.queries import PollResult
from apps.languages import html_language
from apps.posts.content.post import Picture
from apps.posts.models import Visibility
from apps.timeline.pipeline.items import FeedItem, reposts_by_source
from apps.timeline.thread import ReplyRow
from apps.web.fragments import render_fragment
from apps.web.hooks import DRAWN_PICTURES
from apps.web.post_card import CardItem, PostCard, Viewer, card_of, circle_label, reposter_of
from apps.web.templatetags.amounts import compact, exact, moment

register = template.Library()

TALL_LINES = 12
# Columns in a line of a card, on a desktop and on a phone 390 px wide. An ideograph takes two columns.
WIDE_COLUMNS, NARROW_COLUMNS = 70, 38
MAX_DESCRIPTION_CHARACTERS = 200  # of the description in meta elements


@register.filter
def visibility_label(visibility: str) -> str:
    return str(Visibility(visibility).label)


@register.filter
def audience(item: FeedItem | CardItem) -> str:
    """The label of a post's visibility, or of its circle."""
    if item.post.circle_id is not None:
        return circle_label(item.circle_name)
    return visibility_label(item.post.visibility)


_TIME = "\0"  # a placeholder for the time in a sentence


@register.filter
def reason(explanation: Explanation) -> SafeString:
    """The sentence of an explanation as HTML: its time is a `<time>` element, author and reposter are links."""
    when, item = explanation.when, explanation.item
    text = str(escape(explanation.sentence(_TIME) if when else explanation.text))
    handles = "|".join({item.author.handle, item.shown.author.handle})
    html = re.sub(rf"@({handles})\b", r'<a href="/@\1">@\1</a>', text, flags=re.ASCII)
    return mark_safe(html.replace(_TIME, moment(when)) if when else html)  # noqa: S308 -- escaped above


@register.filter
def language_tag(language: str) -> str:
    return html_language(language)


@register.filter
def in_sight(picture: Picture) -> str:
    """CSS classes for the focus of a cropped picture, rounded to five steps in each direction."""
    across, down = round(2 + 2 * picture.focus_x), round(2 - 2 * picture.focus_y)
    return f"fx{across} fy{down}"


@register.filter
def fold(body: str) -> str:
    """CSS classes of a text: `tall` if all cards cut the text off, `tall narrow` if only narrow cards do, else none."""
    if _lines(body, columns=WIDE_COLUMNS) > TALL_LINES:
        return "tall"
    return "tall narrow" if _lines(body, columns=NARROW_COLUMNS) > TALL_LINES else ""


def _lines(body: str, *, columns: int) -> int:
    """An estimate of the number of lines of a text."""
    return sum(
        max(1, -(-sum(1 + (east_asian_width(one) in "WF") for one in line) // columns))
        for line in body.split("\n")
    )


@dataclass(frozen=True, slots=True)
class PollOption:
    """An option with its share of the votes. If votes are hidden or not loaded, `is_known` is false and `percent` 0."""

    title: str
    percent: int = 0
    is_known: bool = False
    is_own: bool = False


@register.filter
def poll_options(item: FeedItem | CardItem) -> list[PollOption]:
    poll, result = item.post.poll, item.poll or PollResult()
    titles = poll.options if poll else ()
    is_known = item.shows_votes and len(result.votes) == len(titles)
    return [
        PollOption(
            title,
            percent=round(100 * result.votes[number] / max(1, result.voters)) if is_known else 0,
            is_known=is_known,
            is_own=number in result.own,
        )
        for number, title in enumerate(titles)
    ]


@register.simple_tag
def post_meta(item: FeedItem) -> SafeString:
    """The meta elements of a post's page, from which other sites make previews.

    A post that is not public has only its canonical address and `noindex`.
    """
    shown = item.shown
    post, author = shown.post, shown.author
    about: dict[str, Any] = {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "url": shown.url,
    }
    if post.visibility == Visibility.PUBLIC:
        still = next((picture for picture in post.pictures if picture.still_url), None)
        hides = post.sensitive or post.content_warning
        about |= {
            "author": f"{author.name} (@{author.handle})",
            "text": post.content_warning or Truncator(post.body).chars(MAX_DESCRIPTION_CHARACTERS),
            "is_indexable": author.is_indexable,
            "picture": None if hides else still,
            "drawn": next(iter(DRAWN_PICTURES), None),
        }
    return render_fragment("timeline/_post_meta.html", **about)


@register.simple_tag
def menu_pattern() -> dict[str, Any]:
    """A placeholder for a post, with which the menu template is rendered once.

    For each card, `app.js` copies that menu, and replaces these placeholders and the template's `~anchor~`.
    """
    author = {"url": "/@~handle~", "handle": "~handle~"}
    return {
        "url": "/@~handle~/~post~",
        "short_url": "~short~",
        "author": author,
        "post": {"id": "~post~"},
        "can_quote": True,
    }


@register.inclusion_tag("timeline/_toggle.html", takes_context=True)
def toggle(context: Context, verb: str) -> dict[str, Any]:
    """A like, repost or bookmark button; for visitors, a link to the login page."""
    item, button = context["item"], BUTTONS[verb]
    pressed, number, label = button.state(item)
    return {
        "is_member": context["is_member"],
        "address": f"/posts/{item.post.id}/{'un' if pressed else ''}{verb}",
        "url": item.url,
        # sent only if the card's id is not the post's, as for a repost, so that the redirect returns to this card
        "at": "" if context["anchor"] == str(item.post.id) else f"p{context['anchor']}",
        "pressed": "true" if pressed else "false",
        "label": label,
        "number": str(number),
        "shown_number": compact(number) if number else "",
        "look": button.look,
        "symbol": button.symbol,
    }


def _like_state(item: CardItem) -> tuple[bool, int, str]:
    number = item.counts.likes
    label = ngettext("Like, %(number)s like", "Like, %(number)s likes", number)
    return item.flags.liked, number, label % {"number": exact(number)}


def _repost_state(item: CardItem) -> tuple[bool, int, str]:
    number = item.counts.reposts
    label = ngettext("Repost, %(number)s repost", "Repost, %(number)s reposts", number)
    return item.flags.reposted, number, label % {"number": exact(number)}


def _bookmark_state(item: CardItem) -> tuple[bool, int, str]:
    return item.flags.bookmarked, 0, gettext("Bookmark")


class Button(NamedTuple):
    """The CSS class and icon of a button. `state` returns whether it is pressed, the number on it, and its label."""

    look: str
    symbol: str
    state: Callable[[CardItem], tuple[bool, int, str]]


BUTTONS = {  # by verb
    "like": Button("like", "heart", _like_state),
    "repost": Button("boost", "repeat-2", _repost_state),
    "bookmark": Button("mark", "bookmark", _bookmark_state),
}


class ReactionChip(NamedTuple):
    """A reaction below a post. A click adds or removes it."""

    name: str
    emoji: str
    number: int
    pressed: bool
    verb: str


@register.filter
def reactions(item: CardItem) -> list[ReactionChip]:
    """The reactions that people have added to a post."""
    return [
        ReactionChip(name, emoji, number, pressed, "unreact" if pressed else f"react_{name}")
        for name, emoji in ReactionName.choices
        if (number := getattr(item.counts, name))
        for pressed in [item.flags.reaction == name]
    ]


@register.simple_tag
def all_reactions() -> list[tuple[str, str]]:
    """All reactions: the verb and the emoji of each."""
    return [(f"react_{name}", emoji) for name, emoji in ReactionName.choices]


class PlacedCard(NamedTuple):
    """A card and its position in the feed, counted from 1.

    `joined`: a line connects it to the next card. `left_off`: the line “You left off here” is above this card.
    """

    card: PostCard
    place: int
    joined: bool = False
    left_off: bool = False

    @property
    def html(self) -> SafeString:
        """The card in its <article> element. For speed, the element has no template: a page has twenty of them."""
        card, place = self.card, self.place
        line = render_fragment("timeline/_left_off.html") if self.left_off else ""
        kind = "post focused" if card.is_focused else "post thread-top" if self.joined else "post"
        tab_index = 0 if card.is_focused or place == 1 else -1
        label = f"{'left-off ' if line else ''}p{card.anchor}n p{card.anchor}t"
        return SafeString(
            f'<article class="{kind}" id="p{card.anchor}" tabindex="{tab_index}" aria-posinset="{place}"'
            f' aria-setsize="-1" aria-labelledby="{label}">{line}{card.html}</article>\n'
        )


@register.simple_tag(takes_context=True)
def feed_cards(
    context: Context, items: Sequence[FeedItem], above: int = 0, *, pinned: bool = False
) -> SafeString:
    """The cards of items. `above` is the number of cards that precede them in the feed.

    On pages that set `groups_reposts`, the reposts of one post, except promoted ones, are one card, at the position of
    the first. The line "You left off here" is above the first item whose id is at most the context's `line_id`.
    """
    viewer = viewer_in(context)
    reposts = reposts_by_source(items) if context.get("groups_reposts") else {}
    repeated = {item.id for group in reposts.values() for item in group[1:]}

    def card(item: FeedItem, place: int) -> PostCard:
        alone = card_of(item, viewer, place)
        if pinned:
            alone = alone._replace(is_pinned=True)
        group = reposts.get(item.shown.id)
        if group is None or item is not group[0]:
            return alone
        return alone._replace(reposters=tuple(map(reposter_of, group)))

    shown = [item for item in items if item.id not in repeated]
    line_id = context.get("line_id")
    below = next((item.id for item in shown if item.id <= line_id), None) if line_id else None
    return placed(
        PlacedCard(card(item, place), place, left_off=item.id == below)
        for place, item in enumerate(shown, start=above + 1)
    )


@register.simple_tag(takes_context=True)
def older_link(context: Context) -> SafeString:
    """The link to older posts. It loads them into this page; if the context's `by_hand` is true, it is a plain link."""
    url = escape(f"{context['feed_url']}?max_id={context['page'].older}")
    loads = ""
    if not context.get("by_hand"):
        viewer = context.get("viewer")
        trigger = "click" if viewer and viewer.loads_by_button else "intersect once, click"
        loads = f' hx-get="{url}" hx-trigger="{trigger}" hx-target="#feed" hx-swap="beforeend"'
    return SafeString(f'<a href="{url}"{loads}>{escape(gettext("Older posts"))}</a>')


@register.simple_tag(takes_context=True)
def thread_cards(context: Context, rows: Iterable[ReplyRow], above: int = 0) -> SafeString:
    """The replies of a thread; `above` is the number of cards that precede them."""
    viewer = viewer_in(context)
    return placed(
        PlacedCard(_card_of_row(row, viewer, place), place, row.joined)
        for place, row in enumerate(rows, start=above + 1)
    )


@register.simple_tag(takes_context=True)
def ancestor_card(context: Context, item: FeedItem, place: int) -> SafeString:
    card = card_of(item, viewer_in(context), place)._replace(in_thread=True)
    return placed([PlacedCard(card, place, joined=True)])


@register.simple_tag(takes_context=True)
def focused_card(context: Context, item: FeedItem, place: int) -> SafeString:
    """The card of the post that a thread page is about."""
    card = card_of(item, viewer_in(context), place)._replace(is_focused=True)
    if receipt := context.get("receipt"):
        below = get_template("timeline/_receipt.html").render({"receipt": receipt, "url": item.url})
        card = card._replace(below=SafeString(below))
    return placed([PlacedCard(card, place)])


def _card_of_row(row: ReplyRow, viewer: Viewer, place: int) -> PostCard:
    return card_of(row.item, viewer, place)._replace(
        in_thread=row.in_thread, hidden_replies=row.folded
    )


def viewer_in(context: Context) -> Viewer:
    """The facts about the reader that cards depend on."""
    return Viewer.of(context.get("viewer"), context.get("csrf_token"))


def placed(cards: Iterable[PlacedCard]) -> SafeString:
    """The HTML of cards, one after the other."""
    return SafeString("".join([card.html for card in cards]))
