"""HTML input of posts. What is allowed is decided by the actions; forms only read and show."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.graph.circle_queries import CircleChoice, circles_to_post_to
from apps.languages import WRITTEN, language_by_script
from apps.posts.actions.drafts import (
    CONTENT_WARNING_MAX_CHARACTERS,
    POLL_OPTION_MAX_CHARACTERS,
    POLL_OPTIONS,
    Draft,
    PollDraft,
)
from apps.posts.models import Visibility
from apps.timeline.pipeline.items import circle_label
from apps.web.forms.pictures import DisplayedPicture, file_names
from feedcache.ids import parse_id

LANGUAGES = [("", _("Detect")), *WRITTEN]
# The names under which `posts` refuses.
FIELD_NAMES = {
    "status": "body",
    "spoiler_text": "content_warning",
    "circle_id": "visibility",
    "poll": "option_1",
}
POLL_TIMES = [
    (300, _("5 minutes")), (1800, _("30 minutes")), (3600, _("1 hour")), (21_600, _("6 hours")), (86_400, _("1 day")),
    (259_200, _("3 days")), (604_800, _("7 days")),
]  # fmt: skip
POLL_TIME = 86_400
OPTIONS = [f"option_{number}" for number in range(1, POLL_OPTIONS[1] + 1)]
LOCAL_TIME = "%Y-%m-%dT%H:%M"  # as browsers send it
MAX_NUMBER = 2**63 - 1
MAX_OFFSET = 14 * 60  # minutes between a time zone and UTC
HOME_COMPOSER = "composer"  # the name of the one on the home page, for scripts
CIRCLE_PREFIX = "circle:"  # and the circle's id: one choice among the visibilities


def guess_language(text: str) -> str:
    """The language of a text by its script; else that of the page it was written on."""
    return language_by_script(text) or (get_language() or "en").split("-")[0]


class EditForm(forms.Form):
    """The text of a post and its labels."""

    body = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 1, "dir": "auto", "placeholder": _("What is happening?")}
        ),
    )
    content_warning = forms.CharField(
        required=False,
        widget=forms.TextInput(
            attrs={
                "maxlength": CONTENT_WARNING_MAX_CHARACTERS,
                "dir": "auto",
                "placeholder": _("What should people know before?"),
            }
        ),
    )
    language = forms.ChoiceField(choices=LANGUAGES, required=False)
    sensitive = forms.BooleanField(required=False)
    asks_for_alt = False  # whether it asks once for descriptions that are missing

    @property
    def written_language(self) -> str:
        """The language chosen, else the one guessed."""
        chosen: str = self.cleaned_data.get("language", "")
        return chosen or guess_language(self.cleaned_data["body"])


class AudienceField(forms.ChoiceField):
    """A visibility, or a circle; whether the author may post to it, the action decides."""

    def valid_value(self, value: str) -> bool:
        """Any circle will do here: one that was shared when the form was shown may not be listed any more."""
        return circle_id_of(value) is not None or super().valid_value(value)


class MomentForm(forms.Form):
    """When to publish, on the author's clock; `utc_offset` is how many minutes that is behind UTC."""

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
        """The moment; None: now."""
        moment: datetime | None = self.cleaned_data.get("at")
        return moment

    def clean(self) -> dict[str, Any]:
        """Put the moment together."""
        said = {**self.cleaned_data}
        chosen, offset = said.get("scheduled_at"), said.get("utc_offset") or 0
        try:
            said["at"] = chosen and chosen + timedelta(minutes=offset)
        except OverflowError:
            text = _("Choose a time from five minutes to a year from now.")
            self.add_error("scheduled_at", text)
        return said


