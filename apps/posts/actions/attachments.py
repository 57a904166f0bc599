"""The pictures of a post: rows and files."""

from collections.abc import Iterable, Sequence
from functools import partial

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.media.addresses import is_restricted, new_name
from apps.posts.actions.drafts import NewPicture, PictureChange, invalid
from apps.posts.content.post import Picture
from apps.posts.models import OPEN, Attachment, Post, ScheduledPost
from apps.sql import rows_of

ACCOUNT_FOLDERS = ("avatars/", "headers/")
_OF_ACCOUNT = """
SELECT 1 FROM accounts_user WHERE (avatar = %(name)s OR header = %(name)s) AND suspended_at IS NULL LIMIT 1
"""
# Uploads have no post yet. Several posts may show one file, as those of the demo do.
_OF_POST = """
SELECT 1 FROM posts_attachment picture LEFT JOIN posts_post post ON post.id = picture.post_id
JOIN accounts_user person ON person.id = coalesce(post.author_id, picture.owner_id)
WHERE (picture.file = %(name)s OR picture.preview = %(name)s)
  AND post.deleted_at IS NULL AND person.suspended_at IS NULL LIMIT 1
"""


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


def attach_uploads(
    post: Post, media_ids: Sequence[int], *, first_position: int = 0
) -> list[Picture]:
    """Attach the author's uploads, in the post's transaction. Invalid for one missing or in use."""
    uploads = Attachment.objects.select_for_update(of=("self",)).in_bulk(media_ids)
    pictures = []
    for position, media_id in enumerate(media_ids, start=first_position):
        row = uploads.get(media_id)
        if row is None or row.owner_id != post.author_id or row.post_id or row.scheduled_id:
            raise _no_such_picture()
        row.post, row.position = post, position
        _move_files(row, is_open=post.visibility in OPEN)
        row.save(update_fields=["post", "position", "file", "preview"])
        pictures.append(Picture.of(row))
    return pictures


def rearrange(
    post: Post, media_ids: Sequence[int] | None, changes: Sequence[PictureChange]
) -> list[Picture]:
    """The pictures of a post after an edit, in the order of `media_ids`; None leaves them. Others
    are deleted with their files.

    In the transaction of the edit. Invalid when one is missing or in use.
    """
    current = {
        row.pk: row for row in Attachment.objects.select_for_update(of=("self",)).filter(post=post)
    }
    ordered = sorted(current.values(), key=lambda row: row.position)
    ids = [row.pk for row in ordered] if media_ids is None else media_ids
    if ids != [row.pk for row in ordered]:
        discard(current.pop(pk) for pk in current.keys() - set(ids))
        free_position = 1 + max((row.position for row in current.values()), default=0)
        attach_uploads(post, [pk for pk in ids if pk not in current], first_position=free_position)
        free_position += len(ids)
        for first_position in (free_position, 0):  # positions are unique at every step
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
    """Hold uploads for a scheduled post, in its transaction. Invalid for one missing or in use."""
    uploads = Attachment.objects.filter(
        pk__in=media_ids, owner=row.author_id, post=None, scheduled=None
    )
    if media_ids and uploads.update(scheduled=row) != len(media_ids):
        raise _no_such_picture()


def pictures_of(post: Post) -> list[Picture]:
    """In order."""
    return [Picture.of(row) for row in Attachment.objects.filter(post=post).order_by("position")]


def detach(post: Post, *, keep: bool) -> None:
    """Remove the pictures of a deleted post: delete them, or (`keep`) hold them a day for another
    post of their owner.

    Held pictures get new names that only their owner learns, so that the addresses that readers
    know stop working.
    """
    attachments = Attachment.objects.filter(post=post)
    if keep:
        for row in attachments.exclude(owner=None):
            _rename(row, is_open=False)
            row.post, row.position, row.scheduled, row.created_at = None, 0, None, timezone.now()
            row.save()
    discard(attachments)


def discard(rows: Iterable[Attachment]) -> None:
    """Delete pictures; their files after the commit, unless another post shows them too."""
    rows = list(rows)
    names = {file.name for row in rows for file in (row.file, row.preview) if file.name}
    Attachment.objects.filter(pk__in=[row.pk for row in rows]).delete()
    # uploads have files of their own
    shared = [row.file.name for row in rows if row.owner_id is None]
    if shared:
        others = Attachment.objects.filter(file__in=shared).values_list("file", "preview")
        names.difference_update(*others)
    for name in names:
        transaction.on_commit(partial(default_storage.delete, name))


def is_served(name: str) -> bool:
    """Whether a stored picture belongs to an existing post or an account, and its owner is not
    suspended.

    One indexed query for every file that is served: a picture disappears with its post, at once.
    """
    statement = _OF_ACCOUNT if name.startswith(ACCOUNT_FOLDERS) else _OF_POST
    return bool(rows_of(statement, {"name": name}))


def _move_files(row: Attachment, *, is_open: bool) -> None:
    """Move files to the folder of the post's visibility; the old ones go after the commit."""
    if is_restricted(row.file.name or "") == is_open:
        _rename(row, is_open=is_open)


def _rename(row: Attachment, *, is_open: bool) -> None:
    for file in filter(None, (row.file, row.preview)):
        before = file.name or ""
        with default_storage.open(before) as stored:
            file.name = default_storage.save(new_name(is_open=is_open), stored)
        transaction.on_commit(partial(default_storage.delete, before))


def _no_such_picture() -> Exception:
    return invalid(
        "media_ids", _("There is no such picture, or another post has it already."), "unknown"
    )
