"""The form of a message, in a conversation or on the page that starts one."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.posts.actions.drafts import Draft
from apps.web.forms.posts import guess_language

# Names of fields in the actions' errors -> names of fields in the form.
FIELD_NAMES = {"status": "body", "allowed_mentions": "body"}


class MessageForm(forms.Form):
    """A message. In a conversation it answers the newest message on the page, `seen`, and has the same audience."""

    body = forms.CharField(
        required=False,
        strip=False,
        label=_("Your message"),
        widget=forms.Textarea(
            attrs={
                "rows": 1,
                "dir": "auto",
                "placeholder": _("Message"),
                "data-suggest": True,
            }
        ),
    )
    sensitive = forms.BooleanField(required=False)
    seen = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    idempotency_key = forms.CharField(required=False, max_length=200)

    def draft(self) -> Draft:
        """The draft of the message, without people and pictures."""
        data: dict[str, Any] = self.cleaned_data
        return Draft(
            data["body"], language=guess_language(data["body"]), sensitive=data["sensitive"]
        )
