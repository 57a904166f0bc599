"""Exports earlier posts into archives, and deletes them with the account."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from django.conf import settings

from apps.accounts.models import User
from apps.earlier_posts.actions import discard
from apps.earlier_posts.models import EarlierPicture, EarlierPost
from apps.privacy.hooks import Part, Record


def _records(rows: Sequence[EarlierPost]) -> Iterable[Record]:
    pictures: dict[int, list[Record]] = {row.pk: [] for row in rows}
    for picture in EarlierPicture.objects.filter(post__in=rows).order_by("post", "position"):
        about = {"file": _name(picture), "description": picture.alt}
        pictures[picture.post_id].append(about)
    for row in rows:
        yield {
            "address": f"{settings.SITE_URL}/@{row.owner.handle}/earlier/{row.pk}",
            "first_at": row.origin,
            "published": row.written_at.isoformat(),
            "edited": row.edited_at and row.edited_at.isoformat(),
            "for": row.visibility,
            "text": row.body,
            "content_warning": row.content_warning,
            "sensitive": row.sensitive,
            "language": row.language,
            "reply_to": row.reply_to or None,
            "pictures": pictures[row.pk],
        }


def _pictures(rows: Sequence[EarlierPost]) -> Iterator[tuple[str, str]]:
    for picture in EarlierPicture.objects.filter(post__in=rows).order_by("post", "position"):
        yield _name(picture), picture.file


def _name(picture: EarlierPicture) -> str:
    return f"pictures/earlier-{picture.pk}{PurePosixPath(picture.file).suffix}"


ARCHIVE = Part(
    "earlier_posts.jsonl",
    lambda user: EarlierPost.objects.filter(owner=user).select_related("owner"),
    _records,
    "posts from elsewhere, brought along in an archive",
    _pictures,
)


def earlier_posts(user: User, limit: int) -> int:
    return discard(EarlierPost.objects.filter(owner=user)[:limit])
