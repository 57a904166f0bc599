"""Pictures that were uploaded and wait for the post they are for."""

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

KEEP_FOR = timedelta(days=1)  # waiting; then nobody wants it any more


def upload_picture(
    owner: User, file: IO[bytes], *, alt: str = "", focus: Focus = (0.0, 0.0)
) -> Attachment:
    """Store a picture until a post takes it; nothing of the file survives but pixels. Invalid, TooMany."""
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
    """One of one's own pictures, waiting or published. NotFound."""
    found = Attachment.objects.filter(pk=number, owner=owner).first()
    if found is None:
        raise _not_there()
    return found


def uploaded_pictures(owner: User, numbers: Sequence[int]) -> list[Attachment]:
    """Those of one's own pictures that are there, waiting or published, in the order asked; one query."""
    found = Attachment.objects.filter(owner=owner).in_bulk(numbers)
    return [found[number] for number in numbers if number in found]


def describe_picture(
    owner: User, number: int, *, alt: str | None = None, focus: Focus | None = None
) -> Attachment:
    """Change what is given of a picture that waits; one that is published is changed with its post. Invalid, NotFound."""
    check_picture(alt, focus)
    with transaction.atomic():
        picture = _waiting(owner, number)
        picture.alt = picture.alt if alt is None else alt
        picture.focus_x, picture.focus_y = focus or (picture.focus_x, picture.focus_y)
        picture.save(update_fields=["alt", "focus_x", "focus_y"])
    return picture


def withdraw_picture(owner: User, number: int) -> None:
    """Delete a picture that waits. NotFound; Invalid when a scheduled post will show it."""
    with transaction.atomic():
        picture = _waiting(owner, number)
        if picture.scheduled_id is not None:
            raise invalid("id", _("A scheduled post shows this picture."), "in_use")
        discard([picture])


def purge_pictures(*, limit: int) -> int:
    """Delete up to `limit` pictures that nobody took within a day; how many."""
    with transaction.atomic():
        forgotten = Attachment.objects.select_for_update(skip_locked=True).filter(
            post=None, scheduled=None, created_at__lt=timezone.now() - KEEP_FOR
        )
        found = list(forgotten.order_by("created_at")[:limit])
        discard(found)
    return len(found)


def _waiting(owner: User, number: int) -> Attachment:
    rows = Attachment.objects.select_for_update(of=("self",))
    found = rows.filter(pk=number, owner=owner, post=None).first()
    if found is None:
        raise _not_there()
    return found


def _file(data: bytes) -> "ContentFile[bytes]":
    return ContentFile(data, name=f"{secrets.token_hex(16)}.webp")


def _not_there() -> NotFound:
    return NotFound(_("There is no such picture."))
