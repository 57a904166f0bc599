"""The pictures of a post, as rows and files."""

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
# Without a post it waits for one of its owner's. Several posts may show one file, as those of the demo do.
_OF_POST = """
SELECT 1 FROM posts_attachment picture LEFT JOIN posts_post post ON post.id = picture.post_id
JOIN accounts_user person ON person.id = coalesce(post.author_id, picture.owner_id)
WHERE (picture.file = %(name)s OR picture.preview = %(name)s)
  AND post.deleted_at IS NULL AND person.suspended_at IS NULL LIMIT 1
"""


def attach(post: Post, pictures: Sequence[NewPicture]) -> list[Picture]:
    """Store pictures with a post that was just written, in its transaction."""
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


def take(post: Post, media_ids: Sequence[int], *, beginning: int = 0) -> list[Picture]:
    """Give a post pictures that its author uploaded before, in its transaction. Invalid when one is not to be had."""
    waiting = Attachment.objects.select_for_update(of=("self",)).in_bulk(media_ids)
    found = [waiting.get(number) for number in media_ids]
    taken = []
    for position, one in enumerate(found, start=beginning):
        if one is None or one.owner_id != post.author_id or one.post_id or one.scheduled_id:
            raise _no_such_picture()
        one.post, one.position = post, position
        _house(one, is_open=post.visibility in OPEN)
        one.save(update_fields=["post", "position", "file", "preview"])
        taken.append(Picture.of(one))
    return taken


def rearrange(
    post: Post, media_ids: Sequence[int] | None, changes: Sequence[PictureChange]
) -> list[Picture]:
    """The pictures of a post after an edit, in the order of the ids; None: those it has. Others go, with their files.

    In the edit's transaction. Invalid when one is not to be had.
    """
    have = {
        row.pk: row for row in Attachment.objects.select_for_update(of=("self",)).filter(post=post)
    }
    before = sorted(have.values(), key=lambda row: row.position)
    wanted = [row.pk for row in before] if media_ids is None else media_ids
    if wanted != [row.pk for row in before]:
        discard(have.pop(pk) for pk in have.keys() - set(wanted))
        free = 1 + max((row.position for row in have.values()), default=0)
        take(post, [pk for pk in wanted if pk not in have], beginning=free)
        free += len(wanted)
        for round_begins in (free, 0):  # two rows never have one place, not even on the way
            for position, pk in enumerate(wanted, start=round_begins):
                Attachment.objects.filter(pk=pk, post=post).update(position=position)
    for change in changes:
        values = change.values()
        if change.id not in wanted:
            raise _no_such_picture()
        if values:
            Attachment.objects.filter(pk=change.id, post=post).update(**values)
    return pictures_of(post)


def reserve(row: ScheduledPost, media_ids: Sequence[int]) -> None:
    """Keep uploaded pictures for a scheduled post, in the transaction that writes it. Invalid when one is not to be had."""
    waiting = Attachment.objects.filter(
        pk__in=media_ids, owner=row.author_id, post=None, scheduled=None
    )
    if media_ids and waiting.update(scheduled=row) != len(media_ids):
        raise _no_such_picture()


def pictures_of(post: Post) -> list[Picture]:
    """The pictures of a post, in order."""
    return [Picture.of(one) for one in Attachment.objects.filter(post=post).order_by("position")]


def detach(post: Post, *, keep: bool) -> None:
    """Take the pictures from a post that is deleted: they go, or (`keep`) wait a day for another post of their owner.

    Those that wait get other names, which nobody but their owner is told: the addresses that readers know end here.
    """
    mine = Attachment.objects.filter(post=post)
    if keep:
        for row in mine.exclude(owner=None):
            _rename(row, is_open=False)
            row.post, row.position, row.scheduled, row.created_at = None, 0, None, timezone.now()
            row.save()
    discard(mine)


def discard(rows: Iterable[Attachment]) -> None:
    """Delete pictures; their files after the commit, unless another post shows them too."""
    rows = list(rows)
    names = {file.name for row in rows for file in (row.file, row.preview) if file.name}
    Attachment.objects.filter(pk__in=[row.pk for row in rows]).delete()
    shared = [
        row.file.name for row in rows if row.owner_id is None
    ]  # uploads have files of their own
    if shared:
        others = Attachment.objects.filter(file__in=shared).values_list("file", "preview")
        names.difference_update(*others)
    for name in names:
        transaction.on_commit(partial(default_storage.delete, name))


def is_shown(name: str) -> bool:
    """Whether a stored picture belongs to a post that is there, or to an account, and nobody suspended the account.

    One question to PostgreSQL, answered by indexes, for every file that is served: a picture ends with its post, at once.
    """
    statement = _OF_ACCOUNT if name.startswith(ACCOUNT_FOLDERS) else _OF_POST
    return bool(rows_of(statement, {"name": name}))


def _house(row: Attachment, *, is_open: bool) -> None:
    """Put the files of a picture where those of such posts are; the old ones go after the commit."""
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
