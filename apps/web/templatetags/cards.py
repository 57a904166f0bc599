"""What a post card needs beyond its item."""

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
from apps.web.post_card import ShownPost
from apps.web.templatetags.amounts import compact, exact

register = template.Library()

TALL_LINES = 12
MAX_DESCRIPTION_CHARACTERS = 200  # characters of a post, to other sites
_LOOKS = {"like": ("like", "heart"), "repost": ("boost", "repeat-2"), "bookmark": ("mark", "bookmark")}  # fmt: skip


@register.filter
def reach(visibility: str) -> str:
    """The name of a visibility."""
    return str(Visibility(visibility).label)


@register.filter
def audience(item: FeedItem | ShownPost) -> str:
    """Who may see a post: its visibility, or the circle it is for."""
    if item.post.circle_id is not None:
        return circle_label(item.circle_name)
    return reach(item.post.visibility)


@register.filter
def language_tag(language: str) -> str:
    """The language of a post as HTML wants it."""
    return html_language(language)


@register.filter
def in_sight(picture: Picture) -> str:
    """The classes of a picture that is cropped: which of five places across and down stays in sight."""
    across, down = round(2 + 2 * picture.focus_x), round(2 - 2 * picture.focus_y)
    return f"fx{across} fy{down}"


@register.filter
def is_tall(body: str) -> bool:
    """Whether a text has more lines than a card shows."""
    return body.count("\n") > TALL_LINES


@dataclass(frozen=True, slots=True)
class PollOption:
    """An option of a poll as a card shows it; the numbers are not known while the poll keeps them to itself."""

    title: str
    percent: int = 0
    is_known: bool = False
    is_own: bool = False


@register.filter
def poll_options(item: FeedItem | ShownPost) -> list[PollOption]:
    """The options of a post's poll."""
    poll, result = item.post.poll, item.poll or PollResult()
    titles = poll.options if poll else ()
    known = item.shows_votes and len(result.votes) == len(titles)
    return [
        PollOption(
            title,
            percent=round(100 * result.votes[number] / max(1, result.voters)) if known else 0,
            is_known=known,
            is_own=number in result.own,
        )
        for number, title in enumerate(titles)
    ]


@register.inclusion_tag("timeline/_post_meta.html")
def post_meta(item: FeedItem) -> dict[str, Any]:
    """What the page of a post says of it to other sites; of restricted posts hardly anything."""
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
    """A like, repost or bookmark button of the page's form; for visitors a link to the login page."""
    shown, (look, symbol) = context["shown"], _LOOKS[verb]
    pressed, number, label = _STATES[verb](shown)
    return {
        "is_member": context["is_member"],
        "address": f"/posts/{shown.post.id}/{'un' if pressed else ''}{verb}",
        "url": shown.url,
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


def _like_state(shown: ShownPost) -> tuple[bool, int, str]:
    number = shown.counts.likes
    label = ngettext("Like, %(number)s like", "Like, %(number)s likes", number)
    return shown.flags.liked, number, label % {"number": exact(number)}


def _repost_state(shown: ShownPost) -> tuple[bool, int, str]:
    number = shown.counts.reposts
    label = ngettext("Repost, %(number)s repost", "Repost, %(number)s reposts", number)
    return shown.flags.reposted, number, label % {"number": exact(number)}


def _bookmark_state(shown: ShownPost) -> tuple[bool, int, str]:
    return shown.flags.bookmarked, 0, gettext("Bookmark")


_STATES: dict[str, Callable[[ShownPost], tuple[bool, int, str]]] = {
    "like": _like_state,
    "repost": _repost_state,
    "bookmark": _bookmark_state,
}
