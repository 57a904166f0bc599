"""Forms for the notification settings."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.notifications.kinds import TOLD
from apps.notifications.models import Treatment
from apps.web.forms.accounts import SWITCH

VERDICTS = [
    (Treatment.ACCEPT.value, _("Show them")),
    (Treatment.FILTER.value, _("Hold them back for me to review")),
    (Treatment.DROP.value, _("Hide them")),
]


def _treatment(label: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=VERDICTS, required=False)


class PolicyForm(forms.Form):
    """How to treat notifications from each kind of sender; empty fields change nothing."""

    for_not_following = _treatment(_("From people you don't follow"))
    for_not_followers = _treatment(_("From people who don't follow you"))
    for_new_accounts = _treatment(_("From accounts that are less than 30 days old"))
    for_private_mentions = _treatment(_("Private mentions by people you don't follow"))
    for_bots = _treatment(_("From programs you don't follow"))

    def verdicts(self) -> dict[str, str]:
        return {name: value for name, value in self.cleaned_data.items() if value}


class KindsForm(forms.Form):
    kinds = forms.MultipleChoiceField(
        label=_("Notify me when"),
        choices=[(str(kind), told.setting) for kind, told in TOLD.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs=SWITCH),
    )
