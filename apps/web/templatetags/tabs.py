"""The tabs beside the timelines."""

from collections.abc import Iterator

from django import template
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.accounts.models import User
from apps.web.hooks import TABS, Tab

register = template.Library()


def _core_tabs() -> Iterator[Tab]:
    yield Tab(10, "following", "/", pgettext("tab", "Following"))
    yield Tab(20, "public", reverse("public"), _("Square"))
    yield Tab(60, "lists", reverse("lists"), _("Lists"))
    yield Tab(70, "tags", reverse("tags"), _("Tags"))


@register.simple_tag
def tabs_of(viewer: User | None) -> tuple[Tab, ...]:
    """The tabs that a viewer has, in their order."""
    more = (tab for tabs in TABS for tab in tabs(viewer))
    return tuple(sorted([*_core_tabs(), *more], key=lambda tab: tab.place))
