"""The keys that do something: one table for the handler, the dialog and the page that lists them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Keys, User


@dataclass(frozen=True, slots=True)
class Shortcut:
    """What some keys do. `act` is a name that the script knows, or where to go; sequences have a space between their keys."""

    keys: tuple[str, ...]
    act: str
    label: Any

    @property
    def shown(self) -> list[list[str]]:
        """The keys as they are printed: of each way, what is pressed."""
        return [list(_pressed(key)) for key in self.keys]


PROFILE = "@"  # one's own, which has another address for everybody
SHORTCUTS = (
    Shortcut(("j",), "next", _("Next post")),
    Shortcut(("k",), "previous", _("Previous post")),
    Shortcut(("o", "Enter"), "open", _("Open the post")),
    Shortcut(("l", "f"), "like", _("Like")),
    Shortcut(("b",), "bookmark", _("Bookmark")),
    Shortcut(("B",), "repost", _("Repost")),
    Shortcut(("r",), "reply", _("Reply")),
    Shortcut(("q",), "quote", _("Quote")),
    Shortcut(("p",), "author", _("Go to the author")),
    Shortcut(("m",), "mention", _("Mention the author")),
    Shortcut(("x",), "warning", _("Show or hide what is behind a warning")),
    Shortcut(("e",), "media", _("Open the pictures")),
    Shortcut(("y",), "copy", _("Copy the link")),
    Shortcut(("w",), "why", _("Why is this here?")),
    Shortcut(("n", "c"), "/compose", _("New post")),
    Shortcut(("Ctrl+Enter",), "", _("Send the post")),
    Shortcut(("/", "s"), "search", _("Search")),
    Shortcut((".",), "fresh", _("Load new posts")),
    Shortcut(("0",), "top", _("Go to the top")),
    Shortcut(("g h",), "/", _("Go home")),
    Shortcut(("g l",), "/public", _("Go to the local timeline")),
    Shortcut(("g e",), "/tags", _("Explore")),
    Shortcut(("g n",), "/notifications", _("Go to notifications")),
    Shortcut(("g b",), "/bookmarks", _("Go to bookmarks")),
    Shortcut(("g p",), PROFILE, _("Go to your profile")),
    Shortcut(("g s",), "/settings/profile", _("Go to settings")),
    Shortcut(("Esc",), "", _("Close what is open")),
    Shortcut(("?",), "help", _("This list")),
)
SWAPPED = {"bookmark": ("B",), "repost": ("b",)}  # as Mastodon has them


def shortcuts_of(viewer: User | None) -> list[Shortcut]:
    """The table as a viewer wants it; empty when they want none."""
    return list(_table(viewer.keys if viewer else Keys.ON))


@cache
def _table(parse_query: str) -> tuple[Shortcut, ...]:
    if parse_query == Keys.OFF:
        return ()
    swapped = SWAPPED if parse_query == Keys.MASTODON else {}
    return tuple(replace(one, keys=swapped.get(one.act, one.keys)) for one in SHORTCUTS)


def action_of(viewer: User | None) -> tuple[str, str]:
    """All that the acts of a viewer's keys depend on: where they are at home, and which table they want."""
    return (viewer.url, viewer.keys) if viewer else ("/login", Keys.ON)


def acts(own: str, parse_query: str) -> dict[str, str]:
    """What each key of a table does for whoever is at home there, for the script."""
    return {
        key: own if one.act == PROFILE else one.act
        for one in _table(parse_query)
        for key in one.keys
        if one.act
    }


def _pressed(key: str) -> Iterator[str]:
    if len(key) == 1 and key.isupper():
        yield from ("Shift", key.lower())
    else:
        yield from key.replace("+", " ").split()
