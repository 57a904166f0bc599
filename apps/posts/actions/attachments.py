"""The pictures, video and sound of a post: rows and files."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import PurePosixPath

from django.core.files.storage import default_storage, storages
from django.db import transaction
from django.db.models.fields.files import FieldFile
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.errors import Invalid, invalid
from apps.media.addresses import is_restricted, new_name
from apps.media.hooks import SERVED_FOLDERS
from apps.media.video import explained
from apps.posts.actions.drafts import NewPicture, PictureChange
from apps.posts.actions.transcoding import sources_of
from apps.posts.content.post import Picture
from apps.posts.models import OPEN, Attachment, MediaState, Medium, Post, ScheduledPost
from apps.sql import rows_of

ACCOUNT_FOLDERS = ("avatars/", "headers/")
_OF_ACCOUNT = """
SELECT 1 FROM accounts_user WHERE (avatar = %(name)s OR header = %(name)s) AND suspended_at IS NULL LIMIT 1
"""
_FILE = "(picture.file = %(name)s OR picture.preview = %(name)s)"
_CAPTIONS = "picture.captions = %(name)s AND picture.captions <> ''"  # the index on captions has the same condition
# Uploads have no post yet, hence LEFT JOIN. Several posts may share a file that is not an upload (see `discard`).
_OF_POST = """
SELECT 1 FROM posts_attachment picture
LEFT JOIN posts_post post
    ON post.id = coalesce(picture.post_id, picture.past_post_id) AND post.author_id = picture.author_id
JOIN accounts_user person ON person.id = picture.author_id
WHERE {named}
  AND post.deleted_at IS NULL AND post.hidden_at IS NULL AND person.suspended_at IS NULL LIMIT 1
