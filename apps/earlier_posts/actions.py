"""Creates and deletes earlier posts: posts that members wrote on other sites, imported from an archive."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.staff import is_permitted, log_action, require_permission
from apps.earlier_posts.archive_file import Archive
from apps.earlier_posts.html_text import text_of
from apps.earlier_posts.models import EarlierPicture, EarlierPost, new_picture_name
from apps.errors import Invalid, NotFound
from apps.media.sandbox import ReencodedPicture, reencode_picture
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.models import OPEN
from apps.privacy.hooks import Record
from apps.texts import is_visible, normalise

MAX_PICTURES = 4  # of a post
PICTURES_SECONDS = 12.0  # after this, no further picture is begun: the import task may take 20 s


@dataclass(frozen=True, slots=True)
class Pictures:
    """The re-encoded pictures of a post, with the archive's data about each, and messages about the missing ones."""

    ready: list[tuple[Record, ReencodedPicture]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def prepare_pictures(user: User, post: Record, archive: Archive) -> Pictures:
    """Re-encode the pictures of a post in the sandbox, unless the post has been imported already."""
    pictures, end = Pictures(), time.monotonic() + PICTURES_SECONDS
    if not post["media"] or _is_here(user, post):
        return pictures
    room = _room(user)
    for medium in post["media"]:
        if len(pictures.ready) == MAX_PICTURES:
            pictures.missing.append(_("It has more pictures than a post can have here."))
            break
        if time.monotonic() > end:
            pictures.missing.append(_("Not all of its pictures could be prepared in time."))
            break
        reencoded = _reencoded(medium, archive)
        if isinstance(reencoded, str):
            pictures.missing.append(reencoded)
        elif (room := room - _size(reencoded)) < 0:
            pictures.missing.append(_("There is no room for more pictures of earlier posts."))
            break
        else:
            pictures.ready.append((medium, reencoded))
    return pictures


def make_earlier_post(
    user: User, post: Record, pictures: Pictures
) -> tuple[Mapping[str, Any] | None, str]:
    """Import a post; returns data for `remove_earlier_post` (None if imported before) and a note on missing parts.

    Raises Invalid if nothing of the post could be imported. Call it in a transaction.
    """
    if _is_here(user, post):
        return None, ""
    body = _body(post)
    missing = " ".join(dict.fromkeys(pictures.missing))
    if not body and not pictures.ready:
        raise Invalid(missing or _("There is nothing in it that can be shown."))
    row = EarlierPost.objects.create(
        owner=user,
        origin=post["origin"],
        written_at=datetime.fromisoformat(post["published"]),
        edited_at=post["edited"] and datetime.fromisoformat(post["edited"]),
        visibility=post["visibility"],
        body=body,
        content_warning=normalise(post["warning"]),
        sensitive=post["sensitive"],
        language=post["language"],
        reply_to=post["reply_to"],
    )
    for position, (medium, picture) in enumerate(pictures.ready):
        _store(row, position, medium, picture)
    return {"id": row.pk}, missing


def remove_earlier_post(user: User, trace: Mapping[str, Any]) -> None:
    """Undo the import of a post; does nothing if the post was deleted. Call it in a transaction."""
    discard(EarlierPost.objects.filter(pk=trace["id"], owner=user))


@transaction.atomic
def delete_earlier_post(post_id: int, *, by: User) -> None:
    """Delete a post. Raises NotFound unless `by` is its owner or may delete posts as staff.

    Raises NotAllowed if the owner is a superuser, unless `by` is one too.
    """
    row = EarlierPost.objects.select_related("owner").filter(pk=post_id).first()
    if row is None or (row.owner_id != by.pk and not is_permitted(by, DELETE_POSTS)):
        raise NotFound(_("This post isn't here."))
    if row.owner_id != by.pk:
        require_permission(by, DELETE_POSTS, over=row.owner)
        log_action(by, row.owner, f"Deleted the earlier post {row.origin}.")
    discard([row])


def discard(rows: Iterable[EarlierPost]) -> int:
    """Delete posts, and after the commit the files of their pictures. Returns the number of posts."""
    ids = [row.pk for row in rows]
    pictures = EarlierPicture.objects.filter(post__in=ids)
    for names in pictures.values_list("file", "preview"):
        for name in names:
            transaction.on_commit(partial(default_storage.delete, name))
    EarlierPost.objects.filter(pk__in=ids).delete()
    return len(ids)


def _is_here(user: User, post: Record) -> bool:
    return EarlierPost.objects.filter(owner=user, origin=post["origin"]).exists()


def _body(post: Record) -> str:
    """The text, followed by the options of a poll, without votes."""
    options = "\n".join(f"- {option}" for option in post["options"] if is_visible(option))
    body = normalise(f"{text_of(post['html'], post['mentions'])}\n\n{options}")
    return body if is_visible(body) else ""


def _reencoded(medium: Record, archive: Archive) -> ReencodedPicture | str:
    """The re-encoded picture, or the reason why there is none."""
    if medium["type"].startswith(("video/", "audio/")):
        return _("Its video or audio was left out.")
    if medium["file"] is None:
        return _("One of its pictures is not in the archive.")
    data = archive.read(medium["file"], maximum=settings.PICTURE_MAX_BYTES)
    try:
        return reencode_picture(data or b"")
    except Invalid:
        return _("One of its pictures can't be read.")


def _room(user: User) -> int:
    """The number of bytes still available for pictures of earlier posts."""
    rows = EarlierPicture.objects.filter(post__owner=user)
    used: int = rows.aggregate(Sum("size", default=0))["size__sum"]
    return int(settings.EARLIER_PICTURES_MAX_BYTES) - used


def _size(picture: ReencodedPicture) -> int:
    return len(picture.data) + len(picture.preview)


def _store(row: EarlierPost, position: int, medium: Record, picture: ReencodedPicture) -> None:
    file, preview = (
        default_storage.save(new_picture_name(is_open=row.visibility in OPEN), ContentFile(data))
        for data in (picture.data, picture.preview)
    )
    focus_x, focus_y = medium["focus"]
    EarlierPicture.objects.create(
        post=row,
        position=position,
        file=file,
        preview=preview,
        width=picture.width,
        height=picture.height,
        alt=normalise(medium["alt"]),
        blurhash=picture.blurhash,
        moves=picture.moves,
        focus_x=focus_x,
        focus_y=focus_y,
        size=_size(picture),
    )
