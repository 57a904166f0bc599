"""Where files lie is one setting; what is set by half, or lacks its package, is said plainly."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from feedsite.files import storage
from feedsite.files.storage import HALF, KEYS, MISSING, storages_of


@pytest.fixture
def installed(monkeypatch):
    """As if the package were there."""
    monkeypatch.setattr(storage, "find_spec", lambda _name: object())


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def test_without_a_bucket_files_lie_in_folders(tmp_path):
    found = storages_of(private=tmp_path, bucket="", endpoint="")
    assert found["private"]["OPTIONS"] == {"location": str(tmp_path)}


def test_a_bucket_holds_pictures_and_archives_apart_and_nobody_else_reads_it(installed):
    found = storages_of(private=Path(), bucket="ours", endpoint="https://s3.example")
    assert found["default"]["BACKEND"] == "feedsite.files.bucket.MediaBucket"
    assert found["private"]["BACKEND"] == "storages.backends.s3.S3Storage"
    said = [found[name]["OPTIONS"] for name in ("default", "private")]
    assert [one["location"] for one in said] == ["media", "private"]
    for one in said:
        assert (one["bucket_name"], one["endpoint_url"], one["default_acl"]) == (
            "ours",
            "https://s3.example",
            None,
        )


def test_without_an_endpoint_it_is_amazons(installed):
    found = storages_of(private=Path(), bucket="ours", endpoint="")
    assert found["default"]["OPTIONS"]["endpoint_url"] is None


def test_a_bucket_without_the_package_is_said_plainly(monkeypatch):
    monkeypatch.setattr(storage, "find_spec", lambda _name: None)
    with pytest.raises(ImproperlyConfigured, match="pip install") as refusal:
        storages_of(private=Path(), bucket="pictures", endpoint="")
    assert str(refusal.value) == MISSING


def test_an_endpoint_without_a_bucket(installed):
    with pytest.raises(ImproperlyConfigured, match="the name of the bucket") as refusal:
        storages_of(private=Path(), bucket="", endpoint="https://s3.example")
    assert str(refusal.value) == HALF


@pytest.mark.parametrize(("known", "missing"), [KEYS, KEYS[::-1]])
def test_half_a_key(installed, monkeypatch, known, missing):
    monkeypatch.setenv(known, "something")
    with pytest.raises(ImproperlyConfigured, match=f"^{missing} is not set"):
        storages_of(private=Path(), bucket="ours", endpoint="")
