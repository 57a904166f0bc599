"""Archives that come in."""

import io
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.events.leases import State
from apps.privacy.models import Import, ImportKind
from apps.privacy.moving import imports
from apps.privacy.moving.imports import request_import
from tests.support.archives import archive


@pytest.fixture(autouse=True)
def _files(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}  # fmt: skip
    settings.STORAGES = {**settings.STORAGES, "private": private}


def run(row):
    """As the sweeper has it run until it is done."""
    past = timezone.now() - timedelta(minutes=5)
    while Import.objects.filter(pk=row.pk, state=State.PENDING).update(due_at=past):
        imports.run_due(limit=1, only=[row.pk])
    row.refresh_from_db()
    return row


def asked(user, data):
    return request_import(user, ImportKind.POSTS, "archive.zip", io.BytesIO(data))


@pytest.fixture
def bring():
    """Import an archive of these activities, to its end."""

    def bring_along(user, *activities, **more):
        return run(asked(user, archive(*activities, **more)))

    return bring_along
