"""The feed for other Python code: four functions for a process in which Django is set up.

    import django; django.setup()
    from feedsite.python_api import add_activity, follow, get_activity

    follow("bob", "alice")
    add_activity("alice", "text", "The river is high today.")
    add_activity("alice", "picture", "Look.", media=["river.jpg"])
    add_activity("alice", "video", "And hear.", media=["river.mp4"])
    page = get_activity("bob")
    page = get_activity("bob", page.last_id)      # posts since then

The functions use the same actions and queries as the pages and the API: rate limits, blocks and visibility apply, and
the workers deliver posts. Errors are `apps.errors.DomainError` with a code and a message. Ids of people and posts are
integers.
"""

import hashlib
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle, user_by_id
from apps.errors import Invalid
from apps.graph.actions import follow_user, unfollow_user
from apps.media.video import explained
from apps.pagination import MAX_LIMIT, Cursor
from apps.posts.actions import transcoding
from apps.posts.actions.attachments import check_together
from apps.posts.actions.drafts import Draft, check_labels, kind_of
from apps.posts.actions.idempotency import Request, existing_result
from apps.posts.actions.uploads import upload_media, withdraw_picture
from apps.posts.models import Attachment, Kind, MediaState, Transcode, Visibility
from apps.timeline import publishing
from apps.timeline.history import unread
from apps.timeline.history.unread import Activity
from apps.timeline.profile import ProfileFilter, profile_timeline

__all__ = ["Activity", "add_activity", "follow", "get_activity", "unfollow"]

Person = User | int | str
Media = Path | str | IO[bytes]  # a path, or a binary file that can be read twice
TARGETED = ("reply", "quote", "repost")
KINDS = (Kind.TEXT, Kind.PICTURE, Kind.VIDEO, Kind.AUDIO)
VERBS = (*(kind.value for kind in KINDS), "post", *TARGETED)
DIGEST_BYTES = 1024 * 1024  # how much of a file is read at once
LOOK_SECONDS = 0.5  # between checks whether a worker has transcoded a video


def add_activity(  # noqa: PLR0913 -- most are keyword arguments
    actor: Person,
    verb: str,
    message: str = "",
    *,
    target: int | None = None,
    media: Sequence[Media] = (),
    visibility: str = Visibility.PUBLIC,
    idempotency_key: str = "",
) -> int:
    """Publish a post and return its id. The post is in the author's own feed immediately; workers deliver it to others.

    `verb` is text, picture, video or audio, which must match `media`; or post, which stands for any of these; or reply,
    quote or repost, which need the id of a post as `target`. A repost cannot have media, and ignores `message`,
    `visibility` and `idempotency_key`; it is idempotent. Video and audio are transcoded before this returns. Calls with
    the same idempotency key create one post. Raises Invalid, NotFound, NotAllowed, Conflict (a call with the same key
    is running), TooMany, Unavailable, or OSError for a file that cannot be read.
    """
    author = _person(actor)
    if verb not in VERBS:
        raise Invalid(f"The verb must be one of {', '.join(VERBS)}.", errors={"verb": "unknown"})
    if (target is not None) != (verb in TARGETED):
        raise Invalid("Replies, quotes and reposts need a target.", errors={"target": "missing"})
    if verb == "repost" and target is not None:
        if media:
            raise Invalid("A repost cannot have media.", errors={"media": "not_allowed"})
        return int(publishing.repost(author, target).pk)
    if (verb == Kind.TEXT and media) or (verb in KINDS[1:] and not media):
        raise Invalid(f"The media do not match the verb {verb}.", errors={"media": "mismatch"})
    draft = Draft(
        body=message,
        visibility=visibility,
        reply_to_id=target if verb == "reply" else None,
        quote_of_id=target if verb == "quote" else None,
    )
    key = f"python:{idempotency_key}" if idempotency_key else ""
    with ExitStack() as stack:
        files = [_opened(stack, file) for file in media]
        digests = [_digest(file) for file in files] if key else []
        earlier = existing_result(Request(author, key, draft, pictures=digests))
        if earlier is not None and earlier.post is not None:
            return int(earlier.post.pk)
        check_labels(visibility, "", len(files))
        uploads = _upload(author, files, kind=verb if verb in KINDS else None)
    draft = draft.with_pictures([upload.pk for upload in uploads])
    new = publishing.publish(author, draft, idempotency_key=key, content_digest=digests)
    return int(new.post.pk)


