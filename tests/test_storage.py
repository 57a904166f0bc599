"""Where files lie is one setting; a bucket without its package is said plainly."""

import importlib.util
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from feedsite.storage import MISSING, storages_of


def test_without_a_bucket_files_lie_in_folders(tmp_path):
    found = storages_of(private=tmp_path, bucket="", endpoint="")
    assert found["private"]["OPTIONS"] == {"location": str(tmp_path)}


@pytest.mark.skipif(importlib.util.find_spec("storages") is not None, reason="it is installed")
def test_a_bucket_without_the_package_is_said_plainly():
    with pytest.raises(ImproperlyConfigured, match="pip install") as refusal:
        storages_of(private=Path(), bucket="pictures", endpoint="")
    assert str(refusal.value) == MISSING
