"""Filters and tags of the card of a post."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import template
from django.conf import settings
from django.template import Context
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext

from apps.engagement.queries import PollResult
from apps.languages import html_language
from apps.posts.content.post import Picture
from apps.posts.models import Visibility
from apps.timeline.pipeline.items import FeedItem, circle_label
from apps.web.post_card import CardItem
from apps.web.templatetags.amounts import compact, exact

register = template.Library()

TALL_LINES = 12
MAX_DESCRIPTION_CHARACTERS = 200  # of the text in meta elements
# The CSS class and the icon of each button.
_LOOKS = {
    "like": ("like", "heart"),
    "repost": ("boost", "repeat-2"),
    "bookmark": ("mark", "bookmark"),
}


@register.filter
def reach(visibility: str) -> str:
    return str(Visibility(visibility).label)


@register.filter
def audience(item: FeedItem | CardItem) -> str:
    """The visibility of a post, or the name of its circle."""
    if item.post.circle_id is not None:
        return circle_label(item.circle_name)
    return reach(item.post.visibility)


@register.filter
def language_tag(language: str) -> str:
    return html_language(language)


@register.filter
def in_sight(picture: Picture) -> str:
    """CSS classes for the focus of a cropped picture, one of five steps in each direction."""
    across, down = round(2 + 2 * picture.focus_x), round(2 - 2 * picture.focus_y)
    return f"fx{across} fy{down}"


@register.filter
def is_tall(body: str) -> bool:
    """Whether a card cuts the text off."""
    return body.count("\n") > TALL_LINES


@dataclass(frozen=True, slots=True)
class PollOption:
    """`percent` is 0 and `is_known` false while the poll hides its votes."""

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


@register.inclusion_tag("timeline/_post_meta.html")
def post_meta(item: FeedItem) -> dict[str, Any]:
    """The meta elements of a post's page for other sites; hardly any for restricted posts."""
    shown = item.shown
    post, author = shown.post, shown.author
    about: dict[str, Any] = {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "url": shown.url,
    }
    if post.visibility == Visibility.PUBLIC:
        hides = post.sensitive or post.content_warning or not post.pictures
        about |= {
            "author": f"{author.name} (@{author.handle})",
            "text": post.content_warning or Truncator(post.body).chars(MAX_DESCRIPTION_CHARACTERS),
            "is_indexable": author.is_indexable,
            "picture": None if hides else post.pictures[0],
        }
    return about


@register.inclusion_tag("timeline/_toggle.html", takes_context=True)
def toggle(context: Context, verb: str) -> dict[str, Any]:
    """A like, repost or bookmark button; for visitors a link to the login page."""
    item, (look, symbol) = context["item"], _LOOKS[verb]
    pressed, number, label = _STATES[verb](item)
    return {
        "is_member": context["is_member"],
        "address": f"/posts/{item.post.id}/{'un' if pressed else ''}{verb}",
        "url": item.url,
        "anchor": context["anchor"],
        "verb": verb,
        "pressed": "true" if pressed else "false",
        "label": label,
        "number": str(number),
        "shown_number": compact(number) if number else "",
        "look": look,
        "symbol": symbol,
        "kind": "" if verb == "repost" else "fillable",
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


_STATES: dict[str, Callable[[CardItem], tuple[bool, int, str]]] = {
    "like": _like_state,
    "repost": _repost_state,
    "bookmark": _bookmark_state,
}
