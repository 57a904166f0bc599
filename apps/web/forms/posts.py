"""The forms of the composer."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any, NamedTuple, cast
from uuid import uuid4

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.graph.groups.queries import CircleChoice
from apps.languages import WRITTEN, language_by_script
from apps.media.sandbox import PICTURE_TYPES
from apps.media.video import AUDIO_TYPES, VIDEO_TYPES, is_available
from apps.posts.actions.drafts import (
    CONTENT_WARNING_MAX_CHARACTERS,
    POLL_OPTION_MAX_CHARACTERS,
    POLL_OPTIONS,
    Draft,
    PollDraft,
)
from apps.posts.models import Post, SavedDraft, Visibility
from apps.web.forms.pictures import DisplayedPicture, file_names, ids_in
from apps.web.post_card import circle_label
from feedcache.ids import parse_id

LANGUAGES = [("", _("Detect")), *WRITTEN]
FIELD_NAMES = {  # names of fields in the actions' errors -> names of fields in the form
    "status": "body",
    "spoiler_text": "content_warning",
    "circle_id": "visibility",
    "poll": "option_1",
}
POLL_DURATIONS = [  # seconds
    (300, _("5 minutes")),
    (1800, _("30 minutes")),
    (3600, _("1 hour")),
    (21_600, _("6 hours")),
    (86_400, _("1 day")),
    (259_200, _("3 days")),
    (604_800, _("7 days")),
]
DEFAULT_POLL_SECONDS = 86_400
OPTIONS = [f"option_{number}" for number in range(1, POLL_OPTIONS[1] + 1)]
LOCAL_TIME = "%Y-%m-%dT%H:%M"  # the format of datetime-local inputs
MAX_MORE = 9  # posts of a thread after the first
MAX_BIGINT = 2**63 - 1
MAX_OFFSET = 14 * 60  # the maximum number of minutes between a time zone and UTC
HOME_COMPOSER = "composer"  # the id of the composer on the home page, also used by scripts
CIRCLE_PREFIX = "circle:"  # followed by the circle's id: a choice of the visibility field


def guess_language(text: str) -> str:
    """The language that the script of the text implies, or else the language of the page."""
    return language_by_script(text) or (get_language() or "en").split("-")[0]


class EditForm(forms.Form):
    body = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(
            attrs={
                "rows": 1,
                "dir": "auto",
                "placeholder": _("What is happening?"),
                "data-suggest": True,
            }
        ),
    )
    content_warning = forms.CharField(
        required=False,
        widget=forms.TextInput(
            attrs={
                "maxlength": CONTENT_WARNING_MAX_CHARACTERS,
                "dir": "auto",
                "placeholder": _("What should people know first?"),
                "data-suggest": True,
            }
        ),
    )
    language = forms.ChoiceField(choices=LANGUAGES, required=False)
    sensitive = forms.BooleanField(required=False)
    asks_for_alt = False  # whether to ask, once, for missing picture descriptions

    @property
    def written_language(self) -> str:
        """The chosen language, or else the guessed language."""
        chosen: str = self.cleaned_data.get("language", "")
        return chosen or guess_language(self.cleaned_data["body"])


class AudienceField(forms.ChoiceField):
    """A visibility or a circle; the action decides whether the author may post to the circle."""

    def valid_value(self, value: str) -> bool:
        """Accept any circle: if it has disappeared since the page was loaded, the action reports that."""
        return circle_id_of(value) is not None or super().valid_value(value)


class MomentForm(forms.Form):
    """The time to publish at, in local time; `utc_offset` is the number of minutes that local time is behind UTC."""

    scheduled_at = forms.DateTimeField(
        label=_("Publish at"),
        required=False,
        input_formats=[LOCAL_TIME],
        widget=forms.DateTimeInput(format=LOCAL_TIME, attrs={"type": "datetime-local"}),
    )
    utc_offset = forms.IntegerField(
        required=False, min_value=-MAX_OFFSET, max_value=MAX_OFFSET, widget=forms.HiddenInput
    )

    @property
    def at(self) -> datetime | None:
        """The time to publish at, in UTC; None means now."""
        moment: datetime | None = self.cleaned_data.get("at")
        return moment

    def clean(self) -> dict[str, Any]:
        data = {**self.cleaned_data}
        local, offset = data.get("scheduled_at"), data.get("utc_offset") or 0
        try:
            data["at"] = local and local + timedelta(minutes=offset)
        except OverflowError:
            text = _("Choose a time from five minutes to a year from now.")
            self.add_error("scheduled_at", text)
        return data


class NextPost(NamedTuple):
    """A later post of a thread: its text, and its uploads."""

    text: str
    media_ids: tuple[int, ...] = ()


class ComposeForm(EditForm, MomentForm):
    """A new post. `instead_of`: the id of a failed scheduled post to replace; `saved`: the id of its saved draft."""

    visibility = AudienceField()
    reply_to = forms.CharField(required=False)
    quote = forms.CharField(required=False)
    # of a post that is written again; the action checks it
    quote_policy = forms.CharField(required=False)
    idempotency_key = forms.CharField(required=False, max_length=200)
    instead_of = forms.IntegerField(required=False, min_value=1, max_value=MAX_BIGINT)
    saved = forms.IntegerField(required=False, min_value=1, max_value=MAX_BIGINT)
    option_1, option_2, option_3, option_4 = (
        forms.CharField(
            required=False,
            widget=forms.TextInput(
                attrs={"maxlength": POLL_OPTION_MAX_CHARACTERS, "dir": "auto", "data-suggest": True}
            ),
        )
        for _number in range(POLL_OPTIONS[1])
    )
    poll_seconds = forms.ChoiceField(
        label=_("Open for"), choices=POLL_DURATIONS, required=False, initial=DEFAULT_POLL_SECONDS
    )
    poll_multiple = forms.BooleanField(label=_("People may choose more than one"), required=False)
    poll_hidden = forms.BooleanField(label=_("Votes are shown at the end"), required=False)

    def __init__(
        self,
        data: Any = None,
        *,
        author: User,
        circles: Sequence[CircleChoice] = (),
        initial: Mapping[str, Any] | None = None,
        auto_id: str = "id_%s",
    ) -> None:
        """`circles`: the circles that the author may post to. The author's settings are the defaults for `initial`."""
        defaults = {
            "visibility": author.post_visibility,
            "language": author.post_language,
            "sensitive": author.post_sensitive,
        }
        super().__init__(data, initial={**defaults, **(initial or {})}, auto_id=auto_id)
        self.asks_for_alt = author.asks_for_alt
        self.author_quote_policy = author.quote_policy
        visibilities = [choice for choice in Visibility.choices if choice[0] != Visibility.CIRCLE]
        audiences = [
            (f"{CIRCLE_PREFIX}{circle.id}", circle_label(circle.name)) for circle in circles
        ]
        self.fields["visibility"].choices = [*visibilities, *audiences]  # type: ignore[attr-defined]  # a ChoiceField has choices

    def answer_in_circle(self, circle_id: int, name: str) -> None:
        """Offer only this circle, because a reply to a circle's post has the same audience as that post."""
        choice = (f"{CIRCLE_PREFIX}{circle_id}", circle_label(name))
        self.fields["visibility"].choices = [choice]  # type: ignore[attr-defined]  # a ChoiceField has choices

    @property
    def more(self) -> list[NextPost]:
        """The posts of a thread after the first."""
        if not self.is_bound:
            return next_posts(self.initial.get("more", ()), self.initial.get("more_media", ()))
        return next_posts_in(cast(QueryDict, self.data))

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("at") and self.more:
            self.add_error("scheduled_at", _("A thread can't be scheduled."))
        return data

    def clean_reply_to(self) -> int | None:
        return _post_id(self.cleaned_data["reply_to"])

    def clean_quote(self) -> int | None:
        return _post_id(self.cleaned_data["quote"])

    @classmethod
    def initial_of(cls, draft: Draft, circle_ids: Collection[int]) -> dict[str, Any]:
        """The initial values for a draft. If its circle is not in `circle_ids`, only mentioned people are addressed."""
        initial = {
            name: getattr(draft, name)
            for name in ("body", "content_warning", "language", "sensitive", "quote_policy")
        }
        initial |= {"reply_to": str(draft.reply_to_id or ""), "quote": str(draft.quote_of_id or "")}
        initial["visibility"] = draft.visibility
        if draft.circle_id is not None:
            is_available = draft.circle_id in circle_ids
            initial["visibility"] = (
                f"{CIRCLE_PREFIX}{draft.circle_id}" if is_available else Visibility.MENTIONED.value
            )
        if poll := draft.poll:
            initial |= dict(zip(OPTIONS, poll.options, strict=False))
            initial |= {
                "poll_seconds": poll.seconds,
                "poll_multiple": poll.multiple,
                "poll_hidden": poll.hide_totals,
            }
        return initial

    @classmethod
    def initial_of_saved(cls, row: SavedDraft, circle_ids: Collection[int]) -> dict[str, Any]:
        """The initial values for a saved draft, with the same rule for circles as in `initial_of`."""
        # empty fields are not stored; those that the author's settings would fill stay empty
        empty = dict.fromkeys(("language", "sensitive", "reply_to", "quote"), "")
        initial: dict[str, Any] = {**empty, **row.fields, "saved": row.pk}
        circle_id = circle_id_of(str(initial.get("visibility", "")))
        if circle_id is not None and circle_id not in circle_ids:
            initial["visibility"] = Visibility.MENTIONED.value
        return initial

    @property
    def options(self) -> list[forms.BoundField]:
        return [self[name] for name in OPTIONS]

    @property
    def has_poll(self) -> bool:
        """Whether any option of the poll is filled in."""
        return any(self[name].value() for name in OPTIONS)

    def draft(self) -> Draft:
        """The draft, without its pictures."""
        data = self.cleaned_data
        circle_id = circle_id_of(data["visibility"])
        return Draft(
            body=data["body"],
            visibility=data["visibility"] if circle_id is None else Visibility.CIRCLE,
            circle_id=circle_id,
            reply_to_id=data["reply_to"],
            quote_of_id=data["quote"],
            content_warning=data["content_warning"],
            language=self.written_language,
            sensitive=data["sensitive"],
            poll=self._poll(),
            quote_policy=data["quote_policy"] or self.author_quote_policy,
        )

    def _poll(self) -> PollDraft | None:
        data = self.cleaned_data
        options = [data[name] for name in OPTIONS if data[name].strip()]
        if not options:
            return None
        seconds = int(data["poll_seconds"] or DEFAULT_POLL_SECONDS)
        return PollDraft(options, seconds, data["poll_multiple"], data["poll_hidden"])