"""
CAPTIONS = ".vtt"
# the columns that `detach` changes in pictures that stay; `author_id`, which selects the server, stays the same
HELD = ("post", "position", "scheduled", "created_at", "file", "preview", "captions")


def attach(post: Post, pictures: Sequence[NewPicture]) -> list[Picture]:
    """Store new pictures with a post, in the transaction that inserts it."""
    return [
        Picture.of(
            Attachment.objects.create(
                post=post,
                position=position,
                file=picture.file,
                width=picture.width,
                height=picture.height,
                alt=picture.alt,
            )
        )
        for position, picture in enumerate(pictures)
    ]


def lock_uploads(owner_id: int, media_ids: Sequence[int]) -> list[Attachment]:
    """An owner's uploads in the given order, locked for the caller's transaction.

    Raises Invalid if an upload is missing, in use or not ready, or if a video or sound is not the only upload.
    """
    rows = Attachment.objects.select_for_update(of=("self",)).filter(author_id=owner_id)
    found = rows.in_bulk(media_ids) if media_ids else {}
    uploads = []
    for media_id in media_ids:
        row = found.get(media_id)
        if row is None or row.owner_id != owner_id or not is_waiting(row):
            raise _no_such_picture()
        if row.state != MediaState.READY:
            raise _not_ready(row)
        uploads.append(row)
    check_together([row.medium for row in uploads])
    return uploads


def is_waiting(row: Attachment) -> bool:
    """Whether an upload is not yet used by any post, earlier version of a post, or scheduled post."""
    return row.post_id is None and row.scheduled_id is None and row.past_post_id is None


def check_together(media: Sequence[str]) -> None:
    """Raise Invalid for a video or sound that is not the only attachment."""
    if len(media) > 1 and set(media) != {Medium.IMAGE.value}:
        text = _("A post can have pictures, one video or one audio file, but not a mix.")
        raise invalid("media_ids", text, "not_allowed")


def attach_uploads(
    post: Post, uploads: Sequence[Attachment], *, first_position: int = 0
) -> list[Picture]:
    """Attach locked uploads to a post, in the transaction that inserts or edits it."""
    pictures = []
    for position, row in enumerate(uploads, start=first_position):
        row.post, row.position = post, position
        _move_files(row, is_open=post.visibility in OPEN)
        row.save(update_fields=["post", "position", "file", "preview", "captions"])
        pictures.append(Picture.of(row))
    return pictures


def rearrange(
    post: Post, media_ids: Sequence[int] | None, changes: Sequence[PictureChange]
) -> list[Picture]:
    """Set the pictures of a post to `media_ids`, in this order (None: the same as before), and apply `changes`.

    Removed pictures stay for the history of the post, and a later edit may restore them. Call this in the edit's
    transaction. Raises Invalid like `lock_uploads`, and for changes to pictures that are not the post's.
    """
    current = {
        row.pk: row for row in Attachment.objects.select_for_update(of=("self",)).filter(post=post)
    }
    ordered = sorted(current.values(), key=lambda row: row.position)
    ids = [row.pk for row in ordered] if media_ids is None else media_ids
    if ids != [row.pk for row in ordered]:
        taken_out = [current.pop(pk).pk for pk in current.keys() - set(ids)]
        Attachment.objects.filter(pk__in=taken_out).update(
            post=None, position=0, past_post_id=post.pk
        )
        Attachment.objects.filter(pk__in=ids, past_post_id=post.pk).update(past_post_id=None)
        free_position = 1 + max((row.position for row in current.values()), default=0)
        uploads = lock_uploads(post.author_id, [pk for pk in ids if pk not in current])
        check_together([row.medium for row in (*current.values(), *uploads)])
        attach_uploads(post, uploads, first_position=free_position)
        free_position += len(ids)
        for first_position in (free_position, 0):  # positions must stay unique
            for position, pk in enumerate(ids, start=first_position):
                Attachment.objects.filter(pk=pk, post=post).update(position=position)
    for change in changes:
        values = change.values()
        if change.id not in ids:
            raise _no_such_picture()
        if values:
            Attachment.objects.filter(pk=change.id, post=post).update(**values)
    return pictures_of(post)


def reserve(row: ScheduledPost, media_ids: Sequence[int]) -> None:
    """Reserve uploads for a scheduled post, in its transaction. Raises Invalid like `lock_uploads`."""
    if media_ids:
        uploads = lock_uploads(row.author_id, media_ids)
        Attachment.objects.filter(pk__in=[upload.pk for upload in uploads]).update(scheduled=row)


def pictures_of(post: Post) -> list[Picture]:
    """The pictures of a post, in order."""
    return [Picture.of(row) for row in Attachment.objects.filter(post=post).order_by("position")]


def detach(post: Post, *, keep: bool) -> None:
    """Delete the pictures of a deleted post. With `keep`, its current uploads stay for a day, for a new post.

    Pictures that stay are renamed, so that their earlier addresses stop working.
    """
    discard(Attachment.objects.filter(past_post_id=post.pk))
    attachments = Attachment.objects.filter(post=post)
    if keep:
        for row in attachments.exclude(owner=None):
            _rename(row, is_open=False)
            row.post, row.position, row.scheduled, row.created_at = None, 0, None, timezone.now()
            row.save(update_fields=HELD)
    discard(attachments)


def discard(rows: Iterable[Attachment]) -> None:
    """Delete pictures and, after the commit, those of their files that no other picture uses."""
    rows = list(rows)
    names = {file.name or "" for row in rows for file in _files(row)}
    for source in sources_of(rows):
        transaction.on_commit(partial(storages["private"].delete, source))
    Attachment.objects.filter(pk__in=[row.pk for row in rows]).delete()
    # uploads, which have an owner, never share a file
    shared = [row.file.name for row in rows if row.owner_id is None]
    if shared:
        others = Attachment.objects.filter(file__in=shared).values_list("file", "preview")
        names.difference_update(*others)
    for name in names:
        transaction.on_commit(partial(default_storage.delete, name))


def is_served(name: str) -> bool:
    """Whether a stored file may be served. It must belong to an account, to an upload, or to a post that is neither
    deleted nor hidden, and its owner must not be suspended. Other apps decide about files in `SERVED_FOLDERS`.

    Each served file costs one indexed query, so that a picture disappears together with its post.
    """
    for folder in SERVED_FOLDERS:
        if name.startswith(folder.name):
            return folder.serves(name)
    named = _CAPTIONS if name.endswith(CAPTIONS) else _FILE
    if name.startswith(ACCOUNT_FOLDERS) and named is _FILE:
        return bool(rows_of(_OF_ACCOUNT, {"name": name}))
    return bool(rows_of(_OF_POST.format(named=named), {"name": name}))


def _move_files(row: Attachment, *, is_open: bool) -> None:
    """Move files to the folder for the post's visibility; the old copies are deleted after the commit."""
    if is_restricted(row.file.name or "") == is_open:
        _rename(row, is_open=is_open)


def _rename(row: Attachment, *, is_open: bool) -> None:
    for file in _files(row):
        before = file.name or ""
        new = new_name(is_open=is_open, suffix=PurePosixPath(before).suffix)
        with default_storage.open(before) as stored:
            file.name = default_storage.save(new, stored)
        transaction.on_commit(partial(default_storage.delete, before))


def _files(row: Attachment) -> list[FieldFile]:
    return [file for file in (row.file, row.preview, row.captions) if file.name]


def _not_ready(row: Attachment) -> Invalid:
    if row.state == MediaState.FAILED:
        return invalid("media_ids", explained(row.error), "failed")
    text = _("It is still being prepared. Try again in a moment.")
    return invalid("media_ids", text, "not_ready")


def _no_such_picture() -> Exception:
    return invalid(
        "media_ids", _("There is no such picture, or another post has it already."), "unknown"
    )
