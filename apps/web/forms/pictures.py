"""The pictures, video or sound in a composer: earlier uploads, named in the form by id, and files in the form.

Without JavaScript the form contains the files. They are stored even if the text is invalid, so that people need not
choose them again. With JavaScript each picture is uploaded when it is chosen, and the form has its id.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.errors import DomainError, invalid
from apps.media.video import explained
from apps.posts.actions.drafts import MAX_PICTURES, Focus, PictureChange
from apps.posts.actions.uploads import describe_picture, upload_media, uploaded_pictures
from apps.posts.content.post import Picture
from apps.posts.models import Attachment, MediaState
from feedcache.ids import parse_id

# The part that stays visible when a picture is cropped. With JavaScript people can choose any point.
FOCUS_CHOICES = [
    ("0,0", _("The middle")),
    ("0,1", _("The top")),
    ("0,-1", _("The bottom")),
    ("-1,0", _("The left side")),
    ("1,0", _("The right side")),
]
INVALID_FOCUS = (-2.0, -2.0)  # out of range: the action rejects it


@dataclass(frozen=True, slots=True)
class UploadedPicture:
    file: Any
    alt: str = ""

    @property
    def identity(self) -> str:
        return _digest(self.file, self.alt)


@dataclass(frozen=True, slots=True)
class DisplayedPicture:
    """A picture in the composer, with its description and focus as in the form."""

    picture: Picture
    alt: str
    focus: str
    is_processing: bool = False
    is_waiting: bool = True  # not yet attached to a post
    problem: str = ""  # why it could not be prepared

    @classmethod
    def of(cls, row: Attachment) -> "DisplayedPicture":
        return cls(
            Picture.of(row),
            row.alt,
            f"{row.focus_x:g},{row.focus_y:g}",
            is_processing=row.state == MediaState.PROCESSING,
            is_waiting=row.post_id is None,
            problem=explained(row.error) if row.state == MediaState.FAILED else "",
        )

    @property
    def id(self) -> int:
        return self.picture.id

    @property
    def focus_choices(self) -> list[tuple[str, Any]]:
        """FOCUS_CHOICES, plus the current point if it is not one of them."""
        is_listed = any(value == self.focus for value, _label in FOCUS_CHOICES)
        return FOCUS_CHOICES if is_listed else [*FOCUS_CHOICES, (self.focus, _("The chosen point"))]


@dataclass(frozen=True, slots=True)
class PictureForm:
    """The picture fields of a form: changes to uploaded pictures, in order, new files, and captions of videos.

    `behind` contains the ids of the pictures that belong to later posts of a thread.
    """

    changes: tuple[PictureChange, ...] = ()
    files: tuple[UploadedPicture, ...] = ()
    is_present: bool = False  # if false, an edit leaves the post's pictures unchanged
    captions: tuple[tuple[int, Any], ...] = ()  # WebVTT files, with the ids of their videos
    behind: frozenset[int] = frozenset()

    @classmethod
    def of(cls, request: HttpRequest) -> "PictureForm":
        """Parse a request. Ids that are not numbers are dropped."""
        data = request.POST
        ids = [id_or_none(text) for text in data.getlist("media_ids")[: 2 * MAX_PICTURES]]
        files = [
            UploadedPicture(request.FILES[name], data.get(f"{name}_alt", "").strip())
            for name in file_names()
            if name in request.FILES
        ]
        behind = [number for text in data.getlist("more_media") for number in ids_in(text)]
        named = list(dict.fromkeys([*filter(None, ids), *behind]))
        return cls(
            tuple(_change(data, picture_id) for picture_id in named),
            tuple(files),
            is_present="pictures" in data,
            captions=tuple(
                (picture_id, request.FILES[f"captions_{picture_id}"])
                for picture_id in named
                if f"captions_{picture_id}" in request.FILES
            ),
            behind=frozenset(behind),
        )

    @property
    def identity(self) -> list[str]:
        """A value that is equal when the same form is sent again; part of the idempotency digest."""
        changes = [f"{change.id} {change.alt} {change.focus}" for change in self.changes]
        captions = [_digest(file, str(picture_id)) for picture_id, file in self.captions]
        return [*changes, *captions, *(file.identity for file in self.files)]

    def without(self, picture_id: int) -> "PictureForm":
        return replace(
            self, changes=tuple(change for change in self.changes if change.id != picture_id)
        )


@dataclass(slots=True)
class PictureFields:
    """The uploaded pictures in a composer, and the last error from uploading or describing them.

    `behind` contains the ids of the pictures that belong to later posts of a thread.
    """

    rows: list[Attachment] = field(default_factory=list)
    error: DomainError | None = None
    behind: frozenset[int] = frozenset()

    @property
    def ids(self) -> list[int]:
        """The ids of the first post's pictures."""
        return [row.pk for row in self.rows if row.pk not in self.behind]

    @property
    def all_ids(self) -> list[int]:
        return [row.pk for row in self.rows]

    def displayed(self, ids: Iterable[int]) -> list[DisplayedPicture]:
        """The pictures with these ids, in this order; missing pictures are skipped."""
        rows = {row.pk: row for row in self.rows}
        return [DisplayedPicture.of(rows[number]) for number in ids if number in rows]

    @property
    def undescribed(self) -> int:
        """The number of pictures without a description."""
        return sum(not row.alt for row in self.rows)

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def describe(self, owner: User, changes: Sequence[PictureChange]) -> "PictureFields":
        """Store the changes to pictures that are not yet attached to a post."""
        values_by_id = {change.id: change.values() for change in changes}
        for row in self.rows:
            values = values_by_id[row.pk]
            changed = [name for name, value in values.items() if getattr(row, name) != value]
            # set invalid values too, so that the form shows them for correction
            for name in changed:
                setattr(row, name, values[name])
            if changed and row.post_id is None:
                focus = row.focus_x, row.focus_y
                self._try(describe_picture, owner, row.pk, alt=row.alt, focus=focus)
        return self

    def add_captions(self, owner: User, captions: Sequence[tuple[int, Any]]) -> "PictureFields":
        """Store the captions of videos that are not yet attached to a post."""
        waiting = {row.pk: place for place, row in enumerate(self.rows) if row.post_id is None}
        for picture_id, file in captions:
            if picture_id in waiting:
                row = self._try(describe_picture, owner, picture_id, captions=file)
                if row is not None:
                    self.rows[waiting[picture_id]] = row
        return self

    def upload(self, owner: User, files: Sequence[UploadedPicture]) -> "PictureFields":
        for picture in files:
            row = self._try(upload_media, owner, picture.file, alt=picture.alt)
            if row is not None:
                self.rows.append(row)
        return self

    def _try(
        self, action: Callable[..., Attachment], *args: Any, **kwargs: Any
    ) -> Attachment | None:
        try:
            return action(*args, **kwargs)
        except DomainError as error:
            self.error = error
            return None