SAVED = (
    "body", "content_warning", "language", "sensitive", "visibility", "reply_to", "quote", "quote_policy", *OPTIONS,
    "poll_seconds", "poll_multiple", "poll_hidden", "scheduled_at", "utc_offset",
)  # fmt: skip
"""The form fields that are stored in a saved draft."""


def saved_fields(data: QueryDict) -> dict[str, str | list[str]]:
    """The fields of a submitted form to store in a draft, as they were sent; empty ones are left out."""
    fields: dict[str, str | list[str]] = {name: str(data[name]) for name in SAVED if data.get(name)}
    if more := next_posts_in(data):
        fields["more"] = [post.text for post in more]
        fields["more_media"] = [" ".join(map(str, post.media_ids)) for post in more]
    return fields


def next_posts_in(data: QueryDict) -> list[NextPost]:
    return next_posts(data.getlist("more"), data.getlist("more_media"))


def next_posts(texts: Sequence[str], media: Sequence[str]) -> list[NextPost]:
    """The posts of a thread after the first, except empty ones; at most MAX_MORE."""
    posts = [
        NextPost(text, tuple(ids_in(ids))) for text, ids in zip_longest(texts, media, fillvalue="")
    ]
    return [post for post in posts if post.text.strip() or post.media_ids][:MAX_MORE]


