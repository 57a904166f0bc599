"""HTML input of circles, of who may follow, and of mutes. What is allowed is decided by the actions; forms only read and show."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.graph.circle_actions import NAME_MAX_CHARACTERS
from apps.languages import WRITTEN
from apps.web.forms.accounts import HandlesField


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

    handles = HandlesField(help_text=_("Of people who follow you, with spaces between them."))


class PrivacyForm(forms.Form):
    """Who may follow."""

    is_locked = forms.BooleanField(label=_("Ask me before anybody follows me"), required=False)


class LanguagesForm(forms.Form):
    """In which languages somebody's posts are wanted; none chosen: all of them."""

    languages = forms.MultipleChoiceField(
        label=_("On my home page, their posts in"),
        choices=WRITTEN,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any = None, *, chosen: Sequence[str]) -> None:
        """A form that starts with what was chosen, which may be more than it offers: programs know other languages."""
        super().__init__(data, initial={"languages": list(chosen)})
        known = {code for code, _name in WRITTEN}
        more = [(code, code) for code in chosen if code not in known]
        self.fields["languages"].choices = [*WRITTEN, *more]  # type: ignore[attr-defined]  # a ChoiceField has them


class MuteForm(forms.Form):
    """For how long somebody is muted, and how much."""

    seconds = forms.TypedChoiceField(
        label=_("For how long?"),
        choices=[
            (0, _("Until I end it")),
            (3600, _("An hour")),
            (24 * 3600, _("A day")),
            (7 * 24 * 3600, _("A week")),
            (30 * 24 * 3600, _("30 days")),
        ],
        coerce=int,
        empty_value="",
        required=False,
        widget=forms.RadioSelect,
        initial=0,
    )
    keeps_notifications = forms.BooleanField(
        label=_("Go on telling me what they do with my posts"), required=False
    )

    def terms(self) -> dict[str, Any]:
        """What the mute is to be."""
        said = self.cleaned_data
        return {
            "seconds": said["seconds"] or None,
            "notifications": not said["keeps_notifications"],
        }
