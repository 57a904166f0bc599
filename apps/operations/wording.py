"""Problems of a topology as sentences."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from feedcache.topology import Finding, Place, Pool

_TEXTS = {
    "no_main": gettext_lazy("Main has no node. The other layers hang on it."),
    "empty_group": gettext_lazy("L1 group %(group)s has no node."),
    "too_many": gettext_lazy("%(count)s nodes are too many: at most %(most)s."),
    "bad_address": gettext_lazy(
        "“%(url)s” at %(place)s is no address: give host:port or unix:/path."
    ),
    "bad_size": gettext_lazy("%(megabytes)s MB at %(place)s is no size for a node."),
    "bad_name": gettext_lazy("The node at %(place)s needs a name of at most 60 characters."),
    "twice": gettext_lazy("%(url)s stands twice, at %(other)s and at %(place)s."),
    "main_unread": gettext_lazy("No node of Main would be read any more."),
    "l1_groups": gettext_lazy("%(count)s L1 groups: %(least)s to %(most)s work best, or none."),
    "l1_size": gettext_lazy(
        "L1 group %(group)s has %(megabytes)s MB: %(least)s to %(most)s MB fit this Main (a tenth to a sixth of it)."
    ),
    "backup_size": gettext_lazy("Backup has %(megabytes)s MB: at most half of Main, %(most)s MB."),
}
CODES = frozenset(_TEXTS)


def messages(findings: Iterable[Finding]) -> list[str]:
    """Findings as sentences in the active language."""
    return [str(_TEXTS[finding.code]) % {**finding.values, **_places(finding)} for finding in findings]  # fmt: skip


def place_name(place: Place) -> str:
    if place.pool is Pool.L1:
        return _("L1 group %(group)s, slot %(slot)s") % {"group": place.group, "slot": place.slot}
    name = "Main" if place.pool is Pool.MAIN else "Backup"  # terms of the trade, in every language
    return _("%(pool)s, slot %(slot)s") % {"pool": name, "slot": place.slot}


def _places(finding: Finding) -> dict[str, str]:
    return {
        name: place_name(value)
        for name, value in finding.values.items()
        if isinstance(value, Place)
    }