def fields_of_post(post: Post) -> dict[str, str]:
    """The composer fields to publish a post again, without its pictures. A poll gets the nearest offered duration."""
    fields = {
        "body": post.body,
        "content_warning": post.content_warning,
        "language": post.language,
        "sensitive": "on" if post.sensitive or post.is_marked_sensitive else "",
        "visibility": f"{CIRCLE_PREFIX}{post.circle_id}" if post.circle_id else post.visibility,
        "reply_to": str(post.reply_to_id or ""),
        "quote": str(post.source_id or ""),
        "quote_policy": post.quote_policy,
    }
    if post.has_poll:
        poll = post.poll
        seconds = round((poll.expires_at - post.created_at).total_seconds())
        nearest = min(
            (value for value, _label in POLL_DURATIONS), key=lambda one: abs(one - seconds)
        )
        fields |= {name: str(text) for name, text in zip(OPTIONS, poll.options, strict=False)}
        fields |= {
            "poll_seconds": str(nearest),
            "poll_multiple": "on" if poll.multiple else "",
            "poll_hidden": "on" if poll.hide_totals else "",
        }
    return {name: value for name, value in fields.items() if value}


def circle_id_of(text: str) -> int | None:
    """The id of the circle that a choice of the visibility field names; None for other choices."""
    if not text.startswith(CIRCLE_PREFIX):
        return None
    try:
        return parse_id(text.removeprefix(CIRCLE_PREFIX))
    except ValueError:
        return None


def composer_context(form: EditForm, pictures: Sequence[DisplayedPicture] = ()) -> dict[str, Any]:
    return {"form": form, "idempotency_key": str(uuid4()), **picture_context(pictures)}


def picture_context(pictures: Sequence[DisplayedPicture]) -> dict[str, Any]:
    """The context for forms that write a post or a message: the pictures, and the limits for text and pictures."""
    takes_video = is_available()
    types = [*PICTURE_TYPES, *VIDEO_TYPES, *AUDIO_TYPES] if takes_video else PICTURE_TYPES
    return {
        "takes_video": takes_video,
        "media_types": ",".join(types),
        "max_characters": settings.POST_MAX_CHARACTERS,
        "pictures": pictures,
        "file_names": file_names(len(pictures)),
    }


def _post_id(text: str) -> int | None:
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise forms.ValidationError(_("This post isn't here.")) from None
