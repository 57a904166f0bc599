"""A Mastodon archive: a zip file with `actor.json`, `outbox.json`, and the files of posts.

Nothing is unpacked. Files are read by name. The sizes of the zip directory, of the outbox and of each picture are
limited.
"""

import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import IO, Any
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import ijson
import orjson
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.earlier_posts.html_text import host_of
from apps.earlier_posts.models import ADDRESS_CHARACTERS
from apps.errors import Invalid, invalid
from apps.posts.models import Visibility
from apps.privacy.hooks import PostOfArchive, Record
from apps.texts import without_control_characters

OUTBOX, ACTOR = "outbox.json", "actor.json"
MAX_OUTBOX_BYTES = 128 * 1024 * 1024
MAX_ACTOR_BYTES = 1024 * 1024
MAX_DIRECTORY_BYTES = 4 * 1024 * 1024  # of the zip file: enough for 20,000 pictures
MAX_POSTS = 20_000
MAX_HTML = 50_000  # characters of a post
MAX_WARNING = 1000
MAX_ALT = 10_000
MAX_NAMES = 100  # in each list of a post, such as its tags; further entries are ignored
PUBLIC = {"https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public"}
TYPES = {"Note", "Article", "Question", "Page"}
_FOLDER_OF_FILES = "media_attachments/"
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_END, _END_LOCATOR_64 = b"PK\5\6", b"PK\6\7"
_END_BYTES, _LOCATOR_BYTES, _MAX_COMMENT = 22, 20, 65_535
_CLOCKS_DIFFER = timedelta(days=1)
_BROKEN = (BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)


