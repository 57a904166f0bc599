"""Uploads: pictures, video and sound that are not yet part of a post (`attachments` attaches them)."""

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage, storages
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Invalid, NotFound, invalid
from apps.media.addresses import is_restricted, new_name
from apps.media.captions import MAX_BYTES as CAPTIONS_MAX_BYTES
from apps.media.captions import clean_captions
from apps.media.sandbox import bad_picture, reencode_picture
from apps.media.video import SOURCE, Unfit, explained, is_available, looks_like_media, probe
from apps.posts.actions import transcoding
from apps.posts.actions.attachments import discard
from apps.posts.actions.drafts import Focus, check_picture
from apps.posts.models import Attachment, MediaState, Medium
from apps.throttling import check_rate_limit

RETENTION = timedelta(days=1)  # of uploads that no post uses
HEAD_BYTES = 16  # enough to tell pictures from video and sound


def upload_media(
    owner: User, file: IO[bytes], *, alt: str = "", focus: Focus = (0.0, 0.0)
) -> Attachment:
    """Store a picture, or a video or sound for a worker to transcode. Raises Invalid or TooMany."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if looks_like_media(head, getattr(file, "content_type", None) or ""):
        return upload_video(owner, file, alt=alt, focus=focus)
    return upload_picture(owner, file, alt=alt, focus=focus)


def upload_picture(
    owner: User, file: IO[bytes], *, alt: str = "", focus: Focus = (0.0, 0.0)
) -> Attachment:
    """Re-encode a picture, and store it as an upload. Raises Invalid or TooMany."""
    check_picture(alt, focus)
    check_rate_limit("upload", str(owner.pk))
    data = file.read(settings.PICTURE_MAX_BYTES + 1)
    if len(data) > settings.PICTURE_MAX_BYTES:
        maximum = {"count": settings.PICTURE_MAX_BYTES // 1024**2}
        raise bad_picture(
            _("This picture is too large. The maximum is %(count)d MB.") % maximum, "file"
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
        size=len(picture.data),
    )


def upload_video(
    owner: User, file: IO[bytes], *, alt: str = "", focus: Focus = (0.0, 0.0)
) -> Attachment:
    """Probe a video or sound, and store it in the private storage until a worker has transcoded it.

    Raises TooMany, and Invalid for an unsuitable file (for any file if ffmpeg is not installed).
    """
    check_picture(alt, focus)
    if not is_available():
        raise _unfit("unavailable")
    check_rate_limit("upload", str(owner.pk))
    with tempfile.TemporaryDirectory(prefix="upload-") as folder:
        path = Path(folder).resolve() / SOURCE
        with path.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        if path.stat().st_size > settings.VIDEO_MAX_BYTES:
            raise _unfit("too_large")
        try:
            found = probe(path)
        except Unfit as error:
            raise _unfit(error.reason) from None
        with path.open("rb") as copy:
            source = storages["private"].save(f"uploads/{secrets.token_hex(24)}", File(copy))
    with transaction.atomic():
        attachment = Attachment.objects.create(
            owner=owner,
            medium=Medium.AUDIO if found.video is None else Medium.VIDEO,
            state=MediaState.PROCESSING,
            width=found.width,
            height=found.height,
            duration_ms=round(found.seconds * 1000),
            alt=alt,
            focus_x=focus[0],
            focus_y=focus[1],
        )
        transcoding.begin(attachment, source)
    return attachment


def uploaded_picture(owner: User, number: int) -> Attachment:
    """One of the owner's uploads, whether a post uses it already or not. Raises NotFound."""
    picture = Attachment.objects.filter(pk=number, owner=owner).first()
    if picture is None:
        raise _not_found()
    return picture


def uploaded_pictures(owner: User, numbers: Sequence[int]) -> list[Attachment]:
    """The owner's uploads among `numbers`, in this order, whether posts use them already or not; one query."""
    pictures = Attachment.objects.filter(owner=owner).in_bulk(numbers)
    return [pictures[number] for number in numbers if number in pictures]


def describe_picture(
    owner: User,
    number: int,
    *,
    alt: str | None = None,
    focus: Focus | None = None,
    captions: IO[bytes] | None = None,
) -> Attachment:
    """Change an upload that no post uses yet (`edit_post` changes pictures of posts). Raises Invalid or NotFound.

    `captions` is a WebVTT file for a video or sound; an empty file removes the captions.
    """
    check_picture(alt, focus)
    cues = None if captions is None else _clean(captions)
    with transaction.atomic():
        picture = _waiting(owner, number)
        picture.alt = picture.alt if alt is None else alt
        picture.focus_x, picture.focus_y = focus or (picture.focus_x, picture.focus_y)
        if cues is not None:
            _replace_captions(picture, cues)
        picture.save(update_fields=["alt", "focus_x", "focus_y", "captions"])
    return picture


def withdraw_picture(owner: User, number: int) -> None:
    """Delete an upload that no post uses yet. Raises NotFound, or Invalid if a scheduled post uses it."""
    with transaction.atomic():
        picture = _waiting(owner, number)
        if picture.scheduled_id is not None:
            raise invalid("id", _("A scheduled post uses this picture."), "in_use")
        discard([picture])


def purge_unused_uploads(*, limit: int) -> int:
    """Delete up to `limit` uploads that nothing uses and whose `created_at` is over a day ago; returns their number."""
    rows = Attachment.objects.filter(
        post=None,
        scheduled=None,
        draft=None,
        past_post_id=None,
        created_at__lt=timezone.now() - RETENTION,
    )
    found = rows.order_by("created_at").values_list("author_id", "pk")[:limit]
    deleted = 0
    with transaction.atomic():
        for author_id, pk in found:  # one statement cannot lock rows on several servers
            one = rows.select_for_update(skip_locked=True).filter(author_id=author_id, pk=pk)
            deleted += len(pictures := list(one))
            discard(pictures)
    return deleted


def _waiting(owner: User, number: int) -> Attachment:
    rows = Attachment.objects.select_for_update(of=("self",))
    own = rows.filter(pk=number, author_id=owner.pk, owner=owner)
    picture = own.filter(post=None, past_post_id=None).first()
    if picture is None:
        raise _not_found()
    return picture


def _clean(captions: IO[bytes]) -> bytes:
    """The cues of a WebVTT file; empty for an empty file. Raises Invalid."""
    data = captions.read(CAPTIONS_MAX_BYTES + 1)
    try:
        return clean_captions(data) if data else b""
    except ValueError:
        text = _("These captions can't be read. Use a WebVTT file of at most 256 kB.")
        raise invalid("captions", text, "bad_captions") from None


def _replace_captions(row: Attachment, cues: bytes) -> None:
    if row.medium == Medium.IMAGE:
        raise invalid("captions", _("Pictures cannot have captions."), "not_allowed")
    before = row.captions.name
    row.captions.name = ""
    if cues:
        is_open = not is_restricted(row.file.name or "")
        name = new_name(is_open=is_open, suffix=".vtt")
        row.captions.name = default_storage.save(name, ContentFile(cues))
    if before:
        transaction.on_commit(lambda: default_storage.delete(before))


def _unfit(reason: str) -> Invalid:
    return invalid("file", explained(reason), f"video_{reason}")


def _file(data: bytes) -> "ContentFile[bytes]":
    return ContentFile(data, name=f"{secrets.token_hex(16)}.webp")


def _not_found() -> NotFound:
    return NotFound(_("There is no such picture."))
