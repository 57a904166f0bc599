"""Writes archives of a user's data: a zip file with a file for each part.

An archive contains only the user's own data. About other people, it contains only handles and URLs of posts, not texts.
Each part is read in batches by primary key, in bounded memory.
"""

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from shutil import copyfileobj
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import orjson
from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage, default_storage, storages
from django.db.models import QuerySet
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp_webauthn.models import WebAuthnCredential
from oauth2_provider.models import AccessToken as ApplicationToken

from apps.accounts.models import AccessToken, Login, User
from apps.engagement.marks import ROW_MARKS
from apps.engagement.models import Vote
from apps.filters.models import Filter
from apps.graph import models as graph
from apps.moderation.models import Report
from apps.notifications.models import NotificationPermission, NotificationPolicy, UnwantedKind
from apps.notifications.policy import CONDITIONS
from apps.posts.models import Attachment, Post, SavedDraft, ScheduledPost, ThreadMute
from apps.privacy.hooks import ARCHIVE, Part, Record, address_of
from apps.tags.models import FeaturedTag, PastTagFollow, TagFollow
from apps.texts import without_control_characters
from feedcache.ids import author_of

Progress = Callable[[int], None]
BATCH = 500  # rows in memory
COPY_BYTES = 1024 * 1024
# The modification time of every entry, so that the same data gives the same bytes.
EPOCH = (2015, 1, 1, 0, 0, 0)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets evaluate cells with these beginnings


def post_addresses(post_ids: Iterable[int | None]) -> dict[int, str]:
    """The URLs of posts by id. An id contains the author, so one query for handles is enough."""
    ids = {post_id for post_id in post_ids if post_id is not None}
    authors = User.objects.filter(pk__in={author_of(post_id) for post_id in ids})
    handles = dict(authors.values_list("pk", "handle"))
    return {
        post_id: f"{settings.SITE_URL}/@{handles[author_of(post_id)]}/{post_id}"
        for post_id in ids
        if author_of(post_id) in handles
    }


