"""HTML input of circles. What is allowed is decided by the actions; forms only read and show."""

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.graph.circle_actions import NAME_MAX_CHARACTERS

HANDLES_MAX_CHARACTERS = 2000


class CircleForm(forms.Form):
    """A circle's name, and who may post to it."""

    name = forms.CharField(
        label=pgettext_lazy("of a circle", "Name"),
        max_length=NAME_MAX_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    is_shared = forms.BooleanField(label=_("Members may post to it too"), required=False)


class PeopleForm(forms.Form):
    """People to put into a circle."""

    handles = forms.CharField(
        label=_("Handles"),
        max_length=HANDLES_MAX_CHARACTERS,
        help_text=_("Of people who follow you, with spaces between them."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

    def wanted(self) -> list[str]:
        """The handles, each once, as they are stored."""
        words = self.cleaned_data["handles"].replace(",", " ").replace("，", " ").split()
        return list(dict.fromkeys(word.removeprefix("@").lower() for word in words))
