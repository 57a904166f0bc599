"""The menu of the settings."""

from typing import TYPE_CHECKING

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.web.hooks import SETTINGS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = template.Library()

_CORE: dict[str, "StrOrPromise"] = {
    "profile": pgettext_lazy("settings", "Profile"),
    "circles": gettext_lazy("Circles"),
    "privacy": gettext_lazy("Privacy"),
    "filters": gettext_lazy("Filters"),
    "writing": gettext_lazy("Writing"),
    "appearance": gettext_lazy("Appearance"),
    "reading": gettext_lazy("Reading"),
    "notifications": gettext_lazy("Notifications"),
    "applications": gettext_lazy("Applications"),
    "export": gettext_lazy("Import and export"),
    "security": gettext_lazy("Security"),
    "account": gettext_lazy("Account"),
}


@register.simple_tag
def settings_tabs() -> dict[str, "StrOrPromise"]:
    """The label of each tab; the URL of its page is named `settings_` and the tab."""
    tabs: dict[str, StrOrPromise] = {}
    for key, name in _CORE.items():
        tabs[key] = name
        tabs |= {added.key: added.name for added in SETTINGS if added.after == key}
    return tabs


@register.simple_tag
def settings_title(tab: str = "") -> str:
    title = settings_tabs().get(tab)
    return f"{title} · {_('Settings')}" if title else _("Settings")
