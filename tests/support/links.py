"""Pages that posts link to, with their previews."""

from django.utils import timezone

from apps.previews.cache import LOCAL
from apps.previews.models import Preview, PreviewedPost, key_of
from apps.previews.queries import TRENDING_CACHE

PAGE = "https://news.example/tea"


def previewed(*post_ids: int, address: str = PAGE, url: str = PAGE, title: str = "Tea") -> Preview:
    """The preview of a page at `url`, to which these posts link by `address`, as if it had been fetched."""
    done = {"state": "done", "finished_at": timezone.now()}
    preview, _is_new = Preview.objects.get_or_create(
        key=key_of(address), defaults={"address": address, "url": url, "title": title, **done}
    )
    PreviewedPost.objects.filter(post_id__in=post_ids).delete()
    rows = [PreviewedPost(post_id=post_id, preview=preview) for post_id in post_ids]
    PreviewedPost.objects.bulk_create(rows)
    LOCAL.clear()
    TRENDING_CACHE.clear()
    return preview
