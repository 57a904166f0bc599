"""The pictures of a composer: those that were uploaded before, and files that come with the form itself.

Without JavaScript one form brings everything: it is uploaded here before the text is looked at, so that no file has to be chosen
twice because of a word too many. With JavaScript pictures come one by one, before the form, which then only names them.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.errors import DomainError
from apps.posts.actions.drafts import MAX_PICTURES, Focus, PictureChange
from apps.posts.content.post import Picture
from apps.posts.models import Attachment
from apps.posts.uploads import describe_picture, upload_picture, uploaded_pictures
from feedcache.ids import parse_id

# What must stay in sight where a picture is cropped; with a pointer any point can be chosen.
FOCUS_CHOICES = [
    ("0,0", _("The middle")), ("0,1", _("The top")), ("0,-1", _("The bottom")),
    ("-1,0", _("The left side")), ("1,0", _("The right side")),
]  # fmt: skip
NO_FOCUS = (-2.0, -2.0)  # out of range: the action says so


@dataclass(frozen=True, slots=True)
class UploadedPicture:
    """A file that comes with the form."""

    file: Any
    alt: str = ""

    @property
    def identity(self) -> str:
        """Tells it from others without its bytes."""
        digest = hashlib.blake2b(self.alt.encode(), digest_size=16)
        for chunk in self.file.chunks():
            digest.update(chunk)
        self.file.seek(0)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class DisplayedPicture:
    """A picture in the composer: as it is, and as the form describes it."""

    picture: Picture
    alt: str
    focus: str

    @classmethod
    def of(cls, row: Attachment) -> "DisplayedPicture":
        """As it is kept."""
        return cls(Picture.of(row), row.alt, f"{row.focus_x:g},{row.focus_y:g}")

    @property
    def id(self) -> int:
        """The number by which forms name it."""
        return self.picture.id

    @property
    def focus_choices(self) -> list[tuple[str, Any]]:
        """The points to choose from, with the one that was chosen."""
        known = any(value == self.focus for value, _label in FOCUS_CHOICES)
        return FOCUS_CHOICES if known else [*FOCUS_CHOICES, (self.focus, _("The chosen point"))]


@dataclass(frozen=True, slots=True)
class PictureForm:
    """What a form says of pictures: changes of those it names, in order, and the files it brings."""

    named: tuple[PictureChange, ...] = ()
    brought: tuple[UploadedPicture, ...] = ()
    is_there: bool = False  # an older form, or a program, may say nothing of pictures at all

    @classmethod
    def of(cls, request: HttpRequest) -> "PictureForm":
        """From what was sent. A number that is none is left out: the post says what it shows."""
        said = request.POST
        numbers = [_number(text) for text in said.getlist("media_ids")[: 2 * MAX_PICTURES]]
        files = [
            UploadedPicture(request.FILES[name], said.get(f"{name}_alt", "").strip())
            for name in file_names()
            if name in request.FILES
        ]
        return cls(
            tuple(_change(said, number) for number in dict.fromkeys(filter(None, numbers))),
            tuple(files),
            is_there="pictures" in said,
        )

    @property
    def identity(self) -> list[str]:
        """Tells these pictures from others when the form is sent again."""
        named = [f"{one.id} {one.alt} {one.focus}" for one in self.named]
        return [*named, *(one.identity for one in self.brought)]

    def without(self, number: int) -> "PictureForm":
        """The same but for one picture."""
        rest = tuple(one for one in self.named if one.id != number)
        return PictureForm(rest, self.brought, self.is_there)


@dataclass(slots=True)
class PictureFields:
    """The pictures as they are kept now, and what was refused of them."""

    rows: list[Attachment] = field(default_factory=list)
    refusal: DomainError | None = None

    @property
    def ids(self) -> list[int]:
        """As a post names them."""
        return [row.pk for row in self.rows]

    @property
    def undescribed(self) -> int:
        """How many say nothing to people who cannot see them."""
        return sum(not row.alt for row in self.rows)

    def insist(self) -> None:
        """Raise what was refused, if anything."""
        if self.refusal is not None:
            raise self.refusal

    def describe(self, owner: User, changes: Sequence[PictureChange]) -> "PictureFields":
        """Keep what the form says of pictures that wait."""
        wanted = {change.id: change.values() for change in changes}
        for row in self.rows:
            new = [name for name, value in wanted[row.pk].items() if getattr(row, name) != value]
            for name in new:
                # what is refused is still shown, to be put right
                setattr(row, name, wanted[row.pk][name])
            if new and row.post_id is None:
                focus = row.focus_x, row.focus_y
                self._try(describe_picture, owner, row.pk, alt=row.alt, focus=focus)
        return self

    def upload(self, owner: User, files: Sequence[UploadedPicture]) -> "PictureFields":
        """Keep files until a post takes them."""
        for one in files:
            made = self._try(upload_picture, owner, one.file, alt=one.alt)
            if made is not None:
                self.rows.append(made)
        return self

    def _try(self, act: Callable[..., Attachment], *said: Any, **more: Any) -> Attachment | None:
        try:
            return act(*said, **more)
        except DomainError as refusal:
            self.refusal = refusal
            return None


def settle(owner: User, said: PictureForm) -> PictureFields:
    """Upload and describe what a form says; what is refused keeps nothing else from being kept."""
    rows = uploaded_pictures(owner, [one.id for one in said.named])
    return PictureFields(rows).describe(owner, said.named).upload(owner, said.brought)


def file_names(taken: int = 0) -> list[str]:
    """The names of the fields for files, as many as there is room for."""
    return [f"file_{number}" for number in range(1, MAX_PICTURES + 1 - taken)]


def _change(said: QueryDict, number: int) -> PictureChange:
    focus = said.get(f"focus_{number}")
    alt = said.get(f"alt_{number}")
    return PictureChange(
        number, None if alt is None else alt.strip(), None if focus is None else _focus(focus)
    )


def _focus(text: str) -> Focus:
    across, _comma, up = text.partition(",")
    try:
        return float(across), float(up)
    except ValueError:
        return NO_FOCUS


def _number(text: str) -> int | None:
    try:
        return parse_id(text)
    except ValueError:
        return None