def escape_formula(value: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would read as a formula, and remove control characters."""
    if not isinstance(value, str):
        return value
    text = without_control_characters(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def post_records(posts: Sequence[Post]) -> Iterable[Record]:
    urls = post_addresses(
        post_id for post in posts for post_id in (post.pk, post.reply_to_id, post.source_id)
    )
    for post in posts:
        yield {
            "id": str(post.pk),
            "address": urls.get(post.pk),
            "published": post.created_at.isoformat(),
            "edited": post.edited_at and post.edited_at.isoformat(),
            "pinned": post.pinned_at is not None,
            "kind": post.kind,
            "for": post.visibility,
            "circle": post.circle.name if post.circle else None,
            "text": post.body,
            "content_warning": post.content_warning,
            "sensitive": post.sensitive,
            "language": post.language,
            "reply_to": urls.get(post.reply_to_id or 0),
            "shares": urls.get(post.source_id or 0),
            "pictures": [
                {
                    "file": picture_name(attachment),
                    "description": attachment.alt,
                    "captions": captions_name(attachment) if attachment.captions else None,
                }
                for attachment in sorted(
                    post.attachments.all(), key=lambda attachment: attachment.position
                )
            ],
            "poll": _poll(post),
            "earlier_versions": [
                {
                    "text": revision.body,
                    "content_warning": revision.content_warning,
                    "since": revision.created_at.isoformat(),
                }
                for revision in sorted(post.revisions.all(), key=lambda revision: revision.version)
            ],
        }


def picture_name(attachment: Any) -> str:
    """The path of a picture in the archive, made from its id and a file type chosen by the site."""
    extension = str(attachment.file.name).rpartition(".")[2]
    return f"pictures/{attachment.pk}.{extension if extension.isalnum() else 'bin'}"


def captions_name(attachment: Any) -> str:
    return f"pictures/{attachment.pk}.vtt"


def _poll(post: Post) -> Record | None:
    if not post.has_poll:
        return None
    poll = post.poll
    return {
        "options": poll.options,
        "votes": poll.votes,
        "ends": poll.expires_at.isoformat(),
        "several_choices": poll.multiple,
    }


def _posts(user: User) -> QuerySet[Any]:
    return (
        Post.objects.filter(author=user, deleted_at=None)
        .select_related("circle", "poll")
        .prefetch_related("attachments", "revisions")
    )


def _marks(marks: Sequence[Any]) -> Iterable[Record]:
    # not by a join, because posts and marks may be on different servers
    posts = Post.objects.filter(pk__in=[mark.post_id for mark in marks], deleted_at=None)
    urls = post_addresses(posts.values_list("pk", flat=True))
    for mark in marks:
        if mark.post_id in urls:
            yield {"post": urls[mark.post_id], "since": mark.created_at.isoformat()}


def _votes(votes: Sequence[Vote]) -> Iterable[Record]:
    urls = post_addresses(vote.poll_id for vote in votes)
    for vote in votes:
        yield {
            "post": urls.get(vote.poll_id, ""),
            "choice": vote.choice + 1,
            "at": vote.created_at.isoformat(),
        }


def _threads(mutes: Sequence[ThreadMute]) -> Iterable[Record]:
    urls = post_addresses(mute.thread_id for mute in mutes)
    return [{"thread": urls[mute.thread_id]} for mute in mutes if mute.thread_id in urls]


def _of(model: Any, owner: str, *related: str, **more: Any) -> Callable[[User], QuerySet[Any]]:
    # `select_related(None)` joins nothing; without arguments, it would join all related tables
    return lambda user: model.objects.filter(**{owner: user}, **more).select_related(
        *related or (None,)
    )


def _each(record: Callable[[Any], Record]) -> Callable[[Sequence[Any]], Iterable[Record]]:
    return lambda rows: map(record, rows)


def _accounts(
    file: str, rows: tuple[Any, str, str], record: Callable[[Any], Record] = lambda _row: {}
) -> Part:
    """A file that lists other accounts. `rows` has the model, and its fields for the user and for the other account."""
    model, owner, other = rows
    return Part(
        file,
        _of(model, owner, other),
        _each(
            lambda row: {"Account address": address_of(getattr(row, other).handle), **record(row)}
        ),
    )


def _since(row: Any) -> Record:
    return {"Since": row.created_at.isoformat()}


def _past(row: Any) -> Record:
    return {"Since": row.began_at.isoformat(), "Until": row.ended_at.isoformat()}


def _last_used(row: Any) -> Record:
    return {"Last used": row.last_used_at and row.last_used_at.isoformat()}


def _follow(
    row: graph.Followee,
) -> Record:  # Mastodon's columns, so that other sites can import them
    return {
        "Show boosts": str(row.shows_reposts).lower(),
        "Notify on new posts": str(row.notifies).lower(),
        "Languages": ", ".join(row.languages or ()),
    }


def _filter(row: Filter) -> Record:
    words = [{"word": word.keyword, "whole_word": word.whole_word} for word in row.keywords.all()]
    until = row.expires_at and row.expires_at.isoformat()
    return {
        "title": row.title,
        "places": row.places,
        "act": row.act,
        "until": until,
        "words": words,
    }


def _report(row: Report) -> Record:
    return {
        "about": address_of(row.target.handle),
        "category": row.category,
        "comment": row.comment,
        "at": row.created_at.isoformat(),
    }


def _grants(user: User) -> QuerySet[Any]:
    tokens = ApplicationToken.objects.filter(user=user).exclude(application=None)
    rows: QuerySet[Any] = tokens.select_related("application")
    return rows


PARTS = [
    Part("posts.jsonl", _posts, post_records),
    Part("scheduled_posts.jsonl", _of(ScheduledPost, "author", post=None),
         _each(lambda row: {"for": row.scheduled_at.isoformat(), "draft": row.draft})),
    Part("drafts.jsonl", _of(SavedDraft, "author"),
         _each(lambda row: {"saved": row.updated_at.isoformat(), "draft": row.fields})),
    *(Part(mark.archive, _of(mark.model, "user"), _marks) for mark in ROW_MARKS),
    Part("votes.csv", _of(Vote, "user"), _votes),
    Part("muted_threads.csv", _of(ThreadMute, "user"), _threads),
    _accounts("following_accounts.csv", (graph.Followee, "owner", "followee"), _follow),
    _accounts("followers.csv", (graph.Follower, "owner", "follower"), _since),
    _accounts("follow_requests.csv", (graph.FollowRequest, "requester", "owner"), _since),
    _accounts("blocked_accounts.csv", (graph.Block, "owner", "blocked")),
    _accounts("muted_accounts.csv", (graph.Mute, "owner", "muted"),
              lambda row: {"Hide notifications": str(row.hides_notifications).lower()}),
    _accounts("notes.csv", (graph.AccountNote, "owner", "about"), lambda row: {"Note": row.text}),
    _accounts("recommended_accounts.csv", (graph.Endorsement, "owner", "other")),
    Part("lists.csv", _of(graph.UserList, "owner"),
         _each(lambda row: {"List": row.name, "Replies": row.replies_policy, "Read by itself": row.is_exclusive})),
    Part("list_members.csv", _of(graph.ListMember, "group__owner", "group", "member"),
         _each(lambda row: {"List": row.group.name, "Account address": address_of(row.member.handle)})),
    Part("circles.csv", _of(graph.Circle, "owner", deleted_at=None),
         _each(lambda row: {"Circle": row.name, "Members may post": row.is_shared})),
    Part("circle_members.csv", _of(graph.CircleMember, "group__owner", "group", "member"),
         _each(lambda row: {"Circle": row.group.name, "Account address": address_of(row.member.handle)})),
    Part("followed_tags.csv", _of(TagFollow, "user", "tag"), _each(lambda row: {"Tag": f"#{row.tag.name}"})),
    Part("featured_tags.csv", _of(FeaturedTag, "user", "tag"), _each(lambda row: {"Tag": f"#{row.tag.name}"})),
    _accounts("past_relations.csv", (graph.PastRelation, "owner", "other"),
              lambda row: {"Kind": row.kind, **_past(row)}),
    Part("past_followed_tags.csv", _of(PastTagFollow, "user", "tag"),
         _each(lambda row: {"Tag": f"#{row.tag.name}", **_past(row)})),
    Part("filters.jsonl", lambda user: Filter.objects.filter(owner=user).prefetch_related("keywords"), _each(_filter)),
    Part("unwanted_notifications.csv", _of(UnwantedKind, "user"), _each(lambda row: {"Kind": row.kind})),
    Part("notification_policy.jsonl", _of(NotificationPolicy, "user"),
         _each(lambda row: {name: getattr(row, name) for name in CONDITIONS})),
    _accounts("accepted_notifications.csv", (NotificationPermission, "user", "actor")),
    Part("reports.jsonl", _of(Report, "reporter", "target"), _each(_report)),
    Part("logins.csv", _of(Login, "user"), _each(lambda row: {"Device": row.device, **_since(row)})),
    # the files about second factors never contain a key or a code
    Part("authenticator_apps.csv", _of(TOTPDevice, "user", confirmed=True),
         _each(lambda row: {**_since(row), **_last_used(row)})),
    Part("passkeys.csv", _of(WebAuthnCredential, "user"),
         _each(lambda row: {"Name": row.name, **_since(row), **_last_used(row)})),
    Part("access_tokens.csv", _of(AccessToken, "user"),
         _each(lambda row: {"Name": row.name, "May": row.scopes, "Made": row.created_at.isoformat()})),
    Part("applications.csv", _grants,
         _each(lambda row: {"Name": row.application.name, "May": row.scope, "Since": row.created.isoformat()})),
]  # fmt: skip


MARK_FILES = ", ".join(mark.archive for mark in ROW_MARKS)
README = """The data of @{handle} on {name}, at their request.

account.json              the profile and the settings
posts.jsonl               every post, one line of JSON each; "pictures" names files in pictures/
scheduled_posts.jsonl     posts that are scheduled
drafts.jsonl              drafts that are saved
{marks}, votes.csv, muted_threads.csv
following_accounts.csv    can be imported on other sites; so can blocked_accounts.csv and muted_accounts.csv
followers.csv, follow_requests.csv, recommended_accounts.csv, notes.csv
lists.csv, list_members.csv, circles.csv, circle_members.csv
followed_tags.csv, filters.jsonl
past_relations.csv        ended follows, mutes and blocks, and past_followed_tags.csv: kept for some months, to
                          explain earlier home pages
unwanted_notifications.csv
reports.jsonl             reports to the moderators
logins.csv, access_tokens.csv, applications.csv
{added}\
pictures/                 pictures, videos and sound of posts, of the profile, and those that wait for a post
left_out.txt              pictures there was no room for, if any
"""


def private_storage() -> Storage:
    """The storage of archives; only the owner's download view serves them."""
    return storages["private"]


def entries_of(user: User) -> int:
    """The number of rows and pictures in a user's archive, for the progress display."""
    rows: int = sum(part.rows(user).count() for part in (*PARTS, *ARCHIVE))
    return rows + pictures_of(user).count()


def write_archive(user: User, name: str, progress: Progress) -> int:
    """Write a user's archive to the private storage, replacing an earlier attempt; returns its size in bytes.

    `progress` is called after every batch and every picture with the number of entries written; if it raises an error,
    writing stops.
    """
    with tempfile.TemporaryFile() as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            _add(
                archive,
                "README.txt",
                README.format(
                    name=settings.SITE_NAME,
                    handle=user.handle,
                    marks=MARK_FILES,
                    added="".join(part.line for part in ARCHIVE),
                ),
            )
            _add(archive, "account.json", orjson.dumps(_account(user), option=orjson.OPT_INDENT_2))
            done = 0
            for part in (*PARTS, *ARCHIVE):
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
    # older pictures have no owner, and belong to the post's author
    return uploads | Attachment.objects.filter(post__author=user, post__deleted_at=None)


def _account(user: User) -> Record:
    names = (
        "handle", "email", "pending_email", "display_name", "bio", "lines", "is_bot", "is_discoverable", "is_indexable",
        "is_locked", "avatar_alt", "header_alt", "quote_policy",
        "post_visibility", "post_sensitive", "post_language", "interface_language", "theme", "text_size",
        "density", "loads_by_button", "hides_read", "hides_replies", "groups_reposts", "hides_activity", "keys",
        "asks_for_alt", "plays_loops", "second_column",
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
    """Write one file; yields the number of rows in each batch."""
    with archive.open(_entry(part.file), "w", force_zip64=True) as raw:
        table: Any = None
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        for rows in batches(part.rows(user)):
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
    """Write pictures until they reach `EXPORT_MAX_MEGABYTES`, and list the others.

    Yields the number by which each batch advances the progress, and 0 after each picture.
    """
    bytes_left = settings.EXPORT_MAX_MEGABYTES * 1024 * 1024
    omitted = []
    for count, files in _files_of(user):
        for name, stored in files:
            if bytes_left > 0:
                bytes_left -= _copy(archive, name, stored)
                yield 0  # a batch may take longer than the lease
            else:
                omitted.append(name)
        yield count
    if omitted:
        _add(archive, "left_out.txt", "\n".join(omitted) + "\n")


def _files_of(user: User) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Batches of pictures: their number in `entries_of`, and pairs of names in the archive and in the storage."""
    kinds = ("avatar", "header")
    profile = [(f"pictures/profile-{kind}.webp", getattr(user, kind).name) for kind in kinds]
    yield 0, [(name, stored) for name, stored in profile if stored]
    for rows in batches(pictures_of(user)):
        files = [(picture_name(row), row.file.name) for row in rows if row.file]
        captions = [(captions_name(row), row.captions.name) for row in rows if row.captions]
        yield len(rows), files + captions
    for part in ARCHIVE:
        if part.pictures is not None:
            for rows in batches(part.rows(user)):
                # these rows have been counted as rows of their part
                yield 0, list(part.pictures(rows))


def _copy(archive: ZipFile, name: str, stored: str) -> int:
    """Copy a stored picture; returns its size in bytes, 0 if the file is gone."""
    with suppress(FileNotFoundError), default_storage.open(stored) as source:
        entry = _entry(name)
        entry.compress_type = ZIP_STORED  # already compressed
        with archive.open(entry, "w", force_zip64=True) as target:
            copyfileobj(source, target, COPY_BYTES)
        return int(source.size)
    return 0


def batches(rows: QuerySet[Any]) -> Iterator[Sequence[Any]]:
    """All rows, in batches by primary key. Each batch is a range scan in bounded memory."""
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
