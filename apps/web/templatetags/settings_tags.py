"""The list of settings pages, in groups, and its search."""

from typing import TYPE_CHECKING, NamedTuple

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.web.hooks import SETTINGS, SettingsTab

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = template.Library()


class Group(NamedTuple):
    name: "StrOrPromise"
    entries: list[SettingsTab]


_CORE: tuple[tuple["StrOrPromise", tuple[SettingsTab, ...]], ...] = (
    (
        pgettext_lazy("settings", "You"),
        (
            SettingsTab("profile", pgettext_lazy("settings", "Profile"), icon="user",
                        about=gettext_lazy("Name, pictures, bio, lines")),
            SettingsTab("appearance", gettext_lazy("Appearance"), icon="languages",
                        about=gettext_lazy("Language, light or dark, size of the text")),
        ),
    ),
    (
        pgettext_lazy("settings", "Reading"),
        (
            SettingsTab("reading", gettext_lazy("Reading"), icon="list",
                        about=gettext_lazy("What your home page shows, and how compactly")),
            SettingsTab("filters", gettext_lazy("Filters"), icon="triangle-alert",
                        about=gettext_lazy("Words that you do not want to read")),
        ),
    ),
    (
        pgettext_lazy("settings", "Writing"),
        (
            SettingsTab("writing", gettext_lazy("Writing"), icon="pencil",
                        about=gettext_lazy("Visibility of new posts, pictures, keyboard shortcuts")),
        ),
    ),
    (
        pgettext_lazy("settings", "People"),
        (
            SettingsTab("privacy", gettext_lazy("Privacy"), icon="eye",
                        about=gettext_lazy("Who may follow you, what others see of you")),
            SettingsTab("circles", gettext_lazy("Circles"), icon="users",
                        about=gettext_lazy("Small groups that you post to")),
            SettingsTab("mutes", gettext_lazy("Muted accounts"), icon="volume-x",
                        about=gettext_lazy("You don't see their posts, and they don't notice")),
            SettingsTab("blocks", gettext_lazy("Blocked accounts"), icon="ban",
                        about=gettext_lazy("You don't see their posts, and they don't see yours")),
        ),
    ),
    (
        gettext_lazy("Notifications"),
        (
            SettingsTab("notifications", gettext_lazy("Notifications"), icon="bell",
                        about=gettext_lazy("Which notifications you get, and from which people")),
        ),
    ),
    (
        gettext_lazy("Security"),
        (
            SettingsTab("security", gettext_lazy("Security"), icon="lock",
                        about=gettext_lazy("Authenticator app, passkeys, recovery codes")),
            SettingsTab("account", gettext_lazy("Account"), icon="at-sign",
                        about=gettext_lazy("E-mail, password, where you are logged in, access tokens")),
            SettingsTab("applications", gettext_lazy("Applications"), icon="link",
                        about=gettext_lazy("Apps that may act for you")),
        ),
    ),
    (
        gettext_lazy("Your data"),
        (
            SettingsTab("export", gettext_lazy("Import and export"), icon="share-2",
                        about=gettext_lazy("Import lists, download your archive")),
            SettingsTab("delete", gettext_lazy("Delete account"), icon="trash-2",
                        about=gettext_lazy("Permanently, with everything you wrote")),
        ),
    ),
)  # fmt: skip


@register.simple_tag
def settings_groups(words: str = "") -> list[Group]:
    """The groups and their entries.

    With `words`, returns only entries for which each word is in the group's name, the entry's name or its description,
    even inside a longer word; empty groups are omitted.
    """
    wanted = words.casefold().split()
    groups = []
    for name, core in _CORE:
        entries = []
        for entry in core:
            entries += [entry, *(added for added in SETTINGS if added.after == entry.key)]
        found = [entry for entry in entries if _has(wanted, f"{name} {entry.name} {entry.about}")]
        if found:
            groups.append(Group(name, found))
    return groups


def _has(wanted: list[str], text: str) -> bool:
    text = text.casefold()
    return all(word in text for word in wanted)


@register.simple_tag
def settings_name(tab: str = "") -> "StrOrPromise":
    """The title of the settings page with this key; “Settings” for the list itself or an unknown key."""
    names = {entry.key: entry.name for group in settings_groups() for entry in group.entries}
    return names.get(tab, _("Settings"))
