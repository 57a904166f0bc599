"""Where files lie: in a folder of this machine, or in a bucket that speaks S3 (`MEDIA_BUCKET`).

A bucket needs the package django-storages with its `s3` part, which only sites with a bucket install. Files are served by
this site in both cases: so who may see a restricted picture is decided in one place, and pages load nothing from elsewhere.
"""

from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

FOLDER = "django.core.files.storage.FileSystemStorage"
HALF = "MEDIA_BUCKET_ENDPOINT is set without MEDIA_BUCKET: which bucket is it?"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
HALF_A_KEY = "{} is not set, though the other half of the bucket's key is."
MISSING = "MEDIA_BUCKET is set, but there is no S3 storage: pip install 'django-storages[s3]'."


def storages_of(*, private: Path, bucket: str, endpoint: str) -> dict[str, Any]:
    """The storages of pictures (`default`) and of archives (`private`).

    Keys and region of a bucket come from the usual variables of S3 clients (AWS_ACCESS_KEY_ID and so on), else from the machine's
    role. ImproperlyConfigured for what is set by half, and for a bucket without the package.
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
        "default_acl": None,  # nobody but us reads the bucket
        "file_overwrite": True,  # names are random and never used twice
    }
    return {
        "default": {
            "BACKEND": "feedsite.files.bucket.MediaBucket",
            "OPTIONS": {**options, "location": "media"},
        },
        "private": {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {**options, "location": "private"},
        },
    }