class ComposeForm(EditForm, MomentForm):
    """A new post; `reply_to` and `quote` are post ids, `instead_of` the number of one that could not be published."""

    visibility = AudienceField()
    reply_to = forms.CharField(required=False)
    quote = forms.CharField(required=False)
    idempotency_key = forms.CharField(required=False, max_length=200)
    instead_of = forms.IntegerField(required=False, min_value=1, max_value=MAX_NUMBER)
    option_1, option_2, option_3, option_4 = (
        forms.CharField(
            required=False,
            widget=forms.TextInput(attrs={"maxlength": POLL_OPTION_MAX_CHARACTERS, "dir": "auto"}),
        )
        for _number in range(POLL_OPTIONS[1])
    )
    poll_seconds = forms.ChoiceField(
        label=_("Open for"), choices=POLL_TIMES, required=False, initial=POLL_TIME
    )
    poll_multiple = forms.BooleanField(label=_("More than one may be chosen"), required=False)
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
        """The form of an author, who may post to some circles; it starts with their defaults where `initial` says nothing."""
        usual = {
            "visibility": author.post_visibility,
            "language": author.post_language,
            "sensitive": author.post_sensitive,
        }
        super().__init__(data, initial={**usual, **(initial or {})}, auto_id=auto_id)
        self.asks_for_alt = author.asks_for_alt
        plain = [choice for choice in Visibility.choices if choice[0] != Visibility.CIRCLE]
        own = [(f"{CIRCLE_PREFIX}{circle.id}", circle_label(circle.name)) for circle in circles]
        self.fields["visibility"].choices = [*plain, *own]  # type: ignore[attr-defined]  # a ChoiceField has them

    def answer_in_circle(self, circle_id: int, name: str) -> None:
        """Leave no choice: who answers a post of a circle answers that circle."""
        choice = (f"{CIRCLE_PREFIX}{circle_id}", circle_label(name))
        self.fields["visibility"].choices = [choice]  # type: ignore[attr-defined]  # a ChoiceField has them

    def clean_reply_to(self) -> int | None:
        """The id of the answered post."""
        return _post_id(self.cleaned_data["reply_to"])

    def clean_quote(self) -> int | None:
        """The id of the quoted post."""
        return _post_id(self.cleaned_data["quote"])

    @classmethod
    def initial_of(cls, draft: Draft, circle_ids: Collection[int]) -> dict[str, Any]:
        """The fields of a draft. One for a circle that cannot be posted to any more is for nobody but those it names."""
        asked = {
            name: getattr(draft, name)
            for name in ("body", "content_warning", "language", "sensitive")
        }
        asked |= {"reply_to": str(draft.reply_to_id or ""), "quote": str(draft.quote_of_id or "")}
        asked["visibility"] = draft.visibility
        if draft.circle_id is not None:
            is_there = draft.circle_id in circle_ids
            asked["visibility"] = (
                f"{CIRCLE_PREFIX}{draft.circle_id}" if is_there else Visibility.MENTIONED.value
            )
        if poll := draft.poll:
            asked |= dict(zip(OPTIONS, poll.options, strict=False))
            asked |= {
                "poll_seconds": poll.seconds,
                "poll_multiple": poll.multiple,
                "poll_hidden": poll.hide_totals,
            }
        return asked

    @property
    def options(self) -> list[forms.BoundField]:
        """The fields of a poll's options."""
        return [self[name] for name in OPTIONS]

    @property
    def has_poll(self) -> bool:
        """Whether something stands in a poll's options, to be shown again."""
        return any(self[name].value() for name in OPTIONS)

    def draft(self) -> Draft:
        """What the author asks to publish, but for the pictures."""
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
        )

    def _poll(self) -> PollDraft | None:
        said = self.cleaned_data
        options = [said[name] for name in OPTIONS if said[name].strip()]
        if not options:
            return None
        seconds = int(said["poll_seconds"] or POLL_TIME)
        return PollDraft(options, seconds, said["poll_multiple"], said["poll_hidden"])


def home_composer_context(author: User) -> dict[str, Any]:
    """What the template of the home page's empty composer needs; one query, of those who know circles.

    Its fields are cached under all that they depend on: Django takes longer over them than over the posts of the page.
    """
    circles = tuple(circles_to_post_to(author))
    form = ComposeForm(author=author, circles=circles, auto_id=f"{HOME_COMPOSER}_%s")
    usual = form.initial, form.asks_for_alt, circles, get_language()
    return {**composer_context(form), "fields_key": repr(usual)}


def circle_id_of(text: str) -> int | None:
    """The circle that a choice of the composer stands for."""
    try:
        return (
            parse_id(text.removeprefix(CIRCLE_PREFIX)) if text.startswith(CIRCLE_PREFIX) else None
        )
    except ValueError:
        return None


def composer_context(form: EditForm, pictures: Sequence[DisplayedPicture] = ()) -> dict[str, Any]:
    """What the composer's template needs."""
    return {
        "form": form,
        "most": settings.POST_MAX_CHARACTERS,
        "idempotency_key": new_key(),
        "pictures": pictures,
        "file_names": file_names(len(pictures)),
    }


def new_key() -> str:
    """Makes two sends of one form one post."""
    return str(uuid4())


def _post_id(text: str) -> int | None:
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise forms.ValidationError(_("This post isn't here.")) from None
