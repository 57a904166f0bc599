"""HTML input of posts. What is allowed is decided by the actions; forms only read and show."""

from typing import Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.accounts.scripts import language_by_script
from apps.ids import parse_id
from apps.posts.drafts import CONTENT_WARNING_MAX_CHARACTERS, Draft
from apps.posts.models import Visibility

LANGUAGES = [
    ("", _("Detect")), ("zh", "中文"), ("en", "English"), ("ar", "العربية"), ("de", "Deutsch"), ("es", "Español"),
    ("fr", "Français"), ("hi", "हिन्दी"), ("id", "Indonesia"), ("it", "Italiano"), ("ja", "日本語"), ("ko", "한국어"),
    ("pt", "Português"), ("ru", "Русский"), ("tr", "Türkçe"), ("uk", "Українська"), ("vi", "Tiếng Việt"),
]  # fmt: skip
# The names under which `posts` refuses.
FIELD_NAMES = {"status": "body", "spoiler_text": "content_warning"}


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

    @property
    def written_language(self) -> str:
        """The language chosen, else the one guessed."""
        chosen: str = self.cleaned_data.get("language", "")
        return chosen or guess_language(self.cleaned_data["body"])


class ComposeForm(EditForm):
    """A new post; `reply_to` and `quote` are post ids."""

    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PUBLIC)
    reply_to = forms.CharField(required=False)
    quote = forms.CharField(required=False)
    idempotency_key = forms.CharField(required=False, max_length=200)

    def clean_reply_to(self) -> int | None:
        """The id of the answered post."""
        return _post_id(self.cleaned_data["reply_to"])

    def clean_quote(self) -> int | None:
        """The id of the quoted post."""
        return _post_id(self.cleaned_data["quote"])

    def draft(self) -> Draft:
        """What the author asks to publish."""
        data = self.cleaned_data
        return Draft(
            body=data["body"],
            visibility=data["visibility"],
            reply_to_id=data["reply_to"],
            quote_of_id=data["quote"],
            content_warning=data["content_warning"],
            language=self.written_language,
        )


def composer_context(form: EditForm) -> dict[str, Any]:
    """What the composer's template needs. The key makes two sends of one form one post."""
    return {"form": form, "most": settings.POST_MAX_CHARACTERS, "idempotency_key": str(uuid4())}


def _post_id(text: str) -> int | None:
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise forms.ValidationError(_("This post isn't here.")) from None