class Archive:
    """An open archive. Raises Invalid if the file is not a Mastodon archive, or contains too many files."""

    def __init__(self, file: IO[bytes]) -> None:
        _check_directory(file)
        try:
            self._zip = ZipFile(file)
            self._infos = {info.filename: info for info in self._zip.infolist()}
        except _BROKEN:
            raise _no_archive() from None
        outboxes = [name for name in self._infos if f"/{name}".endswith(f"/{OUTBOX}")]
        # if the archive was unpacked and zipped again by hand, all files may be in a folder
        self._folder = min(outboxes, key=len).removesuffix(OUTBOX) if outboxes else ""
        if not outboxes or self._folder + ACTOR not in self._infos:
            raise _no_archive()

    def actor(self) -> str:
        """The address of the archive's account."""
        data = self.read(self._folder + ACTOR, maximum=MAX_ACTOR_BYTES)
        try:
            actor = orjson.loads(data or b"")["id"]
        except (orjson.JSONDecodeError, TypeError, KeyError):
            actor = None
        if not isinstance(actor, str):
            raise _no_archive()
        return actor

    def activities(self) -> Iterator[Any]:
        """The activities in the outbox. Raises Invalid if it is damaged or too large."""
        info = self._infos[self._folder + OUTBOX]
        if info.file_size > MAX_OUTBOX_BYTES:
            message = _("outbox.json may have at most %(count)d MB.")
            raise _refused(message % {"count": MAX_OUTBOX_BYTES // 1024**2}, "too_large")
        try:
            with self._open(info) as outbox:
                yield from ijson.items(outbox, "orderedItems.item", use_float=True)
        except (ijson.JSONError, *_BROKEN):
            raise _refused(_("outbox.json in this archive can't be read."), "broken") from None

    def name_of(self, address: str) -> str | None:
        """The name that an attachment's file has in the archive; None if the file is missing."""
        try:
            path = urlsplit(address).path.lstrip("/")
        except ValueError:
            return None
        _before, folder, rest = path.rpartition(_FOLDER_OF_FILES)
        names = (self._folder + path, f"{self._folder}{folder}{rest}")
        return next((name for name in names if path and name in self._infos), None)

    def read(self, name: str, *, maximum: int) -> bytes | None:
        """The content of a file; None if it is missing, damaged, or larger than `maximum` bytes."""
        info = self._infos.get(name)
        if info is None or info.file_size > maximum:
            return None
        try:
            with self._open(info) as file:
                return file.read(maximum)
        except _BROKEN:
            return None

    def _open(self, info: ZipInfo) -> IO[bytes]:
        """Open an entry. zipfile reads no more of it than its `file_size`."""
        if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
            raise BadZipFile(info.filename)
        return self._zip.open(info)


def posts_of(archive: Archive) -> Iterator[PostOfArchive]:
    """The posts of an archive, including those that cannot be imported, with the reason. Boosts are skipped.

    Raises Invalid if there are no posts, or more than MAX_POSTS.
    """
    actor, used, count = archive.actor(), set[str](), 0
    for activity in archive.activities():
        note = activity.get("object") if isinstance(activity, dict) else None
        if not isinstance(note, dict) or activity.get("type") != "Create":
            continue  # a boost, or another activity
        count += 1
        if count > MAX_POSTS:
            message = _("At most %(count)d posts can be imported at once.")
            raise _refused(message % {"count": MAX_POSTS}, "too_many_posts")
        yield _post_of(note, archive, used, is_own=_is_by(activity, note, actor))
    if not count:
        raise _refused(_("There are no posts in this archive."), "empty")


def _post_of(
    note: Mapping[str, Any], archive: Archive, used: set[str], *, is_own: bool
) -> PostOfArchive:
    origin, published = _text(note.get("id")), _moment(note.get("published"))
    cells = [origin[:ADDRESS_CHARACTERS], str(published.date()) if published else ""]
    visibility, html = _visibility(note), _text(note.get("content"))
    refusal = ""
    if not is_own or note.get("type") not in TYPES:
        refusal = _("This is not a post by the account that the archive belongs to.")
    elif visibility is None:
        refusal = _("It is only for the people it mentions. Such posts are not imported.")
    elif not _address(origin):
        refusal = _("It has no usable address.")
    elif published is None or published > timezone.now() + _CLOCKS_DIFFER:
        refusal = _("It has no date, or its date is in the future.")
    elif len(html) > MAX_HTML:
        refusal = _("It is too long: at most %(count)d characters are allowed.") % {
            "count": MAX_HTML
        }
    if refusal or published is None:
        return PostOfArchive(cells, None, refusal)
    edited = _moment(note.get("updated"))
    post: Record = {
        "origin": origin,
        "published": published.isoformat(),
        "edited": edited.isoformat() if edited and edited > published else None,
        "visibility": visibility,
        "html": html,
        "warning": _text(note.get("summary"))[:MAX_WARNING],
        "sensitive": note.get("sensitive") is True,
        "language": _language(note),
        "reply_to": _address(note.get("inReplyTo")),
        "mentions": _mentions(note),
        "options": _options(note),
        "media": [_medium(one, archive, used) for one in _list(note.get("attachment"))],
    }
    return PostOfArchive(cells, post)


def _medium(attachment: Any, archive: Archive, used: set[str]) -> Record:
    """An attachment and its file in the archive; a file that an earlier attachment used counts as missing."""
    medium = attachment if isinstance(attachment, dict) else {}
    name = archive.name_of(_text(medium.get("url")))
    if name in used:
        name = None
    elif name:
        used.add(name)
    focus = medium.get("focalPoint")
    is_point = isinstance(focus, list) and len(focus) == 2 and all(map(_is_share, focus))
    return {
        "file": name,
        "type": _text(medium.get("mediaType"))[:100],
        "alt": _text(medium.get("name"))[:MAX_ALT],
        "focus": focus if is_point else [0, 0],
    }


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and -1 <= value <= 1


def _is_by(activity: Mapping[str, Any], note: Mapping[str, Any], actor: str) -> bool:
    return activity.get("actor") == actor and note.get("attributedTo", actor) == actor


def _visibility(note: Mapping[str, Any]) -> str | None:
    """A post's visibility; None for a direct message.

    See https://docs.joinmastodon.org/spec/activitypub/#properties-used
    """
    to, cc = (set(map(_text, _list(note.get(field)))) for field in ("to", "cc"))
    if to & PUBLIC:
        return Visibility.PUBLIC
    if cc & PUBLIC:
        return Visibility.UNLISTED
    if any(address.endswith("/followers") for address in to | cc):
        return Visibility.FOLLOWERS
    return None


def _mentions(note: Mapping[str, Any]) -> list[str]:
    """The full handles of mentioned people, such as @ann@site.example. A missing site is taken from the link."""
    names = []
    for tag in _list(note.get("tag")):
        if isinstance(tag, dict) and tag.get("type") == "Mention":
            name = _text(tag.get("name"))[:ADDRESS_CHARACTERS]
            if name.count("@") == 1 and (host := host_of(_text(tag.get("href")))):
                name = f"{name}@{host}"
            names.append(name)
    return names


def _options(note: Mapping[str, Any]) -> list[str]:
    """The options of a poll."""
    options = _list(note.get("oneOf")) or _list(note.get("anyOf"))
    return [
        _text(one.get("name"))[:ADDRESS_CHARACTERS]
        for one in options
        if isinstance(one, dict) and _text(one.get("name"))
    ]


def _language(note: Mapping[str, Any]) -> str:
    languages = note.get("contentMap")
    if not isinstance(languages, dict) or len(languages) != 1:
        return ""
    language = str(next(iter(languages))).lower().partition("-")[0]
    return language if _LANGUAGE.fullmatch(language) else ""


def _list(value: Any) -> Sequence[Any]:
    """A value as a list of up to MAX_NAMES members. ActivityStreams also allows one value in place of a list."""
    some = value if isinstance(value, list) else [] if value is None else [value]
    return some[:MAX_NAMES]


def _text(value: Any) -> str:
    return without_control_characters(value) if isinstance(value, str) else ""


def _address(value: Any) -> str:
    """The value if it is a web address that is not too long; otherwise empty."""
    address = _text(value)
    return address if host_of(address) and len(address) <= ADDRESS_CHARACTERS else ""


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_text(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a zip file with a directory larger than MAX_DIRECTORY_BYTES, and any Zip64 file, before zipfile reads it.

    Looks for the end of the directory in the same place as zipfile.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_BYTES - _MAX_COMMENT - _LOCATOR_BYTES))
    tail = file.read()
    file.seek(0)
    is_last = tail[-_END_BYTES:].startswith(_END) and tail.endswith(b"\0\0")
    start = len(tail) - _END_BYTES if is_last else tail.rfind(_END)
    if start < 0 or len(tail) < start + _END_BYTES:
        raise _no_archive()
    directory_bytes = struct.unpack("<I", tail[start + 12 : start + 16])[0]
    is_64 = tail[max(0, start - _LOCATOR_BYTES) : start].startswith(_END_LOCATOR_64)
    if is_64 or directory_bytes > MAX_DIRECTORY_BYTES:
        raise _refused(_("There are too many files in this archive."), "too_many_files")


def _no_archive() -> Invalid:
    message = _(
        "This is not the archive of an account. It must be a .zip file with outbox.json and actor.json."
    )
    return _refused(message, "not_an_archive")


def _refused(message: str, code: str) -> Invalid:
    return invalid("file", message, code)
