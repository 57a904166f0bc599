"""Storages of uploaded files: a folder, or an S3 bucket (`MEDIA_BUCKET`).

A bucket needs the package `django-storages[s3]`, which only sites with a bucket install. In both cases this site serves
the files: one place decides who may see a restricted picture, and pages load nothing from other hosts.
"""

from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage

from apps.errors import is_disk_full

FOLDER = "feedsite.files.storage.Folder"
HALF = "MEDIA_BUCKET_ENDPOINT is set without MEDIA_BUCKET, the name of the bucket."
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
HALF_A_KEY = "{} is not set, but the other half of the bucket's key is."
MISSING = "MEDIA_BUCKET is set, but there is no S3 storage: pip install 'django-storages[s3]'."


class Folder(FileSystemStorage):
    """A folder. If the disk becomes full while a file is written, the partial file is deleted."""

    def _save(self, name: str, content: Any) -> str:
        try:
            saved: str = super()._save(name, content)  # type: ignore[misc]  # not in its stubs
        except OSError as error:
            if is_disk_full(error):
                self.delete(name)
            raise
        return saved


def storages_of(*, private: Path, bucket: str, endpoint: str) -> dict[str, Any]:
    """The storages of served files (`default`), and of archives (made or imported), uploads to be transcoded and
    preview images (`private`).

    Keys and region of a bucket come from the usual variables of S3 clients (AWS_ACCESS_KEY_ID and so on), or from the
    machine's role. Raises ImproperlyConfigured for incomplete settings, and if the package is missing.
    """
    if endpoint and not bucket:
        raise ImproperlyConfigured(HALF)
    if not bucket:
        return {
            "default": {"BACKEND": FOLDER},
            "private": {"BACKEND": FOLDER, "OPTIONS": {"location": str(private)}},
        }
    missing = [name for name in KEYS if not environ.get(name)]
    if len(missing) == 1:
        raise ImproperlyConfigured(HALF_A_KEY.format(missing[0]))
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(MISSING)
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint or None,
        "default_acl": None,  # only this site reads the bucket
        "file_overwrite": True,  # names are random and never reused
    }
    media, archives = {**options, "location": "media"}, {**options, "location": "private"}
    return {
        "default": {"BACKEND": "feedsite.files.bucket.MediaBucket", "OPTIONS": media},
        "private": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": archives},
    }
