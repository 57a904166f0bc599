"""The form for a webhook. The actions validate the address."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.web.forms.accounts import AS_TYPED
from apps.webhooks.models import ADDRESS_MAX_CHARACTERS, Endpoint, Kind


class EndpointForm(forms.Form):
    """The form for a webhook. `url` and `types` have the same names as in the API."""

    url = forms.CharField(
        label=_("Address of your server"),
        max_length=ADDRESS_MAX_CHARACTERS,
        help_text=_("It must begin with https:// and be reachable from the internet."),
        widget=forms.TextInput(
            attrs={"inputmode": "url", "autocomplete": "off", "dir": "ltr", **AS_TYPED}
        ),
    )
    types = forms.MultipleChoiceField(
        label=_("Send a message when"),
        choices=Kind.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one kind of message.")},
    )

    def __init__(self, data: Any = None, *, endpoint: Endpoint | None = None) -> None:
        initial = {"url": endpoint.address, "types": endpoint.kinds} if endpoint else {}
        super().__init__(data, initial=initial or {"types": Kind.values})
