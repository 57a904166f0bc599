"""Suggestions of people to follow, after signing up and on an empty home page."""

from collections.abc import Sequence
from typing import Any

from apps.accounts.models import User
from apps.search.suggestions import people_to_begin_with, starter_packs
from apps.web.people.relationships import follow_buttons

OTHERS = 8  # people offered in addition to those in packs
SHOWN_OF_PACK = 4  # people of a pack that are visible; the others are folded


def people_to_follow_context(viewer: User, languages: Sequence[str]) -> dict[str, Any]:
    """The context with starter packs, and with people who are not in any of these packs."""
    packs = starter_packs(viewer, languages)
    packed = {person.pk: person for pack in packs for person in pack.people}
    others = people_to_begin_with(viewer, languages=languages, limit=OTHERS, without=packed)
    buttons = follow_buttons(viewer.pk, [*packed.values(), *others])
    done = buttons["following"] | buttons["requested"]
    return {
        "packs": [
            {
                "pack": pack,
                "first": pack.people[:SHOWN_OF_PACK],
                "rest": pack.people[SHOWN_OF_PACK:],
                "is_followed": done.issuperset(person.pk for person in pack.people),
            }
            for pack in packs
        ],
        "people": others,
        **buttons,
    }
