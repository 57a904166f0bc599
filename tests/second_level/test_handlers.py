"""Events for the second level that were recorded before it was an app of its own."""

from importlib import import_module

import pytest
from django.db import connection

from apps.events.actions import handlers_of
from apps.events.models import Event

pytestmark = pytest.mark.django_db
RENAMING = import_module("apps.events.migrations.0003_second_level_is_an_app")


def test_they_wait_for_its_handlers_of_today():
    payload = {"follower_id": 1, "followee_id": 2}
    waiting, done = [
        Event.objects.create(name="followed", subscriber=name, payload=payload, state=state)
        for name in RENAMING.RENAMED
        for state in ("pending", "done")
    ][:2]
    for operation in RENAMING.Migration.operations:
        with connection.schema_editor() as editor:
            operation.database_forwards("events", editor, None, None)
    waiting.refresh_from_db()
    done.refresh_from_db()
    assert waiting.subscriber in handlers_of("followed")
    assert done.subscriber in RENAMING.RENAMED
    assert RENAMING.RENAMED["apps.timeline.handlers.update_second_levels"] in handlers_of(
        "virtual_follow_changed"
    )
