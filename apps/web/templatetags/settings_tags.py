"""The menu of the settings."""

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

register = template.Library()

TABS: dict[str, Promise] = {
    "profile": pgettext_lazy("settings", "Profile"),
    "circles": gettext_lazy("Circles"),
    "privacy": gettext_lazy("Privacy"),
    "filters": gettext_lazy("Filters"),
    "promotions": gettext_lazy("Promoted posts"),
    "writing": gettext_lazy("Writing"),
    "appearance": gettext_lazy("Appearance"),
    "reading": gettext_lazy("Reading"),
    "notifications": gettext_lazy("Notifications"),
    "applications": gettext_lazy("Applications"),
    "export": gettext_lazy("Your data"),
    "security": gettext_lazy("Security"),
    "account": gettext_lazy("Account"),
}


@register.simple_tag
def settings_tabs() -> dict[str, Promise]:
    """The label of each tab; the URL of its page is named `settings_` and the tab."""
    return TABS


@register.simple_tag
def settings_title(tab: str = "") -> str:
    title = TABS.get(tab)
    return f"{title} · {_('Settings')}" if title else _("Settings")
