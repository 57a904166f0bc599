"""Suggestions for the word being typed (people, tags, emoji), and the panel of emoji."""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.http.requests import AuthenticatedRequest, SiteRequest, login_required
from apps.search.emoji import emoji_beginning
from apps.search.queries import search_people
from apps.tags.queries import tags_beginning
from apps.throttling import check_rate_limit

MAX_SUGGESTED = 8
MAX_FOUND = 5  # of each kind, for a word without a sign
MAX_IN_PANEL = 48
MAX_CHARACTERS = 60
# Unicode's groups, in the order of the emoji files, each with an emoji as its icon.
EMOJI_GROUPS = (
    ("😀", _("Smileys and emotion")),
    ("👋", _("People and body")),
    ("🐻", _("Animals and nature")),
    ("🍎", _("Food and drink")),
    ("🚗", _("Travel and places")),
    ("⚽", _("Activities")),
    ("💡", _("Objects")),
    ("💕", _("Symbols")),
    ("🏁", _("Flags")),
)


@require_safe
@login_required
def suggest(request: AuthenticatedRequest) -> HttpResponseBase:
    """People after @, tags after #, emoji after a colon; for a word without such a sign, people and tags.

    `in=search`: results link to their pages and may include the viewer. `in=followed`: only people that the viewer
    follows. `in=panel`: more emoji, for the panel.
    """
    check_rate_limit("suggest", str(request.user.pk))
    place = request.GET.get("in", "")
    text = request.GET.get("q", "").strip()[:MAX_CHARACTERS].replace("＠", "@").replace("＃", "#")
    sign, word = (text[:1], text[1:]) if text[:1] in {"@", "#", ":"} else ("", text)
    maximum = MAX_SUGGESTED if sign else MAX_FOUND
    found: dict[str, Any] = {"people": [], "tags": [], "emoji": []}
    if sign in {"", "@"} and word:
        only_followed = place == "followed"
        people = search_people(request.user, word, limit=maximum + 1, only_followed=only_followed)
        others = [one for one in people if one != request.user or place == "search"]
        found["people"] = others[:maximum]
    if sign in {"", "#"}:
        found["tags"] = tags_beginning(word, maximum=maximum)
    if sign == ":":
        many = MAX_IN_PANEL if place == "panel" else maximum
        found["emoji"] = emoji_beginning(word, maximum=many)
    number = sum(map(len, found.values()))
    return render(request, "search/_suggested.html", {**found, "place": place, "number": number})


@require_safe
def emoji(request: SiteRequest) -> HttpResponse:
    """The panel without its emoji, which are in one file per language."""
    names = static(f"emoji/{get_language()}.json")
    return render(request, "search/_emoji.html", {"names": names, "groups": EMOJI_GROUPS})
