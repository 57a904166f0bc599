"""The tabs of the timelines, and the menu at the end of the tabs."""

from collections.abc import Iterable

from django import template
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.accounts.models import User
from apps.web.hooks import OWN_TABS, TABS, Tab

register = template.Library()

_CORE = (
    Tab(10, "following", "/", pgettext_lazy("tab", "Following")),
    Tab(20, "public", reverse_lazy("public"), _("Square")),
    Tab(60, "lists", reverse_lazy("lists"), _("Lists"), is_in_menu=True),
    Tab(65, "bookmarks", reverse_lazy("bookmarks"), _("Bookmarks"), is_in_menu=True),
    Tab(70, "tags", reverse_lazy("tags"), _("Tags"), is_in_menu=True),
)


@register.simple_tag
def own_tabs_of(viewer: User | None) -> tuple[Tab, ...]:
    """The tabs that only this viewer has."""
    return tuple(tab for tabs in OWN_TABS for tab in tabs(viewer))


@register.simple_tag
def with_tabs_of_everybody(own: Iterable[Tab]) -> list[Tab]:
    """A viewer's `own` tabs and those of everybody, in order. Called inside a cached fragment, so it rarely runs."""
    return _in_order(own, in_menu=False)


@register.simple_tag
def menu_tabs() -> list[Tab]:
    """The entries of the menu at the end of the tabs."""
    return _in_order((), in_menu=True)


def _in_order(own: Iterable[Tab], *, in_menu: bool) -> list[Tab]:
    found = (tab for tab in (*_CORE, *TABS, *own) if tab.is_in_menu is in_menu)
    return sorted(found, key=lambda tab: tab.place)
