"""Archives that come in."""

import io

import pytest

from apps.privacy.models import ImportKind
from apps.privacy.moving.imports import request_import
from tests.support.archives import archive
from tests.support.imports import run


@pytest.fixture(autouse=True)
def _files(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}  # fmt: skip
    settings.STORAGES = {**settings.STORAGES, "private": private}


def asked(user, data):
    return request_import(user, ImportKind.POSTS, "archive.zip", io.BytesIO(data))


@pytest.fixture
def bring():
    """Import an archive of these activities, to its end."""

    def bring_along(user, *activities, **more):
        return run(asked(user, archive(*activities, **more)))

    return bring_along
