"""Where files lie: in a folder of this machine, or in a bucket that speaks S3 (`MEDIA_BUCKET`).

A bucket needs the package django-storages with its `s3` part, which only sites with a bucket install. Files are served by
this site in both cases: so who may see a restricted picture is decided in one place, and pages load nothing from elsewhere.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

FOLDER = "django.core.files.storage.FileSystemStorage"
MISSING = "MEDIA_BUCKET is set, but there is no S3 storage: pip install 'django-storages[s3]'."


def storages_of(*, private: Path, bucket: str, endpoint: str) -> dict[str, Any]:
    """The storages of pictures (`default`) and of archives (`private`). ImproperlyConfigured for a bucket without the package.

    Keys and region come from the usual variables of S3 clients (AWS_ACCESS_KEY_ID and so on).
    """
    if not bucket:
        return {
            "default": {"BACKEND": FOLDER},
            "private": {"BACKEND": FOLDER, "OPTIONS": {"location": str(private)}},
        }
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
            "BACKEND": "feedsite.bucket.MediaBucket",
            "OPTIONS": {**options, "location": "media"},
        },
        "private": {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {**options, "location": "private"},
        },
    }
