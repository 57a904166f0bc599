"""The titles of the pages of settings."""

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

register = template.Library()

# By `tab`, with the words of the menu.
TITLES = {
    "profile": pgettext_lazy("settings", "Profile"),
    "circles": gettext_lazy("Circles"),
    "privacy": gettext_lazy("Privacy"),
    "filters": gettext_lazy("Filters"),
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
def settings_title(tab: str = "") -> str:
    title = TITLES.get(tab)
    return f"{title} · {_('Settings')}" if title else _("Settings")
