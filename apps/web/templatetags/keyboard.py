"""The keyboard shortcuts: one table for app.js, the dialog and the page that lists them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from django import template
from django.template import Context
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Keys

register = template.Library()

MAX_KEY_MAPS = 1024  # each about 400 bytes


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`action`: a name in app.js, a path, PROFILE, or empty if the shortcut is only listed.

    Any one of `keys` triggers the action. Spaces in one separate the keys of a sequence, as in `g h`.
    """

    keys: tuple[str, ...]
    action: str
    label: Any

    @property
    def key_caps(self) -> list[list[str]]:
        """For each alternative, the labels of the keys to press."""
        return [list(_key_caps(key)) for key in self.keys]


PROFILE = "@"  # the viewer's own profile
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
    Shortcut(("x",), "warning", _("Show or hide the content behind a warning")),
    Shortcut(("e",), "media", _("Open the pictures")),
    Shortcut(("y",), "copy", _("Copy the link")),
    Shortcut(("w",), "why", _("Why is this here?")),
    Shortcut(("n", "c"), "/compose", _("New post")),
    Shortcut(("Ctrl+Enter",), "", _("Send the post")),
    Shortcut(("/", "s"), "search", _("Search")),
    Shortcut((".",), "fresh", _("Load new posts")),
    Shortcut(("0",), "top", _("Go to the top")),
    Shortcut(("u",), "undo", _("Undo the deletion, mute or block in progress")),
    Shortcut(("g h",), "/", _("Go home")),
    Shortcut(("g c",), "/home/catch-up", _("Catch up")),
    Shortcut(("g l",), "/public", _("Go to the square")),
    Shortcut(("g e",), "/tags", _("Explore")),
    Shortcut(("g n",), "/notifications", _("Go to notifications")),
    Shortcut(("g b",), "/bookmarks", _("Go to bookmarks")),
    Shortcut(("g p",), PROFILE, _("Go to your profile")),
    Shortcut(("g s",), "/settings", _("Go to settings")),
    Shortcut(("Esc",), "", _("Close the open menu or dialog")),
    Shortcut(("?",), "help", _("This list")),
)
SWAPPED = {"bookmark": ("B",), "repost": ("b",)}  # with the setting for Mastodon's keys


@cache
def shortcuts_with(keys: str) -> tuple[Shortcut, ...]:
    """The shortcuts for a value of `Keys`; none for OFF."""
    if keys == Keys.OFF:
        return ()
    swapped = SWAPPED if keys == Keys.MASTODON else {}
    return tuple(
        replace(shortcut, keys=swapped.get(shortcut.action, shortcut.keys))
        for shortcut in SHORTCUTS
    )


def key_actions(keys: str, profile_url: str) -> dict[str, str]:
    """The action of each key, for app.js."""
    return {
        key: profile_url if shortcut.action == PROFILE else shortcut.action
        for shortcut in shortcuts_with(keys)
        for key in shortcut.keys
        if shortcut.action
    }


@register.simple_tag(takes_context=True)
def shortcuts(context: Context) -> tuple[Shortcut, ...]:
    """The viewer's shortcuts, or all shortcuts for viewers who have switched them off."""
    viewer = context.get("viewer")
    return shortcuts_with(viewer.keys if viewer else Keys.ON) or SHORTCUTS


@register.simple_tag(takes_context=True)
def key_map(context: Context) -> str:
    """The keys and their actions for app.js: `j next,g h /`. As escaped JSON they would be three times as long."""
    viewer = context.get("viewer")
    return _key_map(viewer.keys, viewer.url) if viewer else _key_map(Keys.ON, "/login")


@lru_cache(maxsize=MAX_KEY_MAPS)
def _key_map(keys: str, profile_url: str) -> str:
    return ",".join(f"{key} {action}" for key, action in key_actions(keys, profile_url).items())


def _key_caps(key: str) -> Iterator[str]:
    if len(key) == 1 and key.isupper():
        yield from ("Shift", key.lower())
    else:
        yield from key.replace("+", " ").split()
