"""Saved drafts: unfinished posts and their pictures, stored until they are published or deleted."""

from collections.abc import Mapping, Sequence

import orjson
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound, invalid
from apps.posts.models import Attachment, SavedDraft

MAX_DRAFTS = 100
MAX_BYTES = 64 * 1024  # of one draft
Fields = Mapping[str, str | list[str]]


def save_draft(
    author: User, fields: Fields, media_ids: Sequence[int], *, number: int | None = None
) -> SavedDraft:
    """Store a draft, replacing draft `number` if it still exists, and reserve its uploads. Raises Invalid."""
    if len(orjson.dumps(fields)) > MAX_BYTES:
        raise invalid("status", _("The text is too long."), "too_long")
    with transaction.atomic():
        row = SavedDraft.objects.select_for_update().filter(author=author, pk=number or 0).first()
        if row is None:
            User.objects.select_for_update().get(pk=author.pk)  # a lock, so that the limit holds
            if SavedDraft.objects.filter(author=author).count() >= MAX_DRAFTS:
                text = _("You can have up to %(count)d drafts. Delete some of them first.")
                raise invalid("status", text % {"count": MAX_DRAFTS}, "too_many")
            row = SavedDraft(author=author)
        row.fields, row.updated_at = fields, timezone.now()
        pictures = _waiting(author).filter(pk__in=media_ids)
        kept = set(pictures.values_list("pk", flat=True))
        row.media_ids = [number for number in media_ids if number in kept]
        row.save()
        _release(row, keeping=row.media_ids)
        pictures.update(draft=row)
    return row


def saved_drafts(author: User) -> list[SavedDraft]:
    """All drafts of an author, newest first."""
    return list(SavedDraft.objects.filter(author=author).order_by("-updated_at", "-pk"))


def saved_draft(author: User, number: int | None) -> SavedDraft:
    """A draft of an author. Raises NotFound."""
    row = SavedDraft.objects.filter(author=author, pk=number or 0).first()
    if row is None:
        raise NotFound(_("There is no such draft."))
    return row


def delete_draft(author: User, number: int) -> None:
    """Delete a draft if it exists; pictures of it that no post uses stay for another day."""
    with transaction.atomic():
        row = SavedDraft.objects.select_for_update().filter(author=author, pk=number or 0).first()
        if row is not None:
            _release(row)
            row.delete()


def _waiting(author: User) -> QuerySet[Attachment]:
    return Attachment.objects.filter(owner=author, post=None, scheduled=None, past_post_id=None)


def _release(row: SavedDraft, *, keeping: Sequence[int] = ()) -> None:
    held = Attachment.objects.filter(draft=row, post=None).exclude(pk__in=keeping)
    held.update(draft=None, created_at=timezone.now())
