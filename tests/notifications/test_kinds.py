"""A kind of notification is declared once; what pages, settings, groups and the API say of it follows."""

from typing import Any

from apps.api.entities.notification import TYPES
from apps.notifications.grouping import GROUP_KEY_PREFIXES
from apps.notifications.kinds import TOLD, NotificationKind, choices
from apps.notifications.models import Notification, UnwantedKind
from apps.web.forms.notifications import KindsForm


def test_every_kind_is_declared_and_in_all_that_names_kinds():
    kinds = set(NotificationKind.values)
    assert set(TOLD) == kinds
    assert TYPES.keys() == kinds
    asked: Any = KindsForm.base_fields["kinds"]
    assert {kind for kind, _sentence in asked.choices} == kinds
    longest = max(map(len, kinds))
    for model in (Notification, UnwantedKind):
        field: Any = model._meta.get_field("kind")
        assert field.max_length >= longest
        assert {kind for kind, _label in field.choices} == kinds
        assert field.deconstruct()[3]["choices"] is choices  # so a new kind is no migration


def test_groups_have_words_of_their_own_and_a_line_for_several():
    words = list(GROUP_KEY_PREFIXES.values())
    assert len(set(words)) == len(words)
    assert all(TOLD[kind].line_of_several for kind in GROUP_KEY_PREFIXES)
