"""Uploaded pictures that wait for their post."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.media.sandbox import bad_picture, reencode_picture
from apps.posts.actions.attachments import discard
from apps.posts.actions.drafts import Focus, check_picture, invalid
from apps.posts.models import Attachment
from apps.throttling import check_rate_limit

RETENTION = timedelta(days=1)  # of waiting pictures


def upload_picture(
    owner: User, file: IO[bytes], *, alt: str = "", focus: Focus = (0.0, 0.0)
) -> Attachment:
    """Re-encode and store a picture until it is attached to a post. Invalid, TooMany."""
    check_picture(alt, focus)
    check_rate_limit("upload", str(owner.pk))
    data = file.read(settings.PICTURE_MAX_BYTES + 1)
    if len(data) > settings.PICTURE_MAX_BYTES:
        maximum = {"count": settings.PICTURE_MAX_BYTES // 1024**2}
        raise bad_picture(
            _("This picture is too large. %(count)d MB is the most.") % maximum, "file"
        )
    picture = reencode_picture(data)
    return Attachment.objects.create(
        owner=owner,
        file=_file(picture.data),
        preview=_file(picture.preview),
        width=picture.width,
        height=picture.height,
        alt=alt,
        blurhash=picture.blurhash,
        moves=picture.moves,
        focus_x=focus[0],
        focus_y=focus[1],
    )


def uploaded_picture(owner: User, number: int) -> Attachment:
    """One of one's own pictures, waiting or published; NotFound."""
    picture = Attachment.objects.filter(pk=number, owner=owner).first()
    if picture is None:
        raise _not_found()
    return picture


def uploaded_pictures(owner: User, numbers: Sequence[int]) -> list[Attachment]:
    """One's own pictures among these ids, waiting or published, in order; one query."""
    pictures = Attachment.objects.filter(owner=owner).in_bulk(numbers)
    return [pictures[number] for number in numbers if number in pictures]


def describe_picture(
    owner: User, number: int, *, alt: str | None = None, focus: Focus | None = None
) -> Attachment:
    """Change a waiting picture (an edit changes published ones). Invalid, NotFound."""
    check_picture(alt, focus)
    with transaction.atomic():
        picture = _waiting(owner, number)
        picture.alt = picture.alt if alt is None else alt
        picture.focus_x, picture.focus_y = focus or (picture.focus_x, picture.focus_y)
        picture.save(update_fields=["alt", "focus_x", "focus_y"])
    return picture


def withdraw_picture(owner: User, number: int) -> None:
    """Delete a waiting picture. NotFound; Invalid when a scheduled post uses it."""
    with transaction.atomic():
        picture = _waiting(owner, number)
        if picture.scheduled_id is not None:
            raise invalid("id", _("A scheduled post shows this picture."), "in_use")
        discard([picture])


def purge_pictures(*, limit: int) -> int:
    """Delete up to `limit` pictures that waited for more than a day; returns how many."""
    with transaction.atomic():
        rows = Attachment.objects.select_for_update(skip_locked=True).filter(
            post=None, scheduled=None, created_at__lt=timezone.now() - RETENTION
        )
        pictures = list(rows.order_by("created_at")[:limit])
        discard(pictures)
    return len(pictures)


def _waiting(owner: User, number: int) -> Attachment:
    rows = Attachment.objects.select_for_update(of=("self",))
    picture = rows.filter(pk=number, owner=owner, post=None).first()
    if picture is None:
        raise _not_found()
    return picture


def _file(data: bytes) -> "ContentFile[bytes]":
    return ContentFile(data, name=f"{secrets.token_hex(16)}.webp")


def _not_found() -> NotFound:
    return NotFound(_("There is no such picture."))
