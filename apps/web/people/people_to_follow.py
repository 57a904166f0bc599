"""Whom a new member is offered to follow, while signing up and on a home page that is empty."""

from collections.abc import Sequence
from typing import Any

from apps.accounts.models import User
from apps.search.suggestions import people_to_begin_with, starter_packs
from apps.web.people.relationships import follow_buttons

OTHERS = 8  # how many are offered besides those in packs
SHOWN_OF_PACK = 4  # the others are below a line that opens


def people_to_follow_context(viewer: User, languages: Sequence[str]) -> dict[str, Any]:
    """Whom to follow first: starter packs, and others who are in none of them."""
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
