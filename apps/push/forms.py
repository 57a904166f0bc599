"""The form for notifications on devices."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.dates import zone_named
from apps.notifications.kinds import TOLD
from apps.push.models import ZONE_MAX_CHARACTERS, Policy, Preferences, Texts


class PreferencesForm(forms.Form):
    """Preferences for notifications on devices. With no box checked, the form is valid, and nothing is sent."""

    kinds = forms.MultipleChoiceField(
        label=_("Notify my devices when"),
        choices=[(str(kind), told.setting) for kind, told in TOLD.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    policy = forms.ChoiceField(label=_("Activity by"), choices=Policy.choices)
    texts = forms.ChoiceField(
        label=_("Show the text of posts"),
        choices=Texts.choices,
        help_text=_(
            "Messages are encrypted: the push services that deliver them cannot read them."
        ),
    )
    quiet_from = forms.TimeField(
        label=_("Quiet from"),
        required=False,
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
    )
    quiet_until = forms.TimeField(
        label=_("Quiet until"),
        required=False,
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
    )
    time_zone = forms.CharField(
        label=_("Time zone for quiet hours"),
        max_length=ZONE_MAX_CHARACTERS,
        required=False,
        help_text=_("Type a city to find it, as in Europe/Berlin or Asia/Shanghai."),
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
                "list": "zones",
            }
        ),
    )

    def clean_time_zone(self) -> str:
        zone: str = self.cleaned_data["time_zone"]
        if zone and zone_named(zone) is None:
            raise forms.ValidationError(_("There is no such time zone."))
        return zone

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if (cleaned.get("quiet_from") is None) != (cleaned.get("quiet_until") is None):
            self.add_error("quiet_until", _("Quiet hours need a beginning and an end."))

    def preferences(self) -> dict[str, Any]:
        """The values as fields of `Preferences`."""
        fields = dict(self.cleaned_data)
        kinds = fields.pop("kinds")
        return {**fields, "silent_kinds": [str(kind) for kind in TOLD if kind not in kinds]}


def initial_of(preferences: Preferences) -> dict[str, Any]:
    names = ("policy", "texts", "quiet_from", "quiet_until", "time_zone")
    kinds = [str(kind) for kind in TOLD if kind not in preferences.silent_kinds]
    return {"kinds": kinds, **{name: getattr(preferences, name) for name in names}}
