"""Writes the archive of a user's data: a ZIP file of CSV tables, JSON lines and pictures."""

import csv
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import orjson
from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage, default_storage, storages
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.posts.models import Attachment
from apps.privacy.archive_parts import PARTS, Part, Record, escape_formula, picture_name

BATCH = 500  # rows in memory
COPY_BYTES = 1024 * 1024
EPOCH = (
    2015,
    1,
    1,
    0,
    0,
    0,
)  # modification time of every entry: the same data gives the same bytes

README = """What {name} holds of @{handle}, made at their request.

account.json              the profile and the settings
posts.jsonl               every post, one line of JSON each; "pictures" names files in pictures/
scheduled_posts.jsonl     posts that wait for their time
likes.csv, bookmarks.csv, votes.csv, muted_threads.csv
following_accounts.csv    can be imported on other sites; so can blocked_accounts.csv and muted_accounts.csv
followers.csv, follow_requests.csv, recommended_accounts.csv, notes.csv
lists.csv, list_members.csv, circles.csv, circle_members.csv
followed_tags.csv, filters.jsonl
unwanted_notifications.csv
reports.jsonl             what was reported to the moderators
logins.csv, access_tokens.csv, applications.csv
pictures/                 pictures of posts, of the profile, and those that wait for a post
left_out.txt              pictures there was no room for, if any
"""

Progress = Callable[[int], None]


def private_storage() -> Storage:
    """Archives are served by the owner's download view only."""
    return storages["private"]


def entries_of(user: User) -> int:
    """The number of rows and pictures in a user's archive, for its progress."""
    return sum(part.rows(user).count() for part in PARTS) + pictures_of(user).count()


def write_archive(user: User, name: str, progress: Progress) -> int:
    """Write a user's archive to the private storage, over an earlier attempt; its size in bytes.

    `progress` is called with the number of entries written, after every batch; an exception from it
    ends the work.
    """
    with tempfile.TemporaryFile() as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            _add(archive, "README.txt", README.format(name=settings.SITE_NAME, handle=user.handle))
            _add(archive, "account.json", orjson.dumps(_account(user), option=orjson.OPT_INDENT_2))
            done = 0
            for part in PARTS:
                for count in _write_part(archive, part, user):
                    done += count
                    progress(done)
            for count in _write_pictures(archive, user):
                done += count
                progress(done)
        size = file.tell()
        file.seek(0)
        private_storage().delete(name)
        private_storage().save(name, File(file))
    return size


def pictures_of(user: User) -> QuerySet[Attachment]:
    """The pictures of a user's posts, and uploads without a post."""
    uploads = Attachment.objects.filter(owner=user, post=None)
    # pictures from before uploads had owners belong to the post's author
    return uploads | Attachment.objects.filter(post__author=user, post__deleted_at=None)


def _account(user: User) -> Record:
    names = (
        "handle", "email", "pending_email", "display_name", "bio", "lines", "is_bot", "is_discoverable", "is_indexable",
        "is_locked",
        "post_visibility", "post_sensitive", "post_language", "interface_language", "theme", "text_size",
        "density", "loads_by_button", "keys", "asks_for_alt",
    )  # fmt: skip
    fields = {name: getattr(user, name) for name in names}
    counts = {name: getattr(user.counts, name) for name in ("posts", "followers", "following")}
    return {
        "address": settings.SITE_URL + user.url,
        "joined": user.created_at.isoformat(),
        **fields,
        "counts": counts,
    }


def _write_part(archive: ZipFile, part: Part, user: User) -> Iterator[int]:
    """Write one file; yields the number of rows of each batch."""
    with archive.open(_entry(part.file), "w", force_zip64=True) as raw:
        table: Any = None
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        for rows in _batches(part.rows(user)):
            for record in part.written(rows):
                if part.file.endswith(".jsonl"):
                    text.write(orjson.dumps(record).decode() + "\n")
                    continue
                if table is None:
                    table = csv.DictWriter(text, list(record))
                    table.writeheader()
                table.writerow({key: escape_formula(value) for key, value in record.items()})
            yield len(rows)
        text.detach()


def _write_pictures(archive: ZipFile, user: User) -> Iterator[int]:
    bytes_left = settings.EXPORT_MAX_MEGABYTES * 1024 * 1024
    omitted = []
    files = [(f"pictures/profile-{kind}.webp", getattr(user, kind).name) for kind in ("avatar", "header")]  # fmt: skip
    for name, stored in files:
        bytes_left -= _copy(archive, name, stored)
    for rows in _batches(pictures_of(user)):
        for row in rows:
            if bytes_left > 0:
                bytes_left -= _copy(archive, picture_name(row), row.file.name)
            else:
                omitted.append(picture_name(row))
        yield len(rows)
    if omitted:
        _add(archive, "left_out.txt", "\n".join(omitted) + "\n")


def _copy(archive: ZipFile, name: str, stored: str | None) -> int:
    """Copy a stored picture; its size in bytes, 0 when it is gone."""
    if not stored:
        return 0
    with suppress(FileNotFoundError), default_storage.open(stored) as source:
        entry = _entry(name)
        entry.compress_type = ZIP_STORED  # already compressed
        with archive.open(entry, "w", force_zip64=True) as target:
            return _copy_blocks(source, target)
    return 0


def _copy_blocks(source: Any, target: IO[bytes]) -> int:
    size = 0
    while block := source.read(COPY_BYTES):
        size += target.write(block)
    return size


def _batches(rows: QuerySet[Any]) -> Iterator[Sequence[Any]]:
    """All rows in batches by primary key: each a range read, of bounded memory."""
    last = None
    while True:
        query = rows if last is None else rows.filter(pk__gt=last)
        batch = list(query.order_by("pk")[:BATCH])
        if batch:
            last = batch[-1].pk
            yield batch
        if len(batch) < BATCH:
            return


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, EPOCH)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def _add(archive: ZipFile, name: str, content: str | bytes) -> None:
    archive.writestr(_entry(name), content)
