"""Uploaded files in an S3 bucket, at the same URLs as in a folder. Imported only where django-storages is installed."""

from typing import Any

from django.conf import settings
from storages.backends.s3 import S3Storage


class MediaBucket(S3Storage):
    """A bucket behind the site's own URLs: the view reads from the bucket."""

    def url(self, name: str, *_args: Any, **_kwargs: Any) -> str:
        return f"{settings.MEDIA_URL}{name}"

    def read_part(self, name: str, start: int, stop: int) -> bytes:
        """The bytes of a file from `start` up to, but not including, `stop`."""
        file: Any = self.open(name)  # asks whether it exists, but does not read it yet
        with file:
            part: bytes = file.obj.get(Range=f"bytes={start}-{stop - 1}")["Body"].read()
        return part
