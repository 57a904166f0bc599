"""Pictures in a bucket, at the same addresses as pictures in a folder. Imported only where django-storages is installed."""

from typing import Any

from django.conf import settings
from storages.backends.s3 import S3Storage


class MediaBucket(S3Storage):
    """Addresses stay those of this site, whose view reads the bucket."""

    def url(self, name: str, *_more: Any, **_said: Any) -> str:
        """The address below `MEDIA_URL`."""
        return f"{settings.MEDIA_URL}{name}"
