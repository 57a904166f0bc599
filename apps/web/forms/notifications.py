"""Forms for the notification settings."""

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


class PolicyForm(forms.Form):
    """How to treat notifications from each kind of sender; omitted fields stay unchanged."""

    for_not_following = forms.ChoiceField(
        label=_("By people you don't follow"), choices=VERDICTS, required=False
    )
    for_not_followers = forms.ChoiceField(
        label=_("By people who don't follow you"), choices=VERDICTS, required=False
    )
    for_new_accounts = forms.ChoiceField(
        label=_("By accounts that are less than 30 days old"), choices=VERDICTS, required=False
    )
    for_private_mentions = forms.ChoiceField(
        label=_("Private mentions by people you don't follow"), choices=VERDICTS, required=False
    )

    def verdicts(self) -> dict[str, str]:
        return {name: value for name, value in self.cleaned_data.items() if value}


class KindsForm(forms.Form):
    kinds = forms.MultipleChoiceField(
        label=_("Notify me when"),
        choices=[(str(kind), told.setting) for kind, told in TOLD.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs=SWITCH),
    )