def follow(follower: Person, followee: Person) -> None:
    """Follow an account, or request it if the account is locked; idempotent.

    Raises Invalid, NotAllowed, NotFound or TooMany.
    """
    follow_user(_person(follower), _person(followee))


def unfollow(follower: Person, followee: Person) -> None:
    """Stop following an account, or withdraw the request; idempotent. Raises Invalid or NotFound."""
    unfollow_user(_person(follower), _person(followee))


def get_activity(
    reader: Person,
    last_id: str | None = None,
    *,
    kind: str = "home",
    owner: Person | None = None,
    limit: int = 20,
) -> Activity:
    """About `limit` (1 to 40) posts: the oldest since `last_id`, and on home those delivered late; newest first.

    Continue from the result's `last_id`. `kind` is home, or personal: the posts of `owner` (by default the reader) that
    the reader may see. Without `last_id`, returns the newest posts. Promoted posts are left out. Raises Invalid for any
    other kind, BadRequest for a malformed `last_id`, NotFound for an unknown person.
    """
    viewer, limit = _person(reader), min(max(limit, 1), MAX_LIMIT)
    if kind == "home":
        return unread.get_activity(viewer, last_id, limit=limit, promoted=False)
    if kind != "personal":
        raise Invalid("The kind must be home or personal.", errors={"kind": "unknown"})
    writer = viewer if owner is None else _person(owner)
    above = unread.ReadPosition.parse(last_id).newest_id if last_id else None
    page = profile_timeline(writer, viewer, Cursor(min_id=above, limit=limit), ProfileFilter())
    newest = max((item.id for item in page.items), default=above or 0)
    more = above is not None and len(page.items) == limit
    return Activity(page.items, str(newest), more=more)


def _person(person: Person) -> User:
    """A user by instance, id or handle. Raises NotFound."""
    if isinstance(person, User):
        return user_by_id(person.pk)  # reloads the counts
    return user_by_id(person) if isinstance(person, int) else user_by_handle(person)


def _opened(stack: ExitStack, file: Media) -> IO[bytes]:
    return stack.enter_context(Path(file).open("rb")) if isinstance(file, Path | str) else file


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.blake2b()
    while chunk := file.read(DIGEST_BYTES):
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _upload(author: User, files: Sequence[IO[bytes]], *, kind: str | None) -> list[Attachment]:
    """Upload files and wait until they are prepared. If that fails, or the kind does not match, delete them."""
    uploads: list[Attachment] = []
    try:
        uploads.extend(upload_media(author, file) for file in files)
        _check_kind([upload.medium for upload in uploads], kind)
        for upload in uploads:
            _prepare(upload)
    except Exception:
        for upload in uploads:
            withdraw_picture(author, upload.pk)
        raise
    return uploads


def _check_kind(media: Sequence[str], kind: str | None) -> None:
    check_together(media)
    if kind is not None and kind_of(media) != kind:
        raise Invalid(f"The media do not match the verb {kind}.", errors={"media": "mismatch"})


def _prepare(upload: Attachment) -> None:
    """Transcode an upload in this process, unless a worker does. Raises Invalid if it fails."""
    while upload.state == MediaState.PROCESSING:
        rows = Transcode.objects.filter(attachment=upload).values_list("pk", flat=True)
        if not transcoding.run_due(limit=1, only=list(rows)):
            time.sleep(LOOK_SECONDS)
        upload.refresh_from_db(fields=["state", "error"])
    if upload.state == MediaState.FAILED:
        raise Invalid(explained(upload.error), errors={"media": upload.error})
