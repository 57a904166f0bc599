"""Forms of lists, circles, privacy settings, languages and mutes."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.graph.models import Circle, Group, RepliesPolicy, UserList
from apps.languages import WRITTEN
from apps.web.forms.accounts import HandlesField, switch


def _name_field(kind: type[Group], label: Any) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"})
    return forms.CharField(label=label, max_length=kind.NAME_MAX_CHARACTERS, widget=widget)


class ListForm(forms.Form):
    name = _name_field(UserList, _("Title"))
    replies_policy = forms.ChoiceField(
        label=_("Replies"), choices=RepliesPolicy.choices, initial=RepliesPolicy.LIST
    )
    is_exclusive = forms.BooleanField(
        label=_("Hide posts of its members from the home page"), required=False
    )


class ListMembersForm(forms.Form):
    handles = HandlesField(
        help_text=_("Handles of people you follow, separated by spaces."), suggests="followed"
    )


class CircleForm(forms.Form):
    name = _name_field(Circle, pgettext_lazy("of a circle", "Name"))
    is_shared = forms.BooleanField(label=_("Members may post to it too"), required=False)


class CircleMembersForm(forms.Form):
    handles = HandlesField(help_text=_("Handles of people who follow you, separated by spaces."))


class PrivacyForm(forms.Form):
    is_locked = switch(_("Ask me before anybody follows me"))
    hides_activity = switch(
        _("Keep my likes, reposts and follows off other people's activity pages")
    )
    tells_seen = switch(
        _("Show people that I have seen their messages, and show me who has seen mine")
    )


class LanguagesForm(forms.Form):
    """The languages of a follow. Choosing none means all."""

    languages = forms.MultipleChoiceField(
        label=_("On my home page, their posts in"),
        choices=WRITTEN,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any = None, *, chosen: Sequence[str]) -> None:
        """Also offer the `chosen` languages, because an API client may have set some that the form does not list."""
        super().__init__(data, initial={"languages": list(chosen)})
        known = {code for code, _name in WRITTEN}
        more = [(code, code) for code in chosen if code not in known]
        self.fields["languages"].choices = [*WRITTEN, *more]  # type: ignore[attr-defined]  # a ChoiceField has choices


class MuteForm(forms.Form):
    seconds = forms.TypedChoiceField(
        label=_("For how long?"),
        choices=[
            (0, _("Until I unmute")),
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
        label=_("Still notify me when they react to my posts"), required=False
    )

    def terms(self) -> dict[str, Any]:
        """The keyword arguments for `mute_user`."""
        data = self.cleaned_data
        return {
            "seconds": data["seconds"] or None,
            "notifications": not data["keeps_notifications"],
        }