def save_pictures(owner: User, form: PictureForm) -> PictureFields:
    """Upload and describe the pictures of a form; an error with one picture does not stop the others."""
    fields = PictureFields(
        uploaded_pictures(owner, [change.id for change in form.changes]), behind=form.behind
    )
    # such as an upload that no post has used for a day; `check_rest` checks those of later posts
    if len(fields.ids) < sum(change.id not in form.behind for change in form.changes):
        fields.error = invalid("media_ids", gettext("There is no such picture."), "unknown")
    fields.describe(owner, form.changes).add_captions(owner, form.captions)
    return fields.upload(owner, form.files)


def file_names(uploaded: int = 0) -> list[str]:
    """The names of the file fields of a form that already has `uploaded` pictures."""
    return [f"file_{number}" for number in range(1, MAX_PICTURES + 1 - uploaded)]


def _digest(file: Any, text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _change(data: QueryDict, picture_id: int) -> PictureChange:
    focus = data.get(f"focus_{picture_id}")
    alt = data.get(f"alt_{picture_id}")
    return PictureChange(
        picture_id, None if alt is None else alt.strip(), None if focus is None else _focus(focus)
    )


def _focus(text: str) -> Focus:
    x, _comma, y = text.partition(",")
    try:
        return float(x), float(y)
    except ValueError:
        return INVALID_FOCUS


def ids_in(text: str) -> list[int]:
    """The ids in a space-separated string; other words are ignored."""
    found = [id_or_none(part) for part in text.split()[: 2 * MAX_PICTURES]]
    return [number for number in found if number is not None]


def id_or_none(text: str) -> int | None:
    """The id in a form field; None for other text."""
    try:
        return parse_id(text)
    except ValueError:
        return None
